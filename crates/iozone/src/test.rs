//! iozone's tests by number.

/// A test; `-i` selects it by its number.
///
/// ```
/// use iozone::Test;
/// assert_eq!(Test::of_number(3), Some(Test::Backward));
/// assert_eq!(Test::Backward.number(), 3);
/// assert_eq!(Test::of_number(12), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    /// Write and rewrite a file.
    Write,
    /// Read and reread a file.
    Read,
    /// Random reads and random writes.
    Random,
    /// Read backwards.
    Backward,
    /// Rewrite the same record repeatedly.
    Rewrite,
    /// Read with a stride.
    Stride,
    /// fwrite(3).
    Fwrite,
    /// fread(3).
    Fread,
    /// Random readers and random writers at the same time.
    Mix,
    /// pwrite(2).
    Pwrite,
    /// pread(2).
    Pread,
    /// Number 11: iozone accepts the number, but has no such test. A run of it measures nothing.
    Nothing,
}

impl Test {
    /// All tests, by number.
    const ALL: [Test; 12] = [
        Test::Write,
        Test::Read,
        Test::Random,
        Test::Backward,
        Test::Rewrite,
        Test::Stride,
        Test::Fwrite,
        Test::Fread,
        Test::Mix,
        Test::Pwrite,
        Test::Pread,
        Test::Nothing,
    ];

    /// Returns the test with this number.
    pub fn of_number(number: i64) -> Option<Test> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Number of the test.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// True if it uses stdio.
    pub(crate) fn is_stdio(self) -> bool {
        matches!(self, Test::Fwrite | Test::Fread)
    }
}
