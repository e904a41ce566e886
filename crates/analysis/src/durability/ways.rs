//! The ways of making a write durable: what each promises, where its records are, and what is in a record.

use measure::{SplitMix, split_mix};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// A way of making a write durable, or of not doing so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// pwrite(2), fsync(2).
    Fsync,
    /// pwrite(2), fdatasync(2).
    Fdatasync,
    /// pwrite(2) to a file that was opened with O_DSYNC.
    ODsync,
    /// pwritev2(2) with RWF_DSYNC and O_DIRECT, which is a write with FUA where the device has that.
    Fua,
    /// The same with RWF_ATOMIC.
    Atomic,
    /// A write past the end of a file, fdatasync(2).
    Append,
    /// A new file, fsync(2) of it and of its directory.
    Create,
    /// A new file, fsync(2), rename(2) over the one before, fsync(2) of the directory.
    Rename,
    /// pwrite(2) with O_DIRECT.
    Direct,
    /// pwrite(2), sync_file_range(2).
    SyncFileRange,
    /// pwrite(2).
    None,
}

/// Promise of a way about a write that was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// It is there after a power cut.
    Kept,
    /// The same; and of a write that was not acknowledged there is all or nothing.
    Whole,
    /// Nothing.
    Nothing,
}

/// Places of the records of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// In one file that has all its blocks, or in a part of a device; each is written over the one before in its slot.
    Slots,
    /// At the end of a file that grows. After a number of records the next file is begun, and the one before the last
    /// is removed.
    Growing,
    /// In a new file each. Old files are removed.
    NewFiles,
    /// In a few files, each replaced by rename(2).
    Renamed,
}

/// A row of the table of ways.
struct Row {
    way: Way,
    name: &'static str,
    shape: Shape,
    promise: Promise,
    source: &'static str,
}

const fn row(way: Way, name: &'static str, shape: Shape, promise: Promise, source: &'static str) -> Row {
    Row { way, name, shape, promise, source }
}

/// In the order of the enum.
const ROWS: &[Row; 11] = &[
    row(Way::Fsync, "fsync", Shape::Slots, Promise::Kept, "fsync(2)"),
    row(Way::Fdatasync, "fdatasync", Shape::Slots, Promise::Kept, "fdatasync(2)"),
    row(Way::ODsync, "o_dsync", Shape::Slots, Promise::Kept, "O_DSYNC of open(2)"),
    row(Way::Fua, "fua", Shape::Slots, Promise::Kept, "RWF_DSYNC of pwritev2(2), with O_DIRECT"),
    row(Way::Atomic, "atomic", Shape::Slots, Promise::Whole, "RWF_ATOMIC and RWF_DSYNC of pwritev2(2), with O_DIRECT"),
    row(Way::Append, "append", Shape::Growing, Promise::Kept, "fdatasync(2) of a file that grows"),
    row(Way::Create, "create", Shape::NewFiles, Promise::Kept, "fsync(2) of a new file and of its directory"),
    row(Way::Rename, "rename", Shape::Renamed, Promise::Whole, "fsync(2), rename(2), fsync(2) of the directory"),
    row(Way::Direct, "direct", Shape::Slots, Promise::Nothing, "O_DIRECT of open(2)"),
    row(Way::SyncFileRange, "sync_file_range", Shape::Slots, Promise::Nothing, "sync_file_range(2)"),
    row(Way::None, "none", Shape::Slots, Promise::Nothing, "write(2)"),
];

/// All ways, in the order of tables.
pub const WAYS: [Way; 11] = {
    let mut ways = [Way::Fsync; 11];
    let mut at = 0;
    while at < ways.len() {
        ways[at] = ROWS[at].way;
        at += 1;
    }
    ways
};

/// Places for records that are written over one another.
pub const SLOTS: u64 = 256;
/// Size of a record unless another is asked for: that of a page of InnoDB.
pub const RECORD: u64 = 16 << 10;
/// Largest record: 256 MiB for each way on a device.
const LARGEST_RECORD: u64 = 1 << 20;
/// Records are aligned for direct I/O.
const ALIGNMENT: u64 = 4096;
/// Records in a file that grows.
const APPENDS: u64 = 256;
/// New files that are kept.
const NEW_FILES: u64 = 64;
/// Files that are replaced.
const RENAMED: u64 = 16;
/// Bytes that a device writes whole: records are judged by these.
pub(super) const SECTOR: usize = 512;

/// The place of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of its file.
    pub file: String,
    /// Offset in that file, in bytes.
    pub offset: u64,
}

impl Way {
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The way of this name.
    pub fn named(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.way)
    }

    /// Its name in options, tables and acknowledgements.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Its promise.
    pub fn promise(self) -> Promise {
        self.row().promise
    }

    /// The calls that it consists of, with their man pages.
    pub fn source(self) -> &'static str {
        self.row().source
    }

    /// Places of its records.
    pub fn shape(self) -> Shape {
        self.row().shape
    }

    /// The place of a record of `size` bytes; the first number is 1.
    pub fn place(self, number: u64, size: u64) -> Place {
        let (index, name) = (number.saturating_sub(1), self.name());
        match self.shape() {
            Shape::Slots => Place { file: name.to_owned(), offset: index % SLOTS * size },
            Shape::Growing => Place { file: format!("{name}.{}", index / APPENDS), offset: index % APPENDS * size },
            Shape::NewFiles => Place { file: format!("{name}.{number}"), offset: 0 },
            Shape::Renamed => Place { file: format!("{name}.{}", index % RENAMED), offset: 0 },
        }
    }

    /// The file that is removed before this record is written.
    pub fn removes(self, number: u64) -> Option<String> {
        let old = match self.shape() {
            Shape::Slots | Shape::Renamed => None,
            Shape::Growing if (number - 1).is_multiple_of(APPENDS) => number.checked_sub(2 * APPENDS),
            Shape::Growing => None,
            Shape::NewFiles => number.checked_sub(NEW_FILES).filter(|old| *old > 0),
        }?;
        Some(self.place(old, 0).file)
    }

    /// The records that can be judged once this one was acknowledged: those that later ones have not replaced.
    pub(super) fn judged(self, last: u64) -> RangeInclusive<u64> {
        let count = match self.shape() {
            Shape::Slots => SLOTS,
            Shape::Growing => 2 * APPENDS,
            Shape::NewFiles => NEW_FILES,
            Shape::Renamed => RENAMED,
        };
        last.saturating_sub(count - 1).max(1)..=last
    }

    /// True if a record may be gone because the writer had come to record `reached`: it was writing over it or had
    /// removed its file.
    pub(super) fn is_replaced(self, number: u64, reached: u64) -> bool {
        let file = |number: u64| (number - 1) / APPENDS;
        match self.shape() {
            Shape::Slots => number.saturating_add(SLOTS) <= reached,
            Shape::Growing => file(number) + 2 <= file(reached),
            Shape::NewFiles => number.saturating_add(NEW_FILES) <= reached,
            // A file is there at any moment, with this record or a later one.
            Shape::Renamed => false,
        }
    }

    /// The first record of the file whose name ends with this number, where later files replace it; 0 elsewhere.
    pub(super) fn first_of_file(self, number: u64) -> u64 {
        match self.shape() {
            Shape::Slots | Shape::Renamed => 0,
            Shape::Growing => number.saturating_mul(APPENDS).saturating_add(1),
            Shape::NewFiles => number,
        }
    }

    /// True if both records have one place.
    pub(super) fn is_same_place(self, number: u64, other: u64) -> bool {
        self.place(number, 1) == self.place(other, 1)
    }
}

/// True if records can have this size.
pub fn is_record(size: u64) -> bool {
    (ALIGNMENT..=LARGEST_RECORD).contains(&size) && size.is_multiple_of(ALIGNMENT)
}

/// Fills a record: each sector says which one it is, and the rest of it follows from that.
pub fn fill(run: u64, way: Way, number: u64, record: &mut [u8]) {
    for (index, sector) in record.chunks_mut(SECTOR).enumerate() {
        fill_sector([MAGIC, run, number, place_word(way, index)], sector);
    }
}

/// The number of the record of which this is a sector; `None` if it is none of this run and way at this place.
pub(super) fn held(run: u64, way: Way, index: usize, sector: &[u8]) -> Option<u64> {
    let number = u64::from_le_bytes(*sector.get(16..24)?.first_chunk()?);
    let mut expected = [0; SECTOR];
    fill_sector([MAGIC, run, number, place_word(way, index)], &mut expected);
    (sector == expected && number > 0).then_some(number)
}

const MAGIC: u64 = u64::from_le_bytes(*b"plumbdur");

fn place_word(way: Way, index: usize) -> u64 {
    (way as u64) << 32 | index as u64
}

fn fill_sector(head: [u64; 4], sector: &mut [u8]) {
    let seed = head.iter().fold(0, |seed, word| split_mix(seed ^ word));
    let mut rest = SplitMix::new(seed);
    let words = head.into_iter().chain(std::iter::from_fn(|| Some(rest.next_word())));
    for (bytes, word) in sector.chunks_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_each_way_at_its_place() {
        for (index, way) in WAYS.into_iter().enumerate() {
            assert_eq!((way as usize, Way::named(way.name())), (index, Some(way)));
            let word = serde_json::to_value(way).unwrap();
            assert_eq!(word, way.name());
        }
        assert_eq!(Way::named("sync"), None);
    }

    #[test]
    fn a_sector_names_its_record_and_any_changed_byte_denies_it() {
        let mut record = vec![0; 4 * SECTOR];
        fill(7, Way::Fsync, 9, &mut record);
        for (index, sector) in record.chunks(SECTOR).enumerate() {
            assert_eq!(held(7, Way::Fsync, index, sector), Some(9));
            for (run, way, other) in [(8, Way::Fsync, index), (7, Way::None, index), (7, Way::Fsync, index + 1)] {
                assert_eq!(held(run, way, other, sector), None);
            }
            for at in 0..SECTOR {
                let mut changed = sector.to_vec();
                changed[at] ^= 1;
                assert_eq!(held(7, Way::Fsync, index, &changed), None, "{at}");
            }
        }
        assert_eq!((held(7, Way::Fsync, 0, &[0; SECTOR]), held(7, Way::Fsync, 0, &[])), (None, None));
    }

    #[test]
    fn a_file_is_removed_when_no_judged_record_needs_it() {
        assert_eq!(Way::Create.removes(64), None);
        assert_eq!(Way::Create.removes(65).as_deref(), Some("create.1"));
        assert_eq!(Way::Append.removes(257), None);
        assert_eq!(Way::Append.removes(513).as_deref(), Some("append.0"));
        assert_eq!(Way::Append.removes(514), None);
        for way in WAYS {
            for last in [1, 2, 255, 256, 257, 512, 513, 2000] {
                // What the writer does next may remove or write over the records that are replaced then, and no other.
                let gone: Vec<String> = (1..=last + 1).filter_map(|number| way.removes(number)).collect();
                for number in way.judged(last) {
                    let is_gone = gone.contains(&way.place(number, 1).file)
                        || way.shape() == Shape::Slots && way.is_same_place(number, last + 1);
                    assert_eq!(is_gone, way.is_replaced(number, last + 1), "{way:?} {number} of {last}");
                }
            }
        }
    }
}
