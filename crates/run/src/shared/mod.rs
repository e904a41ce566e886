//! State that a worker and its parent share: control blocks, records, the gate, mailboxes and groups.
//!
//! Nothing in this module uses `worker`, `drive`, `files`, `replay` or `supervise`; all of them may use it.

mod block_record;
pub(crate) mod capabilities;
pub(crate) mod control;
pub(crate) mod gate;
pub(crate) mod group_state;
pub(crate) mod priorities;
pub(crate) mod record;
pub(crate) mod steady;
pub(crate) mod usage;
pub(crate) mod virtual_intervals;
pub(crate) mod wakeup;
