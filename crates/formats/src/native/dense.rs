//! The result file of many jobs (schema 3): nothing that they have in common is written more than once.
//!
//! - Each entry of `jobs` after the first is what differs from the first, as a JSON Merge Patch (RFC 7396).
//! - A `histogram` is a text: the first bucket, then the counts of consecutive buckets; -n leaves out n empty ones.
//!   Each number is a Base64 VLQ (of source maps, below).
//! - The `workers` of an interval are a list per member, with null where a worker has none.
//!
//! Owns these three transformations, both ways. Jobs and intervals have a line each, and are transformed one by one: a
//! file of 10,000 jobs is never in memory with all that they have in common.

use crate::tree::{Object, Tree};
use crate::{FormatError, echoed};
use model::{Interval, JobResult, Monitored, RunResult};
use serde::{Deserialize, Serialize};

/// Schema number of these files.
pub(super) const SCHEMA: u32 = 3;
/// Most jobs of a file with the plain schema.
pub(super) const MOST_PLAIN: usize = 64;
/// Most bytes of all jobs written out, so that no short file fills memory; ten times 10,000 jobs with histograms.
const MOST_BYTES: u64 = 4 << 30;

/// Writes a result, with a trailing newline.
pub(super) fn write(result: &RunResult) -> serde_json::Result<String> {
    let program = serde_json::to_string(&result.environment.program)?;
    let mut text = format!("{{\n  \"schema\": {SCHEMA},\n  \"program\": {program},\n  \"result\": {{\n");
    members(&mut text, "    ", &serde_json::to_string(&without_jobs(result))?, &["jobs"])?;
    let first = serde_json::to_string(&result.jobs.first())?;
    let first = packed(Tree::of(&first)?);
    list(&mut text, "    ", "jobs", result.jobs.iter().enumerate(), |(number, job)| {
        let job = serde_json::to_string(job)?;
        let job = packed(Tree::of(&job)?);
        serde_json::to_string(&if number == 0 { job } else { difference(job, &first) })
    })?;
    if let Some(monitored) = &result.monitored {
        text.push_str(",\n    \"monitored\": {\n");
        members(&mut text, "      ", &serde_json::to_string(&without_intervals(monitored))?, &["intervals"])?;
        list(&mut text, "      ", "intervals", monitored.intervals.iter(), |interval: &Interval| {
            let interval = serde_json::to_string(interval)?;
            let mut interval = Tree::of(&interval)?;
            interval.get_mut("workers").into_iter().for_each(by_member);
            serde_json::to_string(&interval)
        })?;
        text.push_str("\n    }");
    }
    text.push_str("\n  }\n}\n");
    Ok(text)
}

/// All but the jobs and what was sampled.
fn without_jobs(result: &RunResult) -> RunResult {
    RunResult {
        ended_unix_ms: result.ended_unix_ms,
        global_options: result.global_options.clone(),
        jobs: Vec::new(),
        devices: result.devices.clone(),
        lowest_traffic: result.lowest_traffic.clone(),
        monitored: None,
        virtual_intervals: Vec::new(),
        limited_by: result.limited_by.clone(),
        phases: result.phases.clone(),
        lasting: result.lasting.clone(),
        until_regime: result.until_regime.clone(),
        layers: result.layers.clone(),
        environment: result.environment.clone(),
        surroundings: result.surroundings.clone(),
        notes: result.notes.clone(),
        origin: result.origin.clone(),
        warnings: result.warnings.clone(),
        ended_by_signal: result.ended_by_signal,
        cpu_idleness: result.cpu_idleness.clone(),
    }
}

fn without_intervals(monitored: &Monitored) -> Monitored {
    Monitored {
        began_unix_ms: monitored.began_unix_ms,
        own_cpu: monitored.own_cpu,
        devices: monitored.devices.clone(),
        targets: monitored.targets.clone(),
        group_limits: monitored.group_limits.clone(),
        limit_changes: monitored.limit_changes.clone(),
        hypervisor: monitored.hypervisor.clone(),
        intervals: Vec::new(),
    }
}

/// Appends the members of an object but those left out, each on a line with a comma at its end.
fn members(text: &mut String, indent: &str, object: &str, left_out: &[&str]) -> serde_json::Result<()> {
    let object = Tree::of(object)?;
    for (name, value) in object.as_object().into_iter().flat_map(Object::iter) {
        if !left_out.contains(&name) {
            text.push_str(&format!("{indent}\"{name}\": {},\n", serde_json::to_string(value)?));
        }
    }
    Ok(())
}

fn list<Entry>(
    text: &mut String,
    indent: &str,
    name: &str,
    entries: impl Iterator<Item = Entry>,
    line: impl Fn(Entry) -> serde_json::Result<String>,
) -> serde_json::Result<()> {
    text.push_str(&format!("{indent}\"{name}\": ["));
    for (number, entry) in entries.enumerate() {
        text.push_str(if number == 0 { "\n" } else { ",\n" });
        text.push_str(&format!("{indent}  {}", line(entry)?));
    }
    text.push_str(&format!("\n{indent}]"));
    Ok(())
}

#[derive(Deserialize)]
struct Read {
    result: RunResult,
}

/// Reads a file.
///
/// # Errors
/// The text is not JSON, or something in it is missing or misplaced; the message names the job.
pub(super) fn read(text: &str) -> Result<RunResult, FormatError> {
    let refused =
        |what: String, line: usize| FormatError::Refused { format: "native", line, what, works: super::WORKS };
    let mut root = Tree::of(text).map_err(|error| refused(error.to_string(), error.line()))?;
    let jobs = list_at(&mut root, &["result", "jobs"]).map(std::mem::take).unwrap_or_default();
    let bytes = serde_json::to_string(&jobs.first()).map_or(0, |first| first.len() as u64);
    if bytes.saturating_mul(jobs.len() as u64) > MOST_BYTES {
        return Err(refused(format!("{} jobs that are each what the first one is in {bytes} bytes", jobs.len()), 1));
    }
    let intervals = list_at(&mut root, &["result", "monitored", "intervals"]).into_iter().flatten();
    for (number, interval) in (1..).zip(intervals) {
        if !interval.get_mut("workers").is_none_or(by_worker) {
            return Err(refused(format!("the workers of interval {number} are not lists of one length"), 1));
        }
    }
    let mut result = of_tree::<Read>(&root).map_err(|error| refused(error.to_string(), 1))?.result;
    let mut jobs = jobs.into_iter();
    let first = jobs.next();
    let all = first.clone().into_iter().chain(jobs.map(|patch| patched(first.clone().unwrap_or(Tree::Null), patch)));
    for (number, mut job) in (1..).zip(all) {
        if !unpacked(&mut job) {
            return Err(refused(format!("a histogram of job {number} is not a bucket, counts and gaps"), 1));
        }
        let job = of_tree::<JobResult>(&job).map_err(|error| refused(format!("job {number}: {error}"), 1))?;
        result.jobs.push(job);
    }
    Ok(echoed::complete(result))
}

/// A value of its text: a reader of trees for all fields would make the program half a megabyte larger.
fn of_tree<Value: for<'text> Deserialize<'text>>(tree: &impl Serialize) -> serde_json::Result<Value> {
    serde_json::from_str(&serde_json::to_string(tree)?)
}

fn list_at<'tree, 'text>(root: &'tree mut Tree<'text>, path: &[&str]) -> Option<&'tree mut Vec<Tree<'text>>> {
    match path.iter().try_fold(root, |value, name| value.get_mut(name))? {
        Tree::List(list) => Some(list),
        _ => None,
    }
}

/// The merge patch that makes `base` into `value`.
fn difference<'text>(value: Tree<'text>, base: &Tree<'_>) -> Tree<'text> {
    let (Tree::Object(of), Tree::Object(base)) = (&value, base) else { return value };
    let gone: Vec<String> = base.iter().filter(|(name, _)| !of.has(name)).map(|(name, _)| name.to_owned()).collect();
    let mut patch = Object::default();
    if let Tree::Object(of) = value {
        for (name, value) in of.into_members() {
            match base.get(&name) {
                Some(same) if *same == value => {}
                Some(other) => patch.set(name, difference(value, other)),
                None => patch.set(name, value),
            }
        }
    }
    gone.into_iter().for_each(|name| patch.set(name.into(), Tree::Null));
    Tree::Object(patch)
}

/// The value that a merge patch makes of `base`.
fn patched<'text>(base: Tree<'text>, patch: Tree<'text>) -> Tree<'text> {
    let Tree::Object(patch) = patch else { return patch };
    let mut value = if let Tree::Object(base) = base { base } else { Object::default() };
    for (name, change) in patch.into_members() {
        let before = value.take(&name);
        if change != Tree::Null {
            value.set(name, patched(before.unwrap_or(Tree::Null), change));
        }
    }
    Tree::Object(value)
}

/// Applies `change` to each histogram; returns if all of them could be changed.
fn histograms<'text>(value: &mut Tree<'text>, change: fn(&mut Tree<'text>) -> bool) -> bool {
    match value {
        Tree::Object(object) => object.members_mut().fold(true, |all, (name, value)| {
            let changed = if name == "histogram" { change(value) } else { histograms(value, change) };
            all & changed
        }),
        Tree::List(list) => list.iter_mut().fold(true, |all, value| all & histograms(value, change)),
        _ => true,
    }
}

fn packed(mut value: Tree<'_>) -> Tree<'_> {
    histograms(&mut value, pack);
    value
}

fn unpacked(value: &mut Tree<'_>) -> bool {
    histograms(value, unpack)
}

/// `[[bucket, count], ...]` as the text of `bucket, count, count, -empty, count, ...`.
fn pack(value: &mut Tree<'_>) -> bool {
    let Tree::List(pairs) = value else { return true };
    let mut text = String::with_capacity(3 * pairs.len());
    let mut next = None;
    for pair in pairs.iter() {
        let Some([Tree::Whole(bucket), Tree::Whole(count)]) = pair.as_list() else { return false };
        match next.map(|next: u64| bucket.checked_sub(next)) {
            None => push_number(&mut text, i128::from(*bucket)),
            Some(Some(0)) => {}
            Some(Some(empty)) => push_number(&mut text, -i128::from(empty)),
            Some(None) => return false,
        }
        push_number(&mut text, i128::from(*count));
        next = bucket.checked_add(1);
    }
    *value = Tree::Text(text.into());
    true
}

/// The opposite of [`pack`]; false if the numbers cannot be those of a histogram.
fn unpack(value: &mut Tree<'_>) -> bool {
    if *value == Tree::Null {
        return true;
    }
    let Tree::Text(text) = &*value else { return false };
    let Some(numbers) = numbers_in(text) else { return false };
    let mut pairs = Vec::with_capacity(numbers.len());
    let mut next: Option<u64> = None;
    for number in numbers {
        let size = u64::try_from(number.unsigned_abs()).ok();
        next = match (next, size) {
            (None, Some(bucket)) if number >= 0 => Some(bucket),
            (Some(bucket), Some(count)) if number >= 0 => {
                pairs.push(Tree::List(vec![Tree::Whole(bucket), Tree::Whole(count)]));
                bucket.checked_add(1)
            }
            (Some(bucket), Some(empty)) => bucket.checked_add(empty),
            _ => return false,
        };
        if next.is_none() {
            return false;
        }
    }
    *value = Tree::List(pairs);
    true
}

/// `[{"ios": 1, "switches": 2}, {"ios": 3}]` as `{"ios": [1, 3], "switches": [2, null]}`.
fn by_member(workers: &mut Tree<'_>) {
    let Tree::List(rows) = workers else { return };
    let mut columns = Object::default();
    let names = rows.iter().filter_map(Tree::as_object).flat_map(Object::iter).map(|(name, _)| name);
    let names = measure::distinct(names);
    for name in names {
        let column = rows.iter().map(|row| row.get(name).cloned().unwrap_or(Tree::Null)).collect();
        columns.set(name.to_owned().into(), Tree::List(column));
    }
    *workers = Tree::Object(columns);
}

/// The opposite; false if the lists do not have one length.
fn by_worker(workers: &mut Tree<'_>) -> bool {
    let Tree::Object(columns) = workers else { return false };
    let mut rows: Vec<Object<'_>> = Vec::new();
    for (number, (name, column)) in std::mem::take(columns).into_members().enumerate() {
        let Tree::List(column) = column else { return false };
        if number == 0 {
            rows.resize_with(column.len(), Object::default);
        }
        if column.len() != rows.len() {
            return false;
        }
        for (row, value) in rows.iter_mut().zip(column) {
            if value != Tree::Null {
                row.set(name.clone(), value);
            }
        }
    }
    *workers = Tree::List(rows.into_iter().map(Tree::Object).collect());
    true
}

// Whole numbers as text: the Base64 VLQ of source maps (ECMA-426), which has libraries in many languages.
//
// Owns both directions. A number is its size times two, plus one if it is negative, in digits of five bits, the lowest
// first; a sixth bit says that another digit follows. Most counts of a histogram are one or two letters, where decimal
// digits and commas are three to five.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BITS: u32 = 5;
const MORE: u8 = 1 << BITS;
/// Bits of the largest number: 64 and the sign.
const MOST_BITS: u32 = 65;

/// Appends a number of at most 64 bits and a sign.
fn push_number(text: &mut String, number: i128) {
    let mut rest = number.unsigned_abs() << 1 | u128::from(number < 0);
    loop {
        let digit = rest.to_le_bytes()[0] & (MORE - 1);
        rest >>= BITS;
        let more = if rest > 0 { MORE } else { 0 };
        text.push(char::from(LETTERS[usize::from(digit | more)]));
        if rest == 0 {
            return;
        }
    }
}

/// The numbers of a text; `None` if it is none, or if one is larger than 64 bits.
fn numbers_in(text: &str) -> Option<Vec<i128>> {
    let mut numbers = Vec::with_capacity(text.len() / 2);
    let (mut number, mut shift) = (0_u128, 0);
    for letter in text.bytes() {
        let digit = value_of(letter)?;
        if shift >= MOST_BITS {
            return None;
        }
        number |= u128::from(digit & (MORE - 1)) << shift;
        shift += BITS;
        if digit & MORE == 0 {
            let size = i128::try_from(number >> 1).ok()?;
            numbers.push(if number & 1 == 1 { -size } else { size });
            (number, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(numbers)
}

/// The six bits that a letter stands for.
const fn value_of(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tree(text: &str) -> Tree<'_> {
        Tree::of(text).unwrap()
    }

    #[test]
    fn a_patch_makes_the_second_of_the_first() {
        for (base, value, expected) in [
            (r#"{"a":1,"b":{"c":2,"d":[3]}}"#, r#"{"a":1,"b":{"c":2,"d":[4]}}"#, r#"{"b":{"d":[4]}}"#),
            (r#"{"a":1}"#, r#"{"a":1}"#, "{}"),
            (r#"{"a":1,"b":2}"#, r#"{"b":2}"#, r#"{"a":null}"#),
            (r#"{"a":null}"#, r#"{"a":{"b":1}}"#, r#"{"a":{"b":1}}"#),
            (r#"{"a":{"b":1}}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        ] {
            let patch = difference(tree(value), &tree(base));
            assert_eq!(serde_json::to_string(&patch).unwrap(), expected);
            let mut back = patched(tree(base), tree(expected));
            // Members that were there before stay before those that were not.
            if let (Tree::Object(back), Tree::Object(value)) = (&mut back, &tree(value)) {
                assert!(value.iter().all(|(name, value)| back.get(name) == Some(value)), "{expected}");
                assert_eq!(back.iter().count(), value.iter().count(), "{expected}");
            }
        }
    }

    #[test]
    fn a_histogram_is_its_first_bucket_counts_and_gaps() {
        for (pairs, expected) in [
            ("[[7,1],[8,2],[11,3]]", "\"OCEFG\""),
            ("[]", "\"\""),
            ("[[0,18446744073709551615]]", "\"A+///////////f\""),
            ("null", "null"),
        ] {
            let mut value = tree(pairs);
            assert!(pack(&mut value));
            assert_eq!(serde_json::to_string(&value).unwrap(), expected);
            assert!(unpack(&mut value));
            assert_eq!(serde_json::to_string(&value).unwrap(), pairs);
        }
        for wrong in ["[7,1]", "7", "\"D\"", "\"O,C\"", "\"OCg\"", "\"AggggggggggggggI\""] {
            assert!(!unpack(&mut tree(wrong)), "{wrong}");
        }
    }

    #[test]
    fn workers_are_lists_of_one_length() {
        let rows = r#"[{"on_cpu":5,"ios":1},{"ios":3}]"#;
        let mut value = tree(rows);
        by_member(&mut value);
        assert_eq!(serde_json::to_string(&value).unwrap(), r#"{"on_cpu":[5,null],"ios":[1,3]}"#);
        assert!(by_worker(&mut value));
        assert_eq!(serde_json::to_string(&value).unwrap(), rows);
        for wrong in [r#"{"a":[1],"b":[1,2]}"#, r#"{"a":1}"#, "[]", "1"] {
            assert!(!by_worker(&mut tree(wrong)), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_written_as_in_source_maps() {
        // As the package vlq of npm writes them.
        for (number, expected) in
            [(0, "A"), (1, "C"), (-1, "D"), (15, "e"), (16, "gB"), (-17, "jB"), (123, "2H"), (123_456_789, "qxmvrH")]
        {
            let mut text = String::new();
            push_number(&mut text, number);
            assert_eq!(text, expected);
            assert_eq!(numbers_in(&text), Some(vec![number]));
        }
        for wrong in ["g", "A g", "=", "A,B", "\u{e9}", "gggggggggggggC", "gggggggggggggggA"] {
            assert_eq!(numbers_in(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn numbers_read_back_are_those_that_were_written(sizes in prop::collection::vec((any::<u64>(), 0..64_u32, any::<bool>()), 0..30)) {
            let written: Vec<i128> = sizes.iter().map(|&(size, shift, negative)| {
                let size = i128::from(size >> shift);
                if negative { -size } else { size }
            }).collect();
            let mut text = String::new();
            written.iter().for_each(|&number| push_number(&mut text, number));
            prop_assert_eq!(numbers_in(&text), Some(written));
        }

        #[test]
        fn any_text_is_numbers_or_none(text in "\\PC{0,60}|[A-Za-z+/]{0,60}") {
            let _ = numbers_in(&text);
        }
    }
}
