//! Verdict of a report card: one sentence on latency, one on scaling.

use measure::text;

/// Grades of one workload, `A+` to `D`; `None` if not graded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadGrades {
    /// For example `index lookups`.
    pub workload: String,
    /// Grade of its latency.
    pub latency: Option<String>,
    /// Grade of its scaling.
    pub scaling: Option<String>,
}

/// The two sentences of a card; empty for a card without rows.
pub fn verdict(rows: &[WorkloadGrades]) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let latency = of(
        rows,
        |row| row.latency.as_deref(),
        |first| match first {
            'A' => "good",
            'B' => "fair",
            'C' => "slow",
            _ => "too slow",
        },
    );
    let scaling = of(
        rows,
        |row| row.scaling.as_deref(),
        |first| match first {
            'A' => "takes more load",
            'B' => "queues in part",
            'C' => "mostly queues",
            _ => "saturated",
        },
    );
    vec![format!("Latency: {latency}"), format!("Scaling: {scaling}")]
}

/// For example `good (A+, A) for index lookups and full scans; 2 of 4 not graded.`
fn of<'rows>(
    rows: &'rows [WorkloadGrades],
    letter: impl Fn(&'rows WorkloadGrades) -> Option<&'rows str>,
    words: impl Fn(char) -> &'static str,
) -> String {
    let mut parts = Vec::new();
    for range in ['A', 'B', 'C', 'D'] {
        let graded =
            |row: &'rows WorkloadGrades| Some((letter(row).filter(|it| it.starts_with(range))?, row.workload.as_str()));
        let (mut letters, names): (Vec<&str>, Vec<&str>) = rows.iter().filter_map(graded).unzip();
        // A+ before A before A-, as on the card.
        letters.sort_by_key(|letter| ["+", "", "-"].iter().position(|sign| *sign == &letter[1..]));
        letters.dedup();
        let word = format!("{} ({})", words(range), letters.join(", "));
        match names.as_slice() {
            [] => {}
            [_, _] if rows.len() == 2 => parts.push(format!("{word} for both")),
            all if all.len() == rows.len() => parts.push(format!("{word} for all {}", all.len())),
            names => parts.push(format!("{word} for {}", text::listed(names))),
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

    fn row(workload: &str, latency: &str, scaling: &str) -> WorkloadGrades {
        let letter = |text: &str| (text != "?").then(|| text.to_owned());
        WorkloadGrades { workload: workload.to_owned(), latency: letter(latency), scaling: letter(scaling) }
    }

    #[test]
    fn the_verdict_groups_workloads_and_counts_what_is_open() {
        let rows = [row("index lookups", "A+", "D"), row("full scans", "A", "?"), row("commits", "B-", "?")];
        assert_eq!(
            verdict(&rows),
            [
                "Latency: good (A+, A) for index lookups and full scans; fair (B-) for commits.",
                "Scaling: saturated (D) for index lookups; 2 of 3 not graded."
            ]
        );
    }

    #[test]
    fn all_alike_is_said_once_and_nothing_says_nothing() {
        assert_eq!(verdict(&[row("a", "A+", "?"), row("b", "A-", "?")])[0], "Latency: good (A+, A-) for both.");
        assert_eq!(verdict(&[row("a", "A", "?")])[1], "Scaling: not graded, for the reasons below.");
        assert_eq!(verdict(&[]), Vec::<String>::new());
    }
}
