//! What a command line asks for.

use crate::figures::Computing;
use crate::rare::Rare;
use crate::telemetry;
use job::plan::Listed;
use measure::Nanos;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// What a command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What the options say of themselves, in their order.
    pub splash: Vec<String>,
    /// The words as getopt leaves them: what is no option comes last.
    pub words: Vec<String>,
    /// Why iozone gives up after its heading: its status and its sentence.
    pub conflict: Option<(u8, String)>,
    /// One row, a matrix, or many children.
    pub mode: Mode,
    /// The tests by their numbers; empty for all.
    pub tests: BTreeSet<u8>,
    /// Tests 9 and 10 are shown in rows, too.
    pub extensions: bool,
    /// No second passes.
    pub no_retest: bool,
    /// File sizes in kB, as given; empty for the default.
    pub sizes_kb: Vec<u64>,
    /// Record sizes in kB, as given.
    pub records_kb: Vec<u64>,
    /// Smallest and largest file of a matrix, in kB.
    pub size_range_kb: (u64, u64),
    /// Smallest and largest record of a matrix, in kB; `None` where not given.
    pub record_range_kb: (Option<u64>, Option<u64>),
    /// Small records for large files, too.
    pub no_crossover: bool,
    /// From one size to the next.
    pub multiplier: u64,
    /// The file of a row.
    pub file: PathBuf,
    /// The files of children; empty for made-up names.
    pub files: Vec<PathBuf>,
    /// Numbers of children, in order.
    pub children: Vec<u32>,
    /// The bounds, where the numbers come from -l and -u.
    pub bounds: Option<(u32, u32)>,
    /// Children are threads.
    pub threads: bool,
    /// A line for each child.
    pub each_child: bool,
    /// Nobody stops when the first child is done.
    pub no_stonewall: bool,
    /// Time between the releases of two children.
    pub release_gap: Nanos,
    /// The size is shared out among the children.
    pub divides: bool,
    /// O_DIRECT.
    pub direct: bool,
    /// O_SYNC for writers.
    pub sync: bool,
    /// O_SYNC for readers.
    pub sync_reads: bool,
    /// O_DSYNC for writers.
    pub data_sync: bool,
    /// Flush inside the time.
    pub times_flush: bool,
    /// Close inside the time.
    pub times_close: bool,
    /// Mapped files.
    pub mapping: Option<Mapping>,
    /// POSIX asynchronous I/O.
    pub asynchronous: Option<Asynchronous>,
    /// Lock the file around each pass.
    pub lock: bool,
    /// Keep the files.
    pub keep: bool,
    /// Neither remove nor make the file before it is written.
    pub reuse: bool,
    /// Read an existing file that iozone did not write.
    pub foreign_file: bool,
    /// What is in the records.
    pub data: Data,
    /// Records apart in the stride test.
    pub stride: u64,
    /// Busy time before each record.
    pub compute: Nanos,
    /// It counts as part of the throughput.
    pub compute_counts: bool,
    /// Bytes of the cache that is purged before each record; 0 for none.
    pub purge_bytes: usize,
    /// Cache and cache line as printed.
    pub cache: (u64, u64),
    /// The first CPU that children are bound to.
    pub first_cpu: Option<u32>,
    /// kB/s, operations, or microseconds.
    pub unit: Unit,
    /// Tables behind the rows.
    pub report: Report,
    /// Latency files.
    pub latencies: bool,
    /// CPU time is shown.
    pub cpu: bool,
    /// Percent of children that read in the mix.
    pub mix_percent: Option<u32>,
    /// So many children of the mix read.
    pub mix_readers: Option<u32>,
    /// The mix is sequential.
    pub mix_sequential: bool,
    /// Operations per second of each child.
    pub operations_per_second: Option<u64>,
    /// Rest between tests.
    pub rest: Nanos,
    /// Unmounted and mounted between tests.
    pub remount: Option<String>,
    /// The byte at the beginning of each page.
    pub marks_byte: u8,
    /// The machines of a cluster, a child on each; empty for this machine alone.
    pub members: Vec<Member>,
    /// The records of test 0, where a telemetry file has them.
    pub written: Option<Arc<[Listed]>>,
    /// The records of test 1, likewise.
    pub read: Option<Arc<[Listed]>>,
    /// After so many kB, rest so long.
    pub burst: Option<(u64, Nanos)>,
    /// All children share the first one's file.
    pub shared_file: bool,
    /// Each child logs when its tests began and ended.
    pub start_log: bool,
    /// Each child's latencies as histograms, in files.
    pub histograms: bool,
    /// What few ask for.
    pub rare: Rare,
    /// plumb's own: results as JSON go here.
    pub json: Option<PathBuf>,
    /// plumb's own: rows as CSV go here.
    pub csv: Option<PathBuf>,
    /// plumb's own: pictures of the tables go here.
    pub pictures: Option<PathBuf>,
    /// plumb's own: an I/O that has not come back for so long is named; `None` never.
    pub stuck_after: Option<Nanos>,
    /// plumb's own: a number that is not to be trusted fails the run.
    pub strict: bool,
}

/// Where a child of a cluster runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The machine, as the remote shell names it.
    pub host: String,
    /// The directory it works in.
    pub directory: String,
    /// plumb there, or a link to it that is called iozone.
    pub program: String,
    /// Its file; made up where none is named.
    pub file: Option<PathBuf>,
}

impl Member {
    /// The members that a file names, one in each line.
    ///
    /// # Errors
    /// Which line is none.
    pub(crate) fn all(path: &str, text: &str) -> Result<Vec<Member>, String> {
        let mut members = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match *words.as_slice() {
                [] => {}
                [first, ..] if first.starts_with('#') => {}
                [host, directory, program, ref file @ ..] if file.len() < 2 && !host.starts_with('-') => {
                    members.push(Member {
                        host: host.to_owned(),
                        directory: directory.to_owned(),
                        program: program.to_owned(),
                        file: file.first().map(PathBuf::from),
                    });
                }
                _ => {
                    return Err(format!(
                        "{path}:{number}: `{line}`: a line is host, directory, path of plumb and, if need be, a file"
                    ));
                }
            }
        }
        Ok(members)
    }
}

/// One row, a matrix, or many children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The given sizes and records, or the defaults.
    #[default]
    Single,
    /// A matrix of sizes and records.
    Auto,
    /// Many children at once.
    Throughput,
}

/// How mapped files are flushed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mapping {
    /// When all is written.
    #[default]
    AtEnd,
    /// After each record.
    EachRecord,
}

/// POSIX asynchronous I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asynchronous {
    /// How many at once.
    pub depth: u32,
}

/// What is in the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Data {
    /// iozone's byte at the beginning of each page.
    #[default]
    Marks,
    /// This byte everywhere, and all of it checked.
    Full(u8),
}

/// What the numbers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// kB/s of 1024 bytes.
    #[default]
    Rate,
    /// Operations per second.
    Operations,
    /// Microseconds per operation.
    Microseconds,
}

/// Tables behind the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// As text.
    pub text: bool,
    /// As a worksheet: BIFF, or .xlsx by its name.
    pub sheet: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            splash: Vec::new(),
            words: Vec::new(),
            conflict: None,
            mode: Mode::Single,
            tests: BTreeSet::new(),
            extensions: false,
            no_retest: false,
            sizes_kb: Vec::new(),
            records_kb: Vec::new(),
            size_range_kb: (64, 512 << 10),
            record_range_kb: (None, None),
            no_crossover: false,
            multiplier: 2,
            file: PathBuf::from("iozone.tmp"),
            files: Vec::new(),
            children: Vec::new(),
            bounds: None,
            threads: false,
            each_child: false,
            no_stonewall: false,
            release_gap: Nanos::ZERO,
            divides: false,
            direct: false,
            sync: false,
            sync_reads: false,
            data_sync: false,
            times_flush: false,
            times_close: false,
            mapping: None,
            asynchronous: None,
            lock: false,
            keep: false,
            reuse: false,
            foreign_file: false,
            data: Data::Marks,
            stride: 17,
            compute: Nanos::ZERO,
            compute_counts: false,
            purge_bytes: 0,
            cache: (1024, 32),
            first_cpu: None,
            unit: Unit::Rate,
            report: Report::default(),
            latencies: false,
            cpu: false,
            mix_percent: None,
            mix_readers: None,
            mix_sequential: false,
            operations_per_second: None,
            rest: Nanos::ZERO,
            remount: None,
            marks_byte: crate::argv::PATTERN,
            members: Vec::new(),
            written: None,
            read: None,
            burst: None,
            shared_file: false,
            start_log: false,
            histograms: false,
            rare: Rare::default(),
            json: None,
            csv: None,
            pictures: None,
            stuck_after: Some(Nanos::from_secs(30)),
            strict: false,
        }
    }
}

impl Settings {
    /// The default file size in kB.
    pub const SIZE_KB: u64 = 512;
    /// The default record size in kB.
    pub const RECORD_KB: u64 = 4;
    /// The largest record in kB.
    pub const LARGEST_RECORD_KB: u64 = 16 << 10;

    /// Whether telemetry files say which records there are.
    pub fn has_telemetry(&self) -> bool {
        self.written.is_some() || self.read.is_some()
    }

    /// Whether telemetry files have computing before reads, before writes. Where one is alone, only that it has is told.
    pub fn telemetry_computes(&self) -> [Option<bool>; 2] {
        let both = self.read.is_some() && self.written.is_some();
        let computes = |records: &Arc<[Listed]>| records.iter().any(|listed| !listed.compute.is_zero());
        [&self.read, &self.written].map(|list| list.as_ref().map(computes).filter(|computes| *computes || both))
    }

    /// The size of the file in kB that telemetry files need.
    pub(crate) fn telemetry_kb(&self) -> Option<u64> {
        let lists = [&self.written, &self.read];
        lists.into_iter().flatten().map(|records| telemetry::end(records).div_ceil(1024)).max()
    }

    /// The records of a pass, where a telemetry file has them.
    pub(crate) fn listed(&self, test: u8) -> Option<&Arc<[Listed]>> {
        match test {
            0 => self.written.as_ref(),
            1 => self.read.as_ref(),
            _ => None,
        }
    }

    /// What of a pass's time is computing, as far as it does not count.
    pub fn computing(&self, test: u8) -> Computing<'_> {
        if self.compute_counts {
            return Computing::default();
        }
        Computing { each: self.compute, listed: self.listed(test).map_or(&[], |records| records) }
    }

    /// Whether a test was selected, and can be run.
    pub fn runs(&self, test: u8) -> bool {
        if self.has_telemetry() && test > 1 {
            return false;
        }
        self.tests.is_empty() || self.tests.contains(&test)
    }

    /// Whether files are not read and written by plain calls: the stdio tests have no place then.
    pub fn without_stdio(&self) -> bool {
        self.mapping.is_some() || self.asynchronous.is_some()
    }
}
