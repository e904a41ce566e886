//! Terse lines held against each other, field by field.

use fio::TerseVersion;

/// The fields of a line.
pub(crate) fn fields(line: &str) -> Vec<&str> {
    line.trim_end().split(';').collect()
}

/// Every field that differs, by its place from 1 and what it is.
pub(crate) fn differences(name: &str, version: TerseVersion, theirs: &[&str], ours: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    if theirs.is_empty() || theirs.len() != ours.len() {
        found.push(format!("{name}: fio has {} lines, ours {}", theirs.len(), ours.len()));
    }
    for (their, our) in theirs.iter().zip(ours) {
        let (their, our) = (fields(their), fields(our));
        if their.len() != our.len() {
            found.push(format!("{name}: fio has {} fields, ours {}", their.len(), our.len()));
        }
        // A name with a semicolon moves all that follows it.
        let shift = their.windows(2).position(|pair| pair[0].contains("%=") && pair[1].contains("%=")).unwrap_or(0);
        let usual = if version == TerseVersion::V2 { 16 } else { 17 };
        for (index, (their, our)) in their.iter().zip(&our).enumerate() {
            if agree(their, our, LAST_DIGIT) {
                continue;
            }
            let what = meaning(version, (index + usual).saturating_sub(shift));
            let allowed = match what.as_str() {
                "usr" | "sys" => agree(their, our, HALF_A_NANOSECOND),
                "us bin 0" => shares_agree(their, our, SUM_OF_TEN_SHARES),
                _ => false,
            };
            if !allowed {
                found.push(format!("{name}: field {} ({what}): fio {their}, ours {our}", index + 1));
            }
        }
    }
    found
}

/// What the last of six digits may be off after two roundings.
const LAST_DIGIT: f64 = 5e-6;
/// A result has CPU time in whole nanoseconds: half of one in percent of a millisecond.
const HALF_A_NANOSECOND: f64 = 5e-5;

/// The bin below 1 µs is a sum; fio's JSON has its ten parts, each rounded to 0.01 %, and none that is not empty below.
const SUM_OF_TEN_SHARES: f64 = 0.1;

/// Two percentages of two decimals that are at most so far apart, none of them above 100.
fn shares_agree(their: &str, our: &str, apart: f64) -> bool {
    let share = |text: &str| text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    matches!((share(their), share(our)), (Some(their), Some(our)) if our <= 100.0 && (their - our).abs() <= apart)
}

/// The same text; or numbers of the same spelling, apart by what their last digit may be off after two roundings.
fn agree(their: &str, our: &str, of_six_digits: f64) -> bool {
    if their == our {
        return true;
    }
    // A share of nothing: fio divides by zero.
    if their.trim_start_matches('-') == "nan%" {
        return our == "0.00%";
    }
    let (their_number, our_number) = (their.trim_end_matches('%'), our.trim_end_matches('%'));
    let decimals = |number: &str| number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let (places, same_end) = (decimals(their_number), their.ends_with('%') == our.ends_with('%'));
    let (Ok(their), Ok(our)) = (their_number.parse::<f64>(), our_number.parse::<f64>()) else {
        return false;
    };
    let last_digit = match places {
        0 => return false,
        1 => 0.1,
        2 => 0.01,
        _ => of_six_digits,
    };
    same_end && places == decimals(our_number) && (their - our).abs() <= last_digit * 1.01 + their.abs() * 1e-8
}

/// What stands at a place, from 0, where the name has no semicolon.
fn meaning(version: TerseVersion, index: usize) -> String {
    let head: &[&str] = match version {
        TerseVersion::V2 => &["version", "name", "group", "error"],
        _ => &["version", "program", "name", "group", "error"],
    };
    if let Some(word) = head.get(index) {
        return (*word).to_owned();
    }
    let mut rest = index - head.len();
    let directions = if version == TerseVersion::V3 { 2 } else { 3 };
    let fields = direction_fields(version);
    if let Some(direction) = ["read", "write", "trim"][..directions].get(rest / fields.len()) {
        return format!("{direction} {}", fields[rest % fields.len()]);
    }
    rest -= directions * fields.len();
    match rest {
        0..5 => ["usr", "sys", "switches", "major faults", "minor faults"][rest].to_owned(),
        5..12 => format!("depth bin {}", rest - 5),
        12..22 => format!("us bin {}", rest - 12),
        22..34 => format!("ms bin {}", rest - 22),
        _ => format!("{} behind the bins", rest - 34),
    }
}

fn direction_fields(version: TerseVersion) -> Vec<String> {
    let latency = |kind: &str| ["min", "max", "mean", "dev"].map(|part| format!("{kind} {part}"));
    let mut fields: Vec<String> = ["KiB", "KiB/s", "IOPS", "ms"].map(str::to_owned).into();
    fields.extend(latency("slat"));
    fields.extend(latency("clat"));
    fields.extend((0..20).map(|place| format!("percentile {place}")));
    fields.extend(latency("lat"));
    fields.extend(["bw min", "bw max", "bw share", "bw mean", "bw dev"].map(str::to_owned));
    if version == TerseVersion::V5 {
        fields.push("bw samples".to_owned());
        fields.extend(latency("iops"));
        fields.push("iops samples".to_owned());
    }
    fields
}
