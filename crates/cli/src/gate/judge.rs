//! The conclusion of the gate from the tests of both sides.

use analysis::compare::{ComparedTest, Design, Difference, Matches, Metric, MetricRow, compare, percent_of, summary};
use analysis::statistics::{Answer, GateNumber, Rank, answer_of_all, answers, runs_to_settle};

/// The numbers that are judged.
#[derive(Clone, Copy)]
pub(super) enum GateMetrics<'a> {
    /// These, of which latencies only where all runs have them.
    WhereKnown(&'a [Metric]),
    All(&'a [Metric]),
}

/// One number of a test, judged.
pub(super) struct JudgedRow {
    pub(super) test: ComparedTest,
    pub(super) rank: Rank,
    pub(super) answer: Answer,
    /// Runs a side that would settle it; `None` if it is settled, or if no number of runs would.
    pub(super) runs_to_go: Option<usize>,
    /// How the runs belong together.
    pub(super) design: Design,
    /// The reason, if it is not the interval.
    pub(super) reason: Option<String>,
}

impl JudgedRow {
    pub(super) fn row(&self) -> Option<&MetricRow> {
        self.test.rows.first()
    }
}

/// The question about all numbers.
#[derive(Clone, Copy)]
struct Asked {
    tolerance: f64,
    design: Design,
}

/// A number of a test that is to be judged.
struct Candidate {
    test: ComparedTest,
    row: MetricRow,
}

pub(super) struct Conclusion {
    pub(super) answer: Answer,
    pub(super) tolerance: f64,
    pub(super) rows: Vec<JudgedRow>,
    pub(super) surroundings: Vec<Difference>,
    pub(super) notes: Vec<String>,
}

impl Conclusion {
    /// The rows that the answer of the whole comes from.
    pub(super) fn decisive(&self) -> impl Iterator<Item = &JudgedRow> {
        self.rows
            .iter()
            .filter(|row| row.answer == self.answer && (row.rank == Rank::First || self.answer == Answer::Worse))
    }

    /// The rows of the second rank of which nothing is known.
    pub(super) fn open(&self) -> impl Iterator<Item = &JudgedRow> {
        self.rows.iter().filter(|row| row.rank == Rank::Second && row.answer == Answer::CannotTell)
    }

    /// The largest loss within an interval, in percent; `None` without any interval.
    pub(super) fn largest_loss(&self) -> Option<f64> {
        let gains = self.decisive().filter_map(|judged| judged.row()?.gain());
        // A loss of a rate is old ÷ new − 1, like that of a latency, so that it compares with the tolerance.
        gains.map(|gain| percent_of(-gain.interval(analysis::statistics::ALPHA).0)).reduce(f64::max)
    }
}

pub(super) fn conclude(matches: &Matches, wanted: GateMetrics<'_>, tolerance: f64, design: Design) -> Conclusion {
    let (GateMetrics::WhereKnown(metrics) | GateMetrics::All(metrics)) = wanted;
    let may_lack = |metric: Metric| matches!(wanted, GateMetrics::WhereKnown(_)) && metric != Metric::Iops;
    let tests = compare(&matches.both, metrics, tolerance, design);
    let mut notes = summary(&tests, tolerance).remarks;
    let mut candidates: Vec<Candidate> = Vec::new();
    for test in &tests {
        for row in &test.rows {
            let is_known = row.old.is_some() && row.new.is_some();
            if !is_known && may_lack(row.metric) {
                let reason = row.reason.as_deref().unwrap_or("it is not known");
                notes.push(format!("Not judged: {}, {reason}", test.label));
                continue;
            }
            candidates.push(Candidate { test: test.clone(), row: row.clone() });
        }
    }
    let rank = |row: &MetricRow| if Some(&row.metric) == metrics.first() { Rank::First } else { Rank::Second };
    let numbers: Vec<GateNumber> =
        candidates.iter().map(|one| GateNumber { rank: rank(&one.row), change: one.row.gain() }).collect();
    let found = answers(&numbers, tolerance);
    let mut rows: Vec<JudgedRow> = tests.iter().filter_map(new_errors).collect();
    let judge = |((candidate, number), answer)| judged(candidate, number, answer, Asked { tolerance, design });
    rows.extend(candidates.into_iter().zip(numbers).zip(found).map(judge));
    rows.extend(matches.only_old.iter().map(|label| missing(label)));
    let answer = answer_of_all(&rows.iter().map(|row| (row.rank, row.answer)).collect::<Vec<_>>());
    Conclusion { answer, tolerance, rows, surroundings: Vec::new(), notes }
}

fn judged(candidate: Candidate, number: GateNumber, answer: Answer, asked: Asked) -> JudgedRow {
    let Candidate { test, row } = candidate;
    let open = number.change.filter(|_| answer == Answer::CannotTell);
    // Numbers that are judged together need more than one that is judged alone.
    let more = test.runs.iter().copied().min().unwrap_or(0) + 1;
    let runs_to_go = open.and_then(|gain| runs_to_settle(&gain, asked.tolerance)).map(|runs| runs.max(more));
    // What disturbs a run makes it slower: a loss of the new side, or none against a baseline that was slowed down, may
    // be its doing.
    // Only those that other programs caused are left here: the gate ends before with what another run would not change.
    let refusal = test.refusal().map(|why| format!("{why}; measure it again"));
    let doubt = match answer {
        Answer::Worse | Answer::Ok if refusal.is_some() => refusal,
        Answer::Worse => {
            test.disturbed[1].as_ref().map(|how| format!("the new side was disturbed ({how}); measure it again"))
        }
        Answer::Ok => {
            test.disturbed[0].as_ref().map(|how| format!("the baseline was disturbed ({how}); measure it again"))
        }
        Answer::CannotTell => None,
    };
    // A loss that only a disturbance puts in doubt holds the answer back, whatever its rank.
    let rank = if doubt.is_some() && answer == Answer::Worse { Rank::First } else { number.rank };
    let answer = if doubt.is_some() { Answer::CannotTell } else { answer };
    let reason = doubt.or_else(|| row.reason.clone());
    JudgedRow { test: ComparedTest { rows: vec![row], ..test }, rank, answer, runs_to_go, design: asked.design, reason }
}

/// Errors that the baseline does not have are worse, without statistics.
fn new_errors(test: &ComparedTest) -> Option<JudgedRow> {
    let [None, Some(why)] = &test.failed else { return None };
    let reason = Some(format!("errors that the baseline does not have: {why}"));
    Some(JudgedRow {
        test: ComparedTest { rows: Vec::new(), ..test.clone() },
        rank: Rank::First,
        answer: Answer::Worse,
        runs_to_go: None,
        design: Design::AsMade,
        reason,
    })
}

fn missing(label: &str) -> JudgedRow {
    let test = ComparedTest {
        label: label.to_owned(),
        runs: [1, 0],
        order: analysis::compare::RunOrder::NotKnown,
        rows: Vec::new(),
        failed: [None, None],
        disturbed: [None, None],
        not_storage: [None, None],
    };
    let reason = Some("it is in the baseline and not in the results".to_owned());
    JudgedRow { test, rank: Rank::First, answer: Answer::CannotTell, runs_to_go: None, design: Design::AsMade, reason }
}
