//! Normalizes fio's text output for comparison: values that depend on machine and time become placeholders.
//!
//! Rules: the version, process ids, dates and measured numbers (with their units) are replaced; rows of percentiles are
//! joined, because their width determines the line breaks; the latency bins become a single mark; lines that are not
//! part of a report (notes, advice) are marked as messages, and plumb may not print one if fio prints none; amounts of
//! I/O and depth percentages are compared exactly if the workload determines them; lines of bandwidth samples are
//! compared if the run is long enough to always have them. Two additions of fio 3.42 over the reference version 3.33
//! are removed: `sectors=` in disk statistics and `/syncfs` in the heading of sync latencies. A latency target has
//! units as in 3.42.

/// Comparison of amounts of I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amounts {
    /// The workload determines them: bytes and counts must be equal.
    Fixed,
    /// They depend on speed: not compared.
    Free,
}

/// Comparison of the percentages of depths, submissions and completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depths {
    /// They must be equal.
    Fixed,
    /// They depend on timing: not compared.
    Free,
}

/// Presence of the 500 ms bandwidth and IOPS samples in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Samples {
    /// The run is long enough to always have samples.
    Certain,
    /// The run may or may not have samples.
    Perhaps,
}

/// The rules for comparing two texts.
#[derive(Clone, Copy, Debug)]
pub struct TextRules {
    /// Comparison of bytes and counts.
    pub amounts: Amounts,
    /// Comparison of depth percentages.
    pub depths: Depths,
    /// Comparison of sample lines.
    pub samples: Samples,
}

/// Differences between two texts after normalization, one sentence each; empty if they agree.
pub fn compare_text(oracle: &str, ours: &str, rules: TextRules) -> Vec<String> {
    let (mut oracle, mut ours) = (fold_text(oracle, rules), fold_text(ours, rules));
    // fio's messages may appear on plumb's standard error instead; a message printed only by plumb is a difference.
    if oracle.iter().any(|line| line == MESSAGE) {
        oracle.retain(|line| line != MESSAGE);
        ours.retain(|line| line != MESSAGE);
    }
    let mut differences = Vec::new();
    for at in 0..oracle.len().max(ours.len()) {
        let (theirs, mine) = (oracle.get(at), ours.get(at));
        if theirs != mine {
            let shown = |line: Option<&String>| line.map_or_else(|| "(end)".to_owned(), |line| format!("`{line}`"));
            differences.push(format!("text line {}: fio {}, ours {}", at + 1, shown(theirs), shown(mine)));
            // After a missing line all later lines are shifted, so only the first difference is reported.
            if oracle.len() != ours.len() {
                break;
            }
        }
    }
    differences
}

/// Normalizes a text; returns its lines.
pub fn fold_text(text: &str, rules: TextRules) -> Vec<String> {
    let mut folded: Vec<String> = Vec::new();
    for line in text.lines() {
        // fio up to 3.41 counts zone resets of jobs without zones, too.
        let line = line.trim_end();
        let line = line.strip_suffix("; 0 zone resets").unwrap_or(line);
        let Some(line) = fold_line(line, rules) else { continue };
        match folded.last_mut() {
            Some(last) if last.starts_with(PERCENTILES) && line.starts_with(PERCENTILES) => {
                last.push_str(&line[PERCENTILES.len()..]);
            }
            Some(last) if *last == line && (line == MESSAGE || line == BINS || line.is_empty()) => {}
            _ => folded.push(line),
        }
    }
    while folded.last().is_some_and(String::is_empty) {
        folded.pop();
    }
    folded
}

const PERCENTILES: &str = "     | ";
const MESSAGE: &str = "<message>";
const BINS: &str = "  lat (U) : <bins>";

const LATENCY_TARGET: &str = "     latency   : target=";

/// The line of a latency target as 3.42 prints it: up to 3.41 the target is in ns and the window in µs, without units.
fn latency_target_with_units(line: &str) -> String {
    let mut fields: Vec<String> = line[LATENCY_TARGET.len()..].split(", ").map(str::to_owned).collect();
    for (field, ns) in fields.iter_mut().zip([1, 1000]) {
        let (name, value) = field.split_once('=').map_or(("", field.as_str()), |(name, value)| (name, value));
        let Ok(value) = value.parse::<u64>() else { continue };
        let value = value * ns;
        let (value, unit) = match value {
            0..2_000 => (value, "ns"),
            2_000..2_000_000 => (value / 1_000, "us"),
            2_000_000..2_000_000_000 => (value / 1_000_000, "ms"),
            _ => (value / 1_000_000_000, "s"),
        };
        *field = if name.is_empty() { format!("{value}.00{unit}") } else { format!("{name}={value}.00{unit}") };
    }
    format!("{LATENCY_TARGET}{}", fields.join(", "))
}

/// Normalizes a line; `None` if the line is not compared.
fn fold_line(line: &str, rules: TextRules) -> Option<String> {
    let bare = line.trim_start();
    let folded = if line.starts_with(LATENCY_TARGET) {
        latency_target_with_units(line)
    } else if line.is_empty() || line == "..." || is_exact(line) {
        line.to_owned()
    } else if bare.starts_with("fio-") {
        "fio-VERSION".to_owned()
    } else if line.contains(": (groupid=") {
        fold_job_line(line)
    } else if line.starts_with("     |") {
        format!("{PERCENTILES}{}", fold_percentiles(bare.trim_start_matches('|')))
    } else if line.starts_with("   bw (") || line.starts_with("   iops  ") {
        return (rules.samples == Samples::Certain).then(|| fold_numbers(&fold_unit(line)));
    } else if line.starts_with("  lat (") && !line.contains("min=") {
        BINS.to_owned()
    } else if bare.starts_with("issued rwts:") || bare.starts_with("errors    :") {
        match rules.amounts {
            Amounts::Fixed => line.to_owned(),
            _ => fold_numbers(line),
        }
    } else if ["IO depths    :", "submit    :", "complete  :"].iter().any(|start| bare.starts_with(start)) {
        match rules.depths {
            Depths::Fixed => line.to_owned(),
            _ => fold_numbers(line),
        }
    } else if is_measured(bare) {
        fold_measured(line, rules)
    } else if line.starts_with("  ") && line.contains(": ") && line.contains("in_queue=") {
        fold_disk(line)
    } else {
        MESSAGE.to_owned()
    };
    Some(folded)
}

/// True for lines without measured values.
fn is_exact(line: &str) -> bool {
    line.contains(": (g=")
        || line.starts_with("Starting ")
        || line.contains(": Laying out IO file")
        || line.starts_with("  Description  :")
        || line.contains("): ioengine=cpuio, ")
        || line.contains(" exceeds 32-bit tausworthe ")
        || line.starts_with("Run status group ")
        || line.starts_with("Disk stats (")
}

/// True for lines of a known form with measured numbers.
fn is_measured(bare: &str) -> bool {
    let starts =
        ["read: ", "write: ", "trim: ", "mixed: ", "READ: ", "WRITE: ", "TRIM: ", "MIXED: ", "cpu  ", "fsync/"];
    let latencies = [
        "slat (",
        "clat (",
        "lat (",
        "clat prio ",
        "lat prio ",
        "sync (",
        "clat percentiles (",
        "lat percentiles (",
        "sync percentiles (",
    ];
    starts.iter().chain(&latencies).any(|start| bare.starts_with(start))
}

/// `NAME: (groupid=0, jobs=1): err= 0: pid=123: DATE`; an error's position in fio's source is replaced as well.
fn fold_job_line(line: &str) -> String {
    let head = line.split(": pid=").next().unwrap_or(line);
    match (head.find(" (file:"), head.find("error=")) {
        (Some(place), Some(error)) => format!("{} (PLACE, {}: pid=N: DATE", &head[..place], &head[error..]),
        _ => format!("{head}: pid=N: DATE"),
    }
}

/// Keeps the list of percentiles, replaces their values.
fn fold_percentiles(row: &str) -> String {
    row.split(',').filter_map(|cell| cell.split_once("th=[")).map(|(rank, _)| format!("{}th ", rank.trim())).collect()
}

/// Lines with a rate or a latency: the amount in the last bracket (`(64.0MiB/12msec)`, `io=64.0MiB (67.1MB)`) is kept
/// if the workload determines it.
fn fold_measured(line: &str, rules: TextRules) -> String {
    let line = line.replace("sync_file_range/syncfs:", "sync_file_range:");
    let amount = match rules.amounts {
        Amounts::Free => None,
        Amounts::Fixed => amount_of(&line),
    };
    let folded = fold_numbers(&fold_unit(&line));
    match amount {
        Some(amount) => format!("{folded} [{amount}]"),
        None => folded,
    }
}

fn amount_of(line: &str) -> Option<String> {
    if let Some((_, rest)) = line.split_once(" io=") {
        return rest.split_once(", run=").map(|(amount, _)| amount.to_owned());
    }
    let (_, rest) = line.split_once(" BW=")?;
    let (_, last) = rest.rsplit_once('(')?;
    last.split_once('/').map(|(amount, _)| amount.to_owned())
}

/// Replaces units: `clat (usec)` and `bw (  KiB/s)` become `clat (U)` and `bw (U/s)`.
fn fold_unit(line: &str) -> String {
    let mut folded = line.to_owned();
    for unit in ["nsec", "usec", "msec"] {
        folded = folded.replacen(&format!("({unit})"), "(U)", 1);
    }
    for unit in [
        "(  B/s)",
        "(    B/s)",
        "(  KiB/s)",
        "(  MiB/s)",
        "(  kB/s)",
        "(  MB/s)",
        "(KiB/s)",
        "(MiB/s)",
        "(   kB/s)",
        "(   MB/s)",
    ] {
        folded = folded.replacen(unit, "(U/s)", 1);
    }
    folded
}

/// `  vda: ios=1/2, sectors=3/4, merge=..`: keeps the device name, except for loop devices, which differ between runs.
fn fold_disk(line: &str) -> String {
    let (name, rest) = line.split_once(": ").unwrap_or((line, ""));
    let name = if name.trim().starts_with("loop") { "  loopN" } else { name };
    let kept = rest
        .split(", ")
        .filter(|field| !field.trim_start().starts_with("sectors=") && !field.starts_with("aggsectors="));
    fold_numbers(&format!("{name}: {}", kept.collect::<Vec<_>>().join(", ")))
}

/// Replaces every number and its unit by `N`; a number before `=` is a label and is kept.
fn fold_numbers(line: &str) -> String {
    let text: Vec<char> = line.chars().collect();
    let mut folded = String::with_capacity(line.len());
    let mut at = 0;
    while at < text.len() {
        let after_word = at > 0 && (text[at - 1].is_ascii_alphanumeric() || text[at - 1] == '_');
        if text[at].is_ascii_digit() && !after_word {
            let end = number_end(&text, at);
            if text.get(end) == Some(&'=') {
                folded.extend(&text[at..end]);
            } else {
                folded.push('N');
            }
            at = end;
        } else if text[at] == ' ' && at > 0 && matches!(text[at - 1], '=' | '[' | '(' | ' ') && folded.trim() != "" {
            at += 1;
        } else {
            folded.push(text[at]);
            at += 1;
        }
    }
    folded
}

/// Index after the number that starts at `at`, including its unit: `16.5k`, `64.0MiB/s`, `8msec`, `0.01%`.
fn number_end(text: &[char], at: usize) -> usize {
    let run = |from: usize, wanted: fn(&char) -> bool| {
        from + text[from..].iter().take_while(|&letter| wanted(letter)).count()
    };
    let mut end = run(at, |letter| letter.is_ascii_digit() || *letter == '.');
    end = run(end, |letter| letter.is_ascii_alphabetic() || *letter == '%');
    if text[end..].starts_with(&['/', 's']) { end + 2 } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: TextRules = TextRules { amounts: Amounts::Fixed, depths: Depths::Fixed, samples: Samples::Certain };
    const LOOSE: TextRules = TextRules { amounts: Amounts::Free, depths: Depths::Free, samples: Samples::Perhaps };

    const REPORT: &str = "\
a: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1
fio-3.33
Starting 1 process

a: (groupid=0, jobs=1): err= 0: pid=10186: Fri Nov 20 09:59:45 2026
  read: IOPS=39.7k, BW=155MiB/s (162MB/s)(310MiB/2001msec)
    clat (usec): min=20, max=1762, avg=75.00, stdev=34.86
    clat percentiles (usec):
     |  1.00th=[   43],  5.00th=[   45], 10.00th=[   45], 20.00th=[   46],
     | 30.00th=[   46]
   bw (  KiB/s): min=156296, max=163914, per=100.00%, avg=161014.00, stdev=1193.91, samples=9
  lat (usec)   : 50=6.49%, 100=88.63%, 250=4.69%, 500=0.07%, 750=0.05%
  lat (msec)   : 2=0.04%
  cpu          : usr=1.62%, sys=18.42%, ctx=79361, majf=0, minf=34
  IO depths    : 1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued rwts: total=79360,0,0,0 short=0,0,0,0 dropped=0,0,0,0
     latency   : target=0, window=0, percentile=100.00%, depth=8

Run status group 0 (all jobs):
   READ: bw=155MiB/s (162MB/s), 155MiB/s-155MiB/s (162MB/s-162MB/s), io=310MiB (325MB), run=2001-2001msec

Disk stats (read/write):
  vda: ios=75312/2, merge=0/0, ticks=3788/0, in_queue=3789, util=59.50%
";

    #[test]
    fn another_run_of_the_same_job_folds_to_the_same_lines() {
        let other = REPORT
            .replace("fio-3.33", "fio-3.42-plumb-0.1.0")
            .replace("pid=10186: Fri Nov 20 09:59:45", "pid=7: Sat Dec  1 01:01:01")
            .replace("clat (usec): min=20, max=1762, avg=75.00", "clat (nsec): min=  20, max=17k, avg= 7.01")
            .replace("20.00th=[   46],\n     | 30.00th=[   46]", "20.00th=[46123], 30.00th=[46123]")
            .replace("  lat (msec)   : 2=0.04%\n", "")
            .replace("KiB/s): min=156296", "MiB/s): min=  152")
            .replace("target=0, window=0", "target=0.00ns, window=0.00ns")
            .replace("ios=75312/2, merge", "ios=1/2, sectors=8/16, merge");
        assert_eq!(compare_text(REPORT, &other, STRICT), Vec::<String>::new());
    }

    #[test]
    fn a_planted_difference_is_named() {
        let planted = [
            ("rw=read", "rw=write"),
            ("Starting 1 process", "Starting 2 processes"),
            ("err= 0", "err= 5"),
            ("310MiB/2001msec", "311MiB/2001msec"),
            ("10.00th", "11.00th"),
            ("ctx=79361, ", ""),
            ("1=100.0%, 2=0.0%", "1=99.9%, 2=0.1%"),
            ("total=79360,0", "total=79359,0"),
            ("depth=8", "depth=1"),
            ("target=0, ", "target=5.00ms, "),
            ("io=310MiB", "io=309MiB"),
            ("  vda:", "  vdb:"),
            (", util=59.50%", ""),
            ("   bw (  KiB/s): min=156296, max=163914, per=100.00%, avg=161014.00, stdev=1193.91, samples=9\n", ""),
            ("Starting 1 process\n", "Starting 1 process\nsomething unexpected\n"),
        ];
        for (from, to) in planted {
            let other = REPORT.replacen(from, to, 1);
            assert_ne!(other, REPORT, "{from} is not in the report");
            assert_ne!(compare_text(REPORT, &other, STRICT), Vec::<String>::new(), "{from} -> {to} went unnoticed");
        }
    }

    #[test]
    fn what_depends_on_speed_is_folded_only_when_the_case_says_so() {
        let faster = REPORT.replace("310MiB", "620MiB").replace("total=79360", "total=158720");
        assert_eq!(compare_text(REPORT, &faster, LOOSE), Vec::<String>::new());
        assert_eq!(compare_text(REPORT, &faster, STRICT).len(), 3);
    }

    #[test]
    fn labels_stay_and_values_fold() {
        assert_eq!(fold_numbers("  IO depths    : 1=100.0%, >=64=0.0%"), "  IO depths : 1=N, >=64=N");
        assert_eq!(fold_numbers("bw=155MiB/s (162MB/s), run=1-2msec"), "bw=N (N), run=N-N");
    }
}
