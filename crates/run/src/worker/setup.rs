//! The input of one worker.

use crate::files::PlannedFile;
use crate::replay::ReplayLog;
use crate::shared::control::Control;
use crate::shared::group_state::GroupState;
use crate::shared::record::Mailbox;
use measure::SystemClock;
use plan::WorkerPlan;
use std::fs::File;
use std::sync::Arc;

/// Everything that a worker is given.
#[derive(Clone, Copy)]
pub(crate) struct WorkerSetup<'run> {
    /// Its part of the plan.
    pub(crate) plan: WorkerPlan<'run>,
    /// Its files.
    pub(crate) files: &'run [PlannedFile],
    /// The I/O log that it replays, if any.
    pub(crate) replay: Option<&'run ReplayLog>,
    /// The control block that it shares with the parent.
    pub(crate) control: &'run Control,
    /// The mailbox for a copy of its record, if it is a thread.
    pub(crate) mailbox: &'run Mailbox,
    /// The control blocks of all workers.
    pub(crate) controls: &'run sys::machine::shared_memory::SharedBlocks<Control>,
    /// Its relations to other workers.
    pub(crate) group: &'run GroupState,
    /// Directory that holds `proc` and `sys`.
    pub(crate) root: &'run std::path::Path,
    /// The run's clock.
    pub(crate) clock: SystemClock,
    /// Seed to use if the plan has none.
    pub(crate) system_seed: u64,
    /// The file for debug messages, if any.
    pub(crate) debug_log_to: Option<&'run Arc<File>>,
}
