//! Terse lines: cases, and how two of them are compared.
//!
//! The same number of lines and of fields, the same place among the other formats; every field the same after folding:
//! what is measured keeps its spelling (digits after the point, `%`, the name of a percentile), and names, group,
//! error, percentiles' names, disks, forgiven errors and description stay as they are. Amounts and depths are held as
//! in text.

use super::case::Case;
use house::{Amounts, Depths, TextRules};

/// Terse lines of every version, alone and with the other formats.
pub(super) fn lines() -> Vec<Case> {
    const NULL: &str = "--name=a --ioengine=null --size=16m --rw=read";
    const FILE: &str = "--name=a --size=1m --rw=write --bs=8k";
    const FULL: &str = "--name=a --filename=/dev/full --size=64k --rw=write";
    let own = |name, words: &str| Case::own_format(name, words);
    vec![
        own("terse_2", &format!("--minimal --terse-version=2 {NULL}")),
        own("terse_3", &format!("--minimal {NULL}")),
        own("terse_4", &format!("--minimal --terse-version=4 {NULL}")),
        own("terse_5", &format!("--minimal --terse-version=5 {NULL}")),
        own("terse_2_of_a_file", &format!("--output-format=terse --terse-version=2 {FILE}")),
        own("terse_3_of_a_file_with_its_disk", &format!("--output-format=minimal {FILE} --fsync=8")),
        own("terse_4_of_a_file_with_its_disk", &format!("--output-format=csv --terse-version=4 {FILE} --direct=1")),
        own("terse_5_of_a_file_with_its_disk", &format!("--terse-version=5 --minimal {FILE} --numjobs=2")),
        own("terse_reported_together", &format!("--minimal {FILE} --numjobs=3 --group_reporting")),
        own("terse_of_trims", "--minimal --terse-version=4 --name=a --ioengine=null --size=16m --rw=trim"),
        own("terse_of_percentiles_of_lat", &format!("--minimal {FILE} --lat_percentiles=1 --clat_percentiles=0")),
        own("terse_of_a_list_of_percentiles", &format!("--minimal {FILE} --percentile_list=50:99.9:99.999")),
        own("terse_without_percentiles", &format!("--minimal {FILE} --clat_percentiles=0")),
        own("terse_without_clat", &format!("--minimal {FILE} --disable_clat=1")),
        own("terse_of_gtod_reduce", &format!("--minimal {FILE} --gtod_reduce=1")),
        own("terse_2_with_a_description", &format!("--minimal --terse-version=2 {NULL}"))
            .word("--description=of; today"),
        own("terse_3_with_a_description", &format!("--minimal {FILE}")).word("--description=of; today"),
        own("terse_5_with_a_description", &format!("--minimal --terse-version=5 {NULL}")).word("--description=today"),
        own("terse_of_a_failure", &format!("--minimal {FULL}")).ends(1),
        own("terse_2_of_no_errors_forgiven", &format!("--minimal --terse-version=2 {NULL} --continue_on_error=all"))
            .word("--description=of; today"),
        own("terse_5_of_no_errors_forgiven", &format!("--minimal --terse-version=5 {NULL} --continue_on_error=all")),
        own("terse_of_a_name_with_a_semicolon", "--minimal --ioengine=null --size=1m").word("--name=a;b"),
        own("terse_before_json_before_normal", &format!("--output-format=normal,json,terse {FILE}")),
        own("terse_appended", &format!("--append-terse --terse-version=2 {FILE}")),
        own("terse_appended_to_json", &format!("--output-format=json --append-terse {FILE}")),
        own("json_after_minimal_wins", &format!("--minimal --output-format=json {FILE}")),
        own("minimal_after_json_wins", &format!("--output-format=json --minimal {FILE}")),
        own("terse_into_a_file", &format!("--output=out.txt --minimal {FILE}")).report_in("out.txt"),
        own(
            "terse_of_a_second_with_samples",
            &format!("--minimal --terse-version=5 {FILE} --time_based --runtime=1200ms"),
        )
        .free_amounts(),
        Case::refused("a_terse_version_that_is_not_there", &format!("--terse-version=6 {FILE}")),
        Case::refused("a_terse_version_without_a_number", &format!("--terse-version=x {FILE}")),
        own(
            "json_plus_of_all_latencies",
            &format!("--output-format=json+ {FILE} --lat_percentiles=1 --slat_percentiles=1"),
        ),
        own("json_plus_with_json_is_one_document", &format!("--output-format=json,json+ {NULL}")),
    ]
}

/// The terse lines of an output, each with what stood before it (`{`: JSON), and the output without them.
pub(super) fn apart(output: &str) -> (Vec<String>, String) {
    let (mut terse, mut others) = (Vec::new(), String::new());
    let mut behind = "";
    for line in output.lines() {
        let version = ["2;", "3;fio-", "4;fio-", "5;fio-"].iter().any(|start| line.starts_with(start));
        if version || (line.starts_with(';') && !terse.is_empty()) {
            terse.push(format!("{behind}{line}"));
        } else {
            if line.starts_with('{') || line.contains("(groupid=") {
                behind = "behind other formats: ";
            }
            others.push_str(line);
            others.push('\n');
        }
    }
    (terse, others)
}

/// Every field that differs.
pub(super) fn differences(theirs: &[String], ours: &[String], rules: TextRules) -> Vec<String> {
    let mut found = Vec::new();
    if theirs.len() != ours.len() {
        found.push(format!("terse: fio has {} lines, ours {}", theirs.len(), ours.len()));
    }
    for (their, our) in theirs.iter().zip(ours) {
        let (their, our): (Vec<_>, Vec<_>) = (their.split(';').collect(), our.split(';').collect());
        if their.len() != our.len() {
            found.push(format!("terse: fio has {} fields, ours {}", their.len(), our.len()));
        }
        let place = Places::of(&their);
        for (index, (their, our)) in their.iter().zip(&our).enumerate() {
            let (their, our) = (place.folded(index, their, rules), place.folded(index, our, rules));
            if their != our {
                found.push(format!("terse field {}: fio {their}, ours {our}", index + 1));
            }
        }
    }
    found
}

/// What the percentiles' places tell about the others'.
struct Places {
    /// Where the percentiles of each direction begin.
    percentiles: Vec<usize>,
    /// Where errors and description begin, when there are no disks before them.
    end: Option<usize>,
}

impl Places {
    fn of(fields: &[&str]) -> Places {
        let is_percentile = |at: usize| fields.get(at).is_some_and(|field| field.contains("%="));
        let begins = |&at: &usize| is_percentile(at) && !at.checked_sub(1).is_some_and(is_percentile);
        let percentiles: Vec<usize> = (0..fields.len()).filter(begins).collect();
        // Percentiles, lat, bandwidth samples, in version 5 IOPS samples, CPU and faults, depths, bins.
        let samples = if fields.first().is_some_and(|version| version.ends_with('5')) { 11 } else { 5 };
        let end = percentiles.last().map(|last| last + 20 + 4 + samples + 5 + 7 + 22);
        Places { percentiles, end: end.filter(|end| fields.len() < end + 9) }
    }

    /// The field, or its spelling where its value is measured.
    fn folded(&self, index: usize, field: &str, rules: TextRules) -> String {
        let head = self.percentiles.first().is_none_or(|&first| index + 12 < first);
        let amount = self.percentiles.iter().any(|&at| index + 12 == at);
        // Whether a latency was measured shows in its mean.
        let mean = self.percentiles.iter().any(|&at| index + 6 == at || index + 2 == at || index == at + 22);
        let spelt = spelling(field);
        let depth = spelt == "#.1%";
        if head && field.starts_with("fio-") {
            return "the version".to_owned();
        }
        if head
            || self.end.is_some_and(|end| index >= end)
            || (amount && rules.amounts == Amounts::Fixed)
            || (depth && rules.depths == Depths::Fixed)
        {
            return field.to_owned();
        }
        if mean { format!("{spelt}, {}", if field == "0.000000" { "nothing" } else { "measured" }) } else { spelt }
    }
}

/// A number as `#` with its digits after the point and its `%`; other words as they are.
fn spelling(field: &str) -> String {
    if let Some((percent, _)) = field.split_once("%=") {
        return format!("{percent}%=#");
    }
    let (number, sign) = field.strip_suffix('%').map_or((field, ""), |number| (number, "%"));
    // A share of nothing: fio divides by zero.
    if number.trim_start_matches('-') == "nan" {
        return "#.2%".to_owned();
    }
    match (number.parse::<f64>(), number.split_once('.')) {
        (Err(_), _) => field.to_owned(),
        (Ok(_), None) => format!("#{sign}"),
        (Ok(_), Some((_, decimals))) => format!("#.{}{sign}", decimals.len()),
    }
}

pub(super) fn a_planted_difference_in_a_terse_line_is_named() {
    let rules = TextRules { amounts: Amounts::Fixed, depths: Depths::Fixed, samples: house::Samples::Perhaps };
    let numbers = |count: usize| vec!["0.500000"; count].join(";");
    let line = format!(
        "3;fio-3.33;a;0;0;1024;9;{};{};{};100.0%;1.00%",
        numbers(10),
        vec!["50.000000%=7"; 20].join(";"),
        numbers(9)
    );
    let against = |ours: String| differences(std::slice::from_ref(&line), &[ours], rules).len();
    assert_eq!(against(line.replace("3.33", "3.42-plumb-0").replace("%=7", "%=9").replace("0.500000", "1.234567")), 0);
    assert_eq!(against(line.replace("1024", "1025")), 1);
    assert_eq!(against(line.replace("100.0%", "99.9%")), 1);
    assert_eq!(against(line.replace("100.0%", "100.00%")), 1);
    assert_eq!(against(line.replace("1.00%", "1")), 1);
    assert_eq!(against(line.replace(";a;", ";b;")), 1);
    assert_eq!(against(line.replacen("0.500000", "0.500", 1)), 1);
    assert_eq!(against(line.replace("0.500000", "0.000000")), 3);
    assert_eq!(against(line.replace("50.000000%=", "60.000000%=")), 20);
    assert_eq!(against(format!("{line};vda")), 1);
    assert_eq!(differences(std::slice::from_ref(&line), &[], rules).len(), 1);
}
