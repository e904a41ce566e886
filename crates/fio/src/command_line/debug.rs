//! `--debug`: the subjects that a run can report, and the dump of parsed options.

use crate::options::table;
use crate::sections::{Assignment, Section, SectionKind};
use crate::untrusted::main_name;
use plan::{DebugPlan, SteadyMeasure, SteadyPlan, Subject};

/// Debug subjects of fio on which plumb prints no messages. They must not stop a run, so their announcement says so.
const SILENT: &[&str] =
    &["mem", "blktrace", "diskutil", "mutex", "profile", "net", "compress", "helperthread", "zbd", "sprandom"];

/// Adds one word of the `--debug` list. Returns the lines that announce it. The error is a pair: the mistake and the
/// words that are accepted.
pub(crate) fn add(debug: &mut DebugPlan, word: &str) -> Result<Vec<String>, (String, String)> {
    if let Some(number) = word.strip_prefix("job:") {
        let number = number.parse::<u32>().ok().filter(|&number| number > 0);
        let wrong =
            || (format!("debug={word} is not the number of a worker"), "write job:1 for the first worker".to_owned());
        let number = number.ok_or_else(wrong)?;
        debug.worker = Some(number);
        return Ok(vec![format!("fio: set debug jobno {number}")]);
    }
    let chosen: Vec<&str> = words().filter(|known| word == "all" || word == *known).collect();
    if chosen.is_empty() {
        let known = words().collect::<Vec<_>>().join(", ");
        return Err((format!("debug mask {word} not found"), format!("it takes {known}, job:N, all, help")));
    }
    Subject::ALL.into_iter().filter(|subject| chosen.contains(&subject.word())).for_each(|subject| debug.add(subject));
    let says = |word: &str| if SILENT.contains(&word) { ": plumb prints nothing on it" } else { "" };
    Ok(chosen.into_iter().map(|word| format!("fio: set debug option {word}{}", says(word))).collect())
}

fn words() -> impl Iterator<Item = &'static str> {
    Subject::ALL.into_iter().map(Subject::word).chain(SILENT.iter().copied())
}

/// The text of `--debug=help`.
pub(crate) fn help() -> String {
    format!("fio: dumping debug options:{},job:N,all\n", words().collect::<Vec<_>>().join(","))
}

/// One line for every option as it was parsed.
pub(crate) fn parsed(sections: &[Section]) -> Vec<String> {
    let lines = |section: &Section| {
        let opened = (section.kind == SectionKind::Job).then(|| format!("handle_option=name, ptr={}", section.title));
        let given = section.assignments.iter().filter(|given| given.name != "name");
        let given = given.flat_map(|given| {
            let option = match &given.value {
                Some(value) => format!("handle_option={}, ptr={value}", given.name),
                None => format!("handle_option={}", given.name),
            };
            std::iter::once(option).chain(threshold(given))
        });
        opened.into_iter().chain(given).collect::<Vec<_>>()
    };
    sections.iter().flat_map(lines).collect()
}

/// The line about the limit of a steady state, as fio writes it.
fn threshold(given: &Assignment) -> Option<String> {
    let value = given.value.as_deref().filter(|_| main_name(&given.name) == "steadystate")?;
    let SteadyPlan { measure, limit, relative, .. } = table::steady_criterion(value, SteadyPlan::default()).ok()?;
    let limit = match (relative, measure) {
        (true, _) => format!("threshold to {limit:.6}%"),
        (false, SteadyMeasure::Iops) => format!("IOPS threshold to {limit:.6}"),
        (false, SteadyMeasure::Bandwidth) => format!("BW threshold to {limit}"),
        (false, SteadyMeasure::Latency) => format!("latency threshold to {limit} nsec"),
    };
    Some(format!("set steady state {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_fio_is_announced_others_are_mistakes() {
        let mut debug = DebugPlan::default();
        for (word, line) in [
            ("io", "fio: set debug option io"),
            ("mutex", "fio: set debug option mutex: plumb prints nothing on it"),
            ("job:2", "fio: set debug jobno 2"),
        ] {
            assert_eq!(add(&mut debug, word), Ok(vec![line.to_owned()]), "{word}");
        }
        assert!(debug.has(Subject::Io) && !debug.has(Subject::Verify));
        assert!(debug.is_of(2) && !debug.is_of(1));
        for (word, expected) in [("iO", "debug mask iO not found"), ("job:0", "not the number of a worker")] {
            assert!(add(&mut debug, word).unwrap_err().0.contains(expected), "{word}");
        }
        assert_eq!(add(&mut debug, "all").map(|lines| lines.len()), Ok(19));
        assert!(Subject::ALL.into_iter().all(|subject| debug.has(subject)));
    }
}
