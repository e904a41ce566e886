//! The option table: every option of a job, declared once, with its effect on a draft.
//!
//! The rows are split over files by their heading in help. An option that is known but not implemented has a row with
//! `Refused` or `Never`; to enable it, give it a setter.

mod buffers;
mod depth;
mod description;
mod errors;
mod files;
mod handling;
mod io;
mod latency;
mod pace;
mod place;
mod records;
mod replay;
mod row;
mod size;
mod steady;
#[cfg(test)]
mod tests;
mod verify;
mod zones;

pub(crate) use row::{Context, OptionRow, Set, bounded, check_word, needs_a_value, switch};
pub(crate) use steady::criterion as steady_criterion;
pub(crate) use verify::{digest, digest_words};

/// The groups of rows in the order in which help lists them.
const GROUPS: &[&[OptionRow]] = &[
    description::ROWS,
    files::ROWS,
    handling::ROWS,
    io::ROWS,
    size::ROWS,
    depth::ROWS,
    pace::ROWS,
    latency::ROWS,
    buffers::ROWS,
    zones::ROWS,
    verify::ROWS,
    replay::ROWS,
    place::ROWS,
    records::ROWS,
    steady::ROWS,
    errors::ROWS,
];

/// Iterates over all rows.
pub(crate) fn rows() -> impl Iterator<Item = &'static OptionRow> {
    GROUPS.iter().flat_map(|group| group.iter())
}

/// Returns the row with this name or alias.
pub(crate) fn find(name: &str) -> Option<&'static OptionRow> {
    rows().find(|row| row.spec.name == name || row.spec.aliases.contains(&name))
}

/// Iterates over all names and aliases.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    rows().flat_map(|row| std::iter::once(row.spec.name).chain(row.spec.aliases.iter().copied()))
}
