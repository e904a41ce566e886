//! Sweeps over users that end early: each gets more users until its throughput stops growing.
//!
//! `analysis` decides when growth has ended.

use crate::conclusions::kinds;
use crate::parse_values::short_size;
use crate::test::{FinishedTest, SurveyTest};
use analysis::costs::{UserPoint, scalability};
use analysis::{growth_ends, has_stalled, no_answer, not_storage};
use measure::text;

/// Levels from `least`, doubling each time, up to and including `most`.
pub fn doubling(least: u32, most: u32) -> Vec<u32> {
    let mut levels: Vec<u32> = std::iter::successors(Some(least.max(1)), |level| level.checked_mul(2))
        .take_while(|level| *level < most)
        .collect();
    levels.push(most.max(1));
    levels
}

/// True if both tests belong to the same sweep over users: same kind and block size.
fn same_sweep(a: &SurveyTest, b: &SurveyTest) -> bool {
    (a.kind, a.block) == (b.kind, b.block)
}

/// Users and IOPS of the levels of a sweep.
fn levels(rows: &[FinishedTest], of: &SurveyTest) -> Vec<(u32, f64)> {
    rows.iter().filter(|row| same_sweep(&row.test, of)).map(|row| (row.test.users, row.iops())).collect()
}

/// Returns true if the sweep of `test` needs no further level.
pub(crate) fn is_over(rows: &[FinishedTest], test: &SurveyTest) -> bool {
    let rates: Vec<f64> = levels(rows, test).iter().map(|&(_, rate)| rate).collect();
    growth_ends(&rates).is_some()
}

/// Returns a sentence for each sweep, then one about the best of all. A sweep with a result that is not of the storage
/// has no answer, unless the checks that say so are accepted.
pub(crate) fn conclusions(rows: &[FinishedTest], accepted: &[&str]) -> Vec<String> {
    let mut firsts: Vec<&SurveyTest> = Vec::new();
    for row in rows {
        if !firsts.iter().any(|first| same_sweep(first, &row.test)) {
            firsts.push(&row.test);
        }
    }
    let mut sentences = Vec::new();
    let mut best: Option<(f64, String)> = None;
    let mut are_all_of_storage = true;
    for first in &firsts {
        let found = levels(rows, first);
        let what = format!("{} {}", short_size(u64::from(first.block)), kinds(first.kind));
        let refused = refused(rows, first, accepted);
        are_all_of_storage &= refused.is_empty();
        let said = Knee::conclusion(&found, &refused, "user", &|rate| shown(rate, first.block));
        let (Some(knee), Some(said)) = (Knee::of(&found), said) else { continue };
        sentences.push(format!("{what}: {said}."));
        let bytes = knee.rate * f64::from(first.block);
        if best.as_ref().is_none_or(|(most, _)| bytes > *most) {
            best = Some((bytes, format!("{what} with {}", text::counted(knee.level.into(), "user"))));
        }
    }
    if let (Some((bytes, what)), true) = (best, firsts.len() > 1 && are_all_of_storage) {
        sentences.push(format!("Most bytes per second: {what}, {}.", text::rate(bytes)));
    }
    sentences
}

/// The levels of a sweep whose numbers are not of the storage, each with the check that says so.
fn refused(rows: &[FinishedTest], of: &SurveyTest, accepted: &[&str]) -> Vec<(u32, String)> {
    let check = |row: &FinishedTest| Some((row.test.users, not_storage(&row.result.notes, accepted)?.note.check));
    rows.iter().filter(|row| same_sweep(&row.test, of)).filter_map(check).collect()
}

fn shown(iops: f64, block: u32) -> String {
    format!("{} IOPS, {}", text::number(iops), text::rate(iops * f64::from(block)))
}

/// The level at which a sweep stops growing.
#[derive(Clone, Debug, PartialEq)]
pub struct Knee {
    /// The level where growth ended, or the best level so far.
    level: u32,
    /// The rate at `level`.
    rate: f64,
    /// Higher levels, with their rates relative to the rate at `level`; empty if throughput still grows.
    beyond: Vec<(u32, f64)>,
    /// The same for levels that stalled, wherever they are.
    stalled: Vec<(u32, f64)>,
    /// True if `level` is the last one.
    is_last: bool,
    /// The peak that the scalability law predicts, if it has one.
    predicted: Option<f64>,
}

impl Knee {
    /// Evaluates levels in ascending order and their rates; `None` if there are none.
    pub fn of(levels: &[(u32, f64)]) -> Option<Knee> {
        let rates: Vec<f64> = levels.iter().map(|&(_, rate)| rate).collect();
        let has_stalled = |&at: &usize| has_stalled(&rates, at);
        let (stalled, steady): (Vec<usize>, Vec<usize>) = (0..rates.len()).partition(has_stalled);
        let points: Vec<UserPoint> =
            steady.iter().map(|&at| UserPoint { users: f64::from(levels[at].0), iops: rates[at] }).collect();
        let moved = points.iter().all(|point| point.iops > 0.0);
        let law = scalability(&points).filter(|_| moved);
        let predicted = law.and_then(|law| law.peak).map(|(users, _)| users);
        let end = growth_ends(&rates);
        let best = || (0..rates.len()).max_by(|&a, &b| rates[a].total_cmp(&rates[b]));
        let at = end.or_else(best)?;
        let (level, rate) = levels[at];
        let related = |at: &usize| (levels[*at].0, rates[*at] / rate);
        let beyond = steady.iter().filter(|&&later| end.is_some_and(|end| later > end)).map(related).collect();
        let stalled = stalled.iter().map(related).collect();
        Some(Knee { level, rate, beyond, stalled, is_last: at + 1 == levels.len(), predicted })
    }

    /// The sentence on these levels, or that there is no answer: some are `refused`, each with the check that says that
    /// its numbers are not of the storage. `None` without levels.
    pub fn conclusion(
        levels: &[(u32, f64)],
        refused: &[(u32, String)],
        what: &str,
        shown: &dyn Fn(f64) -> String,
    ) -> Option<String> {
        let (counts, checks): (Vec<String>, Vec<&str>) =
            refused.iter().map(|(level, check)| (level.to_string(), check.as_str())).unzip();
        let named = match counts.as_slice() {
            all if all.len() == levels.len() => String::new(),
            [one] => format!("{one} {what}{}", if one == "1" { "" } else { "s" }),
            several => format!("{} {what}s", text::listed(several)),
        };
        let Some(refusal) = no_answer(&named, &checks) else { return Some(Knee::of(levels)?.sentence(what, shown)) };
        let (level, rate) = levels.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1))?;
        Some(format!("{refusal}; the highest rate was {} with {}", shown(rate), text::counted(level.into(), what)))
    }

    /// Returns the conclusion as a sentence: `throughput stops growing at 8 users with 812 MiB/s; 16 and 32 bring +1.0
    /// % and −2.0 %`. `what` is what is counted, in the singular, `shown` formats a rate.
    fn sentence(&self, what: &str, shown: &dyn Fn(f64) -> String) -> String {
        let (level, rate) = (text::counted(self.level.into(), what), shown(self.rate));
        let stalled = match self.stalled[..] {
            [] => String::new(),
            _ => format!("; {}, which may be a stall: measure again", changes(&self.stalled)),
        };
        if self.beyond.is_empty() {
            let grows = match self.is_last {
                true => "and it was still growing",
                false => "and too few levels follow to say whether it is still growing",
            };
            return format!("the highest rate was {rate} with {level}, {grows}: try higher levels{stalled}");
        }
        let law = self.predicted.filter(|users| *users < 1e6).map_or_else(String::new, |users| {
            format!("; the scalability law puts the peak at {}", text::number(users.round()))
        });
        let beyond = changes(&self.beyond);
        format!("throughput stops growing at {level} with {rate}; {beyond}{law}{stalled}")
    }
}

/// Levels and their rates: `8 and 16 bring +1.0 % and −5.0 %`.
fn changes(levels: &[(u32, f64)]) -> String {
    let counts: Vec<String> = levels.iter().map(|(users, _)| users.to_string()).collect();
    let shares: Vec<String> = levels.iter().map(|(_, share)| text::signed(100.0 * (share - 1.0)) + " %").collect();
    let verb = if levels.len() == 1 { "brings" } else { "bring" };
    format!("{} {verb} {}", text::listed(&counts), text::listed(&shares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_double_and_end_with_the_most() {
        assert_eq!(doubling(1, 6), [1, 2, 4, 6]);
        assert_eq!(doubling(1, 8), [1, 2, 4, 8]);
        assert_eq!(doubling(3, 3), [3]);
        assert_eq!(doubling(1, 1), [1]);
    }

    #[test]
    fn the_sentence_names_the_count_and_what_is_outside() {
        let knee = Knee::of(&[(1, 100.0), (2, 200.0), (4, 300.0), (8, 303.0), (16, 285.0)]).unwrap();
        let said = knee.sentence("thread", &|rate| format!("{rate:.0} MiB/s"));
        let expected = "throughput stops growing at 4 threads with 300 MiB/s; 8 and 16 bring +1.0 % and −5.0 %";
        assert!(said.starts_with(expected), "{said}");
        assert_eq!((knee.level, knee.rate), (4, 300.0));
    }

    #[test]
    fn a_sweep_that_is_not_of_the_storage_has_no_answer() {
        let levels = [(1, 100.0), (2, 200.0), (4, 300.0), (8, 303.0), (16, 285.0)];
        let said = |refused: &[u32]| {
            let refused: Vec<(u32, String)> = refused.iter().map(|&level| (level, "cache".to_owned())).collect();
            Knee::conclusion(&levels, &refused, "user", &|rate| format!("{rate:.0} MiB/s")).unwrap()
        };
        let highest = "the highest rate was 303 MiB/s with 8 users";
        let of_storage = "the numbers are not of the storage (cache)";
        assert_eq!(said(&[1]), format!("no answer: with 1 user {of_storage}; {highest}"));
        assert_eq!(said(&[2, 16]), format!("no answer: with 2 and 16 users {of_storage}; {highest}"));
        assert_eq!(said(&[1, 2, 4, 8, 16]), format!("no answer: {of_storage}; {highest}"));
        assert!(said(&[]).starts_with("throughput stops growing at 4 users"), "{}", said(&[]));
    }

    #[test]
    fn a_level_that_stalled_is_named_and_ends_nothing() {
        let said =
            |levels: &[(u32, f64)]| Knee::of(levels).unwrap().sentence("user", &|rate| format!("{rate:.0} MiB/s"));
        assert_eq!(
            said(&[(1, 100.0), (2, 200.0), (4, 12.0), (8, 196.0)]),
            "the highest rate was 200 MiB/s with 2 users, and too few levels follow to say whether it is still growing: \
             try higher levels; 4 brings −94.0 %, which may be a stall: measure again"
        );
        let ended = said(&[(1, 100.0), (2, 200.0), (4, 12.0), (8, 196.0), (16, 201.0)]);
        assert!(
            ended.starts_with("throughput stops growing at 2 users with 200 MiB/s; 8 and 16 bring −2.0 % and +0.5 %")
        );
        assert!(ended.ends_with("; 4 brings −94.0 %, which may be a stall: measure again"), "{ended}");
        let rising = said(&[(1, 100.0), (2, 12.0), (4, 400.0)]);
        assert!(rising.contains("and it was still growing: try higher levels; 2 brings −97.0 %"), "{rising}");
    }

    #[test]
    fn growth_without_an_end_is_said_so() {
        let knee = Knee::of(&[(1, 100.0), (2, 200.0), (4, 400.0)]).unwrap();
        assert!(knee.sentence("user", &|rate| rate.to_string()).contains("it was still growing"));
        assert_eq!(knee.level, 4);
        assert_eq!(Knee::of(&[]), None);
    }
}
