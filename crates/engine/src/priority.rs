//! I/O priorities chosen per I/O: the `cmdprio` options of libaio and io_uring.
//!
//! A choice is an index into the list of all priorities of the job, of which the first is the job's own. The worker
//! uses the index to keep separate latencies.

use crate::contract::{EngineError, Io, Operation, Setup};
use measure::SplitMix;
use plan::option::{Effect, OptionSpec};
use plan::{EngineOptions, options};

/// Maximum number of different priorities of a job's I/Os.
const MOST: usize = 16;
/// The real-time class (IOPRIO_CLASS_RT), the default of `cmdprio_class`.
const REAL_TIME: u16 = 1;

/// Chooses priorities. Exists only for jobs that ask for it.
#[derive(Debug)]
pub(crate) struct Priorities {
    /// All priorities of the job; the first is the job's own.
    values: Vec<u16>,
    reads: Rule,
    writes: Rule,
    random: SplitMix,
    /// Index chosen for the last I/O of each slot.
    of_slot: Box<[usize]>,
}

/// Priorities for the I/Os of one direction.
#[derive(Clone, Debug, Default)]
struct Rule {
    entries: Vec<Entry>,
}

/// Percentage of the I/Os of one size, or of all, that get a priority.
#[derive(Clone, Copy, Debug)]
struct Entry {
    size: Option<u32>,
    /// Fraction, 0 to 1.
    share: f64,
    value: usize,
}

impl Priorities {
    /// Reads the options; `None` if all I/Os have the job's own priority.
    pub(crate) fn from_options<C>(setup: &Setup<'_, C>, engine: &'static str) -> Result<Option<Self>, EngineError> {
        let wrong = |message: String| EngineError { engine, operation: "options", message, errno: libc::EINVAL };
        let options = setup.options;
        let mut values = vec![setup.job.priority];
        let rules = match (options.text("cmdprio_percentage"), options.text("cmdprio_bssplit")) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return Err(wrong("cmdprio_percentage and cmdprio_bssplit exclude each other; give one".to_owned()));
            }
            (Some(text), None) => by_percentage(text, options, &mut values),
            (None, Some(text)) => by_size(text, options, &mut values),
        };
        let [reads, writes] = rules.map_err(wrong)?;
        let of_slot = vec![0; setup.depth as usize].into();
        let priorities = Priorities { values, reads, writes, random: SplitMix::new(1), of_slot };
        Ok((priorities.values.len() > 1).then_some(priorities))
    }

    /// Chooses the priority of the next I/O; `None` for the job's own.
    pub(crate) fn choose(&mut self, io: &Io) -> Option<u16> {
        let rule = if io.operation == Operation::Write { &self.writes } else { &self.reads };
        let mut left = if rule.entries.is_empty() { 1.0 } else { self.random.fraction() };
        let mut chosen = 0;
        for entry in rule.entries.iter().filter(|entry| entry.size.is_none_or(|size| size == io.length)) {
            if left < entry.share {
                chosen = entry.value;
                break;
            }
            left -= entry.share;
        }
        self.of_slot[io.slot as usize] = chosen;
        (chosen > 0).then(|| self.values[chosen])
    }

    pub(crate) fn all(&self) -> &[u16] {
        &self.values
    }

    pub(crate) fn of_slot(&self, slot: u32) -> usize {
        self.of_slot[slot as usize]
    }
}

/// Encodes an I/O priority: class in the upper 3 bits, hint in 10, level in the lower 3 (linux/ioprio.h).
const fn packed(class: u16, hint: u16, level: u16) -> u16 {
    class << 13 | hint << 3 | level
}

/// Index of a priority in the list, to which it is added if it is new.
fn index_of(values: &mut Vec<u16>, value: u16) -> Result<usize, String> {
    if let Some(index) = values.iter().position(|&known| known == value) {
        return Ok(index);
    }
    values.push(value);
    if values.len() > MOST { Err(format!("more than {MOST} different priorities")) } else { Ok(values.len() - 1) }
}

/// One number per direction, `read,write`; a single one applies to both.
fn pair(options: &EngineOptions, name: &str, default: u16, most: u16) -> Result<[u16; 2], String> {
    let Some(text) = options.text(name) else { return Ok([default; 2]) };
    let mut numbers = text.splitn(2, ',').map(|part| number(part, name, most));
    let read = numbers.next().unwrap_or(Ok(default))?;
    Ok([read, numbers.next().unwrap_or(Ok(read))?])
}

fn number(text: &str, name: &str, most: u16) -> Result<u16, String> {
    let number = text.trim().parse().ok().filter(|&number| number <= most);
    number.ok_or_else(|| format!("{name}: `{text}` is not a number from 0 to {most}"))
}

/// Priority of raised I/Os per direction, from `cmdprio_class`, `cmdprio_hint` and `cmdprio`.
fn raised(options: &EngineOptions) -> Result<[u16; 2], String> {
    let classes = pair(options, "cmdprio_class", REAL_TIME, 3)?;
    let hints = pair(options, "cmdprio_hint", 0, 1023)?;
    let levels = pair(options, "cmdprio", 0, 7)?;
    Ok([0, 1].map(|at| packed(classes[at], hints[at], levels[at])))
}

fn by_percentage(text: &str, options: &EngineOptions, values: &mut Vec<u16>) -> Result<[Rule; 2], String> {
    let mut given = EngineOptions::default();
    given.set("cmdprio_percentage", plan::option::Value::Text(text.to_owned()));
    let percents = pair(&given, "cmdprio_percentage", 0, 100)?;
    let raised = raised(options)?;
    let mut rules = [Rule::default(), Rule::default()];
    for ((rule, percent), value) in rules.iter_mut().zip(percents).zip(raised) {
        if percent > 0 {
            let value = index_of(values, value)?;
            rule.entries.push(Entry { size: None, share: f64::from(percent) / 100.0, value });
        }
    }
    Ok(rules)
}

fn by_size(text: &str, options: &EngineOptions, values: &mut Vec<u16>) -> Result<[Rule; 2], String> {
    let raised = raised(options)?;
    let parts: Vec<&str> = text.splitn(2, ',').collect();
    let mut rules = [Rule::default(), Rule::default()];
    for (at, rule) in rules.iter_mut().enumerate() {
        let part = parts.get(at).or(parts.first()).copied().unwrap_or_default();
        for entry in part.split(':').map(str::trim).filter(|entry| !entry.is_empty()) {
            rule.entries.push(size_entry(entry, raised[at], values)?);
        }
        for entry in &rule.entries {
            let same = rule.entries.iter().filter(|other| other.size == entry.size);
            if same.map(|other| other.share).sum::<f64>() > 1.0 + f64::EPSILON {
                return Err(format!("cmdprio_bssplit={text}: the shares of one size sum to more than 100"));
            }
        }
    }
    Ok(rules)
}

/// `size/percent`, `size/percent/class/level` or `size/percent/class/level/hint`.
fn size_entry(text: &str, raised: u16, values: &mut Vec<u16>) -> Result<Entry, String> {
    let wrong = || {
        format!("cmdprio_bssplit: `{text}` is not like 4k/50, 4k/50/1/0 or 4k/50/1/0/0 (size/percent/class/level/hint)")
    };
    let fields: Vec<&str> = text.split('/').collect();
    let field = |at: usize, most| number(fields[at], "cmdprio_bssplit", most);
    let value = match fields.len() {
        2 => raised,
        4 => packed(field(2, 3)?, 0, field(3, 7)?),
        5 => packed(field(2, 3)?, field(4, 1023)?, field(3, 7)?),
        _ => return Err(wrong()),
    };
    let size = measure::text::bytes(fields[0]).and_then(|size| u32::try_from(size).ok()).ok_or_else(wrong)?;
    let share = f64::from(field(1, 100)?) / 100.0;
    Ok(Entry { size: Some(size), share, value: index_of(values, value)? })
}

/// The options for I/O priorities.
pub(crate) const PRIORITY_OPTIONS: [OptionSpec; 5] = *options! {
    "cmdprio_percentage": THREE => with(Effect::RaisesPriority);
        "Share of I/Os with a raised priority, for reads and writes";
    "cmdprio_class": THREE, "1"; "Priority class of the raised I/Os";
    "cmdprio_hint": THREE, "0"; "Priority hint of the raised I/Os";
    "cmdprio": THREE, "0"; "Priority level of the raised I/Os";
    "cmdprio_bssplit": TEXT => with(Effect::RaisesPriority);
        "Share of raised I/Os by block size: size/percent[/class/level[/hint]]:..., for reads and writes";
};

#[cfg(test)]
mod tests {
    use super::*;
    use plan::option::Value;

    fn rules(options: &[(&'static str, &str)]) -> Result<(Vec<u16>, [Rule; 2]), String> {
        let mut given = EngineOptions::default();
        for (name, text) in options {
            given.set(name, Value::Text((*text).to_owned()));
        }
        let mut values = vec![0];
        let rules = match given.text("cmdprio_bssplit") {
            Some(text) => by_size(text, &given, &mut values)?,
            None => by_percentage(given.text("cmdprio_percentage").unwrap_or("0"), &given, &mut values)?,
        };
        Ok((values, rules))
    }

    #[test]
    fn a_percentage_holds_for_both_directions_unless_both_are_given() {
        let (values, [reads, writes]) = rules(&[("cmdprio_percentage", "25")]).expect("it is right");
        assert_eq!(values, [0, packed(1, 0, 0)]);
        assert_eq!([reads.entries[0].share, writes.entries[0].share], [0.25, 0.25]);
        let (values, [reads, writes]) =
            rules(&[("cmdprio_percentage", "25,0"), ("cmdprio_class", "2,3"), ("cmdprio", "4")]).expect("it is right");
        assert_eq!(values, [0, packed(2, 0, 4)]);
        assert_eq!((reads.entries.len(), writes.entries.len()), (1, 0));
    }

    #[test]
    fn a_split_by_size_names_its_own_priorities() {
        let split = [("cmdprio_bssplit", "4k/50/3/1:8k/100,64k/10/2/7/5"), ("cmdprio", "2")];
        let (values, [reads, writes]) = rules(&split).expect("it is right");
        assert_eq!(values, [0, packed(3, 0, 1), packed(1, 0, 2), packed(2, 5, 7)]);
        assert_eq!([reads.entries[0].size, reads.entries[1].size], [Some(4096), Some(8192)]);
        assert_eq!((writes.entries[0].size, writes.entries[0].value), (Some(65536), 3));
    }

    #[test]
    fn a_wrong_share_size_or_class_is_refused_with_a_right_one() {
        for (name, text, expected) in [
            ("cmdprio_percentage", "101", "from 0 to 100"),
            ("cmdprio_bssplit", "4k", "4k/50/1/0"),
            ("cmdprio_bssplit", "4k/50/9/0", "from 0 to 3"),
            ("cmdprio_bssplit", "4k/60:4k/60", "more than 100"),
            ("cmdprio_bssplit", "x/60", "4k/50"),
        ] {
            let error = rules(&[(name, text)]).map(|_| ()).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
