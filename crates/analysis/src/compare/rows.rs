//! The numbers of both sides of a test, their change, and the verdict on it; all of them as a table.

use super::observation::{Missing, Observation, Within};
use super::{Design, Metric, RunOrder, Test, TestPair, order_of};
use crate::checks::grade_title;
use crate::not_storage::NotStorage;
use crate::statistics::{ALPHA, Change, between_rounds, between_sets, between_turns, rejected};
use measure::text;
use model::Grade;
use serde::{Deserialize, Serialize};

/// Verdict on one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The change is within the tolerance: two one-sided tests, each with an error of 5 %, leave nothing beyond it.
    Same,
    /// It changed for the better, by more than the tolerance: the whole interval is beyond it.
    Better,
    /// It changed for the worse, by more than the tolerance: the whole interval is beyond it.
    Worse,
    /// It changed, by less than the tolerance: as `Same`, and the interval holds no change of 0.
    Slight,
    /// It changed; the interval has changes below and beyond the tolerance.
    Differs,
    /// The interval holds no change and one beyond the tolerance, or there is no interval.
    #[default]
    CannotTell,
}

/// One number of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricRow {
    /// The number.
    pub metric: Metric,
    /// Geometric mean of the old runs, if all of them have it.
    pub old: Option<f64>,
    /// Geometric mean of the new runs.
    pub new: Option<f64>,
    /// The change, if the noise between runs is known.
    pub change: Option<Change>,
    /// The verdict.
    pub verdict: Verdict,
    /// True if it differs when all numbers of the comparison are taken together (Holm).
    pub is_sure: bool,
    /// Intervals within the run, of a side with one run.
    pub within: [Option<Within>; 2],
    /// Why there is no change: the number is not known, or there is one run a side.
    pub reason: Option<String>,
}

impl MetricRow {
    /// New ÷ old as a logarithm, whether or not its noise is known.
    pub fn ratio(&self) -> Option<f64> {
        self.change.map(|change| change.estimate).or_else(|| Some((self.new? / self.old?).ln()))
    }

    /// The change as a share, and the ends of its interval.
    pub fn shares(&self) -> [Option<f64>; 3] {
        let ends = self.change.map(|change| change.interval(ALPHA));
        [self.ratio(), ends.map(|ends| ends.0), ends.map(|ends| ends.1)].map(|logarithm| logarithm.and_then(share_of))
    }

    /// The part of a change between single runs that the noise within them leaves, as a logarithm: from the nearest
    /// ends of their intervals. `None` if these overlap. What the machine does from run to run is not in it.
    pub fn at_least(&self) -> Option<f64> {
        let [Some(old), Some(new)] = self.within else { return None };
        let above = |low: f64, high: Option<f64>| high.map(|high| low / high).filter(|&ratio| ratio > 1.0);
        above(new.low, old.high).or_else(|| above(old.low, new.high).map(f64::recip)).map(f64::ln)
    }

    /// The change counted so that negative is worse.
    pub fn gain(&self) -> Option<Change> {
        self.change.map(|change| if self.metric.grows_better() { change } else { change.reversed() })
    }
}

/// A test of both sides with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedTest {
    /// `random reads 8K ×16`.
    pub label: String,
    /// Runs of the old and the new side.
    pub runs: [usize; 2],
    /// The order in which they were made.
    pub order: RunOrder,
    /// The numbers.
    pub rows: Vec<MetricRow>,
    /// Errors of one side, or of both.
    pub failed: [Option<String>; 2],
    /// Other programs that made runs slower: `2 of 5 runs, neighbour: other programs made 40 % of the traffic of sda`.
    pub disturbed: [Option<String>; 2],
    /// Runs whose numbers are not of the storage, in the same form.
    pub not_storage: [Option<String>; 2],
}

/// A number of a test with its verdict, as all JSON documents have it; shares in place of percent.
#[derive(Clone, Debug, Serialize)]
pub struct RowDocument<'a> {
    test: &'a str,
    metric: String,
    unit: &'static str,
    runs: [usize; 2],
    order: RunOrder,
    old: Option<f64>,
    new: Option<f64>,
    change: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    p: Option<f64>,
    differs_together: bool,
    smallest_seen: Option<f64>,
    verdict: Verdict,
    reason: Option<&'a str>,
    within_run: [Option<Within>; 2],
    at_least: Option<f64>,
}

impl ComparedTest {
    /// Why nothing is said of it: its numbers are not of the storage.
    pub fn refusal(&self) -> Option<String> {
        refusal(&self.not_storage)
    }

    /// The documents of its numbers.
    pub fn documents(&self) -> impl Iterator<Item = RowDocument<'_>> {
        self.rows.iter().map(|row| {
            let [change, low, high] = row.shares();
            RowDocument {
                test: &self.label,
                metric: row.metric.word(),
                unit: if row.metric.grows_better() { "1/s" } else { "ns" },
                runs: self.runs,
                order: self.order,
                old: row.old,
                new: row.new,
                change,
                low,
                high,
                p: row.change.map(|change| change.probability()),
                differs_together: row.is_sure,
                smallest_seen: row.change.and_then(|change| share_of(change.smallest_visible())),
                verdict: row.verdict,
                reason: row.reason.as_deref(),
                within_run: row.within,
                at_least: row.at_least().and_then(share_of),
            }
        })
    }
}

/// Logarithm → share: 0.0953 is 0.1; `None` if it is not finite.
pub fn share_of(logarithm: f64) -> Option<f64> {
    Some(logarithm.exp_m1()).filter(|share| share.is_finite())
}

/// Logarithm → percent: 0.0953 is 10 %.
pub fn percent_of(logarithm: f64) -> f64 {
    100.0 * logarithm.exp_m1()
}

/// Compares these numbers of each test.
pub fn compare(tests: &[TestPair], metrics: &[Metric], tolerance: f64, design: Design) -> Vec<ComparedTest> {
    compare_each(tests, |_| metrics.to_vec(), tolerance, design)
}

/// Compares the usual numbers of each test, `wanted` ones, and the response times of jobs with a rate.
pub fn compare_usual(tests: &[TestPair], wanted: &[Metric], tolerance: f64, design: Design) -> Vec<ComparedTest> {
    let numbers = |test: &TestPair| {
        let runs = || test.old.runs.iter().chain(&test.new.runs);
        let is_stated = |metric: &Metric| runs().any(|run| run.number(*metric) != Err(Missing::NotStated));
        let responses = Metric::RESPONSES.into_iter().filter(|metric| wanted.contains(metric) || is_stated(metric));
        Metric::USUAL.into_iter().chain(responses).collect()
    };
    compare_each(tests, numbers, tolerance, design)
}

fn compare_each(
    tests: &[TestPair],
    metrics: impl Fn(&TestPair) -> Vec<Metric>,
    tolerance: f64,
    design: Design,
) -> Vec<ComparedTest> {
    let mut found: Vec<ComparedTest> =
        tests.iter().map(|test| compared(test, &metrics(test), tolerance.ln_1p(), design)).collect();
    let mut rows: Vec<&mut MetricRow> =
        found.iter_mut().filter(|test| test.refusal().is_none()).flat_map(|test| &mut test.rows).collect();
    rows.retain(|row| row.change.is_some());
    let probabilities: Vec<f64> =
        rows.iter().map(|row| row.change.map_or(1.0, |change| change.probability())).collect();
    for (row, is_sure) in rows.into_iter().zip(rejected(&probabilities, ALPHA)) {
        row.is_sure = is_sure;
    }
    found
}

fn compared(test: &TestPair, metrics: &[Metric], tolerance: f64, design: Design) -> ComparedTest {
    let order = order_of(test);
    let failed = [&test.old, &test.new].map(|side| side.runs.iter().find_map(|run| run.failed.clone()));
    let mut rows: Vec<MetricRow> = metrics.iter().map(|&metric| row(test, metric, tolerance, design, order)).collect();
    let runs = [test.old.runs.len(), test.new.runs.len()];
    let sides = [&test.old, &test.new];
    let disturbed = sides.map(|side| counted(side, |run| run.disturbed.clone()));
    let not_storage = sides.map(|side| counted(side, |run| run.not_storage.as_ref().map(NotStorage::to_string)));
    if let Some(why) = refusal(&not_storage) {
        rows.iter_mut().for_each(|row| (row.verdict, row.reason) = (Verdict::CannotTell, Some(why.clone())));
    }
    ComparedTest { label: test.old.label(), runs, order, rows, failed, disturbed, not_storage }
}

/// Why nothing is said of a test: `of the new side 1 of 5 runs, cache: 93 % of the reads ... [NOT A STORAGE RESULT]`.
fn refusal(not_storage: &[Option<String>; 2]) -> Option<String> {
    let grade = grade_title(Grade::NotAStorageResult);
    let mut sides = ["old", "new"].into_iter().zip(not_storage);
    sides.find_map(|(side, why)| Some(format!("of the {side} side {} [{grade}]", why.as_ref()?)))
}

/// `2 of 5 runs`, and what is found of the first of them.
fn counted(side: &Test, find: impl Fn(&Observation) -> Option<String>) -> Option<String> {
    let mut found = side.runs.iter().filter_map(find);
    let first = found.next()?;
    let count = found.count() + 1;
    Some(format!("{count} of {} runs, {first}", side.runs.len()))
}

fn row(test: &TestPair, metric: Metric, tolerance: f64, design: Design, order: RunOrder) -> MetricRow {
    let sides = [&test.old, &test.new];
    let numbers = sides.map(|side| side.numbers(metric));
    let within = sides.map(|side| match side.runs.as_slice() {
        [only] => only.within(metric),
        _ => None,
    });
    let [old, new] = numbers.clone().map(|side| side.ok().and_then(|values| geometric_mean(&values)));
    let change = match &numbers {
        [Ok(old), Ok(new)] => match (design, order) {
            (Design::Rounds { planned }, _) => between_rounds(old, new, planned),
            (Design::AsMade, RunOrder::Turns) => between_turns(old, new),
            (Design::AsMade, _) => between_sets(old, new),
        },
        _ => None,
    };
    let reason = match &change {
        Some(_) => None,
        None => Some(reason(&numbers, metric)),
    };
    let mut row = MetricRow { metric, old, new, change, verdict: Verdict::CannotTell, is_sure: false, within, reason };
    row.verdict = row.gain().map_or(Verdict::CannotTell, |gain| verdict(&gain, tolerance));
    row
}

fn reason(numbers: &[Result<Vec<f64>, Missing>; 2], metric: Metric) -> String {
    let (old, new) = match numbers {
        [Err(old), Err(new)] => return format!("{} {}", metric.title(), old.max(new).words()),
        [Err(why), Ok(_)] => return format!("{} of the old side {}", metric.title(), why.words()),
        [Ok(_), Err(why)] => return format!("{} of the new side {}", metric.title(), why.words()),
        [Ok(old), Ok(new)] => (old.len(), new.len()),
    };
    match (old, new) {
        (1, 1) => "one run each: nothing is known of the noise between runs".to_owned(),
        (1, _) | (_, 1) => "one run on a side: it needs 8 or more on the other, or 2 or more on both".to_owned(),
        _ => "the numbers of all runs are equal as printed: it needs 4 runs a side".to_owned(),
    }
}

/// The verdict on a change that is counted so that negative is worse, with the tolerance as a logarithm.
///
/// *Worse* and *better* are one-sided tests against the tolerance with an error of 2.5 % (Welch 1947), *same* and
/// *slight* two of them against both tolerances with 5 % each (TOST, Schuirmann 1987), *slight* and *differs* a
/// two-sided test against no change with 5 %. So where nothing changed, *worse* takes a change beyond the tolerance by
/// chance.
pub(crate) fn verdict(gain: &Change, tolerance: f64) -> Verdict {
    let (low, high) = gain.interval(ALPHA);
    let excludes_zero = low > 0.0 || high < 0.0;
    match is_within(gain, tolerance) {
        _ if low > tolerance => Verdict::Better,
        _ if high < -tolerance => Verdict::Worse,
        true if excludes_zero => Verdict::Slight,
        true => Verdict::Same,
        false if excludes_zero => Verdict::Differs,
        false => Verdict::CannotTell,
    }
}

/// True if both one-sided tests against the tolerance, a logarithm, with an error of 5 % each, say that it is within.
pub(super) fn is_within(change: &Change, tolerance: f64) -> bool {
    let (low, high) = change.interval(2.0 * ALPHA);
    low > -tolerance && high < tolerance
}

fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    let mean = (sum / measure::float(values.len() as u64)).exp();
    (mean.is_finite() && mean > 0.0).then_some(mean)
}

impl MetricRow {
    /// `(−13.1 to −10.1)`, in percent; `None` without an interval.
    pub fn interval_text(&self) -> Option<String> {
        let (low, high) = self.change?.interval(ALPHA);
        let ends = [low, high].map(percent_of);
        let [low, high] = ends.map(text::signed);
        ends.iter().all(|end| end.is_finite()).then(|| format!("({low} to {high})"))
    }

    /// `−11.6 %`, `162 times more`; `None` if a number is missing.
    pub fn change_text(&self) -> Option<String> {
        self.ratio().map(|ratio| text::change(ratio.exp_m1()))
    }

    /// `15 times more`, `−82.5 %`: the least change that the noise within single runs leaves; `None` if it leaves none.
    pub fn at_least_text(&self) -> Option<String> {
        self.at_least().map(|least| text::change(least.exp_m1()))
    }

    /// The smallest change that would be seen: `2.1 %`.
    pub fn visible_text(&self) -> Option<String> {
        let visible = self.change.map(|change| change.smallest_visible().exp_m1())?;
        visible.is_finite().then(|| if visible > 9.99 { "> 999 %".to_owned() } else { text::percent(visible) })
    }

    /// Number, old, new, change, interval, verdict and smallest change that would be seen.
    pub fn cells(&self) -> [String; 7] {
        let number = |number: Option<f64>| number.map(|number| self.metric.text(number));
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        [
            self.metric.title(),
            or_dash(number(self.old)),
            or_dash(number(self.new)),
            or_dash(self.change_text()),
            self.interval_text().unwrap_or_default(),
            if self.old.is_some() && self.new.is_some() {
                self.verdict.word().to_owned()
            } else {
                "not known".to_owned()
            },
            self.visible_text().unwrap_or_default(),
        ]
    }
}

/// A table of rows of [`MetricRow::cells`], or like them: words to the left, numbers to the right.
pub fn table(head: [&str; 7], rows: impl Iterator<Item = [String; 7]>) -> String {
    let lines: Vec<[String; 7]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    text::aligned(&lines, &[0, 5])
}

impl Metric {
    /// A rate or a latency with its unit.
    pub fn text(self, number: f64) -> String {
        if self == Metric::Iops { text::number(number) } else { text::time(number) }
    }
}

impl Verdict {
    /// The verdict with its sign.
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Same => "= same",
            Verdict::Better => "▲ better",
            Verdict::Worse => "▼ worse",
            Verdict::Slight => "≈ differs slightly",
            Verdict::Differs => "≠ differs",
            Verdict::CannotTell => "? cannot tell",
        }
    }
}
