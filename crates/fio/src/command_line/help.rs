//! Help texts: usage, options, engines. The layout, `name : help` in two columns, is the one that scripts expect.

use crate::command_line::invocation::OutputFormat;
use crate::command_line::options::{Argument, LETTERS, OPTIONS};
use crate::error::closest;
use crate::options::table;
use crate::options::values::time_unit;
use plan::option::{Kind, OptionSpec, Support};
use plan::{EngineSpec, Submission};
use std::fmt::Write;

/// The version, of the form `fio-3.42-plumb-0.1.0`.
pub const VERSION: &str = concat!("fio-3.42-plumb-", env!("CARGO_PKG_VERSION"));

/// The end of the usage text.
const EXAMPLES: &str = "
Examples:
  fio job.fio
  fio --name=a --rw=randread --bs=4k --iodepth=16 --size=1g --direct=1
  fio --cmdhelp=rw
";

/// Writing into a string cannot fail; this macro discards the `Result`.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {{
        let _: std::fmt::Result = writeln!($text, $($format)*);
    }};
}

/// The usage text.
pub(crate) fn usage(formats: &[OutputFormat]) -> String {
    let formats = OutputFormat::words(formats).join(", ");
    let mut text = String::new();
    line!(text, "{VERSION}");
    line!(text, "fio [options] [job options] [job files]");
    for option in OPTIONS.iter().filter(|option| option.support == Support::Works) {
        let name = match option.argument {
            Argument::None => format!("--{}", option.name),
            Argument::Needed(value) => format!("--{}={value}", option.name),
            Argument::Possible(value) => format!("--{}[={value}]", option.name),
        };
        line!(text, "  {name:<27}  {}", option.help.replace("{formats}", &formats));
    }
    line!(text, "");
    line!(text, "Job options are written --option=value. Each --name=... starts a job; options");
    line!(text, "before the first --name apply to all jobs. --cmdhelp lists the options.");
    line!(text, "");
    line!(text, "Letters that are short for an option:");
    let works = |name: &str| OPTIONS.iter().any(|option| option.name == name && option.support == Support::Works);
    let letters = LETTERS.iter().filter(|(_, name)| works(name)).map(|(letter, name)| format!("-{letter} --{name} "));
    text.push_str(&wrapped(letters));
    line!(text, "");
    line!(text, "Options of fio that are refused, each with its reason when it is used:");
    let refused = OPTIONS.iter().filter(|option| option.support != Support::Works);
    text.push_str(&wrapped(refused.map(|option| format!("--{}", option.name))));
    text + EXAMPLES
}

/// Words in indented lines that fit a terminal of 80 columns.
fn wrapped(words: impl Iterator<Item = String>) -> String {
    let mut lines = vec![String::from(" ")];
    for word in words {
        let last = lines.len() - 1;
        if lines[last].len() + word.len() + 1 > 79 {
            lines.push(format!("  {word}"));
        } else {
            lines[last].push_str(&format!(" {word}"));
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Suffix in help for a refused option.
fn mark(support: Support) -> String {
    match support {
        Support::Works => String::new(),
        Support::Refused(reason) => format!(" (refused: {reason})"),
    }
}

/// The text of `--cmdhelp`, with or without the name of an option.
pub(crate) fn options(asked: Option<&str>) -> String {
    match asked {
        None | Some("all" | "") => list(table::rows().map(|row| &row.spec)),
        Some(name) => option(name),
    }
}

fn list<'a>(specs: impl Iterator<Item = &'a OptionSpec>) -> String {
    let mut text = String::new();
    for spec in specs {
        line!(text, "{:<24}: {}{}", spec.name, spec.help, mark(spec.support));
    }
    text
}

fn option(name: &str) -> String {
    if let Some(row) = table::find(name) {
        return details(&row.spec);
    }
    let near = closest(name, table::names()).or_else(|| table::names().find(|known| known.starts_with(name)));
    match near.and_then(table::find) {
        Some(row) => format!("No such option: {name}; the closest is\n{}", details(&row.spec)),
        None => format!("No such option: {name}\n"),
    }
}

/// The full help of one option.
fn details(spec: &OptionSpec) -> String {
    let mut text = String::new();
    line!(text, "{:>20}: {}", spec.name, spec.help);
    for alias in spec.aliases {
        line!(text, "{:>20}: {alias}", "alias");
    }
    line!(text, "{:>20}: {}", "type", kind(spec.kind));
    line!(text, "{:>20}: {}", "default", spec.default.unwrap_or("no default"));
    if let Kind::Integer { least, most } = spec.kind {
        line!(text, "{:>20}: min={least}, max={most}", "range");
    }
    if let Kind::Word(words) = spec.kind {
        let width = words.iter().map(|(word, _)| word.len()).max().unwrap_or(0).max(10);
        for (index, (word, help)) in words.iter().enumerate() {
            line!(text, "{:>20}: {word:<width$} {help}", if index == 0 { "valid values" } else { "" });
        }
    }
    if let Support::Refused(reason) = spec.support {
        line!(text, "{:>20}: {reason}", "refused");
    }
    text
}

/// Describes the kind of a value.
pub(crate) fn kind(kind: Kind) -> String {
    match kind {
        Kind::Text => "text".into(),
        Kind::Word(_) => "one of the values below".into(),
        Kind::Integer { .. } => "whole number".into(),
        Kind::Size { percent: true } => "amount of bytes or percentage (4k, 1g, 20%)".into(),
        Kind::Size { percent: false } => "amount of bytes (4k, 1g)".into(),
        Kind::ThreeWay => "up to three numbers: read,write,trim".into(),
        Kind::Range => "up to three ranges: 4k-16k".into(),
        Kind::Time(unit) => format!("time (10s, 5m, 500ms); a bare number is {}", time_unit(unit)),
        Kind::Bool => "0 or 1".into(),
        Kind::Flag => "nothing, 0 or 1".into(),
        Kind::Floats { most } => format!("up to {most} numbers separated by `:`"),
    }
}

/// The text of `--enghelp`. `Err` holds a message if the engine or option does not exist.
pub(crate) fn engines(asked: Option<&str>, engines: &'static [EngineSpec]) -> Result<String, String> {
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else {
        let mut text = String::from("Available IO engines:\n");
        for engine in engines {
            line!(text, "\t{}", engine.name);
        }
        return Ok(text);
    };
    let (name, option) = asked.split_once(',').map_or((asked, None), |(name, option)| (name, Some(option)));
    let Some(engine) = engines.iter().find(|engine| engine.name == name) else {
        return Err(match crate::known_engines::reason(name) {
            Some(reason) => format!("engine {name} is refused: {reason}"),
            None => format!("there is no engine `{name}`"),
        });
    };
    match option {
        None => Ok(engine_text(engine)),
        Some(option) => engine
            .options
            .iter()
            .find(|spec| crate::options::applier::is_called(spec, option))
            .map(details)
            .ok_or_else(|| format!("engine {name} has no option `{option}`")),
    }
}

fn engine_text(engine: &EngineSpec) -> String {
    let submission = match engine.capabilities.submission {
        Submission::Synchronous => "one I/O at a time",
        Submission::Asynchronous => "iodepth I/Os at a time",
        Submission::ByDepth => "one I/O at a time at iodepth=1, asynchronous above",
    };
    let mut text = String::new();
    line!(text, "{:<24}: {} ({submission})", engine.name, engine.help);
    text + &list(engine.options.iter())
}
