//! The result as text and as JSON.

use super::search::{Ending, SearchResult, TrialRow, stage_words};
use super::slo::Slo;
use crate::failure::Cut;
use crate::output::Verbosity;
use crate::streams;
use analysis::capacity::{Answer, Basis, Ceiling, Conclusion, Confirmation, Reason, Regime, Stage};
use analysis::statistics::Crossing;
use formats::printable;
use measure::{Direction, text};
use model::PhaseKind;
use serde_json::{Value, json};
use session::colour::Tone;
use std::fmt::Write;
use survey::Arrivals;

/// Columns of the largest parts of usual I/Os and of the slowest 1 of 100.
pub(super) const PARTS: [&str; 2] = ["usually in", "slowest 1 % in"];
/// Load that is recommended, as a share of the capacity.
const PLANNED: f64 = 0.8;
/// Factor at which the growth of slow I/Os is shown.
const BEYOND: f64 = 1.05;
/// Largest distance of a trial from the capacity, as a share, that shows what breaks first.
const NEAR: f64 = 0.1;

/// A search that has ended, to be shown.
pub(crate) struct Report<'a> {
    /// The target as it is shown.
    pub(crate) target: &'a str,
    pub(crate) found: &'a SearchResult,
}

/// The answers.
const ANSWERS: [(&str, Tone); 4] = [
    (" holds ", Tone::Good),
    (" does not keep ", Tone::Bad),
    ("Cannot tell:", Tone::Limited),
    ("Ended by signal", Tone::Limited),
];

impl Report<'_> {
    /// The answers that the text may have: what is not of the storage holds nothing.
    pub(crate) fn verdicts(&self) -> &'static [(&'static str, Tone)] {
        if self.found.findings.refused.is_empty() { &ANSWERS } else { &[("No answer for ", Tone::Limited)] }
    }

    pub(crate) fn load(&self) -> String {
        let load = &self.found.question.load;
        let what = match load.read_percent {
            100 => "random reads".to_owned(),
            0 => "random writes".to_owned(),
            reads => format!("random I/O, {reads} % reads"),
        };
        let arrivals = match load.arrivals {
            Arrivals::Poisson => "Poisson arrivals",
            Arrivals::Even => "even arrivals",
        };
        // The engine is named where plumb chose another one than the usual.
        let engine = self.found.engine_because.as_ref().map(|_| format!(", engine {}", load.engine));
        let size = survey::short_size(u64::from(load.block));
        format!("{size} {what}, open loop, {arrivals}{}", engine.unwrap_or_default())
    }

    /// The rows by rate, without the one of one I/O at a time.
    pub(crate) fn rows(&self) -> Vec<&TrialRow> {
        let mut rows: Vec<&TrialRow> = self.found.rows.iter().filter(|row| row.stage.is_some()).collect();
        rows.sort_by(|one, other| one.offered.total_cmp(&other.offered));
        rows
    }

    /// The row next to the answer; of the largest rate if there is no answer.
    pub(crate) fn at_the_limit(&self) -> Option<&TrialRow> {
        let rows = self.rows();
        let crossing = self.conclusion().and_then(|found| found.crossing);
        let at = crossing.and_then(|crossing| nearest(&rows, crossing.rate));
        at.and_then(|at| rows.get(at)).or(rows.last()).copied()
    }

    /// Share of the I/Os of a row beyond the limit that counts.
    pub(crate) fn share(row: &TrialRow, limit: usize) -> f64 {
        row.measured.counts.get(limit).map_or(0.0, analysis::capacity::Counts::share)
    }

    pub(crate) fn text(&self, verbosity: Verbosity) -> String {
        let limit = self.limit();
        let mut text = String::new();
        if !verbosity.is_quiet() {
            let trials = self.found.rows.len();
            let _ = writeln!(text, "{}; {} in {trials} trials", self.load(), text::span(self.found.spent));
        }
        let rows = self.rows();
        let over = self.found.question.slos.get(limit).map(|slo| format!("over {}", text::time(slo.limit.as_f64())));
        let over = over.unwrap_or_default();
        let mut table = vec![["offered", "done", &over, "p50", "p99", "p99.9", PARTS[0], PARTS[1]].map(str::to_owned)];
        table.extend(rows.iter().map(|row| cells(row, limit)));
        let crossing = self.conclusion().and_then(|found| found.crossing);
        let marked = crossing.and_then(|crossing| nearest(&rows, crossing.rate));
        let table = if rows.is_empty() { Vec::new() } else { table };
        let table = match self.found.question.layers {
            true => text::aligned(&table, &[6, 7]),
            false => text::aligned(&table.into_iter().map(without_parts).collect::<Vec<_>>(), &[]),
        };
        for (at, line) in table.lines().enumerate() {
            let mark = if marked.is_some_and(|marked| marked + 1 == at) { "  ← the limit" } else { "" };
            let _ = writeln!(text, "{line}{mark}");
        }
        for sentence in self.sentences() {
            text += &crate::width::wrapped(&sentence, "", crate::width::of_text(crate::width::of_stdout()));
        }
        printable::lines(&text).into_owned()
    }

    pub(crate) fn sentences(&self) -> Vec<String> {
        match &self.found.ending {
            Ending::Concluded(found) => {
                let of_storage = self.found.findings.refused.is_empty();
                let refusal = (!of_storage).then(|| {
                    format!("No answer for {}: the numbers are not of the storage. Of what was measured:", self.target)
                });
                refusal.into_iter().chain(self.concluding(found)).collect()
            }
            Ending::Cut(Cut::Signal(signal)) => vec![format!("Ended by signal {signal} before the answer.")],
            Ending::Cut(_) => vec!["A trial failed before the answer.".to_owned()],
        }
    }

    fn concluding(&self, found: &Conclusion) -> Vec<String> {
        let all: Vec<String> = self.found.question.slos.iter().map(Slo::words).collect();
        let limits = all.join(" and ");
        let of_limit = found.limit.and_then(|limit| all.get(limit).cloned()).unwrap_or_else(|| limits.clone());
        let (target, short) = (&self.target, text::short_number);
        vec![match (found.answer, found.crossing) {
            (Answer::Holds, Some(crossing)) => return self.holding(found, &crossing, &limits),
            (Answer::Holds, None) => return Vec::new(),
            (Answer::AtLeast(at, Ceiling::Largest), _) => {
                format!("{target} holds at least {} IOPS with {limits}: no larger rate was asked for.", short(at))
            }
            (Answer::AtLeast(at, Ceiling::Tester), _) => format!(
                "{target} holds at least {} IOPS with {limits}; the tester was the limit: {}.",
                short(at),
                self.by_itself()
            ),
            (Answer::AtLeast(at, Ceiling::Submission), _) => format!(
                "{target} holds at least {} IOPS with {limits}; at larger rates I/Os were sent late, as their system calls or \
                 other programs took the processors: {}.",
                short(at),
                self.by_itself()
            ),
            (Answer::Never(None), _) => format!(
                "{target} does not keep {of_limit} at any rate: one I/O at a time already takes longer{}.",
                self.alone()
            ),
            (Answer::Never(Some(at)), _) => {
                format!("{target} does not keep {of_limit} even at {} IOPS, the lowest rate that was tried.", short(at))
            }
            (Answer::CannotTell(reason), crossing) => {
                let near = crossing
                    .map(|crossing| format!(" It is near {} IOPS ({}).", short(crossing.rate), interval(&crossing)));
                format!("Cannot tell: {}.{}", self.why(reason), near.unwrap_or_default())
            }
        }]
    }

    /// `alone, with the engine null, the tester did 380k of 400k IOPS, with 12 % over the limit and 3 % sent late`.
    fn by_itself(&self) -> String {
        let Some(sender) = self.found.sender else { return "it sent I/Os late".to_owned() };
        format!(
            "alone, with the engine null, the tester did {} of {} IOPS, with {} over the limit and {} sent late",
            text::short_number(sender.done),
            text::short_number(sender.offered),
            text::percent(sender.over),
            text::percent(sender.late)
        )
    }

    /// The percentile of the limit with one I/O at a time.
    fn alone(&self) -> String {
        let row = self.found.rows.iter().find(|row| row.stage.is_none());
        let found = row.and_then(|row| row.measured.at_limits.get(self.limit()).copied().flatten());
        let percentile = self.found.question.slos.get(self.limit()).map(Slo::percentile).unwrap_or_default();
        found.map(|found| format!(", {percentile} {}", text::time(found))).unwrap_or_default()
    }

    fn holding(&self, found: &Conclusion, crossing: &Crossing, limits: &str) -> Vec<String> {
        let confirmed = found.confirmed.as_ref().map_or_else(
            || " Not confirmed by a longer run.".to_owned(),
            |run| format!(" Confirmed: {}.", self.confirmation(run)),
        );
        let (share_planned, planned) = (text::percent(PLANNED), text::short_number(PLANNED * crossing.rate));
        let mut second = match found.basis {
            Basis::Fit => {
                let (times, share) = self.beyond(crossing);
                format!(
                    "At {BEYOND} times that rate {} of the I/Os are too slow, {} times as many: plan for {planned} \
                     ({share_planned}).",
                    text::percent(share),
                    text::number(times)
                )
            }
            Basis::Cliff => format!(
                "Beyond it a backlog grows, and the longer it lasts, the more I/Os are too slow: plan for {planned} \
                 ({share_planned})."
            ),
        };
        match self.breaks_first(crossing.rate) {
            Some(what) => second += &format!(" What breaks first: {what}"),
            None => second += " What breaks first is not visible from here.",
        }
        vec![
            format!(
                "{} holds {} IOPS with {limits} ({}).{confirmed}",
                self.target,
                text::short_number(crossing.rate),
                interval(crossing)
            ),
            second,
        ]
    }

    /// How many times as many I/Os are too slow a little above the capacity, and their share.
    fn beyond(&self, crossing: &Crossing) -> (f64, f64) {
        let beyond = self.found.question.slos.get(self.limit()).map_or(0.01, Slo::beyond);
        let times = crossing.growth(BEYOND, beyond);
        (times, times * beyond)
    }

    /// `40.9k for 60 s, p99 1.84 ms, 0.71 % of the I/Os over the limit, rate settled`.
    fn confirmation(&self, run: &Confirmation) -> String {
        let limit = self.limit();
        let share = run.shares.get(limit).copied().unwrap_or(0.0);
        let slo = self.found.question.slos.get(limit);
        let (response, phase) = self.confirmed(run);
        let reached = slo.zip(response).map(|(slo, at)| format!(", {} {}", slo.percentile(), text::time(at)));
        format!(
            "{} for {}{}, {} of the I/Os over the limit{}",
            text::short_number(run.rate),
            text::span(run.seconds),
            reached.unwrap_or_default(),
            text::percent(share),
            match phase {
                Some(PhaseKind::CannotTell) => ", too short to tell if the rate is settled".to_owned(),
                Some(kind) => format!(", rate {}", kind.title()),
                None => String::new(),
            }
        )
    }

    /// Response time of a longer run at the percentile of the limit, and its last phase.
    fn confirmed(&self, run: &Confirmation) -> (Option<f64>, Option<PhaseKind>) {
        let is_of_run = |row: &&TrialRow| row.stage == Some(Stage::Confirm) && row.offered.total_cmp(&run.rate).is_eq();
        let Some(row) = self.found.rows.iter().find(is_of_run) else { return (None, None) };
        let response = row.measured.at_limits.get(self.limit()).copied().flatten();
        (response, row.measured.phases.last().map(|phase| phase.kind))
    }

    /// The limit of the trials at the capacity and above, nearest first.
    fn breaks_first(&self, capacity: f64) -> Option<String> {
        let rows = self.rows();
        let near = rows.iter().filter(|row| (capacity..=capacity * (1.0 + NEAR)).contains(&row.offered));
        let found = near.filter_map(|row| row.measured.limited_by.as_ref()).next()?;
        let dot = if found.sentence.ends_with('.') { "" } else { "." };
        Some(format!("{} ({}){dot}", found.limiter.title(), found.sentence.trim_end_matches('.')))
    }

    /// The engine, if it is not the usual one, findings that the results are not of the storage, then those that are
    /// accepted.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let engine = self.found.engine_because.as_ref();
        let engine = engine.map(|why| format!("engine {}: {why}", self.found.question.load.engine));
        engine.into_iter().chain([&self.found.findings.refused[..], &self.found.findings.accepted].concat()).collect()
    }

    /// The end of the search, unless something interrupted it.
    pub(crate) fn conclusion(&self) -> Option<&Conclusion> {
        match &self.found.ending {
            Ending::Concluded(found) => Some(found),
            Ending::Cut(_) => None,
        }
    }

    /// Index of the limit that is reached first.
    pub(crate) fn limit(&self) -> usize {
        self.conclusion().and_then(|found| found.limit).unwrap_or(0)
    }

    fn why(&self, reason: Reason) -> String {
        match reason {
            Reason::LongTrials { seconds, rate: at } => {
                format!(
                    "at {} IOPS each trial needs {}, until 100 I/Os are beyond the percentile; ask for a lower percentile, or give --time",
                    text::short_number(at),
                    text::span(seconds)
                )
            }
            Reason::NoSlope => {
                "the share of slow I/Os does not grow with the rate: they have another cause, like other programs on the device; \
                 stop them and ask again"
                    .to_owned()
            }
            Reason::Wide(width) => format!(
                "the rate is known to ±{} only, not to ±{}; a longer --time or a wider --precision helps if the target is calm",
                text::percent(width),
                text::chosen_percent(self.found.question.precision)
            ),
            Reason::Time => "the time was over; give a longer --time".to_owned(),
            Reason::Late(share) => {
                let by_itself = self.found.sender.map(|_| format!(" ({})", self.by_itself())).unwrap_or_default();
                format!(
                    "the tester sent {} of the I/Os late{by_itself}: its processors are too slow or busy; stop other \
                     programs, or ask from a larger machine",
                    text::percent(share)
                )
            }
            Reason::NotStationary(at) => format!(
                "the trials kept the limit, and longer runs missed it down to {} IOPS: the target changes over time; ask again \
                 with a longer --confirm and --time",
                text::short_number(at)
            ),
            Reason::Changed(at) => {
                let sentence = self.change(at).map(|sentence| format!(" ({sentence})")).unwrap_or_default();
                format!(
                    "the target changed during trials at about {} IOPS{sentence}; ask again when it has settled, with a longer \
                     --time and --confirm",
                    text::short_number(at)
                )
            }
        }
    }

    /// Sentence on the phases of the trial nearest to a rate that had several.
    fn change(&self, at: f64) -> Option<String> {
        let changed = self.found.rows.iter().filter(|row| row.measured.regime() != Regime::One);
        let nearest = changed.min_by(|one, other| one.distance(at).total_cmp(&other.distance(at)))?;
        let sentence = analysis::regime::lasting(&nearest.measured.phases)?.sentence;
        Some(sentence.trim_end_matches('.').to_owned())
    }

    pub(crate) fn document(&self) -> Result<String, crate::failure::Failure> {
        let load = &self.found.question.load;
        let found = self.conclusion();
        let crossing = found.and_then(|found| found.crossing);
        let slo = |slo: &Slo| json!({"direction": slo.direction.map(Direction::word), "percentile": slo.percent, "limit_ns": slo.limit.get()});
        let (least, ceiling, reason) = match found.map(|found| found.answer) {
            Some(Answer::AtLeast(rate, ceiling)) => (Some(rate), Some(ceiling_word(ceiling)), None),
            Some(Answer::CannotTell(reason)) => (None, None, Some(self.why(reason))),
            _ => (None, None, None),
        };
        let confirmed = found.and_then(|found| found.confirmed.as_ref());
        streams::document(
            "capacity",
            json!({
                "target": self.target,
                "place": crate::pages::place_document(&self.found.place, self.target),
                "slo": self.found.question.slos.iter().map(slo).collect::<Vec<_>>(),
                "block_bytes": load.block,
                "read_percent": load.read_percent,
                "arrivals": if load.arrivals == Arrivals::Poisson { "poisson" } else { "even" },
                "engine": load.engine,
                "engine_because": self.found.engine_because,
                "seed": load.seed,
                "answer": answer_word(&self.found.ending),
                "capacity": crossing.map(|crossing| crossing.rate),
                "low": crossing.map(|crossing| crossing.low),
                "high": crossing.map(|crossing| crossing.high),
                "at_least": least,
                "ceiling": ceiling,
                "sender": self.found.sender.map(|sender| {
                    json!({"offered": sender.offered, "done": sender.done, "late_share": sender.late, "over_share": sender.over})
                }),
                "slope": crossing.map(|crossing| crossing.slope),
                "dispersion": crossing.map(|crossing| crossing.dispersion),
                "limit": found.and_then(|found| found.limit),
                "interval": crossing.and(found).map(|found| if found.basis == Basis::Fit { "fit" } else { "cliff" }),
                "confirmed": confirmed.map(|run| json!({
                    "rate": run.rate, "shares": run.shares, "seconds": run.seconds,
                    "response_ns": self.confirmed(run).0, "phase": self.confirmed(run).1,
                })),
                "beyond": crossing.map(|crossing| json!({"times": BEYOND, "share": self.beyond(&crossing).1})),
                "plan_for": crossing.map(|crossing| PLANNED * crossing.rate),
                "limited_by": crossing.and_then(|crossing| self.breaks_first(crossing.rate)),
                "cannot_tell": reason,
                "seconds": self.found.spent,
                "trials": self.found.rows.iter().map(row_document).collect::<Vec<_>>(),
                "findings": self.found.findings.refused,
                "accepted": self.found.findings.accepted,
                "sentences": self.sentences(),
            }),
        )
    }
}

fn row_document(row: &TrialRow) -> Value {
    let [p50, p99, p999] = row.measured.percentiles;
    let counts = row.measured.counts.iter();
    let mut document = json!({
        "stage": row.stage.map_or_else(|| "alone".to_owned(), stage_words),
        "offered": row.offered,
        "done": row.measured.done,
        "seconds": row.seconds,
        "limits": counts.map(|counts| json!({"ios": counts.ios, "over": counts.over})).collect::<Vec<_>>(),
        "late_share": row.measured.late,
        "phases": row.measured.phases.iter().map(|phase| phase.kind).collect::<Vec<_>>(),
        "p50_ns": p50, "p99_ns": p99, "p99_9_ns": p999,
    });
    if let Some(layers) = &row.measured.layers {
        document["layers"] = json!(layers);
    }
    document
}

fn cells(row: &TrialRow, limit: usize) -> [String; 8] {
    let absent = || "-".to_owned();
    let [p50, p99, p999] = row.measured.percentiles.map(|found| found.map_or_else(absent, text::time));
    let [usual, slowest] = row.largest().map(|part| part.unwrap_or_else(absent));
    let (offered, done) = (text::short_number(row.offered), text::short_number(row.measured.done));
    [offered, done, text::percent(Report::share(row, limit)), p50, p99, p999, usual, slowest]
}

fn without_parts([offered, done, over, p50, p99, p999, ..]: [String; 8]) -> [String; 6] {
    [offered, done, over, p50, p99, p999]
}

fn answer_word(ending: &Ending) -> &'static str {
    match ending {
        Ending::Concluded(found) => match found.answer {
            Answer::Holds => "holds",
            Answer::AtLeast(..) => "at least",
            Answer::Never(_) => "not at any rate",
            Answer::CannotTell(_) => "cannot tell",
        },
        Ending::Cut(Cut::Signal(_)) => "interrupted",
        Ending::Cut(_) => "failed",
    }
}

fn ceiling_word(ceiling: Ceiling) -> &'static str {
    match ceiling {
        Ceiling::Largest => "largest rate asked for",
        Ceiling::Tester => "tester",
        Ceiling::Submission => "submission",
    }
}

fn interval(crossing: &Crossing) -> String {
    format!("{} to {}", text::short_number(crossing.low), text::short_number(crossing.high))
}

/// Index of the row next to a rate, if it is of the rounds.
fn nearest(rows: &[&TrialRow], capacity: f64) -> Option<usize> {
    let of_rounds = rows.iter().enumerate().filter(|(_, row)| matches!(row.stage, Some(Stage::Round(_))));
    of_rounds.min_by(|one, other| one.1.distance(capacity).total_cmp(&other.1.distance(capacity))).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::super::search::{Question, Sender};
    use super::*;
    use measure::Nanos;
    use survey::OpenLoad;

    /// The sentence and the JSON of a search that ended with this answer, after a trial of the tester by itself.
    fn shown(answer: Answer) -> (String, Value) {
        let load = OpenLoad {
            block: 8192,
            read_percent: 100,
            arrivals: Arrivals::Poisson,
            engine: "io_uring".to_owned(),
            added: Vec::new(),
            seed: 1,
            limit: Nanos::from_millis(2),
        };
        let question = Question {
            slos: vec![Slo::parse("p99<2ms").unwrap()],
            load,
            may_change_engine: false,
            precision: 0.03,
            between: [None, None],
            confirm: 60,
            time: None,
            layers: false,
        };
        let conclusion = Conclusion { answer, crossing: None, basis: Basis::Fit, limit: None, confirmed: None };
        let found = SearchResult {
            question,
            rows: Vec::new(),
            findings: session::arguments::Findings::default(),
            place: report::sources::PlaceFacts::default(),
            sender: Some(Sender { offered: 4e5, done: 3.8e5, late: 0.03, over: 0.12 }),
            engine_because: Some("control group /a limits vda to 3000 reads/s".to_owned()),
            spent: 60.0,
            ending: Ending::Concluded(conclusion),
        };
        let report = Report { target: "/data", found: &found };
        assert_eq!(report.load(), "8k random reads, open loop, Poisson arrivals, engine io_uring");
        (report.sentences().join(" "), serde_json::from_str(&report.document().unwrap()).unwrap())
    }

    #[test]
    fn a_late_tester_is_named_with_what_it_did_by_itself() {
        let alone =
            "alone, with the engine null, the tester did 380k of 400k IOPS, with 12 % over the limit and 3 % sent late";
        let (sentence, document) = shown(Answer::AtLeast(2e5, Ceiling::Tester));
        let expected = format!("/data holds at least 200k IOPS with p99 < 2 ms; the tester was the limit: {alone}.");
        assert_eq!((sentence, &document["ceiling"]), (expected, &Value::from("tester")));
        assert_eq!(document["sender"]["done"], Value::from(3.8e5));
        assert_eq!(document["engine_because"], "control group /a limits vda to 3000 reads/s");
        let (sentence, document) = shown(Answer::AtLeast(2e5, Ceiling::Submission));
        assert!(sentence.contains("at larger rates I/Os were sent late") && sentence.contains(alone), "{sentence}");
        assert_eq!(document["ceiling"], "submission");
        let (sentence, document) = shown(Answer::CannotTell(Reason::Late(0.3)));
        assert!(sentence.contains(&format!("sent 30 % of the I/Os late ({alone})")), "{sentence}");
        assert_eq!((&document["ceiling"], &document["answer"]), (&Value::Null, &Value::from("cannot tell")));
    }
}
