//! The three I/O directions, by which all numbers of a run are kept.

use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};
use zerocopy::FromBytes;

/// Direction of an I/O. The discriminants are those of fio's logs: 0 read, 1 write, 2 trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Direction {
    /// Device to memory.
    Read = 0,
    /// Memory to device.
    Write = 1,
    /// Discard: the device may drop the data of the range.
    Trim = 2,
}

impl Direction {
    /// All directions in the order in which reports print them.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// Name in reports and keys: `read`, `write` or `trim`.
    pub const fn word(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
        }
    }

    /// Its I/Os in a sentence: `reads`, `writes` or `trims`.
    pub const fn plural(self) -> &'static str {
        match self {
            Direction::Read => "reads",
            Direction::Write => "writes",
            Direction::Trim => "trims",
        }
    }
}

/// One value for each direction.
///
/// ```
/// use measure::{Direction, PerDirection};
///
/// let mut bytes = PerDirection { write: 4096, ..PerDirection::default() };
/// bytes[Direction::Read] += 8192;
/// assert_eq!(bytes.iter().map(|(_, bytes)| bytes).sum::<u64>(), 12_288);
/// assert_eq!(bytes.map(|bytes| bytes / 4096), PerDirection { read: 2, write: 1, trim: 0 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromBytes)]
#[repr(C)]
pub struct PerDirection<T> {
    /// The value for reads.
    pub read: T,
    /// The value for writes.
    pub write: T,
    /// The value for trims.
    pub trim: T,
}

impl<T> PerDirection<T> {
    /// Uses the same value for each direction.
    pub fn all(value: T) -> Self
    where
        T: Clone,
    {
        PerDirection { read: value.clone(), write: value.clone(), trim: value }
    }

    /// The value of `f` for each direction.
    pub fn each(f: impl FnMut(Direction) -> T) -> Self {
        PerDirection { read: Direction::Read, write: Direction::Write, trim: Direction::Trim }.map(f)
    }

    /// Applies `f` to each of the three values.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> PerDirection<U> {
        PerDirection { read: f(self.read), write: f(self.write), trim: f(self.trim) }
    }

    /// The values with their directions, in report order.
    pub fn iter(&self) -> impl Iterator<Item = (Direction, &T)> {
        [(Direction::Read, &self.read), (Direction::Write, &self.write), (Direction::Trim, &self.trim)].into_iter()
    }
}

impl<T> Index<Direction> for PerDirection<T> {
    type Output = T;

    #[inline]
    fn index(&self, direction: Direction) -> &T {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }
}

impl<T> IndexMut<Direction> for PerDirection<T> {
    #[inline]
    fn index_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Trim => &mut self.trim,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_keep_their_numbers_words_and_order() {
        let said: Vec<_> = Direction::ALL.iter().map(|&direction| (direction as u8, direction.word())).collect();
        assert_eq!(said, [(0, "read"), (1, "write"), (2, "trim")]);
        assert!(Direction::ALL.iter().all(|direction| direction.plural() == format!("{}s", direction.word())));
        assert_eq!(serde_json::to_string(&Direction::Trim).unwrap(), "\"trim\"");
    }

    #[test]
    fn each_direction_has_its_own_value() {
        let mut values = PerDirection::all(0);
        for direction in Direction::ALL {
            values[direction] = 10 + direction as u8;
        }
        assert_eq!(values, PerDirection { read: 10, write: 11, trim: 12 });
        let doubled = values.map(|value| value * 2);
        assert_eq!(doubled.iter().map(|(_, &value)| value).collect::<Vec<_>>(), [20, 22, 24]);
        assert!(Direction::ALL.iter().all(|&direction| doubled[direction] == 2 * values[direction]));
    }
}
