//! Applies the options of a section to a draft: finds each option's row, refuses unsupported options, and keeps the
//! options as written for the report.

use crate::error::{Complaint, Problem, did_you_mean};
use crate::known_engines;
use crate::options::draft::Draft;
use crate::options::table::{self, Context, Set};
use crate::options::values::{Amount, LONGEST_PATTERN, UnitBase, amount, floats, span_of_time};
use crate::sections::{Assignment, Section};
use crate::surroundings::Surroundings;
use plan::EngineSpec;
use plan::option::{Kind, OptionSpec, Support, TimeUnit, Value};
use std::path::Path;

/// Options as written, with their main names.
pub(crate) type GivenOptions = Vec<(String, String)>;

/// Extent of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Parse every value; skip contradictions, engines, and what plumb does not support.
    ParseOnly,
    /// Build a plan that can run.
    Complete,
}

/// Applies the options of a section to a draft.
pub(crate) struct Applier<'a> {
    /// Engines whose options may occur.
    pub engines: &'static [EngineSpec],
    /// Environment, files and machine facts that values may refer to.
    pub surroundings: &'a Surroundings<'a>,
    /// Extent of the checks.
    pub depth: Depth,
}

impl Applier<'_> {
    /// Applies all options of a section and returns them as written. Every invalid option is added to `problems`.
    pub(crate) fn apply(&self, section: &Section, draft: &mut Draft, problems: &mut Vec<Problem>) -> GivenOptions {
        let mut written = GivenOptions::new();
        for assignment in &section.assignments {
            match self.assign(assignment, draft) {
                Ok(name) => written.push((name.to_owned(), assignment.value.clone().unwrap_or_default())),
                Err(problem) => problems.push(problem),
            }
        }
        written
    }

    /// Applies one option and returns its main name.
    fn assign(&self, assignment: &Assignment, draft: &mut Draft) -> Result<&'static str, Problem> {
        let name = assignment.name.as_str();
        let Some(row) = table::find(name) else { return self.assign_to_engine(assignment, draft) };
        let spec = &row.spec;
        match row.set {
            Set::Never(reason) => return Err(refused(assignment, spec, reason)),
            Set::Refused(reason) => return self.unsupported(assignment, spec, reason, draft.unit_base),
            _ => {}
        }
        let read = |file: &str| self.surroundings.files.head(Path::new(file), LONGEST_PATTERN + 1).ok();
        let context = Context { cpus: self.surroundings.cpus, unit_base: draft.unit_base, read: &read };
        row.apply(draft, assignment.value.as_deref(), &context).map_err(|complaint| wrong(assignment, complaint))?;
        draft.places.insert(spec.name, assignment.value_place.clone());
        Ok(spec.name)
    }

    /// Applies an option that is not in the main table.
    fn assign_to_engine(&self, assignment: &Assignment, draft: &mut Draft) -> Result<&'static str, Problem> {
        let name = assignment.name.as_str();
        let engine = self.engines.iter().find(|engine| engine.name == draft.engine);
        let own = |engine: &EngineSpec| engine.options.iter().find(|option| is_called(option, name));
        let Some(option) = engine.and_then(own) else { return Err(self.unknown(assignment, engine, &draft.engine)) };
        if let Support::Refused(reason) = option.support {
            return self.unsupported(assignment, option, reason, draft.unit_base);
        }
        let value = engine_value(option, assignment.value.as_deref(), draft.unit_base)
            .map_err(|complaint| wrong(assignment, complaint))?;
        draft.job.engine_options.set(option.name, value);
        draft.places.insert(option.name, assignment.value_place.clone());
        Ok(option.name)
    }

    /// Accepts an option that is not supported if nothing is run, or if its value is the default.
    fn unsupported(
        &self,
        assignment: &Assignment,
        spec: &OptionSpec,
        reason: &str,
        base: UnitBase,
    ) -> Result<&'static str, Problem> {
        let harmless = assignment.value.is_some() && assignment.value.as_deref() == spec.default;
        if !harmless && self.depth == Depth::Complete {
            return Err(refused(assignment, spec, reason));
        }
        let value = engine_value(spec, assignment.value.as_deref(), base);
        value.map(|_| spec.name).map_err(|complaint| wrong(assignment, complaint))
    }

    /// The problem for an option that neither the main table nor an engine has.
    fn unknown(&self, assignment: &Assignment, engine: Option<&EngineSpec>, asked: &str) -> Problem {
        let name = assignment.name.as_str();
        let owner = self.engines.iter().find(|other| other.options.iter().any(|option| is_called(option, name)));
        if let Some(owner) = owner {
            let what = format!("option `{name}` belongs to the engine {}", owner.name);
            let help = format!("set ioengine={} for this job", owner.name);
            return Problem::at(assignment.name_place.clone(), what, Some(help));
        }
        // The options of an engine that plumb does not have are not known either.
        if let (None, Some(reason)) = (engine, known_engines::reason(asked)) {
            let what = known_engines::refusal_of_option(name, asked, reason);
            let help = known_engines::instead(asked).map(str::to_owned);
            return Problem::at(assignment.name_place.clone(), what, help);
        }
        let own = engine.into_iter().flat_map(|engine| engine.options.iter().map(|option| option.name));
        let help = did_you_mean(name, table::names().chain(own));
        Problem::at(assignment.name_place.clone(), format!("there is no option `{name}`"), help)
    }
}

/// True if this is the name or an alias of the option.
pub(crate) fn is_called(option: &OptionSpec, name: &str) -> bool {
    option.name == name || option.aliases.contains(&name)
}

/// The problem for an option that is known but not supported.
fn refused(assignment: &Assignment, spec: &OptionSpec, reason: &str) -> Problem {
    let help = spec.default.map(|default| format!("only its default, {default}, is accepted"));
    let help = help.or_else(|| Some("leave it out".to_owned()));
    Problem::at(assignment.name_place.clone(), format!("option `{}` is refused: {reason}", spec.name), help)
}

/// The problem for an invalid value.
fn wrong(assignment: &Assignment, complaint: Complaint) -> Problem {
    let name = &assignment.name;
    let what = match &assignment.value {
        Some(value) => format!("{name}={value} {}", complaint.what),
        None => format!("{name} {}", complaint.what),
    };
    Problem::at(assignment.value_place.clone(), what, complaint.help)
}

/// Parses the value of an engine's own option.
fn engine_value(option: &OptionSpec, text: Option<&str>, base: UnitBase) -> Result<Value, Complaint> {
    let text = match (text.map(str::trim), option.kind) {
        (None, Kind::Flag) => "1",
        (None | Some(""), _) => return Err(table::needs_a_value(option)),
        (Some(text), _) => text,
    };
    match option.kind {
        Kind::Text | Kind::ThreeWay | Kind::Range => Ok(Value::Text(text.to_owned())),
        Kind::Word(words) => table::check_word(text, words).map(|()| Value::Text(text.to_owned())),
        Kind::Integer { .. } => table::bounded(option.kind, text, base).map(Value::Integer),
        Kind::Size { .. } => match amount(text, base)? {
            Amount::Bytes(bytes) => {
                i64::try_from(bytes).map(Value::Integer).map_err(|_| Complaint::plain("is too large"))
            }
            _ => Err(Complaint::new("is not a plain size", "write it like 4k, 1m or 4096")),
        },
        Kind::Time(unit) => time_value(text, unit),
        Kind::Bool | Kind::Flag => table::switch(text).map(Value::Flag),
        Kind::Floats { most } => floats(text, most).map(Value::Floats),
    }
}

/// Parses a time; the result is in nanoseconds.
fn time_value(text: &str, unit: TimeUnit) -> Result<Value, Complaint> {
    let nanos = span_of_time(text, unit)?;
    i64::try_from(nanos.get()).map(Value::Integer).map_err(|_| Complaint::plain("is too long"))
}
