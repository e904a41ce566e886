//! Memory shared by forked workers and their parent: control blocks of atomics, and records with one writer each.
//!
//! Both consist of zero pages at first, are divided into page-aligned cells, and are freed with the last process that
//! maps them. Any bytes must be a valid value of a cell's type ([`FromBytes`]): a writer that is killed at any point
//! may leave torn numbers, but never an invalid value. A type has no pointers, which would be meaningless in another
//! process.

use crate::SysError;
use crate::machine::mapping::{Mapping, PAGE, round_up};
use rustix::mm::MapFlags;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, Range};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use zerocopy::FromBytes;

/// Blocks of atomics, one per worker, which all processes may read and write at any time.
///
/// Create it before the fork and move a reference or an `Arc` of it into the child.
#[derive(Debug)]
pub struct SharedBlocks<T> {
    cells: Cells,
    content: PhantomData<T>,
}

// SAFETY: a shared reference gives access to `&T` only, and requires `T: Sync` for that.
unsafe impl<T: Sync> Sync for SharedBlocks<T> {}
// SAFETY: the memory is not bound to a thread; moving it moves the values of `T`.
unsafe impl<T: Send> Send for SharedBlocks<T> {}

impl<T: FromBytes + Sync> SharedBlocks<T> {
    /// Allocates `count` blocks of zero bytes.
    ///
    /// # Errors
    /// If the kernel has not enough memory.
    pub fn new(count: usize) -> Result<Self, SysError> {
        Ok(SharedBlocks { cells: Cells::new(count, size_of::<T>(), align_of::<T>(), 0)?, content: PhantomData })
    }

    /// Makes these bytes of all blocks zero again, as those of new ones are, for another use of the same memory.
    ///
    /// # Panics
    /// If they are not within a block.
    pub fn clear(&mut self, part: Range<usize>) {
        assert!(part.start <= part.end && part.end <= size_of::<T>(), "{part:?} of {} bytes", size_of::<T>());
        (0..self.cells.count).for_each(|index| self.cells.clear(index, part.clone()));
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.cells.count
    }

    /// True if there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.cells.count == 0
    }

    /// Block `index`; `None` past the last.
    pub fn get(&self, index: usize) -> Option<&T> {
        let cell = self.cells.cell(index)?;
        // SAFETY: the cell is aligned, large enough, and valid for any bytes; there is never a `&mut` to it, because
        // only shared references are returned; it lives as long as `self`.
        Some(unsafe { cell.cast::<T>().as_ref() })
    }

    /// All blocks in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl<T: FromBytes + Sync> Index<usize> for SharedBlocks<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        match self.get(index) {
            Some(block) => block,
            None => panic!("shared block {index} of {}", self.len()),
        }
    }
}

/// Records that one worker each writes in place, and of which the parent reads copies.
///
/// A worker claims its record itself with [`SharedRecords::writer`], after the fork or in its thread.
///
/// A claim is an atomic per record that goes from free to the process ID of the writer to released, and never back.
/// That is the whole synchronisation: `&mut` exists only while the claim has the ID of this process, and a snapshot is
/// refused then. A snapshot races only with writers in other processes; there it is a copy of bytes that may be torn.
#[derive(Debug)]
pub struct SharedRecords<T> {
    cells: Cells,
    content: PhantomData<T>,
}

// SAFETY: references to the content of a record exist only through its `RecordWriter`, of which there is at most one.
unsafe impl<T: Send> Sync for SharedRecords<T> {}
// SAFETY: the memory is not bound to a thread; moving it moves the values of `T`.
unsafe impl<T: Send> Send for SharedRecords<T> {}

/// Claim of a record without a writer so far.
const FREE: u32 = 0;
/// Claim of a record whose writer has finished. Larger than any process ID.
const RELEASED: u32 = u32::MAX;

impl<T: FromBytes> SharedRecords<T> {
    /// Allocates `count` records of zero bytes.
    ///
    /// # Errors
    /// If the kernel has not enough memory.
    pub fn new(count: usize) -> Result<Self, SysError> {
        let claims = count.saturating_mul(size_of::<AtomicU32>());
        Ok(SharedRecords { cells: Cells::new(count, size_of::<T>(), align_of::<T>(), claims)?, content: PhantomData })
    }

    /// Makes all records zero and unclaimed again, as new ones are, for another use of the same memory. Of each record
    /// the bytes in `first` and in the parts that `rest` names when it has seen it are cleared: all that was written,
    /// or it stays.
    ///
    /// # Panics
    /// If a part is not within the record.
    pub fn clear(&mut self, first: Range<usize>, rest: impl Fn(usize, &T) -> Vec<Range<usize>>) {
        for index in 0..self.cells.count {
            let (Some(cell), Some(claim)) = (self.cells.cell(index), self.claim(index)) else { continue };
            claim.store(FREE, Ordering::Relaxed);
            // SAFETY: the cell holds a `T`, as any bytes are one, and the exclusive borrow of the records leaves no
            // writer.
            let parts = rest(index, unsafe { cell.cast::<T>().as_ref() });
            for part in parts.into_iter().chain([first.clone()]) {
                assert!(part.start <= part.end && part.end <= size_of::<T>(), "{part:?} of {} bytes", size_of::<T>());
                self.cells.clear(index, part);
            }
        }
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.cells.count
    }

    /// True if there are no records.
    pub fn is_empty(&self) -> bool {
        self.cells.count == 0
    }

    /// Claims record `index` for writing in place. `None` past the last, or if the record was ever claimed before: a
    /// record has one writer in its lifetime.
    ///
    /// All bytes of a new record are zero.
    pub fn writer(&self, index: usize) -> Option<RecordWriter<'_, T>> {
        let claim = self.claim(index)?;
        claim.compare_exchange(FREE, std::process::id(), Ordering::Acquire, Ordering::Relaxed).ok()?;
        let record = self.cells.cell(index)?.cast();
        Some(RecordWriter { claim, record, records: PhantomData })
    }

    /// Record `index` itself, if its writer has dropped its [`RecordWriter`]: it does not change any more.
    pub fn finished(&self, index: usize) -> Option<&T> {
        let is_released = self.claim(index)?.load(Ordering::Acquire) == RELEASED;
        let cell = self.cells.cell(index).filter(|_| is_released)?;
        // SAFETY: any bytes are a valid `T`. A claim that is released stays so while the records are borrowed, and
        // there is no other writer.
        Some(unsafe { cell.cast::<T>().as_ref() })
    }

    /// Copies record `index` in its current state.
    ///
    /// The copy is complete once the writer has dropped its [`RecordWriter`], or once its process is known to have
    /// ended in any way. While another process writes, the numbers may be from different times.
    /// Returns `None` past the last, and while a thread of this process has claimed the record.
    pub fn snapshot(&self, index: usize) -> Option<Box<T>> {
        self.snapshot_of(index, 0..size_of::<T>(), |_| Vec::new())
    }

    /// Copies parts of record `index` in its current state: the bytes in `first`, then those that `rest` asks for when
    /// it has seen them. All other bytes of the copy are zero.
    ///
    /// For large records of which the writer leaves most as it was: a page that is read is allocated.
    ///
    /// Otherwise as [`SharedRecords::snapshot`].
    ///
    /// # Panics
    /// If a part is not within the record.
    pub fn snapshot_of(
        &self,
        index: usize,
        first: Range<usize>,
        rest: impl FnOnce(&T) -> Vec<Range<usize>>,
    ) -> Option<Box<T>> {
        let claim = self.claim(index)?.load(Ordering::Acquire);
        if claim == std::process::id() {
            return None;
        }
        let cell = self.cells.cell(index)?;
        // SAFETY: zero bytes are a valid `T`, as any bytes are.
        let mut copy = unsafe { Box::<T>::new_zeroed().assume_init() };
        let copy_part = |copy: &mut T, part: Range<usize>| {
            assert!(part.start <= part.end && part.end <= size_of::<T>(), "{part:?} of {} bytes", size_of::<T>());
            let to = std::ptr::from_mut(copy).cast::<u8>();
            // SAFETY: the part is inside the cell and inside the box, as just asserted, and these do not overlap. No
            // thread of this process has a `&mut` to the cell: a claim is made once, and this one belongs to another
            // process or is over. Concurrent writes of another process change the bytes that are copied, and any bytes
            // are a valid `T`.
            unsafe { std::ptr::copy_nonoverlapping(cell.as_ptr().add(part.start), to.add(part.start), part.len()) };
        };
        copy_part(&mut copy, first);
        for part in rest(&copy) {
            copy_part(&mut copy, part);
        }
        // Keeps the copy before later loads of the caller, such as those of a control block.
        fence(Ordering::Acquire);
        Some(copy)
    }

    /// Copies the `P` at byte `offset` of record `index` in its current state, without reading the rest of a large
    /// record.
    ///
    /// As [`SharedRecords::snapshot`]; also `None` if a `P` does not fit at this offset.
    pub fn part<P: FromBytes>(&self, index: usize, offset: usize) -> Option<Box<P>> {
        let fits = offset.checked_add(size_of::<P>())? <= size_of::<T>() && offset.is_multiple_of(align_of::<P>());
        if !fits
            || align_of::<P>() > align_of::<T>()
            || self.claim(index)?.load(Ordering::Acquire) == std::process::id()
        {
            return None;
        }
        let cell = self.cells.cell(index)?;
        let mut copy = Box::<P>::new_uninit();
        // SAFETY: the bytes from `offset` on are inside the cell, the box has the same size, and they do not overlap.
        // No thread of this process writes them, as in `snapshot`; concurrent writes of another process change the
        // bytes that are copied.
        unsafe { std::ptr::copy_nonoverlapping(cell.as_ptr().add(offset).cast::<P>(), copy.as_mut_ptr(), 1) };
        // As in `snapshot`.
        fence(Ordering::Acquire);
        // SAFETY: every byte was copied above, and any bytes are a valid `P`.
        Some(unsafe { copy.assume_init() })
    }

    fn claim(&self, index: usize) -> Option<&AtomicU32> {
        if index >= self.cells.count {
            return None;
        }
        // SAFETY: the claims are at the start of the mapping, one per record, aligned by the page, and only accessed as
        // atomics.
        Some(unsafe { self.cells.mapping.start().cast::<AtomicU32>().add(index).as_ref() })
    }
}

/// Exclusive access to one record for writing in place, until it is dropped.
///
/// Bound to the thread that claimed it, and thereby to its process: it cannot be moved into a child.
///
/// ```compile_fail
/// let records = sys::machine::shared_memory::SharedRecords::<u64>::new(1).unwrap();
/// let mut writer = records.writer(0).unwrap();
/// // A writer does not cross a fork: claim the record inside.
/// sys::processes::process::fork(std::path::Path::new("/"), move || { *writer = 1; 0 });
/// ```
#[derive(Debug)]
pub struct RecordWriter<'records, T> {
    claim: &'records AtomicU32,
    record: NonNull<T>,
    records: PhantomData<&'records SharedRecords<T>>,
}

impl<T> Deref for RecordWriter<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the claim makes this the only access to the record, and the records outlive the writer.
        unsafe { self.record.as_ref() }
    }
}

impl<T> DerefMut for RecordWriter<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the claim makes this the only access to the record, and the records outlive the writer.
        unsafe { self.record.as_mut() }
    }
}

impl<T> Drop for RecordWriter<'_, T> {
    fn drop(&mut self) {
        self.claim.store(RELEASED, Ordering::Release);
    }
}

/// A shared anonymous mapping: `header` bytes, then `count` cells, each on separate pages.
#[derive(Debug)]
struct Cells {
    mapping: Mapping,
    first: usize,
    stride: usize,
    count: usize,
}

impl Cells {
    fn new(count: usize, size: usize, align: usize, header: usize) -> Result<Self, SysError> {
        assert!(align <= PAGE, "a cell is aligned to a page, not to {align}");
        let room = || {
            let first = round_up(header, PAGE)?;
            let stride = round_up(size.max(1), PAGE)?;
            let length = round_up(first.checked_add(stride.checked_mul(count)?)?.max(1), PAGE)?;
            Some((first, stride, length))
        };
        let (first, stride, length) =
            room().ok_or_else(|| SysError::impossible(format!("{count} shared cells of {size} bytes do not fit")))?;
        let mapping = Mapping::anonymous(length, MapFlags::SHARED)
            .map_err(|errno| SysError::call_but("mmap of shared memory", errno, &format!("{length} bytes wanted")))?;
        Ok(Cells { mapping, first, stride, count })
    }

    /// Makes bytes of a cell zero.
    fn clear(&mut self, index: usize, part: Range<usize>) {
        assert!(part.start <= part.end && part.end <= self.stride, "{part:?} of a cell of {} bytes", self.stride);
        let Some(cell) = self.cell(index) else { return };
        // SAFETY: the bytes are inside the cell, as just asserted. References to it borrow the cells, which are
        // borrowed exclusively here, so no one in this process reads or writes them; to another process they are values
        // that may be torn.
        unsafe { std::ptr::write_bytes(cell.as_ptr().add(part.start), 0, part.len()) };
    }

    fn cell(&self, index: usize) -> Option<NonNull<u8>> {
        // SAFETY: an index below the count is inside the mapping, by the length computed in `new`.
        (index < self.count).then(|| unsafe { self.mapping.start().add(self.first + index * self.stride) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::process::{self, ChildEnd};
    use std::mem::offset_of;
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    #[derive(FromBytes)]
    #[repr(C)]
    struct Block {
        bytes: AtomicU64,
        stop: AtomicU32,
        _pad: u32,
    }

    #[derive(FromBytes, Clone, PartialEq, Debug)]
    #[repr(C)]
    struct Record {
        counts: [u64; 1000],
        mean: f64,
    }

    #[test]
    fn cells_start_at_zero_on_separate_pages() {
        let blocks = SharedBlocks::<Block>::new(3).unwrap();
        assert!(blocks.iter().all(|block| block.bytes.load(Ordering::Relaxed) == 0));
        let address = |index: usize| std::ptr::from_ref(&blocks[index]).addr();
        assert_eq!((address(0) % PAGE, address(1) - address(0), blocks.len()), (0, PAGE, 3));
        assert!(blocks.get(3).is_none());
    }

    #[test]
    fn parent_and_child_speak_through_a_block() {
        let blocks = SharedBlocks::<Block>::new(2).unwrap();
        let child = process::fork(process::alone().path(), || {
            while blocks[1].stop.load(Ordering::Acquire) == 0 {
                blocks[1].bytes.fetch_add(1, Ordering::Relaxed);
            }
            7
        })
        .unwrap();
        while blocks[1].bytes.load(Ordering::Relaxed) < 1000 {
            std::thread::yield_now();
        }
        blocks[1].stop.store(1, Ordering::Release);
        assert_eq!(child.wait().unwrap().ended, ChildEnd::Exited(7));
    }

    #[test]
    fn a_record_is_read_after_its_writer_ended() {
        let records = SharedRecords::<Record>::new(2).unwrap();
        let child = process::fork(process::alone().path(), || {
            let mut record = records.writer(1).expect("no other worker claims it");
            record.counts[999] = 5;
            record.mean = 2.5;
            0
        })
        .unwrap();
        assert_eq!(child.wait().unwrap().ended, ChildEnd::Exited(0));
        let record = records.snapshot(1).unwrap();
        assert_eq!((record.counts[999], record.mean), (5, 2.5));
        assert_eq!(*records.part::<u64>(1, 999 * 8).unwrap(), 5);
        assert_eq!(*records.part::<f64>(1, 8000).unwrap(), 2.5);
        for beyond in [8001, 8004, 8008, usize::MAX] {
            assert!(records.part::<f64>(1, beyond).is_none(), "{beyond}");
        }
        let mean = offset_of!(Record, mean);
        let parts = records.snapshot_of(1, mean..mean + 8, |first| {
            assert_eq!((first.counts[999], first.mean), (0, 2.5));
            vec![0..8, 999 * 8..8000]
        });
        assert_eq!(*parts.unwrap(), *record);
        assert_eq!(records.snapshot_of(1, 0..8, |_| Vec::new()).unwrap().mean, 0.0);
        assert_eq!(records.snapshot(0).unwrap().counts, [0; 1000]);
        assert!(records.snapshot(2).is_none());
    }

    #[test]
    fn a_killed_writer_leaves_what_it_wrote() {
        let records = SharedRecords::<Record>::new(1).unwrap();
        let ready = SharedBlocks::<Block>::new(1).unwrap();
        let child = process::fork(process::alone().path(), || {
            let mut record = records.writer(0).expect("no other worker claims it");
            record.counts[0] = 11;
            ready[0].stop.store(1, Ordering::Release);
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        })
        .unwrap();
        while ready[0].stop.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(records.snapshot(0).unwrap().counts[0], 11);
        child.kill(process::KILL).unwrap();
        assert_eq!(child.wait().unwrap().ended, ChildEnd::Killed(process::KILL));
        assert_eq!(records.snapshot(0).unwrap().counts[0], 11);
    }

    #[test]
    fn a_record_has_one_writer_and_no_concurrent_reader() {
        let records = SharedRecords::<Record>::new(1).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut writer = records.writer(0).unwrap();
                writer.mean = 1.0;
                assert!(records.writer(0).is_none());
                assert!(records.snapshot(0).is_none());
            });
        });
        assert_eq!(records.snapshot(0).unwrap().mean, 1.0);
        assert!(records.writer(0).is_none());
    }

    #[test]
    fn cleared_memory_is_as_new_where_it_was_written() {
        let mut blocks = SharedBlocks::<Block>::new(2).unwrap();
        blocks[1].bytes.store(7, Ordering::Relaxed);
        blocks.clear(0..0);
        assert_eq!(blocks[1].bytes.load(Ordering::Relaxed), 7);
        blocks.clear(0..size_of::<Block>());
        assert!(blocks.iter().all(|block| block.bytes.load(Ordering::Relaxed) == 0));
        let mut records = SharedRecords::<Record>::new(2).unwrap();
        for index in 0..2 {
            let mut writer = records.writer(index).unwrap();
            (writer.counts[0], writer.counts[500], writer.counts[999], writer.mean) = (1, 2, 3, 4.0);
        }
        let mean = offset_of!(Record, mean);
        records.clear(mean..mean + 8, |index, record| {
            assert_eq!((record.counts[500], record.mean), (2, 4.0));
            if index == 0 { vec![0..8, 999 * 8..8000] } else { Vec::new() }
        });
        for (index, expected) in [(0, (0, 2, 0, 0.0)), (1, (1, 2, 3, 0.0))] {
            let record = records.writer(index).expect("it is unclaimed again");
            assert_eq!((record.counts[0], record.counts[500], record.counts[999], record.mean), expected);
        }
    }

    #[test]
    fn a_record_is_seen_in_place_once_its_writer_has_finished() {
        let mut records = SharedRecords::<[u64; 4]>::new(1).unwrap();
        assert_eq!((records.finished(0), records.finished(1)), (None, None));
        let mut writer = records.writer(0).unwrap();
        writer[3] = 7;
        assert_eq!(records.finished(0), None);
        drop(writer);
        assert_eq!(records.finished(0), Some(&[0, 0, 0, 7]));
        records.clear(0..32, |_, _| Vec::new());
        assert_eq!(records.finished(0), None, "it is unclaimed again");
    }

    #[test]
    fn a_thousand_cells_that_do_not_fit_are_refused() {
        assert!(SharedBlocks::<[AtomicU64; 1 << 20]>::new(1 << 50).is_err());
    }
}
