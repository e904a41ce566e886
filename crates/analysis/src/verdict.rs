//! Verdict of a report card: one sentence on latency, one on scaling.

/// Grades of one workload, `A+` to `D`; `None` if not graded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// For example `index lookups`.
    pub workload: String,
    /// Grade of its latency.
    pub latency: Option<String>,
    /// Grade of its scaling.
    pub scaling: Option<String>,
}

/// The two sentences of a card; empty for a card without rows.
pub fn verdict(rows: &[Judged]) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let latency = of(
        rows,
        |row| row.latency.as_deref(),
        |first| match first {
            'A' => "good (A)",
            'B' => "fair (B)",
            'C' => "slow (C)",
            _ => "too slow (D)",
        },
    );
    let scaling = of(
        rows,
        |row| row.scaling.as_deref(),
        |first| match first {
            'A' => "takes more load (A)",
            'B' => "queues in part (B)",
            'C' => "mostly queues (C)",
            _ => "saturated (D)",
        },
    );
    vec![format!("Latency: {latency}"), format!("Scaling: {scaling}")]
}

/// For example `good (A) for index lookups and full scans; 2 of 4 not graded.`
fn of<'rows>(
    rows: &'rows [Judged],
    letter: impl Fn(&'rows Judged) -> Option<&'rows str>,
    words: impl Fn(char) -> &'static str,
) -> String {
    let mut parts = Vec::new();
    for range in ['A', 'B', 'C', 'D'] {
        let names: Vec<&str> = rows
            .iter()
            .filter(|row| letter(row).is_some_and(|letter| letter.starts_with(range)))
            .map(|row| row.workload.as_str())
            .collect();
        match names.as_slice() {
            [] => {}
            [_, _] if rows.len() == 2 => parts.push(format!("{} for both", words(range))),
            all if all.len() == rows.len() => parts.push(format!("{} for all {}", words(range), all.len())),
            [first @ .., last] if !first.is_empty() => {
                parts.push(format!("{} for {} and {last}", words(range), first.join(", ")));
            }
            names => parts.push(format!("{} for {}", words(range), names.join(", "))),
        }
    }
    let open = rows.iter().filter(|row| letter(row).is_none()).count();
    match open {
        0 => {}
        all if all == rows.len() => parts.push("not graded, for the reasons below".to_owned()),
        open => parts.push(format!("{open} of {} not graded", rows.len())),
    }
    format!("{}.", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(workload: &str, latency: &str, scaling: &str) -> Judged {
        let letter = |text: &str| (text != "?").then(|| text.to_owned());
        Judged { workload: workload.to_owned(), latency: letter(latency), scaling: letter(scaling) }
    }

    #[test]
    fn the_verdict_groups_workloads_by_range_and_counts_what_is_open() {
        let rows = [row("index lookups", "A+", "D"), row("full scans", "A", "?"), row("commits", "B-", "?")];
        assert_eq!(
            verdict(&rows),
            [
                "Latency: good (A) for index lookups and full scans; fair (B) for commits.",
                "Scaling: saturated (D) for index lookups; 2 of 3 not graded."
            ]
        );
    }

    #[test]
    fn all_alike_is_said_once_and_nothing_says_nothing() {
        assert_eq!(verdict(&[row("a", "A+", "?"), row("b", "A-", "?")])[0], "Latency: good (A) for both.");
        assert_eq!(verdict(&[row("a", "A", "?")])[1], "Scaling: not graded, for the reasons below.");
        assert_eq!(verdict(&[]), Vec::<String>::new());
    }
}
