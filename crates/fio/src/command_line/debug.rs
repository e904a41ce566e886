//! `--debug`: the subjects that a run can report, and the dump of parsed options.

use crate::sections::{Section, SectionKind};
use plan::{DebugPlan, Subject};

/// Debug subjects of fio for which plumb has no messages, each with the reason.
const SILENT: &[(&str, &str)] = &[
    ("mem", "buffers are allocated once, before the first I/O"),
    ("blktrace", "a trace is read before the first I/O; a mistake in it is an error with its place"),
    ("diskutil", "the devices' counters are in the report"),
    ("mutex", "workers share no lock"),
    ("profile", "there are no profiles"),
    ("net", "both ends of a connection report their errors"),
    ("compress", "a thread of the worker compresses logs, and its errors are errors of the job"),
    ("helperthread", "there is no helper thread"),
    ("zbd", "each worker has its own zones; --debug=io shows every write and reset"),
    ("sprandom", "sprandom is refused"),
];

/// Adds one word of the `--debug` list. The error is a pair: the mistake and the words that are accepted.
pub(crate) fn add(debug: &mut DebugPlan, word: &str) -> Result<(), (String, String)> {
    if word == "all" {
        Subject::ALL.into_iter().for_each(|subject| debug.add(subject));
        return Ok(());
    }
    if let Some(number) = word.strip_prefix("job:") {
        let number = number.parse::<u32>().ok().filter(|&number| number > 0);
        let wrong =
            || (format!("debug={word} is not the number of a worker"), "write job:1 for the first worker".to_owned());
        debug.worker = Some(number.ok_or_else(wrong)?);
        return Ok(());
    }
    if let Some(subject) = Subject::ALL.into_iter().find(|subject| subject.word() == word) {
        debug.add(subject);
        return Ok(());
    }
    let known = format!("it takes {}, job:N, all, help", words().join(", "));
    Err(match SILENT.iter().find(|&&(silent, _)| silent == word) {
        Some((_, why)) => (format!("debug={word} is refused: {why}"), known),
        None => (format!("debug={word}: unknown subject"), known),
    })
}

fn words() -> [&'static str; Subject::ALL.len()] {
    Subject::ALL.map(Subject::word)
}

/// The text of `--debug=help`.
pub(crate) fn help() -> String {
    format!("fio: dumping debug options:{},job:N,all\n", words().join(","))
}

/// One line for every option as it was parsed.
pub(crate) fn parsed(sections: &[Section]) -> Vec<String> {
    let lines = |section: &Section| {
        let opened = (section.kind == SectionKind::Job).then(|| format!("handle_option=name, ptr={}", section.title));
        let given = section.assignments.iter().filter(|given| given.name != "name");
        let given = given.map(|given| match &given.value {
            Some(value) => format!("handle_option={}, ptr={value}", given.name),
            None => format!("handle_option={}", given.name),
        });
        opened.into_iter().chain(given).collect::<Vec<_>>()
    };
    sections.iter().flat_map(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_subjects_is_read_and_every_other_word_is_refused_with_its_reason() {
        let mut debug = DebugPlan::default();
        for word in ["io", "job:2"] {
            add(&mut debug, word).unwrap();
        }
        assert!(debug.has(Subject::Io) && !debug.has(Subject::Verify));
        assert!(debug.is_of(2) && !debug.is_of(1));
        for (word, expected) in
            [("mutex", "workers share no lock"), ("iO", "unknown subject"), ("job:0", "not the number of a worker")]
        {
            assert!(add(&mut debug, word).unwrap_err().0.contains(expected), "{word}");
        }
        add(&mut debug, "all").unwrap();
        assert!(Subject::ALL.into_iter().all(|subject| debug.has(subject)));
    }
}
