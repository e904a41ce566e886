//! Verdict and remarks of the checks below the table.

use crate::width::wrapped;
use analysis::{FindingGroup, grade_title};
use measure::text;
use model::{Grade, Note};
use survey::{FinishedTest, SurveyTest, TestKind, push_new, short_size};

/// How much is printed of the remarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// A line for each check that found something, five at most.
    FirstFive,
    /// Every sentence, with the rows that it applies to.
    All,
}

const MOST: usize = 5;

/// The verdict on all rows, then what the checks found.
pub(crate) fn render(rows: &[FinishedTest], extent: Extent, width: usize) -> String {
    if rows.is_empty() {
        return "\n".to_owned();
    }
    let notes: Vec<&[Note]> = rows.iter().map(|row| row.result.notes.as_slice()).collect();
    let groups = analysis::by_check(&notes);
    let is_unchecked = |id: &str| rows.iter().any(|row| analysis::unchecked(&row.result).contains(&id));
    let unchecked: Vec<&str> = analysis::CHECKS.iter().map(|check| check.id).filter(|id| is_unchecked(id)).collect();
    let verdict = analysis::verdict_line(&groups, &unchecked, rows.len(), "tests");
    let mut text = wrapped(&format!("Verdict: {verdict}"), "", width);
    match extent {
        Extent::All => text.push_str(&all_sentences(rows, width)),
        Extent::FirstFive => {
            for group in groups.iter().take(MOST) {
                text.push_str(&wrapped(&finding(group, rows), "  ", width));
            }
            if groups.len() > MOST {
                text.push_str(&format!("{} more findings: --remarks prints all.\n", groups.len() - MOST));
            }
        }
    }
    text + "\n"
}

/// The findings of one check in a line.
fn finding(group: &FindingGroup<'_>, rows: &[FinishedTest]) -> String {
    let holds_for: Vec<&FinishedTest> = group.rows.iter().map(|&row| &rows[row]).collect();
    format!("! {}: {}: {}", group.check, names(&holds_for, rows), group.text("tests"))
}

/// Every sentence once, with the rows that it applies to.
fn all_sentences(rows: &[FinishedTest], width: usize) -> String {
    let mut remarks: Vec<(Grade, &str, Vec<&FinishedTest>)> = Vec::new();
    for row in rows {
        for note in &row.result.notes {
            match remarks.iter_mut().find(|(_, sentence, _)| *sentence == note.sentence) {
                Some((.., rows)) => rows.push(row),
                None => remarks.push((note.grade, &note.sentence, vec![row])),
            }
        }
    }
    let mut text = String::new();
    for (grade, sentence, holds_for) in remarks {
        let remark = format!("! {}: {sentence} [{}]", names(&holds_for, rows), grade_title(grade));
        text.push_str(&wrapped(&remark, "  ", width));
    }
    text
}

/// `all tests`, or `8k rand read with 1, 8 and 16 users; 1M seq read`.
fn names(some: &[&FinishedTest], all: &[FinishedTest]) -> String {
    if some.len() == all.len() && all.len() > 1 {
        return "all tests".to_owned();
    }
    let mut labels: Vec<String> = Vec::new();
    some.iter().for_each(|row| push_new(&mut labels, label(&row.test)));
    let counts = |rows: &mut dyn Iterator<Item = &&FinishedTest>, name: &str| -> Vec<u32> {
        let mut users: Vec<u32> = rows.filter(|row| label(&row.test) == name).map(|row| row.test.users).collect();
        users.dedup();
        users
    };
    if labels.len() > MOST_LABELS {
        return format!("{} of {} tests", some.len(), all.len());
    }
    let named = labels.into_iter().map(|name| {
        let users = counts(&mut some.iter(), &name);
        let every: Vec<&FinishedTest> = all.iter().collect();
        let whole = users.len() > 1 && users.len() == counts(&mut every.iter(), &name).len();
        if whole { format!("{name}, all users") } else { format!("{name}, {}", user_list(&users)) }
    });
    named.collect::<Vec<_>>().join("; ")
}

/// Most kinds of tests that are named one by one.
const MOST_LABELS: usize = 3;

/// A test without its user count: `8k rand read`, `4k rand read iodepth=4`.
fn label(test: &SurveyTest) -> String {
    let mut name = format!("{} {}", short_size(u64::from(test.block)), test.title());
    if let Some(set) = test.set {
        name.push_str(&format!(" size={}", short_size(set)));
    }
    if test.kind != TestKind::LogWrite {
        test.extras.iter().for_each(|(option, value)| name.push_str(&format!(" {option}={value}")));
    }
    name
}

fn user_list(users: &[u32]) -> String {
    let words: Vec<String> = users.iter().map(u32::to_string).collect();
    format!("{} {}", text::listed(&words), if users == [1] { "user" } else { "users" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Note, RunResult};

    const WIDTH: usize = 80;

    fn row(kind: TestKind, users: u32, sentence: &str) -> FinishedTest {
        let mut result = RunResult::default();
        if !sentence.is_empty() {
            result.notes.push(Note {
                check: "x".into(),
                grade: Grade::ValidWithLimits,
                sentence: sentence.into(),
                evidence: Vec::new(),
            });
        }
        let test = SurveyTest::at(kind, kind.usual_block(), users);
        FinishedTest::here(test, result)
    }

    #[test]
    fn a_check_has_one_line_with_its_rows_and_the_verdict_is_first() {
        let rows = [
            row(TestKind::RandomRead, 1, "slow"),
            row(TestKind::RandomRead, 8, "slower"),
            row(TestKind::RandomRead, 16, ""),
            row(TestKind::SequentialRead, 1, "slow"),
        ];
        assert_eq!(
            render(&rows, Extent::FirstFive, WIDTH),
            "Verdict: VALID WITH LIMITS: x (3 of 4 tests).\n! x: 8k rand read, 1 and 8 users; 1M seq read, 1 user: slow \
             [VALID WITH LIMITS]\n\n"
        );
        let all = render(&rows, Extent::All, WIDTH);
        assert!(all.ends_with("! 8k rand read, 8 users: slower [VALID WITH LIMITS]\n\n"), "{all}");
        let alike = [row(TestKind::RandomRead, 1, "slow"), row(TestKind::LogWrite, 1, "slow")];
        assert!(render(&alike, Extent::FirstFive, WIDTH).contains("\n! x: all tests: slow [VALID WITH LIMITS]\n"));
    }

    #[test]
    fn a_screen_has_five_findings_and_says_how_to_see_the_others() {
        let mut many = row(TestKind::RandomRead, 1, "");
        for check in analysis::CHECKS.iter().take(7) {
            let (check, sentence) = (check.id.to_owned(), format!("{} it is", check.id));
            many.result.notes.push(Note { check, grade: Grade::ValidWithLimits, sentence, evidence: Vec::new() });
        }
        let text = render(std::slice::from_ref(&many), Extent::FirstFive, WIDTH);
        assert_eq!(text.lines().filter(|line| line.starts_with("! ")).count(), 5, "{text}");
        assert!(text.contains("\n2 more findings: --remarks prints all.\n"), "{text}");
        assert_eq!(render(&[many], Extent::All, WIDTH).matches("it is [VALID WITH LIMITS]").count(), 7);
    }

    #[test]
    fn no_notes_mean_that_all_was_checked() {
        let mut watched = row(TestKind::LogWrite, 1, "");
        watched.result.monitored = Some(model::Monitored::default());
        let mut job = model::JobResult::default();
        job.directions.write.ios = 1;
        job.calibration = Some(Box::new(model::Calibration { total_ns: Some([400, 2_100]), ..Default::default() }));
        watched.result.jobs.push(job);
        let text = render(&[watched], Extent::FirstFive, WIDTH);
        assert!(
            text.starts_with("Verdict: TRUSTED: all bytes reached the device, all users were busy, no errors;"),
            "{text}"
        );
        let message = render(&[row(TestKind::LogWrite, 1, "")], Extent::FirstFive, WIDTH);
        assert!(message.starts_with("Verdict: NOT CHECKED: backing, cache, holes,"), "{message}");
        assert_eq!(render(&[], Extent::FirstFive, WIDTH), "\n", "nothing measured, nothing checked");
    }

    #[test]
    fn remarks_are_as_wide_as_the_terminal() {
        let sentence =
            "IOPS × latency says that 5.9 of 16 users were busy, which is 37 %: the rate is that of fewer users";
        let rows = [row(TestKind::RandomRead, 1, sentence), row(TestKind::RandomRead, 8, "")];
        for terminal in [60, 80, 200] {
            let width = crate::width::of_text(Some(terminal));
            let text = render(&rows, Extent::All, width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            insta::assert_snapshot!(format!("remarks_at_{terminal}"), text);
        }
    }
}
