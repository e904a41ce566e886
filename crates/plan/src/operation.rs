//! The operation of a single I/O, as in the load, in engines and in I/O logs.

use measure::Direction;

/// The operation of a single I/O.
///
/// ```
/// use measure::Direction;
/// use plan::Operation;
///
/// assert_eq!(Operation::of(Direction::Write), Operation::Write);
/// assert_eq!(Operation::Sync.direction(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Operation {
    /// Device to memory.
    Read,
    /// Memory to device.
    Write,
    /// Discard the range.
    Trim,
    /// fsync(2) of the file.
    Sync,
    /// fdatasync(2) of the file.
    DataSync,
}

impl Operation {
    /// The operation that moves data in this direction.
    #[inline]
    pub const fn of(direction: Direction) -> Self {
        match direction {
            Direction::Read => Operation::Read,
            Direction::Write => Operation::Write,
            Direction::Trim => Operation::Trim,
        }
    }

    /// The direction in which the I/O is counted; `None` for syncs.
    #[inline]
    pub const fn direction(self) -> Option<Direction> {
        match self {
            Operation::Read => Some(Direction::Read),
            Operation::Write => Some(Direction::Write),
            Operation::Trim => Some(Direction::Trim),
            Operation::Sync | Operation::DataSync => None,
        }
    }
}
