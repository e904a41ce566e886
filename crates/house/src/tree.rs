//! Compares two JSON results of fio: same keys in the same order, same types of values, same facts.

use serde_json::Value;

/// Comparison of counts that the workload may determine.
pub type Counts = crate::Amounts;

/// Keys that fio 3.42 has but the reference version 3.33 does not, and plumb's own. They are left out of the
/// comparison; any other difference in keys is reported.
const ADDITIONS: &[&str] = &[
    "job_start",
    "latency_target_ns",
    // fio 3.42.
    "zone_resets",
    "latency_window_us",
    "read_sectors",
    "write_sectors",
    "aggr_read_sectors",
    "aggr_write_sectors",
    "aggr_sectors",
    "plumb",
];

/// Keys whose values repeat the settings of the job instead of measurements.
const EXACT: &[&str] = &[
    "jobname",
    "groupid",
    "error",
    "desc",
    "first_error",
    "latency_depth",
    "latency_target",
    "latency_percentile",
    "latency_window",
];

/// Keys whose values are determined by the workload if it does a fixed amount of I/O.
const COUNTED: &[&str] = &["io_bytes", "io_kbytes", "total_ios", "short_ios", "drop_ios", "total_err", "N"];

/// Parses the JSON object in a mixed output (from the first line `{` to the last line `}`); also returns the text
/// around it.
///
/// # Errors
/// The object is not valid JSON.
pub fn split_output(output: &str) -> Result<(Option<Value>, String), serde_json::Error> {
    let lines: Vec<&str> = output.lines().collect();
    let (Some(first), Some(last)) =
        (lines.iter().position(|line| *line == "{"), lines.iter().rposition(|line| *line == "}"))
    else {
        return Ok((None, output.to_owned()));
    };
    let json = lines[first..=last].join("\n");
    let value = serde_json::from_str(&json)?;
    let text = [&lines[..first], &lines[last + 1..]].concat().join("\n");
    Ok((Some(value), text))
}

/// Differences between the results of fio and plumb, one sentence each; empty if they agree.
pub fn compare_results(oracle: &Value, ours: &Value, counts: Counts) -> Vec<String> {
    let mut comparison = Comparison { counts, differences: Vec::new() };
    comparison.value("", "", oracle, ours);
    comparison.differences
}

struct Comparison {
    counts: Counts,
    differences: Vec<String>,
}

impl Comparison {
    fn value(&mut self, path: &str, key: &str, oracle: &Value, ours: &Value) {
        match (oracle, ours) {
            // The keys of bins are measured latencies, so the two sides are only checked for consistency, each by
            // itself.
            (Value::Object(_), Value::Object(_)) if key == "bins" => {
                for (who, bins) in [("fio", oracle), ("ours", ours)].into_iter().filter(|(_, bins)| !are_bins(bins)) {
                    self.say(path, &format!("or ours is wrong: {who} has {bins}"));
                }
            }
            (Value::Object(theirs), Value::Object(mine)) => {
                let echo = path.ends_with(" options");
                // fio 3.33 does not echo flags without a value from the command line; fio 3.42 and plumb do.
                let bare_flag = |key: &String| echo && mine[key] == "" && !theirs.contains_key(key);
                let mine_kept = mine.keys().filter(|key| !bare_flag(key)).collect();
                self.keys(path, theirs.keys().collect(), mine_kept);
                for (key, theirs) in theirs {
                    if let Some(mine) = mine.get(key) {
                        self.value(&format!("{path}.{key}"), key, theirs, mine);
                    }
                }
            }
            (Value::Array(theirs), Value::Array(mine)) => {
                if theirs.len() != mine.len() {
                    self.say(path, &format!("has {} elements, ours {}", theirs.len(), mine.len()));
                }
                for (at, (theirs, mine)) in theirs.iter().zip(mine).enumerate() {
                    self.value(&format!("{path}[{at}]"), key, theirs, mine);
                }
            }
            _ => self.leaf(path, key, oracle, ours),
        }
    }

    fn keys(&mut self, path: &str, theirs: Vec<&String>, mine: Vec<&String>) {
        let own = |keys: Vec<&String>| -> Vec<String> {
            keys.into_iter().filter(|key| !ADDITIONS.contains(&key.as_str())).cloned().collect()
        };
        let (theirs, mine) = (own(theirs), own(mine));
        let missing: Vec<_> = theirs.iter().filter(|key| !mine.contains(key)).collect();
        let extra: Vec<_> = mine.iter().filter(|key| !theirs.contains(key)).collect();
        if !missing.is_empty() || !extra.is_empty() {
            self.say(path, &format!("ours lacks {missing:?} and adds {extra:?}"));
        } else if theirs != mine {
            self.say(path, &format!("has keys in the order {theirs:?}, ours {mine:?}"));
        }
    }

    fn leaf(&mut self, path: &str, key: &str, oracle: &Value, ours: &Value) {
        let kind = |value: &Value| match value {
            Value::Number(number) if number.is_f64() => "float",
            Value::Number(_) => "integer",
            Value::String(_) => "text",
            _ => "other",
        };
        if kind(oracle) != kind(ours) {
            self.say(path, &format!("is {oracle}, ours {ours}"));
            return;
        }
        let asked = EXACT.contains(&key) || path.contains(" options.");
        let counted = self.counts == Counts::Fixed && COUNTED.contains(&key);
        let named = path.contains(".disk_util[") && key == "name";
        let same = if named { disk_name(oracle) == disk_name(ours) } else { oracle == ours };
        if (asked || counted || named) && !same {
            self.say(path, &format!("is {oracle}, ours {ours}"));
        }
    }

    fn say(&mut self, path: &str, what: &str) {
        self.differences.push(format!("JSON {}: fio {what}", if path.is_empty() { "root" } else { path }));
    }
}

/// True if all keys are latencies in ns, each with a count.
fn are_bins(bins: &Value) -> bool {
    let is_bin = |(latency, count): (&String, &Value)| latency.parse::<u64>().is_ok() && count.as_u64() > Some(0);
    bins.as_object().is_some_and(|bins| !bins.is_empty() && bins.iter().all(is_bin))
}

/// Name of a disk; all loop devices get the same name, because each run has a different one.
fn disk_name(name: &Value) -> String {
    let name = name.as_str().unwrap_or_default();
    if name.starts_with("loop") { "loop".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result() -> Value {
        json!({
            "fio version": "fio-3.33", "timestamp": 1,
            "global options": {"bs": "4k"},
            "jobs": [{"jobname": "a", "groupid": 0, "error": 0, "job options": {"name": "a", "rw": "read"},
                "read": {"io_bytes": 4096, "total_ios": 1, "iops": 12.5, "clat_ns": {"min": 7, "mean": 7.0, "N": 1}}}],
            "disk_util": [{"name": "vda", "util": 0.5}]
        })
    }

    #[test]
    fn measured_values_and_the_listed_additions_may_differ() {
        let mut ours = result();
        ours["fio version"] = json!("fio-3.42-plumb-0.1.0");
        ours["jobs"][0]["job_start"] = json!(1);
        ours["jobs"][0]["job options"]["time_based"] = json!("");
        ours["jobs"][0]["read"]["iops"] = json!(99.0);
        ours["disk_util"][0]["read_sectors"] = json!(8);
        assert_eq!(compare_results(&result(), &ours, Counts::Fixed), Vec::<String>::new());
    }

    #[test]
    fn bins_may_lie_elsewhere_but_must_be_counts_of_latencies() {
        let with = |bins: Value| {
            let mut result = result();
            result["jobs"][0]["read"]["clat_ns"]["bins"] = bins;
            result
        };
        let compare = |ours| compare_results(&with(json!({"20": 3, "9280": 1})), &ours, Counts::Fixed).len();
        assert_eq!(compare(with(json!({"12": 4}))), 0);
        for wrong in [json!({}), json!({"12": 0}), json!({"12": 1.5}), json!({"a": 4}), json!(4)] {
            assert_eq!(compare(with(wrong.clone())), 1, "{wrong}");
        }
        assert_eq!(compare(result()), 1);
    }

    #[test]
    fn a_planted_difference_is_named() {
        type Planted = (&'static str, fn(&mut Value));
        let planted: &[Planted] = &[
            (".jobs[0].read: fio ours lacks", |v| {
                drop(v["jobs"][0]["read"].as_object_mut().expect("object").remove("iops"))
            }),
            ("adds [\"surprise\"]", |v| v["jobs"][0]["surprise"] = json!(1)),
            (".jobs[0].read.total_ios", |v| v["jobs"][0]["read"]["total_ios"] = json!(2)),
            (".jobs[0].read.clat_ns.N", |v| v["jobs"][0]["read"]["clat_ns"]["N"] = json!(2)),
            (".jobs[0].read.iops", |v| v["jobs"][0]["read"]["iops"] = json!("12.5")),
            (".jobs[0].read.clat_ns.mean", |v| v["jobs"][0]["read"]["clat_ns"]["mean"] = json!(7)),
            (".jobs[0].job options.rw", |v| v["jobs"][0]["job options"]["rw"] = json!("write")),
            (".global options.bs", |v| v["global options"]["bs"] = json!("8k")),
            (".disk_util[0].name", |v| v["disk_util"][0]["name"] = json!("vdb")),
            (".jobs: fio has 1 elements", |v| v["jobs"].as_array_mut().expect("array").push(json!({}))),
            ("in the order", |v| {
                let timestamp = v.as_object_mut().expect("object").shift_remove("timestamp").expect("there");
                v["timestamp"] = timestamp;
            }),
        ];
        for (expected, plant) in planted {
            let mut ours = result();
            plant(&mut ours);
            let said = compare_results(&result(), &ours, Counts::Fixed);
            assert!(said.iter().any(|line| line.contains(expected)), "{expected} was not said in {said:?}");
        }
    }

    #[test]
    fn counts_may_differ_where_speed_decides_them() {
        let mut ours = result();
        ours["jobs"][0]["read"]["total_ios"] = json!(2);
        assert_eq!(compare_results(&result(), &ours, Counts::Free), Vec::<String>::new());
    }

    #[test]
    fn the_object_is_cut_out_of_a_mixed_output() {
        let (json, text) = split_output("head\n{\n  \"a\" : 1\n}\n\ntail\n").expect("valid");
        assert_eq!((json, text.as_str()), (Some(json!({"a": 1})), "head\n\ntail"));
        assert_eq!(split_output("no object").ok(), Some((None, "no object".to_owned())));
        assert!(split_output("{\n  \"a\" : \"b\"c\"\n}").is_err());
    }
}
