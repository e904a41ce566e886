//! The sentences at the end of a survey: lasting rates of phases, and two on the sweep over users or an option.

use crate::kind::TestKind;
use crate::parse_values::short_size;
use crate::test::{FinishedTest, SurveyTest};
use analysis::{Level, Rank, best_value, median_round, not_storage};
use measure::text;

/// Returns the concluding sentences of a survey; empty if nothing was measured. Results that are not of the storage have
/// none, unless the checks that say so are accepted.
pub(crate) fn conclusions(rows: &[FinishedTest], accepted: &[&str]) -> Vec<String> {
    let Some(first) = best_sweep(rows) else { return Vec::new() };
    let group: Vec<&FinishedTest> = rows.iter().filter(|row| same_but_users(&row.test, first)).collect();
    let users = medians(&group, accepted);
    if users.len() > 1 || rows.iter().all(|row| same_but_users(&row.test, first)) {
        return analysis::sentences(&plural(first), &users);
    }
    let alike: Vec<&FinishedTest> = rows.iter().filter(|row| row.test.is_like(first)).collect();
    of_sweep(first.title(), &alike, accepted)
}

/// Rates that describe tests better than their averages, of the first three tests with phases that differ.
pub(crate) fn lasting(rows: &[FinishedTest]) -> Vec<String> {
    const MOST: usize = 3;
    let lines = rows
        .iter()
        .filter_map(|row| Some(format!("Of {}: {}.", row.test.describe(), row.result.lasting.as_ref()?.sentence)));
    lines.take(MOST).collect()
}

/// The tests as the subject of a sentence: `8k random reads`.
fn plural(test: &SurveyTest) -> String {
    let block = short_size(u64::from(test.block));
    let what = match &test.name {
        Some(name) => format!("{}s of {name}", if test.kind.writes() { "I/O" } else { "read" }),
        None => kinds(test.kind).to_owned(),
    };
    let extras: Vec<String> = test
        .extras
        .iter()
        .filter(|(name, _)| !["sync", "direct"].contains(&name.as_str()))
        .map(|(name, value)| format!(" {name}={value}"))
        .collect();
    format!("{block} {what}{}", extras.concat())
}

/// The I/Os of a kind, in the plural.
pub(crate) const fn kinds(kind: TestKind) -> &'static str {
    match kind {
        TestKind::RandomRead => "random reads",
        TestKind::SequentialRead => "sequential reads",
        TestKind::LogWrite => "log writes",
        TestKind::SequentialWrite => "sequential writes",
        TestKind::RandomWrite => "random writes",
        TestKind::Mixed => "mixed random reads",
        TestKind::SequentialMixed => "mixed sequential reads",
    }
}

/// Returns a test of the group with the most user counts; random reads are preferred among equals.
fn best_sweep(rows: &[FinishedTest]) -> Option<&SurveyTest> {
    let levels = |test: &SurveyTest| {
        let mut users: Vec<u32> =
            rows.iter().filter(|row| same_but_users(&row.test, test)).map(|row| row.test.users).collect();
        users.sort_unstable();
        users.dedup();
        users.len()
    };
    // The first few hundred of thousands of tests are enough to find the sweep, and the search below is quadratic.
    let candidates = rows.iter().take(500).map(|row| &row.test);
    let mut best: Option<(usize, &SurveyTest)> = None;
    for test in candidates {
        let found = (levels(test), test);
        let better = |(count, kept): (usize, &SurveyTest)| {
            found.0 > count
                || (found.0 == count && kept.kind != TestKind::RandomRead && test.kind == TestKind::RandomRead)
        };
        if best.is_none_or(better) {
            best = Some(found);
        }
    }
    best.map(|(_, test)| test)
}

fn same_but_users(a: &SurveyTest, b: &SurveyTest) -> bool {
    a.is_like(b) && a.block == b.block && a.set == b.set && a.extras == b.extras
}

/// One point per user count: the median of its repetitions.
fn medians(rows: &[&FinishedTest], accepted: &[&str]) -> Vec<Level> {
    let mut users: Vec<u32> = rows.iter().map(|row| row.test.users).collect();
    users.sort_unstable();
    users.dedup();
    let middle = |users: u32| {
        let of = rows.iter().filter(|row| row.test.users == users);
        median(of.filter_map(|row| point(row, accepted)).collect())
    };
    users.into_iter().filter_map(middle).collect()
}

/// The median of the rounds of one test, with the rates of all.
fn median(rounds: Vec<Level>) -> Option<Level> {
    let rates: Vec<f64> = rounds.iter().map(|point| point.iops).collect();
    let at = median_round(&rates)?;
    let not_storage = rounds.iter().find_map(|point| point.not_storage.clone());
    rounds.into_iter().nth(at).map(|point| Level { rates, not_storage, ..point })
}

fn point(row: &FinishedTest, accepted: &[&str]) -> Option<Level> {
    let direction = *row.test.kind.directions().first()?;
    let notes = &row.result.notes;
    let level = Level::of(f64::from(row.test.users), &row.result, direction, notes)?;
    Some(Level { not_storage: not_storage(notes, accepted).map(|found| found.note.check), ..level })
}

/// Without a sweep over users: the levels with the most IOPS and the most bandwidth, beyond the rounds' noise.
fn of_sweep(title: &str, rows: &[&FinishedTest], accepted: &[&str]) -> Vec<String> {
    let mut levels: Vec<(&SurveyTest, Vec<Level>)> = Vec::new();
    for row in rows {
        let Some(point) = point(row, accepted) else { continue };
        match levels.iter_mut().find(|(test, _)| test.repeats(&row.test)) {
            Some((_, rounds)) => rounds.push(point),
            None => levels.push((&row.test, vec![point])),
        }
    }
    let named: Vec<(String, Level)> =
        levels.into_iter().filter_map(|(test, rounds)| Some((test.describe(), median(rounds)?))).collect();
    let what = format!("the {} levels of {title}", named.len());
    [Rank::Ios, Rank::Bytes].into_iter().filter_map(|rank| best_value(&what, rank, &named)).collect()
}

/// Returns the sentence on the test with the widest spread between its repetitions; `None` if no test was repeated.
pub fn spread(rows: &[FinishedTest]) -> Option<String> {
    let firsts = rows.iter().filter(|row| row.test.round == 1);
    let spreads = firsts.filter_map(|first| {
        let rates: Vec<f64> = rows
            .iter()
            .filter(|row| row.test.repeats(&first.test))
            .filter_map(|row| point(row, &[]).map(|point| point.iops))
            .collect();
        let (least, most) = rates.iter().fold((f64::MAX, 0.0_f64), |(a, b), &rate| (a.min(rate), b.max(rate)));
        (rates.len() > 1 && most > 0.0).then(|| ((most - least) / most, rates.len(), first))
    });
    let (widest, rounds, row) = spreads.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let test = row.test.describe();
    Some(format!("The rates of {rounds} repetitions of one test differ by {} at most ({test}).", text::percent(widest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Nanos;
    use model::{Lasting, PhaseKind, RunResult};

    #[test]
    fn the_rates_that_last_are_said_of_three_tests_at_most() {
        let row = |users: u32, iops: Option<f64>| {
            let lasting = iops.map(|iops| Lasting {
                from: Nanos::ZERO,
                until: Nanos::SECOND,
                kind: PhaseKind::Settled,
                iops,
                bytes_per_second: 0.0,
                p50: None,
                p99: None,
                average_iops: 2.0 * iops,
                sentence: format!("{iops} IOPS in the last settled phase"),
            });
            let test = SurveyTest::at(TestKind::RandomRead, 8192, users);
            FinishedTest::here(test, RunResult { lasting, ..RunResult::default() })
        };
        let rows: Vec<FinishedTest> =
            (1..=5).map(|users| row(users, (users > 1).then_some(f64::from(users)))).collect();
        let found = lasting(&rows);
        assert_eq!(found.len(), 3);
        assert!(found[0].starts_with("Of ") && found[0].ends_with(": 2 IOPS in the last settled phase."), "{found:?}");
        assert_eq!(lasting(&rows[..1]), Vec::<String>::new());
    }
}
