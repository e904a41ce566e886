//! Arbitrary words never panic.

use crate::abilities::invoke;
use proptest::prelude::*;

/// Pieces from which hostile but plausible words are put together.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("--name=".to_owned()),
        Just("[global]\n".to_owned()),
        Just("[a]\n".to_owned()),
        Just("include f\n".to_owned()),
        Just("${".to_owned()),
        Just("$ncpus*".to_owned()),
        Just("=".to_owned()),
        Just("\n".to_owned()),
        Just("((".to_owned()),
        Just("é\u{202e}日".to_owned()),
        "[a-z_]{1,12}=[0-9a-z%:,/-]{0,12}\n",
        "(bs|size|rate|bssplit|bsrange|rw|mem|cpus_allowed|runtime|random_distribution|buffer_pattern|percentile_list)=[0-9kmgz%:,/.'\"x^*()-]{0,16}\n",
        "--(bs|size|rate|iodepth|eta|section|output-format|cmdhelp|enghelp|startdelay|filesize)=[0-9kmgz%:,/.-]{0,9}",
        "\\PC{0,20}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_job_file_is_read_or_refused(pieces in prop::collection::vec(piece(), 0..30)) {
        let text = pieces.concat();
        if let Err(error) = invoke(&["f"], &[("f", &text)]) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn any_command_line_is_read_or_refused(words in prop::collection::vec(piece(), 0..12)) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if let Err(error) = invoke(&words, &[("f", "[a]\nsize=1m\n")]) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn any_value_of_any_option_is_read_or_refused(name in "[a-z]{2,14}", value in "\\PC{0,24}") {
        let given = format!("--{name}={value}");
        let _ = invoke(&["--name=x", "--size=1m", &given], &[]);
    }
}
