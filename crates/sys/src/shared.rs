//! Memory that forked workers and their parent share: control blocks of atomics, and records with one writer each.
//!
//! Both are zero pages from the start, divided into page-aligned cells, and vanish with the last process that has
//! them. A cell's type must be valid for any bytes ([`FromBytes`]), so a writer killed half-way leaves numbers that
//! may be torn but never a broken value, and it holds no pointers, which would mean nothing in another process.

use crate::SysError;
use crate::mapping::{Mapping, PAGE, round_up};
use rustix::mm::MapFlags;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use zerocopy::FromBytes;

/// Blocks of atomics, one per worker, read and written by everyone at any time.
///
/// Make it before the fork and move a reference or an `Arc` of it into the child.
#[derive(Debug)]
pub struct SharedBlocks<T> {
    cells: Cells,
    content: PhantomData<T>,
}

// SAFETY: all that a shared reference gives is `&T`, and `T: Sync` where it is given.
unsafe impl<T: Sync> Sync for SharedBlocks<T> {}
// SAFETY: the memory is not bound to a thread; moving it moves values of `T` along.
unsafe impl<T: Send> Send for SharedBlocks<T> {}

impl<T: FromBytes + Sync> SharedBlocks<T> {
    /// `count` blocks, all bytes zero.
    ///
    /// # Errors
    /// When the kernel has no memory for them.
    pub fn new(count: usize) -> Result<Self, SysError> {
        Ok(SharedBlocks { cells: Cells::new(count, size_of::<T>(), align_of::<T>(), 0)?, content: PhantomData })
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.cells.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.cells.count == 0
    }

    /// Block `index`; `None` beyond the last.
    pub fn get(&self, index: usize) -> Option<&T> {
        let cell = self.cells.cell(index)?;
        // SAFETY: the cell is aligned, large enough, zeroed or written as a `T` and valid for any bytes; nobody has
        // `&mut` to it, because only shared references are given out; it lives as long as `self`.
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

/// Records, each written in place by one worker and read by the parent as a copy.
///
/// The worker claims its record itself, after the fork or inside its thread, with [`SharedRecords::writer`].
#[derive(Debug)]
pub struct SharedRecords<T> {
    cells: Cells,
    content: PhantomData<T>,
}

// SAFETY: references to a record's content are given only through a `RecordWriter`, of which one exists at a time.
unsafe impl<T: Send> Sync for SharedRecords<T> {}
// SAFETY: the memory is not bound to a thread; moving it moves values of `T` along.
unsafe impl<T: Send> Send for SharedRecords<T> {}

/// A record that nobody has claimed.
const FREE: u32 = 0;
/// A record whose writer is done with it. Larger than any process id.
const RELEASED: u32 = u32::MAX;

impl<T: FromBytes> SharedRecords<T> {
    /// `count` records, all bytes zero.
    ///
    /// # Errors
    /// When the kernel has no memory for them.
    pub fn new(count: usize) -> Result<Self, SysError> {
        let claims = count.saturating_mul(size_of::<AtomicU32>());
        Ok(SharedRecords { cells: Cells::new(count, size_of::<T>(), align_of::<T>(), claims)?, content: PhantomData })
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.cells.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.cells.count == 0
    }

    /// Claims record `index` for writing in place. `None` beyond the last, or when it was ever claimed before:
    /// a record has one writer in its life.
    ///
    /// A fresh record is zero in every byte.
    pub fn writer(&self, index: usize) -> Option<RecordWriter<'_, T>> {
        let claim = self.claim(index)?;
        claim.compare_exchange(FREE, std::process::id(), Ordering::Acquire, Ordering::Relaxed).ok()?;
        let record = self.cells.cell(index)?.cast();
        Some(RecordWriter { claim, record, records: PhantomData })
    }

    /// A copy of record `index` as it is now.
    ///
    /// Complete once the writer dropped its [`RecordWriter`], or its process was seen to have ended, however it
    /// ended. While another process writes, single numbers may be from different moments.
    /// `None` beyond the last, and while a thread of this very process has the record claimed.
    pub fn snapshot(&self, index: usize) -> Option<Box<T>> {
        let claim = self.claim(index)?.load(Ordering::Acquire);
        if claim == std::process::id() {
            return None;
        }
        let cell = self.cells.cell(index)?.cast::<T>();
        let mut copy = Box::<T>::new_uninit();
        // SAFETY: the cell and the box are each valid for the size of a `T` and do not overlap. No thread of this
        // process has `&mut` to the cell: a claim is made once and was seen to be another process's or over. What
        // another process writes meanwhile gives other bytes, and any bytes are a `T`.
        unsafe { std::ptr::copy_nonoverlapping(cell.as_ptr(), copy.as_mut_ptr(), 1) };
        fence(Ordering::Acquire);
        // SAFETY: every byte was just copied, and any bytes are a `T`.
        Some(unsafe { copy.assume_init() })
    }

    /// A copy of the `P` that lies `offset` bytes into record `index`, as it is now: of a large record only what is
    /// asked for is touched.
    ///
    /// As for [`SharedRecords::snapshot`]; `None`, too, where no `P` has room at this offset.
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
        // SAFETY: the bytes from `offset` lie inside the cell and the box is as large, and they do not overlap. Nobody
        // in this process writes them, as in `snapshot`; what another process writes meanwhile gives other bytes.
        unsafe { std::ptr::copy_nonoverlapping(cell.as_ptr().add(offset).cast::<P>(), copy.as_mut_ptr(), 1) };
        fence(Ordering::Acquire);
        // SAFETY: every byte was just copied, and any bytes are a `P`.
        Some(unsafe { copy.assume_init() })
    }

    fn claim(&self, index: usize) -> Option<&AtomicU32> {
        if index >= self.cells.count {
            return None;
        }
        // SAFETY: the claims lie at the mapping's start, one per record, aligned by the page, and only ever atomics.
        Some(unsafe { self.cells.mapping.start().cast::<AtomicU32>().add(index).as_ref() })
    }
}

/// The right to write one record in place, until it is dropped.
///
/// Bound to the thread that claimed it, and so to its process: a child cannot take it along.
///
/// ```compile_fail
/// let records = sys::SharedRecords::<u64>::new(1).unwrap();
/// let mut writer = records.writer(0).unwrap();
/// // A writer does not cross a fork: claim the record inside.
/// sys::process::fork(std::path::Path::new("/"), move || { *writer = 1; 0 });
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
        // SAFETY: the claim makes this the only way to the record, and the records outlive the writer.
        unsafe { self.record.as_ref() }
    }
}

impl<T> DerefMut for RecordWriter<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the claim makes this the only way to the record, and the records outlive the writer.
        unsafe { self.record.as_mut() }
    }
}

impl<T> Drop for RecordWriter<'_, T> {
    fn drop(&mut self) {
        self.claim.store(RELEASED, Ordering::Release);
    }
}

/// A shared anonymous mapping: `header` bytes, then `count` cells, each on pages of its own.
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
            room().ok_or_else(|| SysError::Impossible(format!("{count} shared cells of {size} bytes do not fit")))?;
        let mapping = Mapping::anonymous(length, MapFlags::SHARED)
            .map_err(|errno| SysError::call_but("mmap of shared memory", errno, &format!("{length} bytes wanted")))?;
        Ok(Cells { mapping, first, stride, count })
    }

    fn cell(&self, index: usize) -> Option<NonNull<u8>> {
        // SAFETY: an index below the count stays inside the mapping, by the length computed in `new`.
        (index < self.count).then(|| unsafe { self.mapping.start().add(self.first + index * self.stride) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{self, Ended};
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
    fn cells_start_at_zero_on_pages_of_their_own() {
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
        assert_eq!(child.wait().unwrap().ended, Ended::Exited(7));
    }

    #[test]
    fn a_record_is_read_after_its_writer_ended() {
        let records = SharedRecords::<Record>::new(2).unwrap();
        let child = process::fork(process::alone().path(), || {
            let mut record = records.writer(1).expect("nobody else claims it");
            record.counts[999] = 5;
            record.mean = 2.5;
            0
        })
        .unwrap();
        assert_eq!(child.wait().unwrap().ended, Ended::Exited(0));
        let record = records.snapshot(1).unwrap();
        assert_eq!((record.counts[999], record.mean), (5, 2.5));
        assert_eq!(*records.part::<u64>(1, 999 * 8).unwrap(), 5);
        assert_eq!(*records.part::<f64>(1, 8000).unwrap(), 2.5);
        for beyond in [8001, 8004, 8008, usize::MAX] {
            assert!(records.part::<f64>(1, beyond).is_none(), "{beyond}");
        }
        assert_eq!(records.snapshot(0).unwrap().counts, [0; 1000]);
        assert!(records.snapshot(2).is_none());
    }

    #[test]
    fn a_killed_writer_leaves_what_it_wrote() {
        let records = SharedRecords::<Record>::new(1).unwrap();
        let ready = SharedBlocks::<Block>::new(1).unwrap();
        let child = process::fork(process::alone().path(), || {
            let mut record = records.writer(0).expect("nobody else claims it");
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
        assert_eq!(child.wait().unwrap().ended, Ended::Killed(process::KILL));
        assert_eq!(records.snapshot(0).unwrap().counts[0], 11);
    }

    #[test]
    fn a_record_has_one_writer_and_no_reader_beside_it() {
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
    fn a_thousand_cells_that_do_not_fit_are_refused() {
        assert!(SharedBlocks::<[AtomicU64; 1 << 20]>::new(1 << 50).is_err());
    }
}
