//! Members that began at different times.

use super::Limits;
use crate::member_result::MemberResult;
use crate::summary::{first_io, start_skew};
use measure::text;
use model::{Grade, Note};

pub(super) const ID: &str = "uneven start";

pub(super) fn note(members: &[MemberResult], limits: Limits) -> Option<Note> {
    let start = start_skew(members)?;
    // Less than the error of the clocks is not known.
    if start.skew <= limits.start_within.max(start.clock_error) {
        return None;
    }
    let last = members.iter().max_by_key(|member| first_io(member))?;
    Some(Note {
        check: ID.to_owned(),
        grade: Grade::ValidWithLimits,
        sentence: format!(
            "the members began within {}, {} last: the rate over all counts that time, too",
            text::time(start.skew.as_f64()),
            last.name()
        ),
        evidence: vec![
            ("skew_ns".to_owned(), start.skew.as_f64()),
            ("clock_error_ns".to_owned(), start.clock_error.as_f64()),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_members::at_work;
    use measure::Nanos;

    #[test]
    fn it_fires_beyond_the_limit_and_beyond_what_the_clocks_know() {
        let limits = Limits { start_within: Nanos::from_millis(10) };
        let mut members = [at_work(0, 1, (0, 1)), at_work(1, 1, (0, 1))];
        members[1].started = Some(Nanos::from_millis(11));
        let text = note(&members, limits).unwrap().sentence;
        assert!(text.contains("within 11 ms, member 1 (node2) last"), "{text}");
        members[1].clock_error = Some(Nanos::from_millis(20));
        assert_eq!(note(&members, limits), None);
        members[1].started = None;
        assert_eq!(note(&members, limits), None);
    }
}
