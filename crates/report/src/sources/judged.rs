//! The checks on the results of the sources: verdicts and findings, in the words of `plumb check`.

use super::Source;
use crate::data::of_measurements::MeasuredRow;
use crate::data::placed::Subject;
use crate::page::{Check, Finding, Mark, Verdict};
use analysis::{FindingGroup, by_check, grade_title, unchecked, verdict_line};
use model::{Grade, Lasting, LimitedBy, Note, Phase, RunResult, UntilRegime};
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
pub(crate) struct CheckedResult {
    /// Number of the result in its source, from 1.
    pub(super) number: usize,
    /// The last number of its tests: a run of unlike jobs is a test for each kind of them.
    pub(super) last: usize,
    /// For example `random read 8 KiB, 16 users` or `job a`.
    pub(super) title: String,
    /// Remarks of the checks.
    pub(super) notes: Vec<Note>,
    /// The bottleneck, if one was found.
    pub(super) limited_by: Option<LimitedBy>,
    pub(super) phases: Vec<Phase>,
    /// How it ended, if it waited for a regime.
    pub(super) until_regime: Option<UntilRegime>,
    /// The rate that describes it better than its average.
    pub(super) lasting: Option<Lasting>,
    /// The checks that were impossible.
    pub(super) unchecked: Vec<&'static str>,
}

impl CheckedResult {
    pub(super) fn of(number: usize, title: String, result: &mut RunResult) -> CheckedResult {
        analysis::judge(result);
        CheckedResult {
            number,
            last: number,
            title,
            notes: result.notes.clone(),
            limited_by: result.limited_by.clone(),
            phases: result.phases.clone(),
            until_regime: result.until_regime.clone(),
            lasting: result.lasting.clone(),
            unchecked: unchecked(result),
        }
    }

    /// Marks the rows of this result if they say nothing of the storage, if its users were not busy, and if they are averages of phases.
    pub(super) fn and_mark(self, rows: &mut [MeasuredRow]) -> CheckedResult {
        for row in rows.iter_mut().map(|row| &mut row.numbers) {
            analysis::mark(row, &self.notes, self.limited_by.as_ref(), self.lasting.as_ref());
        }
        self
    }
}

/// Rates that describe results better than their averages, of the first three with phases that differ.
pub(super) fn lasting(sources: &[Source]) -> Vec<String> {
    const MOST: usize = 3;
    let all = sources.iter().flat_map(|source| source.judged.iter().map(move |one| (source, one)));
    let lines = all.filter_map(|(source, one)| {
        let of = if sources.len() > 1 { format!("{}: {}", source.name, one.title) } else { one.title.clone() };
        Some(format!("Of {of}: {}.", one.lasting.as_ref()?.sentence))
    });
    lines.take(MOST).collect()
}

/// The word for several results: tests of surveys, otherwise results.
fn word(sources: &[Source]) -> &'static str {
    if sources.iter().all(|source| source.is_survey) { "tests" } else { "results" }
}

pub(super) fn verdict(sources: &[Source]) -> Verdict {
    let all: Vec<&CheckedResult> = sources.iter().flat_map(|source| &source.judged).collect();
    if all.is_empty() {
        return without_result(sources);
    }
    let notes: Vec<&[Note]> = all.iter().map(|one| one.notes.as_slice()).collect();
    let groups = by_check(&notes);
    let is_open = |id: &str| all.iter().any(|one| one.unchecked.contains(&id));
    let open: Vec<&str> = analysis::CHECKS.iter().map(|check| check.id).filter(|id| is_open(id)).collect();
    let word = word(sources);
    let line = verdict_line(&groups, &open, all.len(), word);
    let finding = |group: &FindingGroup<'_>| Finding {
        check: group.check.to_owned(),
        verdict: grade_title(group.grade).to_owned(),
        text: group.explanation(word),
    };
    Verdict { line, findings: groups.iter().map(finding).collect() }
}

/// The verdict on tables and logs, which state no runs.
fn without_result(sources: &[Source]) -> Verdict {
    let mut formats: Vec<&str> = sources.iter().flat_map(|source| source.formats.iter().copied()).collect();
    formats.dedup();
    let title = grade_title(Grade::NotChecked);
    let line = if formats.is_empty() {
        format!("{title}: there is no result in these files.")
    } else {
        let formats = formats.join(", ");
        format!("{title}: {formats} states rates or times without the jobs that they are of.")
    };
    Verdict { line, findings: Vec::new() }
}

/// True if no result of the source is one of the storage.
pub(super) fn is_other_than_storage(source: &Source) -> bool {
    let is_other = |one: &CheckedResult| analysis::not_storage(&one.notes, &[]).is_some();
    !source.judged.is_empty() && source.judged.iter().all(is_other)
}

/// True if a test is one kind of the unlike jobs of a run.
pub(super) fn is_of_unlike_jobs(sources: &[Source], (source, number): Subject) -> bool {
    let of_run = sources
        .get(source)
        .and_then(|source| source.judged.iter().find(|one| (one.number..=one.last).contains(&number)));
    of_run.is_some_and(|one| one.number < one.last)
}

/// True if all results are one run with unlike jobs.
pub(super) fn is_one_run(sources: &[Source]) -> bool {
    let mut all = sources.iter().flat_map(|source| &source.judged);
    all.next().is_some_and(|one| one.number < one.last) && all.next().is_none()
}

/// The findings on these results, as a mark at a picture of them; `None` without findings.
pub(super) fn mark(sources: &[Source], subjects: &[Subject]) -> Option<Mark> {
    let judged = |&(source, number): &Subject| {
        let judged = &sources.get(source)?.judged;
        Some((source, judged.iter().position(|one| (one.number..=one.last).contains(&number))?))
    };
    let distinct: BTreeSet<(usize, usize)> = subjects.iter().filter_map(judged).collect();
    let notes: Vec<&[Note]> =
        distinct.into_iter().map(|(source, at)| sources[source].judged[at].notes.as_slice()).collect();
    let mut groups = by_check(&notes);
    groups.retain(|group| group.grade > Grade::Trusted);
    let worst = groups.first()?.grade;
    Some(Mark {
        verdict: grade_title(worst).to_owned(),
        line: verdict_line(&groups, &[], notes.len(), word(sources)),
        checks: groups.iter().map(|group| group.check.to_owned()).collect(),
    })
}

pub(super) fn checks(sources: &[Source]) -> Vec<Check> {
    let mut all = Vec::new();
    for (source, judged) in sources.iter().flat_map(|source| source.judged.iter().map(move |one| (source, one))) {
        let of = if sources.len() > 1 { format!("{}: {}", source.name, judged.title) } else { judged.title.clone() };
        if judged.notes.is_empty() {
            all.push(nothing_against(&of, judged));
        }
        all.extend(judged.notes.iter().map(|note| Check {
            of: of.clone(),
            check: note.check.clone(),
            verdict: grade_title(note.grade).to_owned(),
            sentence: note.sentence.clone(),
            evidence: note.evidence.clone(),
        }));
        all.extend(judged.limited_by.iter().map(|limit| Check {
            of: of.clone(),
            check: "limited by".to_owned(),
            verdict: limit.limiter.title().to_owned(),
            sentence: limit.sentence.clone(),
            evidence: limit.evidence.clone(),
        }));
        all.extend(judged.until_regime.iter().map(|ended| Check {
            of: of.clone(),
            check: "end".to_owned(),
            verdict: if ended.reached { "before its time" } else { "in time" }.to_owned(),
            sentence: ended.sentence.clone(),
            evidence: vec![("after_s".to_owned(), ended.after.as_secs_f64())],
        }));
        all.extend(judged.lasting.iter().map(|lasting| Check {
            of: of.clone(),
            check: "lasting rate".to_owned(),
            verdict: lasting.kind.title().to_owned(),
            sentence: lasting.sentence.clone(),
            evidence: Vec::new(),
        }));
        all.extend(judged.phases.iter().map(|phase| Check {
            of: of.clone(),
            check: "phase".to_owned(),
            verdict: phase.kind.title().to_owned(),
            sentence: phase.sentence.clone(),
            evidence: phase.evidence.clone(),
        }));
    }
    all
}

fn nothing_against(of: &str, judged: &CheckedResult) -> Check {
    let line = verdict_line(&[], &judged.unchecked, 1, "");
    let (verdict, sentence) = line.split_once(": ").unwrap_or((&line, ""));
    Check {
        of: of.to_owned(),
        check: "all".to_owned(),
        verdict: verdict.to_owned(),
        sentence: sentence.to_owned(),
        evidence: Vec::new(),
    }
}
