//! The tests of a run: their passes, their names in iozone's tables, and which of them the settings select.

use crate::modes::{ShownColumns, Test};
use crate::passes::Pass;
use crate::settings::Settings;

/// A test as the rows of single, list and automatic mode show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowTest {
    /// The test.
    pub test: Test,
    /// The names of its columns in reports, one for each pass that is shown.
    pub reports: &'static [&'static str],
    /// True if `-+n` drops the second pass.
    pub retests: bool,
}

impl RowTest {
    /// Passes of the test. Backwards the file is read twice, and the first pass counts.
    pub fn passes(&self, settings: &Settings) -> u8 {
        if self.test == Test::Backward && !settings.no_retest {
            return 2;
        }
        u8::try_from(self.reports.len()).unwrap_or(1)
    }

    /// True if `-+n` drops this pass, or `-+E` because it writes.
    pub fn drops(&self, pass: u8, settings: &Settings) -> bool {
        pass > 0 && self.retests && settings.no_retest || Pass { test: self.test, number: pass }.is_forbidden(settings)
    }

    /// True if the settings include the test, selected or not.
    fn is_included(&self, settings: &Settings) -> bool {
        match self.test {
            Test::Write | Test::Read => true,
            Test::Pwrite | Test::Pread if !settings.extensions => false,
            _ => settings.columns == ShownColumns::All,
        }
    }

    /// True if a row has a column for the test, selected or not.
    fn has_column(&self, settings: &Settings) -> bool {
        let is_possible = match self.test {
            // Mapped and asynchronous files have no such tests; of these only the first has an empty column.
            Test::Fread | Test::Pwrite | Test::Pread => !settings.without_stdio(),
            Test::Fwrite => !(settings.without_stdio() && settings.runs(Test::Fwrite)),
            _ => true,
        };
        is_possible && self.is_included(settings)
    }
}

/// The tests that have a column in a row, in the order in which they run.
pub fn row_tests(settings: &Settings) -> impl Iterator<Item = &'static RowTest> {
    SINGLE.iter().filter(|test| test.has_column(settings))
}

/// The tests that have tables after the rows, in the same order. Those without a column have tables of zeros.
pub fn report_tests(settings: &Settings) -> impl Iterator<Item = &'static RowTest> {
    SINGLE.iter().filter(|test| test.is_included(settings) && settings.runs(test.test))
}

/// The tests of throughput mode that are selected, in the order in which they run.
pub fn throughput_tests(settings: &Settings) -> impl Iterator<Item = &'static ThroughputTest> {
    let stdio = !settings.without_stdio();
    let forbidden = |row: &&ThroughputTest| Pass { test: row.test, number: row.pass }.is_forbidden(settings);
    let selected = move |row: &&ThroughputTest| settings.runs(row.test) && (stdio || !row.test.is_stdio());
    THROUGHPUT.iter().filter(move |row| selected(row) && !forbidden(row))
}

/// The tests of a row in the order in which they run.
const SINGLE: &[RowTest] = &[
    RowTest { test: Test::Write, reports: &["Writer", "Re-writer"], retests: true },
    RowTest { test: Test::Read, reports: &["Reader", "Re-Reader"], retests: true },
    RowTest { test: Test::Random, reports: &["Random read", "Random write"], retests: false },
    RowTest { test: Test::Backward, reports: &["Backward read"], retests: false },
    RowTest { test: Test::Rewrite, reports: &["Record rewrite"], retests: false },
    RowTest { test: Test::Stride, reports: &["Stride read"], retests: false },
    RowTest { test: Test::Fwrite, reports: &["Fwrite", "Re-Fwrite"], retests: true },
    RowTest { test: Test::Fread, reports: &["Fread", "Re-Fread"], retests: true },
    RowTest { test: Test::Pwrite, reports: &["Pwrite", "Re-Pwrite"], retests: true },
    RowTest { test: Test::Pread, reports: &["Pread", "Re-Pread"], retests: true },
];

/// A test of throughput mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThroughputTest {
    /// The test that selects it.
    pub test: Test,
    /// Which pass of that test.
    pub pass: u8,
    /// The name of its children.
    pub title: &'static str,
    /// Its name in the report.
    pub report: &'static str,
    /// True if `-+n` drops it.
    pub retest: bool,
}

/// The tests of throughput mode in the order in which they run.
const THROUGHPUT: &[ThroughputTest] = &[
    ThroughputTest { test: Test::Write, pass: 0, title: "initial writers", report: "Initial write", retest: false },
    ThroughputTest { test: Test::Write, pass: 1, title: "rewriters", report: "Rewrite", retest: true },
    ThroughputTest { test: Test::Read, pass: 0, title: "readers", report: "Read", retest: false },
    ThroughputTest { test: Test::Read, pass: 1, title: "re-readers", report: "Re-read", retest: true },
    ThroughputTest { test: Test::Backward, pass: 0, title: "reverse readers", report: "Reverse Read", retest: false },
    ThroughputTest { test: Test::Stride, pass: 0, title: "stride readers", report: "Stride read", retest: false },
    ThroughputTest { test: Test::Random, pass: 0, title: "random readers", report: "Random read", retest: false },
    ThroughputTest { test: Test::Mix, pass: 0, title: "mixed workload", report: "Mixed workload", retest: false },
    ThroughputTest { test: Test::Random, pass: 1, title: "random writers", report: "Random write", retest: false },
    ThroughputTest { test: Test::Pwrite, pass: 0, title: "pwrite writers", report: "Pwrite", retest: false },
    ThroughputTest { test: Test::Pread, pass: 0, title: "pread readers", report: "Pread", retest: false },
    ThroughputTest { test: Test::Fwrite, pass: 0, title: "fwriters", report: "Fwrite", retest: false },
    ThroughputTest { test: Test::Fread, pass: 0, title: "freaders", report: "Fread", retest: false },
];
