//! One pass of a benchmark that times whole passes: what lies around the timed part, and in which order records come.

use measure::Nanos;
use std::sync::Arc;

/// One timed pass over the records of a file. fio's jobs have none: for them the parts of a job lie elsewhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassPlan {
    /// How the file is opened.
    pub access: Access,
    /// What becomes of the file before it is opened.
    pub birth: Birth,
    /// Permissions of a file that is made.
    pub mode: u32,
    /// Flush the file before the timed part.
    pub flush_before: bool,
    /// Flush the file after the timed part; `LoadPlan::end_fsync` flushes inside.
    pub flush_after: bool,
    /// Close the file inside the timed part.
    pub close_inside: bool,
    /// Read the first record once before the timed part.
    pub prime: bool,
    /// Hold a lock of the whole file (fcntl(2)) around the pass.
    pub lock: bool,
    /// Begin so long after the barrier opened.
    pub start_gap: Nanos,
    /// What happens to the others when the first worker is done.
    pub race: Race,
    /// Bytes that every page of a record begins with, and that reads must bring back.
    pub marks: Option<Marks>,
    /// In which order the records come.
    pub order: RecordOrder,
    /// Touch so many bytes of memory before each record, to push other data out of the processor's caches.
    pub purge_bytes: usize,
    /// What is done beside each record, where anything is.
    pub habits: Option<Box<Habits>>,
    /// Write the first so many bytes of the buffer to the beginning of the file before the timed part, through write(2)
    /// whatever the engine; 0 for none.
    pub touch_bytes: u32,
    /// What the kernel is told of the use of a mapped file.
    pub map_advice: Option<MapAdvice>,
}

/// What is done beside each record of a pass. Rare: such a pass has a loop of its own, with one record in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Habits {
    /// Lock the bytes of the record while it moves (fcntl(2)).
    pub locks: bool,
    /// Take the memory of each record from the next place of an area of so many bytes; 0 for one place.
    pub area_bytes: usize,
    /// Read elsewhere now and then.
    pub strays: Option<Strays>,
    /// Compute before each record of a list as long as the list says.
    pub computes: bool,
}

/// Reads elsewhere between the records, which are no part of the pass's numbers but its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strays {
    /// Before every so-manieth record, beginning with the first.
    pub every: u64,
    /// How many at once, a page apart from the beginning of the file on.
    pub count: u32,
    /// Bytes of each.
    pub bytes: u32,
}

/// What madvise(2) says of a mapped file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapAdvice {
    /// Nothing special.
    Normal,
    /// As chance has it.
    Random,
    /// From the beginning to the end.
    Sequential,
    /// Not soon.
    DontNeed,
    /// Soon.
    WillNeed,
}

/// How the file of a pass is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// As the load needs it.
    #[default]
    ByMix,
    /// For reading and writing, whatever moves.
    Both,
}

/// What becomes of the file before it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Birth {
    /// It must be there.
    #[default]
    Exists,
    /// It is made where it is missing.
    IfMissing,
    /// It is removed and made anew.
    Anew,
    /// It is made where it is missing, and cut to nothing where it is there.
    Emptied,
}

/// What happens to the other workers when the first one is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Race {
    /// Nothing.
    #[default]
    None,
    /// They end at once.
    Stop,
    /// They note how far they are and go on.
    Mark,
}

/// Bytes at the beginning of every page of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The byte.
    pub byte: u8,
    /// How many of each page carry it.
    pub bytes: usize,
    /// Bytes of a page.
    pub page: usize,
}

/// In which order records come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RecordOrder {
    /// As the load has it.
    #[default]
    ByLoad,
    /// Each once, in iozone's shuffled order.
    Shuffled,
    /// From the last to the first.
    Backward,
    /// The first one, again and again.
    Same,
    /// Every so many records, in rounds.
    Strided(u64),
    /// As in this list; no record is longer than the job's block.
    Listed(Arc<[Listed]>),
}

/// A record of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Where, in bytes.
    pub offset: u64,
    /// How long, in bytes.
    pub length: u32,
    /// How long to compute before it.
    pub compute: Nanos,
}
