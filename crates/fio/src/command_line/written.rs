//! All options as they are written, for man pages and completions: of the command, of jobs and of engines.

use crate::command_line::help;
use crate::command_line::invocation::OutputFormat;
use crate::command_line::options::{Argument, CommandOption, LETTERS, OPTIONS};
use crate::options::table;
use plan::option::{Kind, OptionSpec, Support};
use plan::{EngineSpec, Placing, WrittenOption, WrittenValue};

/// Heading of the options of the command itself.
const OF_COMMAND: &str = "Options";
/// Heading of the options of jobs.
const OF_JOBS: &str = "Job options";

/// All options, in the order of help.
pub(crate) fn options(engines: &[EngineSpec], formats: &[OutputFormat]) -> Vec<WrittenOption> {
    let of_command = OPTIONS.iter().map(|option| of_command(option, formats));
    let of_jobs = table::rows().map(|row| {
        let mut option = of_job(OF_JOBS, &row.spec);
        if row.spec.name == "ioengine" {
            option.value = option.value.of_words(engines.iter().map(|engine| (engine.name, engine.help)));
        }
        option
    });
    let of_engines = engines.iter().flat_map(|engine| {
        let heading = format!("Job options of the engine {}", engine.name);
        engine.options.iter().map(move |spec| of_job(&heading, spec))
    });
    of_command.chain(of_jobs).chain(of_engines).collect()
}

fn of_command(option: &CommandOption, formats: &[OutputFormat]) -> WrittenOption {
    let formats = OutputFormat::words(formats);
    let words: &[&str] = match option.name {
        "output-format" => &formats,
        "eta" => &["always", "never", "auto"],
        "terse-version" => &["2", "3", "4", "5"],
        "idle-prof" => &["system", "percpu", "calibrate"],
        _ => &[],
    };
    let value = match option.argument {
        Argument::None => WrittenValue::default(),
        Argument::Needed(placeholder) => WrittenValue::new(Placing::Joined, placeholder),
        Argument::Possible(placeholder) => WrittenValue::new(Placing::JoinedOrAbsent, placeholder),
    };
    let value = value.of_words(words.iter().map(|&word| (word, "")));
    let help = option.help.replace("{formats}", &formats.join(", "));
    let mut written = WrittenOption::new(OF_COMMAND, format!("--{}", option.name), value, &help);
    let letters = LETTERS.iter().filter(|(_, name)| *name == option.name);
    written.spellings.extend(letters.map(|(letter, _)| format!("-{letter}")));
    written.facts.extend(refusal(option.support));
    written
}

fn of_job(heading: &str, spec: &OptionSpec) -> WrittenOption {
    let (placing, placeholder) = match spec.kind {
        Kind::Text => (Placing::Joined, "TEXT"),
        Kind::Word(_) => (Placing::Joined, "WORD"),
        Kind::Integer { .. } => (Placing::Joined, "N"),
        Kind::Size { .. } => (Placing::Joined, "SIZE"),
        Kind::ThreeWay => (Placing::Joined, "N[,N][,N]"),
        Kind::Range => (Placing::Joined, "N-N[,N-N][,N-N]"),
        Kind::Time(_) => (Placing::Joined, "TIME"),
        Kind::Bool => (Placing::Joined, "0|1"),
        Kind::Flag => (Placing::JoinedOrAbsent, "0|1"),
        Kind::Floats { .. } => (Placing::Joined, "NUMBER[:NUMBER...]"),
    };
    let words: &[(&str, &str)] = match spec.kind {
        Kind::Word(words) => words,
        Kind::Bool | Kind::Flag => &[("0", "no"), ("1", "yes")],
        _ => &[],
    };
    let value = WrittenValue::new(placing, placeholder).of_words(words.iter().copied());
    let mut written = WrittenOption::new(heading, format!("--{}", spec.name), value, spec.help);
    written.spellings.extend(spec.aliases.iter().map(|alias| format!("--{alias}")));
    if !matches!(spec.kind, Kind::Text | Kind::Word(_)) {
        written.facts.push(format!("Value: {}", help::kind(spec.kind)));
    }
    if let Kind::Integer { least, most } = spec.kind {
        written.facts.push(format!("Range: {least} to {most}"));
    }
    written.facts.extend(spec.default.map(|default| format!("Default: {default}")));
    written.facts.extend(refusal(spec.support));
    written
}

fn refusal(support: Support) -> Option<String> {
    match support {
        Support::Works => None,
        Support::Refused(reason) => Some(format!("Refused: {reason}")),
    }
}
