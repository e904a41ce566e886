//! An I/O of a process, with the parts of its time.

use crate::event::Thread;
use measure::Nanos;
use std::ops::{Index, IndexMut};
use sys::devices::identity::DeviceNumber;

/// Direction of an I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Reads.
    #[default]
    Read,
    /// Writes.
    Write,
    /// Makes data durable.
    Sync,
    /// Waits for a page of a mapped file.
    Fault,
}

impl Direction {
    /// Its name in JSON and recordings.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Sync => "sync",
            Direction::Fault => "page fault",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Direction::Read, Direction::Write, Direction::Sync, Direction::Fault]
            .into_iter()
            .find(|direction| direction.name() == name)
    }
}

/// How much of an I/O was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// A system call, from its begin to its end; a page fault to the end of its wait; a request to its completion.
    #[default]
    Call,
    /// From the block layer's queue to its completion: I/Os of io_uring and libaio, and those of a device.
    Block,
}

impl Reach {
    /// Its name in JSON and recordings.
    pub fn name(self) -> &'static str {
        match self {
            Reach::Call => "call",
            Reach::Block => "block layer",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Reach::Call, Reach::Block].into_iter().find(|reach| reach.name() == name)
    }
}

/// A part of the time of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The whole of a read or write that slept for nothing and caused no I/O: memory answered it.
    Cache,
    /// Running in the call, before its last wait.
    FileSystem,
    /// Asleep in the call, for none of the others.
    Wait,
    /// Asleep until the file system's journal had written a transaction, or for the log of xfs.
    Journal,
    /// Asleep because too much of the page cache is dirty.
    DirtyLimit,
    /// Held back by a limit of its control group.
    Throttle,
    /// Queued until it had a request of the device: its tags, and wbt, iocost and io.latency.
    Tags,
    /// From the request to the driver: plugging, the I/O scheduler, requeued.
    Scheduler,
    /// Between a stacked device (dm, md) and those below it.
    Stack,
    /// In the device, from the driver to the completion.
    Device,
    /// In a flush of the device's cache.
    Flush,
    /// From the completion to running again: interrupt, and waiting for a processor.
    WakingUp,
    /// Running in the call, after its last wait.
    CopyAndReturn,
    /// Asleep, and the wake-up was not recorded.
    NotSeen,
}

/// All parts, in the order of an I/O.
pub const PARTS: [Part; 14] = [
    Part::Cache,
    Part::FileSystem,
    Part::Wait,
    Part::Journal,
    Part::DirtyLimit,
    Part::Throttle,
    Part::Tags,
    Part::Scheduler,
    Part::Stack,
    Part::Device,
    Part::Flush,
    Part::WakingUp,
    Part::CopyAndReturn,
    Part::NotSeen,
];

impl Part {
    /// Its name in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Part::Cache => "cache",
            Part::FileSystem => "file system",
            Part::Wait => "lock or other wait",
            Part::Journal => "journal",
            Part::DirtyLimit => "dirty limit",
            Part::Throttle => "throttle",
            Part::Tags => "tags",
            Part::Scheduler => "scheduler",
            Part::Stack => "dm or md",
            Part::Device => "device",
            Part::Flush => "flush",
            Part::WakingUp => "waking up",
            Part::CopyAndReturn => "copy and return",
            Part::NotSeen => "not seen",
        }
    }
}

/// Time of each part. The sum is the time of the I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts([Nanos; PARTS.len()]);

impl Index<Part> for Parts {
    type Output = Nanos;

    fn index(&self, part: Part) -> &Nanos {
        &self.0[part as usize]
    }
}

impl IndexMut<Part> for Parts {
    fn index_mut(&mut self, part: Part) -> &mut Nanos {
        &mut self.0[part as usize]
    }
}

impl Parts {
    /// Sum of all.
    pub fn sum(&self) -> Nanos {
        self.0.iter().copied().sum()
    }

    /// The largest part.
    pub fn largest(&self) -> Part {
        PARTS.into_iter().max_by_key(|part| self[*part]).unwrap_or(Part::NotSeen)
    }

    /// Adds those of another I/O.
    pub(crate) fn add(&mut self, other: &Parts) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += more);
    }
}

/// An I/O.
#[derive(Clone, Debug, Default)]
pub struct Io {
    /// Begin, on the kernel's clock.
    pub begin: Nanos,
    /// Time from begin to end.
    pub time: Nanos,
    /// Thread that made it.
    pub thread: Thread,
    /// Name of the thread, of an I/O of the block layer.
    pub program: Option<String>,
    /// Its direction.
    pub direction: Direction,
    /// How much of it was seen.
    pub reach: Reach,
    /// Name of the call; of the block layer's I/Os the call that handed it over, or empty.
    pub call: &'static str,
    /// Descriptor in the call.
    pub descriptor: Option<i32>,
    /// Its file: an index into [`crate::Seen::files`].
    pub file: Option<usize>,
    /// Where in the file, or on the device; `None` at the position of the file.
    pub offset: Option<u64>,
    /// Bytes that were read or written; 0 for syncs and failed calls.
    pub bytes: u64,
    /// True if the call failed.
    pub has_failed: bool,
    /// True if it begins where the one before on this descriptor ended; `None` where that is not known.
    pub is_sequential: Option<bool>,
    /// True if it used the page cache, or waited for a device.
    pub is_of_storage: bool,
    /// Number of I/Os of the block layer that it waited for.
    pub waited_for: u32,
    /// Device that it waited for last.
    pub device: Option<DeviceNumber>,
    /// Thread that ended its longest wait of kind [`Part::Wait`].
    pub waker: Option<Thread>,
    /// Where its time went.
    pub parts: Parts,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A read of one page.
    pub(crate) fn io(begin: u64, time: u64) -> Io {
        Io {
            begin: Nanos(begin),
            time: Nanos(time),
            thread: Thread(7),
            call: "pread64",
            descriptor: Some(3),
            bytes: 4096,
            is_of_storage: true,
            waited_for: 1,
            ..Io::default()
        }
    }
}
