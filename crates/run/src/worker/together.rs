//! Several workers on one process or thread: what they share in addition to it.

use crate::shared::divided_usage::{DividedUsage, TurnPlace};
use model::JobError;
use plan::Isolation;
use std::cell::OnceCell;
use sys::processes::placement::LockedMemory;

/// State that the workers of a process or thread share.
#[derive(Debug)]
pub(crate) struct Together {
    usage: DividedUsage,
    /// Its placement, which the first worker makes; with the memory that it locked.
    placed: OnceCell<Result<Option<LockedMemory>, JobError>>,
}

/// One of several workers of a process or thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn<'a> {
    together: &'a Together,
    /// Its number among them, from 0.
    number: u32,
}

impl Together {
    pub(crate) fn new(isolation: Isolation, workers: u32) -> Together {
        Together { usage: DividedUsage::new(isolation, workers), placed: OnceCell::new() }
    }

    pub(crate) fn turn(&self, number: u32) -> Turn<'_> {
        Turn { together: self, number }
    }
}

impl<'a> Turn<'a> {
    /// Applies the placement of the job to the thread, once for all of its workers.
    ///
    /// # Errors
    /// If the kernel refused it, to this worker or to the first.
    pub(super) fn in_place(
        self,
        take: impl FnOnce() -> Result<Option<LockedMemory>, JobError>,
    ) -> Result<(), JobError> {
        self.together.placed.get_or_init(take).as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// Its part of the usage of the thread.
    pub(super) fn place(self) -> TurnPlace<'a> {
        self.together.usage.place(self.number)
    }
}
