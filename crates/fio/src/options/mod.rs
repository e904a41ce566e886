//! Options of a job: their table, the grammar of their values, and the draft that they fill.

pub(crate) mod applier;
pub(crate) mod draft;
pub(crate) mod table;
pub(crate) mod values;
