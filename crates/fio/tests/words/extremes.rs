//! Numbers at the edges of what fits: every option takes them or refuses them in words; none overflows.

use crate::abilities::invoke;
use plan::option::{Kind, Support};
use proptest::prelude::*;

const EDGES: &[&str] = &[
    "0",
    "1",
    "-1",
    "4294967295",
    "4294967296",
    "1000000000000",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0xffffffffffffffff",
    "8191p",
    "99999p",
    "170141183460469231731687303715884105727",
    "1e308",
    "nan",
    "inf",
    "100%",
    "4294967295%",
    "9223372036854775807z",
    "9223372036854775807-9223372036854775807",
    "9223372036854775807,9223372036854775807",
    "18446744073709551615d",
    "9223372036854775807us",
    "(9223372036854775807*2)",
    "(1/0)",
    "$mb_memory*9223372036854775807",
];

/// Next to the value under test: what it meets in sums and products.
const OTHERS: &[&str] =
    &["--name=x --size=1m", "--numjobs=4095 --name=x --size=8191p --offset=8191p --offset_increment=8191p --rw=randrw"];

#[test]
fn every_option_reads_or_refuses_numbers_at_the_edge() {
    let mut read = 0;
    for spec in fio::options().filter(|spec| spec.support == Support::Works && spec.kind != Kind::Text) {
        for value in EDGES {
            for others in OTHERS {
                let given = format!("--{}={value}", spec.name);
                let words: Vec<&str> = others.split(' ').chain([given.as_str()]).collect();
                match invoke(&words, &[]) {
                    Ok(_) => read += 1,
                    Err(error) => assert!(!error.to_string().trim().is_empty(), "{given}: refused without a word"),
                }
            }
        }
    }
    assert!(read > 500, "only {read} values were read");
}

fn numbered() -> Vec<&'static str> {
    let is_numbered = |kind: Kind| !matches!(kind, Kind::Text | Kind::Word(_) | Kind::Bool | Kind::Flag);
    fio::options()
        .filter(|spec| spec.support == Support::Works && is_numbered(spec.kind))
        .map(|spec| spec.name)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_numbers_together_are_read_or_refused(
        given in prop::collection::vec((prop::sample::select(numbered()), prop_oneof![
            prop::sample::select(EDGES.to_vec()).prop_map(str::to_owned),
            any::<u64>().prop_map(|number| number.to_string()),
            any::<i64>().prop_map(|number| format!("{}k", number >> 8)),
        ]), 1..8),
        mode in prop::sample::select(vec!["read", "randrw", "trimwrite", "write:8191p", "randread:9223372036854775807"]),
    ) {
        let mut words = vec!["--name=x".to_owned(), format!("--rw={mode}"), "--ioengine=null".to_owned()];
        words.extend(given.iter().map(|(name, value)| format!("--{name}={value}")));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if let Err(error) = invoke(&words, &[]) {
            prop_assert!(!error.to_string().trim().is_empty());
        }
    }
}
