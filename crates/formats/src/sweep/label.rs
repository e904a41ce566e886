//! The disk or machine in the name of a result file: what is left without the words and numbers of a sweep.

/// Words that say what was measured, and not on which disk.
const WORDS: [&str; 37] = [
    "read",
    "write",
    "randread",
    "randwrite",
    "randrw",
    "rw",
    "readwrite",
    "trim",
    "randtrim",
    "mix",
    "mixed",
    "rand",
    "seq",
    "fio",
    "plumb",
    "survey",
    "knee",
    "watch",
    "iozone",
    "result",
    "results",
    "out",
    "output",
    "log",
    "json",
    "test",
    "bench",
    "benchmark",
    "sweep",
    "iodepth",
    "depth",
    "users",
    "jobs",
    "numjobs",
    "bs",
    "run",
    "round",
];
/// Words that a number follows without a gap: `qd32`, `bs4k`, `round2`.
const COUNTED: [&str; 18] = [
    "q", "qd", "d", "depth", "iodepth", "t", "j", "jobs", "numjobs", "threads", "u", "users", "bs", "run", "round",
    "r", "b", "size",
];

/// The label in a path: `INTEL` of `results/INTEL-64.json`. `None` if the name holds nothing but the words of a sweep.
pub fn label_of(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let is_gap = |letter: char| matches!(letter, '-' | '_' | '.' | ' ' | '(' | ')' | ',' | '=');
    let kept: Vec<&str> = stem.split(is_gap).filter(|part| !part.is_empty() && !is_of_a_sweep(part)).collect();
    (!kept.is_empty()).then(|| kept.join("-"))
}

/// The folder in a path: `intel` of `runs/intel/1.json`.
pub fn folder_of(path: &str) -> Option<String> {
    path.rsplit('/').nth(1).filter(|folder| !folder.is_empty() && *folder != ".").map(str::to_owned)
}

/// True for `randread`, `64`, `4k`, `qd32`.
fn is_of_a_sweep(part: &str) -> bool {
    let part = part.to_ascii_lowercase();
    let digits = part.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let word = &part[..part.len() - digits.len()];
    let number = digits.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = &digits[number.len()..];
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_unit = matches!(
        unit,
        "" | "k" | "m" | "g" | "t" | "kb" | "mb" | "gb" | "kib" | "mib" | "gib" | "s" | "b" | "users" | "jobs"
    );
    WORDS.contains(&part.as_str()) || (is_number && is_unit && (word.is_empty() || COUNTED.contains(&word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_sweep_are_no_label() {
        for (path, label) in [
            ("INTELD3S4610-1.json", Some("INTELD3S4610")),
            ("a/PM833_randread_4k_qd64.json", Some("PM833")),
            ("randread-64-1.json", None),
            ("depth-8.json", None),
            ("users-16.out", None),
            ("plumb-survey-001.json", None),
            ("before.json", Some("before")),
            ("wd-red-round2.json", Some("wd-red")),
            ("nvme0n1-8.json", Some("nvme0n1")),
            ("", None),
        ] {
            assert_eq!(label_of(path).as_deref(), label, "{path}");
        }
        assert_eq!(folder_of("runs/intel/1.json").as_deref(), Some("intel"));
        assert_eq!((folder_of("1.json"), folder_of("./1.json")), (None, None));
    }
}
