//! iozone's tests: their numbers, their passes, and their names in its tables.

/// A test of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// Its number.
    pub number: u8,
    /// The names of its columns in reports, one for each pass that is shown.
    pub reports: &'static [&'static str],
    /// Whether `-+n` drops the second pass.
    pub retests: bool,
}

/// The tests of a row in the order in which they run.
pub const SINGLE: &[Test] = &[
    Test { number: 0, reports: &["Writer", "Re-writer"], retests: true },
    Test { number: 1, reports: &["Reader", "Re-Reader"], retests: true },
    Test { number: 2, reports: &["Random read", "Random write"], retests: false },
    Test { number: 3, reports: &["Backward read"], retests: false },
    Test { number: 4, reports: &["Record rewrite"], retests: false },
    Test { number: 5, reports: &["Stride read"], retests: false },
    Test { number: 6, reports: &["Fwrite", "Re-Fwrite"], retests: true },
    Test { number: 7, reports: &["Fread", "Re-Fread"], retests: true },
    Test { number: 9, reports: &["Pwrite", "Re-Pwrite"], retests: true },
    Test { number: 10, reports: &["Pread", "Re-Pread"], retests: true },
];

/// A test of throughput mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThroughputTest {
    /// The number that selects it.
    pub number: u8,
    /// Which pass of that number.
    pub pass: u8,
    /// What its children are called.
    pub title: &'static str,
    /// Its name in the report.
    pub report: &'static str,
    /// Dropped by `-+n`.
    pub retest: bool,
}

/// The tests of throughput mode in the order in which they run.
pub const THROUGHPUT: &[ThroughputTest] = &[
    ThroughputTest { number: 0, pass: 0, title: "initial writers", report: "Initial write", retest: false },
    ThroughputTest { number: 0, pass: 1, title: "rewriters", report: "Rewrite", retest: true },
    ThroughputTest { number: 1, pass: 0, title: "readers", report: "Read", retest: false },
    ThroughputTest { number: 1, pass: 1, title: "re-readers", report: "Re-read", retest: true },
    ThroughputTest { number: 3, pass: 0, title: "reverse readers", report: "Reverse Read", retest: false },
    ThroughputTest { number: 5, pass: 0, title: "stride readers", report: "Stride read", retest: false },
    ThroughputTest { number: 2, pass: 0, title: "random readers", report: "Random read", retest: false },
    ThroughputTest { number: 8, pass: 0, title: "mixed workload", report: "Mixed workload", retest: false },
    ThroughputTest { number: 2, pass: 1, title: "random writers", report: "Random write", retest: false },
    ThroughputTest { number: 9, pass: 0, title: "pwrite writers", report: "Pwrite", retest: false },
    ThroughputTest { number: 10, pass: 0, title: "pread readers", report: "Pread", retest: false },
    ThroughputTest { number: 6, pass: 0, title: "fwriters", report: "Fwrite", retest: false },
    ThroughputTest { number: 7, pass: 0, title: "freaders", report: "Fread", retest: false },
];
