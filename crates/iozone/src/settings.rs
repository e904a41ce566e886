//! The table of options, one row each, and the settings they produce.
//!
//! Owns the fields, their defaults and the table of options, from which parsing, the help (`-h`) and refusals are
//! derived: a new option needs a field and a row here, and the code that uses the field. Leaves parsing of arguments to
//! `argv`.

use crate::argv::{BINDING, MACHINE, Reader};
use crate::figures::Computing;
use crate::modes::{Asynchronous, Data, Mapping, Member, Mode, Report, ShownColumns, Test, Unit};
use crate::rare::{self, Rare};
use crate::telemetry;
use crate::values::{Refusal, burst, clamped, depth, kilobytes, number, seconds};
use measure::{Direction, Nanos};
use plan::Listed;
use smart_default::SmartDefault;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The settings of a command line.
///
/// ```
/// use iozone::{Mode, Test};
///
/// let words = ["-i", "0", "-s", "1g", "-t", "2"].map(String::from);
/// let settings = iozone::read("iozone", &words).expect("these words are a run");
/// assert_eq!(settings.mode, Mode::Throughput);
/// assert_eq!((settings.sizes_kb, settings.children), (vec![1 << 20], vec![2]));
/// assert!(settings.tests.contains(&Test::Write));
/// ```
#[derive(Clone, Debug, PartialEq, SmartDefault)]
pub struct Settings {
    /// Lines that options print above the results, in the order of the options.
    pub splash: Vec<String>,
    /// plumb's remarks on options without an effect, for standard error.
    pub notes: Vec<String>,
    /// The arguments as reordered by getopt(3): words that are not options come last.
    pub words: Vec<String>,
    /// iozone's exit status and message for conflicting options, if it stops after its heading.
    pub conflict: Option<(u8, String)>,
    /// Mode: single, automatic (matrix) or throughput.
    #[default(Mode::Single)]
    pub mode: Mode,
    /// Selected tests (-i); empty for all.
    pub tests: BTreeSet<Test>,
    /// Columns shown in a row.
    #[default(ShownColumns::All)]
    pub columns: ShownColumns,
    /// True to include tests 9 and 10 in rows.
    pub extensions: bool,
    /// True to skip second passes (-+n).
    pub no_retest: bool,
    /// File sizes in kB (-s); empty for the default.
    pub sizes_kb: Vec<u64>,
    /// Record sizes in kB (-r).
    pub records_kb: Vec<u64>,
    /// Smallest and largest file of a matrix, in kB (-n, -g).
    #[default((64, 512 << 10))]
    pub size_range_kb: (u64, u64),
    /// Smallest and largest record of a matrix, in kB (-y, -q; also the first and last -r); `None` if not given.
    pub record_range_kb: (Option<u64>, Option<u64>),
    /// True to use small records for large files, too (-z).
    pub no_crossover: bool,
    /// Factor from one file size to the next.
    #[default(2)]
    pub multiplier: u64,
    /// File used by a single worker (-f), if given.
    pub file: Option<PathBuf>,
    /// Files of the children (-F); empty for generated names.
    pub files: Vec<PathBuf>,
    /// Numbers of children, in order.
    pub children: Vec<u32>,
    /// Bounds of the number of children, if given by -l and -u.
    pub bounds: Option<(u32, u32)>,
    /// True if children are threads (-T).
    pub threads: bool,
    /// True to print a line for each child.
    pub each_child: bool,
    /// True if children continue after the first one has finished (-x).
    pub no_stonewall: bool,
    /// Delay between the releases of two children.
    pub release_gap: Nanos,
    /// True to divide the file size among the children.
    pub divides: bool,
    /// Open with O_DIRECT (-I).
    pub direct: bool,
    /// Open with O_SYNC for writing (-o).
    pub sync: bool,
    /// Open with O_SYNC for reading.
    pub sync_reads: bool,
    /// Open with O_DSYNC for writing.
    pub data_sync: bool,
    /// Include fsync in the measured time (-e).
    pub times_flush: bool,
    /// Include close in the measured time (-c).
    pub times_close: bool,
    /// Use mmap(2) (-B).
    pub mapping: Option<Mapping>,
    /// Use POSIX asynchronous I/O.
    pub asynchronous: Option<Asynchronous>,
    /// Lock the file during each pass.
    pub lock: bool,
    /// Keep the files after the run (-w).
    pub keep: bool,
    /// Use an existing file without removing or creating it before the write test.
    pub reuse: bool,
    /// Read existing files that iozone did not write, and never write to them (-+E).
    pub foreign_file: bool,
    /// Contents of records.
    #[default(Data::Marks)]
    pub data: Data,
    /// Stride of the stride test, in records (-j).
    #[default(17)]
    pub stride: u64,
    /// Compute time before each record (-J), if given.
    pub compute: Option<Nanos>,
    /// True to include compute time in the measured time.
    pub compute_counts: bool,
    /// True to purge the CPU cache before each record (-p).
    pub purges: bool,
    /// Cache size in kB and cache line size in bytes, as printed.
    #[default(CACHE)]
    pub cache: (u64, u64),
    /// First CPU to which children are bound.
    pub first_cpu: Option<u32>,
    /// Unit of the results.
    #[default(Unit::Rate)]
    pub unit: Unit,
    /// Report tables after the rows.
    pub report: Report,
    /// True to write latency files (-Q).
    pub latencies: bool,
    /// True to show CPU utilization (-+u).
    pub cpu: bool,
    /// Percentage of children that read in the mixed test.
    pub mix_percent: Option<u32>,
    /// Number of children that read in the mixed test.
    pub mix_readers: Option<u32>,
    /// True if the mixed test is sequential.
    pub mix_sequential: bool,
    /// Limit of operations per second for each child.
    pub operations_per_second: Option<u64>,
    /// Pause between tests.
    pub rest: Nanos,
    /// Mount point to unmount and mount again between tests (-U).
    pub remount: Option<String>,
    /// The pattern byte at the start of each page.
    #[default(PATTERN)]
    pub marks_byte: u8,
    /// Cluster machines, one per child; empty to use this machine.
    pub members: Vec<Member>,
    /// Records of test 0 from a telemetry file.
    pub written: Option<Arc<[Listed]>>,
    /// Records of test 1 from a telemetry file.
    pub read: Option<Arc<[Listed]>>,
    /// Pause after this number of kB: (kB, pause).
    pub burst: Option<(u64, Nanos)>,
    /// True if all children use the first one's file.
    pub shared_file: bool,
    /// True if each child logs the start and end of its tests.
    pub start_log: bool,
    /// True to write each child's latency histogram to a file.
    pub histograms: bool,
    /// Rarely used options.
    pub rare: Rare,
    /// plumb's own: file for results as JSON.
    pub json: Option<PathBuf>,
    /// Options of plumb's sessions, `--NAME` or `--NAME=VALUE`.
    pub session: Vec<String>,
    /// plumb's own: file for rows as CSV.
    pub csv: Option<PathBuf>,
    /// plumb's own: file for charts of the tables.
    pub pictures: Option<PathBuf>,
    /// plumb's own: report an I/O that takes longer than this; `None` for never.
    #[default(Some(Nanos::from_secs(30)))]
    pub stuck_after: Option<Nanos>,
}

impl Settings {
    /// Default file size in kB.
    pub const SIZE_KB: u64 = 512;
    /// Default record size in kB.
    pub const RECORD_KB: u64 = 4;
    /// Largest record size in kB.
    pub const LARGEST_RECORD_KB: u64 = 16 << 10;

    /// The first CPU to which children are bound (-P), on a machine with `cpus` CPUs: 0 instead of one that is not
    /// there.
    pub fn first_cpu(&self, cpus: u32) -> Option<u32> {
        self.first_cpu.map(|first| if first > cpus { 0 } else { first })
    }

    /// The file used by a single worker.
    pub fn single_file(&self) -> &Path {
        self.file.as_deref().unwrap_or(Path::new("iozone.tmp"))
    }

    /// True if rows are a matrix of file and record sizes.
    pub(crate) fn is_matrix(&self) -> bool {
        self.mode == Mode::Auto || self.sizes_kb.len() > 1 || self.records_kb.len() > 1
    }

    /// Smallest and largest record of a matrix in kB.
    pub(crate) fn record_bounds_kb(&self) -> (u64, u64) {
        let (least, most) = self.record_range_kb;
        (least.unwrap_or(Self::RECORD_KB), most.unwrap_or(Self::LARGEST_RECORD_KB))
    }

    /// The misuse of existing files (-+E), if any: iozone's exit status and message.
    pub fn foreign_conflict(&self) -> Option<(u8, &'static str)> {
        let reads = [Test::Read, Test::Random, Test::Backward, Test::Stride, Test::Fread, Test::Pread];
        if !self.foreign_file {
            None
        } else if self.tests.is_empty() {
            Some((19, "You must specify which tests ( -i # ) when using -+E\n"))
        } else if !self.tests.iter().all(|test| reads.contains(test)) {
            Some((20, "You must disable any test that writes when using -+E\n"))
        } else if self.file.is_none() && self.files.is_empty() {
            Some((20, "You must use -f or -F when using -+E\n"))
        } else {
            None
        }
    }

    /// True if reads verify the data: this run wrote it, or an option says what it is.
    pub(crate) fn verifies(&self) -> bool {
        let is_known = matches!(self.data, Data::Full(_)) || self.rare.diagnoses;
        !self.has_telemetry() && (!self.foreign_file || is_known)
    }

    /// True if a telemetry file defines the records.
    pub fn has_telemetry(&self) -> bool {
        self.written.is_some() || self.read.is_some()
    }

    /// iozone's lines about computing before each record.
    pub fn compute_lines(&self) -> String {
        let given = self.compute.map(|time| format!("\tCompute time {:.6} seconds for", time.as_secs_f64()));
        if !self.has_telemetry() {
            return given.map_or(String::new(), |given| format!("{given} reads and writes.\n"));
        }
        let line = |what: &str, list: &Option<Arc<[Listed]>>| match &given {
            _ if list.as_ref().is_some_and(|list| telemetry::computes(list)) => {
                format!("\tCompute time from telemetry files for {what}.\n")
            }
            Some(given) => format!("{given} {what}.\n"),
            None if self.read.is_some() && self.written.is_some() => format!("\tNo compute time for {what}.\n"),
            None => String::new(),
        };
        let (reads, writes) = (line("reads", &self.read), line("writes", &self.written));
        if self.read.is_some() { reads + &writes } else { writes + &reads }
    }

    /// File size in kB that the telemetry files require: that of the reads, if there is a file for them.
    pub(crate) fn telemetry_kb(&self) -> Option<u64> {
        self.read.as_ref().or(self.written.as_ref()).map(|records| telemetry::end(records).div_ceil(1024))
    }

    /// Records of a pass of a test, if defined by a telemetry file.
    pub fn listed(&self, test: Test, moves: Direction) -> Option<&Arc<[Listed]>> {
        let list = if moves == Direction::Read { &self.read } else { &self.written };
        list.as_ref().filter(|_| matches!(test, Test::Write | Test::Read | Test::Mix))
    }

    /// Compute time of a pass that is subtracted from its measured time.
    pub fn computing(&self, test: Test, moves: Direction) -> Computing<'_> {
        let each = self.compute.unwrap_or_default();
        match self.listed(test, moves) {
            _ if self.compute_counts => Computing::default(),
            Some(listed) if telemetry::computes(listed) => Computing { each: Nanos::ZERO, listed },
            _ => Computing { each, listed: &[] },
        }
    }

    /// True if a test is selected.
    pub fn runs(&self, test: Test) -> bool {
        self.tests.is_empty() || self.tests.contains(&test)
    }

    /// True for mapped or asynchronous I/O, for which there are no stdio tests.
    pub fn without_stdio(&self) -> bool {
        self.mapping.is_some() || self.asynchronous.is_some()
    }
    /// Size of the CPU cache that is purged before each record, in bytes.
    pub(crate) fn purge_bytes(&self) -> Option<usize> {
        let bytes = self.cache.0.saturating_mul(1024).min(1 << 30);
        self.purges.then(|| usize::try_from(bytes).unwrap_or(1 << 20))
    }
}

/// Default cache size in kB and cache line size in bytes.
const CACHE: (u64, u64) = (1024, 32);
/// Pattern byte of iozone 3.489.
const PATTERN: u8 = b'_';
/// Pattern byte of -+X.
const SHORT_CIRCUIT: u8 = 0xbb;
/// Pattern byte of -+Z.
const OLD_DATA: u8 = 0xa5;

/// An option.
pub(crate) struct SettingRow {
    /// Name without the first dash: `s`, `+n`, `-json`.
    pub(crate) name: &'static str,
    /// Name of its value in the help; empty if it takes none, in brackets if it may be left out.
    pub(crate) value: &'static str,
    /// Line of help; empty for an option used only by plumb itself.
    pub(crate) help: &'static str,
    /// Effect.
    pub(crate) does: Does,
}

/// The line that an option prints above the results, if any.
pub(crate) type SettingOutcome = Result<Option<String>, Refusal>;

/// The effect of an option.
#[derive(Clone, Copy)]
pub(crate) enum Does {
    /// Changes a setting, and prints this line unless it is empty.
    Set(fn(&mut Settings), &'static str),
    /// Takes a number; returns the line it prints.
    Number(fn(&mut Settings, i64) -> Option<String>),
    /// Takes text, or depends on the arguments parsed before it.
    Read(fn(&mut Reader<'_>, &str) -> SettingOutcome),
    /// It is of plumb's sessions, which read it: its word is kept.
    Session,
    /// Known but rejected, for this reason.
    Refused(&'static str),
}

const fn set(name: &'static str, help: &'static str, set: fn(&mut Settings), printed: &'static str) -> SettingRow {
    SettingRow { name, value: "", help, does: Does::Set(set, printed) }
}

const fn count(name: &'static str, help: &'static str, take: fn(&mut Settings, i64) -> Option<String>) -> SettingRow {
    SettingRow { name, value: "#", help, does: Does::Number(take) }
}

const fn read(
    name: &'static str,
    value: &'static str,
    help: &'static str,
    read: fn(&mut Reader<'_>, &str) -> SettingOutcome,
) -> SettingRow {
    SettingRow { name, value, help, does: Does::Read(read) }
}

const fn session(name: &'static str, value: &'static str, help: &'static str) -> SettingRow {
    SettingRow { name, value, help, does: Does::Session }
}

const fn refused(name: &'static str, value: &'static str, help: &'static str, reason: &'static str) -> SettingRow {
    SettingRow { name, value, help, does: Does::Refused(reason) }
}

/// Returns the row of an option.
pub(crate) fn find(name: &str) -> Option<&'static SettingRow> {
    SECTIONS.iter().flat_map(|(_, rows)| *rows).find(|row| row.name == name)
}

/// Sections of the help: title and options.
pub(crate) const SECTIONS: &[(&str, &[SettingRow])] = &[
    ("What is measured", MEASURED),
    ("Many at once", MANY),
    ("How", HOW),
    ("Data for deduplication", DEDUPLICATION),
    ("What is shown", SHOWN),
    ("plumb's own", OWN),
    ("Known and refused", REFUSED),
];

const MEASURED: &[SettingRow] = &[
    read("i", "#", "a test, repeatable (list below)", |reader, text| Ok(reader.select_test(number(text)))),
    read("s", "#", "file size (512k), repeatable", |reader, text| {
        let kb = or_default(kilobytes(text), Settings::SIZE_KB);
        reader.settings.sizes_kb.push(kb);
        printed(format!("File size set to {kb} kB"))
    }),
    read("r", "#", "record size (4k), repeatable", |reader, text| {
        let kb = record(or_default(kilobytes(text), Settings::RECORD_KB))?;
        reader.settings.records_kb.push(kb);
        let range = &mut reader.settings.record_range_kb;
        *range = (range.0.filter(|_| reader.settings.records_kb.len() > 1).or(Some(kb)), Some(kb));
        printed(format!("Record Size {kb} kB"))
    }),
    set("a", "matrix of file and record sizes", |to| to.mode = Mode::Auto, "Auto Mode"),
    set("A", "obsolete: -az -i0 -i1", obsolete_auto, "Auto Mode 2. This option is obsolete. Use -az -i0 -i1 "),
    read("n", "#", "smallest file of the matrix (64k)", |reader, text| {
        reader.given.range = true;
        reader.settings.size_range_kb.0 = kilobytes(text).max(4);
        printed(format!("Using minimum file size of {} kilobytes.", reader.settings.size_range_kb.0))
    }),
    read("g", "#", "largest file of the matrix (512m)", |reader, text| {
        reader.given.range = true;
        reader.settings.size_range_kb.1 = kilobytes(text).max(4);
        printed(format!("Using maximum file size of {} kilobytes.", reader.settings.size_range_kb.1))
    }),
    set("z", "small records for large files too", |to| to.no_crossover = true, "Cross over of record size disabled."),
    read("y", "#", "smallest record of the matrix (4k)", |reader, text| {
        reader.given.range = true;
        let kb = or_default(kilobytes(text), Settings::RECORD_KB);
        reader.settings.record_range_kb.0 = Some(kb);
        printed(format!("Using Minimum Record Size {kb} kB"))
    }),
    read("q", "#", "largest record of the matrix (16m)", |reader, text| {
        reader.given.range = true;
        let kb = record(or_default(kilobytes(text), Settings::LARGEST_RECORD_KB))?;
        reader.settings.record_range_kb.1 = Some(kb);
        printed(format!("Using Maximum Record Size {kb} kB"))
    }),
    count("+x", "factor from one size to the next (2)", |to, number| {
        to.multiplier = number.max(2).unsigned_abs();
        None
    }),
    set("E", "tests 9 and 10 in the table", |to| to.extensions = true, ""),
    read("j", "#", "stride of test 5 in records (17)", |reader, text| {
        reader.given.stride = true;
        reader.settings.stride = number(text).max(0).unsigned_abs();
        Ok(None)
    }),
    set("+n", "no second passes", |to| to.no_retest = true, "No retest option selected"),
    read("f", "FILE", "the file (iozone.tmp)", |reader, text| reader.file(text)),
    set("w", "keep the files", |to| to.keep = true, "Setting no_unlink"),
];

const MANY: &[SettingRow] = &[
    read("t", "#", "number of children, repeatable", |reader, text| reader.children(text, Children::Exactly)),
    read("l", "#", "smallest number of children", |reader, text| reader.children(text, Children::Least)),
    read("u", "#", "largest number of children", |reader, text| reader.children(text, Children::Most)),
    read("F", "NAME ...", "a file for each child", |reader, text| reader.names(text)),
    set("T", "threads instead of processes", |to| to.threads = true, ""),
    set("x", "children do not stop when the first is done", |to| to.no_stonewall = true, "Stonewall disabled"),
    set("C", "a line for each child", |to| to.each_child = true, ""),
    count("d", "microseconds between the starts of two children", |to, number| {
        to.release_gap = Nanos::from_micros(number.max(0).unsigned_abs());
        None
    }),
    count("P", "bind children to CPUs from this one on", |to, number| {
        to.first_cpu = Some(clamped(number));
        to.splash.push(BINDING.to_owned());
        None
    }),
    count("+p", "percent of children that read in the mix (test 8)", |to, number| {
        let percent = clamped(number.clamp(1, 100));
        to.mix_percent = Some(percent);
        Some(format!("Percent read in mix test is {percent}"))
    }),
    count("+K", "number of children that read in the mix", |to, number| {
        // As in iozone, there is always one.
        to.mix_readers = Some(clamped(number.max(1)));
        Some("Manual control of test 8. >>> Very Experimental. Sony special <<<".to_owned())
    }),
    set("+B", "the mix is sequential", |to| to.mix_sequential = true, ">>> Sequential Mixed workload. <<<"),
    set("+F", "writers of a sequential mix truncate their files", |to| to.rare.empties = true, ""),
    set("+k", "divide the file size among the children", |to| to.divides = true, ""),
    count("+O", "operations per second of each child", |to, number| {
        let number = number.max(1);
        to.operations_per_second = Some(number.unsigned_abs());
        Some(format!("Rate control active {number} Ops/sec ."))
    }),
    read("+R", "FILE", "names of the children's files, one per line", |reader, text| reader.names_from(text)),
    set("+V", "all children share one file", |to| to.shared_file = true, ">>> Shared file mode enabled. <<<"),
    read("+m", "FILE", "machines, a child on each: host, directory, path of plumb [file]", |reader, text| {
        reader.members_from(text)
    }),
    read("+h", "NAME", "printed as the host name", |_, text| printed(format!("Hostname = {text}"))),
    read("+i", "#", "accepted: a cluster here uses no port", |reader, text| {
        reader.settings.notes.push(format!("-+i {text}: no port is used; {REMOTE_SHELL}"));
        Ok(None)
    }),
];

const HOW: &[SettingRow] = &[
    set("I", "O_DIRECT", |to| to.direct = true, "O_DIRECT feature enabled"),
    set("o", "O_SYNC", |to| to.sync = true, "SYNC Mode. "),
    set("+r", "O_SYNC for reads too", |to| (to.sync, to.sync_reads) = (true, true), "Read & Write sync mode active."),
    set("+D", "O_DSYNC", |to| to.data_sync = true, ">>> O_DSYNC mode enabled. <<<"),
    set("e", "flush inside the time", |to| to.times_flush = true, "Include fsync in write timing"),
    set("c", "close inside the time", |to| to.times_close = true, "Include close in write timing"),
    set("B", "mapped files", map_files, "Using mmap files"),
    set("D", "mapped files, msync(MS_ASYNC)", map_files, "Using msync(MS_ASYNC) on mmap files"),
    read("G", "", "msync(MS_SYNC) after each record of mapped files", |reader, _| {
        reader.given.each_record_flush = true;
        printed("Using msync(MS_SYNC) on mmap files")
    }),
    count("+A", "madvise: 0 normal, 1 random, 2 sequential, 3 dontneed, 4 willneed", |to, number| {
        to.rare.map_advice = rare::map_advice(number);
        Some(format!("Madvise enabled: {number}"))
    }),
    read("H", "#", "POSIX asynchronous I/O with this depth", |reader, text| {
        reader.given.with_copy = true;
        let depth = depth(text);
        reader.settings.asynchronous = Some(Asynchronous { depth });
        printed(format!("POSIX async I/O (with bcopy). Depth {}", number(text).max(0)))
    }),
    read("k", "#", "the same without a copy", |reader, text| {
        reader.given.without_copy = true;
        let depth = depth(text);
        reader.settings.asynchronous = Some(Asynchronous { depth });
        printed(format!("POSIX Async I/O (no bcopy). Depth {} ", number(text).max(0)))
    }),
    set("W", "lock the file", |to| to.lock = true, "Lock file when reading/writing."),
    set("+l", "lock each record", |to| to.rare.record_locks = true, ">>> Record locking mode enabled. <<<"),
    set("+L", "the same on one shared file", lock_shared, ">>> Record locking, shared file mode enabled. <<<"),
    count("V", "this byte everywhere, all of it checked", verify_all),
    set("+d", "every byte depends on its place and is checked", |to| to.rare.diagnoses = true, DIAGNOSTIC),
    set("p", "purge the processor's cache before each record", |to| to.purges = true, "Purge Mode On"),
    count("S", "size of that cache in kB (1024)", |to, number| {
        to.cache.0 = or_default(number.max(0).unsigned_abs(), CACHE.0);
        None
    }),
    count("L", "its line in bytes (32)", |to, number| {
        to.cache.1 = or_default(number.max(0).unsigned_abs(), CACHE.1);
        None
    }),
    count("J", "milliseconds of computing before each record", |to, number| {
        to.compute = u64::try_from(number).ok().map(Nanos::from_millis);
        None
    }),
    set("+J", "computing counts as part of the time", |to| to.compute_counts = true, THINK_TIME),
    count("+q", "seconds of rest between two tests", |to, number| {
        to.rest = Nanos::from_secs(number.max(0).unsigned_abs());
        Some(format!("Delay {number} seconds between tests enabled."))
    }),
    read("+b", "K,MS", "after each K kB rest for MS milliseconds", |reader, text| {
        let wanted = burst(text);
        let format = "-+b operand is of the format #,# (burst size (K/M/G) ,mili-second) !!\n";
        wanted.ok_or_else(|| Refusal::Original { status: 144, out: format.to_owned(), err: String::new() })?;
        reader.settings.burst = wanted;
        Ok(None)
    }),
    read("U", "DIR", "unmount and mount between two tests", |reader, text| reader.remount(text)),
    set("+N", "write over existing files", |to| to.reuse = true, ""),
    set(
        "+E",
        "read existing files, never write to them",
        |to| (to.foreign_file, to.keep) = (true, true),
        ">>> No Verify mode. <<<",
    ),
    read("X", "FILE", "records of test 0: lines of offset, length in bytes [delay in ms]", |reader, text| {
        reader.telemetry("write", text)
    }),
    read("Y", "FILE", "the same of test 1", |reader, text| reader.telemetry("read", text)),
    set("+X", "mark the data with another byte", |to| to.marks_byte = SHORT_CIRCUIT, SHORT_CIRCUIT_MODE),
    set("+Z", "the same with the byte of old data sets", |to| to.marks_byte = OLD_DATA, OLD_DATA_MODE),
    set("m", "a buffer for each record", |to| to.rare.many_buffers = true, "Multi_buffer. Work area 16777216 bytes"),
    set("K", "reads elsewhere during test 1", |to| to.rare.strays = true, "Disrupted read patterns selected."),
    set("Z", "a write(2) before mapped test 0", |to| to.rare.touches = true, "Enable mmap & file I/O mixing."),
];

const DEDUPLICATION: &[SettingRow] = &[
    count("+w", "percent that all files have in common", |to, number| {
        let percent = rare::percent(number);
        to.rare.duplicates = Some(percent);
        Some(format!("Dedup activated {percent} percent."))
    }),
    count("+y", "percent of it that all records have", |to, number| {
        to.rare.interior = rare::percent(number);
        Some(format!("Dedup within & across {} percent.", to.rare.interior))
    }),
    count("+C", "percent of that in one file only", |to, number| {
        to.rare.within = rare::percent(number);
        Some(format!("Dedup within {} percent.", to.rare.within))
    }),
    count("+S", "seed of the set", |to, number| {
        to.rare.set = if number == 0 { 1 } else { number };
        Some(format!("Dedup manual seed {} .", to.rare.set))
    }),
    count("+W", "added to the number of each child", |to, number| {
        to.rare.skew = number;
        Some(format!("Dedup chid_skew {number} ."))
    }),
    count("+Q", "granule: changes nothing, as in iozone", |_, number| {
        Some(format!("Dedup granule size {}", number.max(0)))
    }),
    // iozone's lines for these two end with a newline and a blank.
    set("+M", "no zeros at the end of records", dense, ""),
    count("+a", "percent of words that are zero with -+M", |to, number| {
        to.rare.zero_percent = number.min(100);
        to.splash.push(format!("\tZero Percent {}\n ", number.min(100)));
        None
    }),
];

const SHOWN: &[SettingRow] = &[
    set("O", "operations per second", show_operations, "OPS Mode. Output is in operations per second."),
    set("N", "microseconds per operation", |to| to.unit = Unit::Microseconds, MICROSECONDS),
    set("R", "the tables again as text", |to| to.report.text = true, "Excel chart generation enabled"),
    read("b", "FILE", "tables as worksheet (.xls) or workbook (.xlsx)", |reader, text| {
        reader.settings.report.sheet = Some(PathBuf::from(text));
        Ok(None)
    }),
    set("Q", "latency of each record, in files", |to| to.latencies = true, "Offset/latency files enabled."),
    set("+u", "CPU time", |to| to.cpu = true, CPU_TIME),
    set("M", "the machine (uname)", |to| to.splash.push(MACHINE.to_owned()), ""),
    set("+T", "a log of start and end for each child, in files", |to| to.start_log = true, ""),
    set("+z", "latency histograms of each child, in files", |to| to.histograms = true, "Histogram summary enabled."),
    read("h", "", "this help", |_, _| Err(Refusal::Help)),
    read("v", "", "the version", |_, _| Err(Refusal::Version)),
];

const OWN: &[SettingRow] = &[
    read("-json", "FILE", "everything that was measured: percentiles, devices, checks", |reader, text| {
        reader.settings.json = Some(PathBuf::from(text));
        Ok(None)
    }),
    session("-stream", "FILE", "lines of JSON during the run; - is standard output, fd:N a descriptor"),
    session("-metrics", "FILE", "metrics for Prometheus' textfile collector, every 5 s"),
    session("-metrics-listen", "PORT", "answer Prometheus' scrapes of /metrics during the run, at [ADDRESS:]PORT"),
    session("-metrics-linger", "SECONDS", "answer them for this time after the run, too"),
    session("-otlp", "URL", "send metrics to this receiver of OpenTelemetry, every 5 s"),
    session("-accept", "LIST", "findings that a result is not of the storage, which --strict leaves out"),
    session("-strict", "[=LIST]", "status 4 if a check fires, or one of these"),
    session("-host", "NAME", "name of the machine in results, lines and metrics"),
    session("-store", "FILE", "keep the results in this store"),
    session("-no-store", "", "do not keep the results in the store that PLUMB_STORE names"),
    session("-quiet", "", "no progress, percentiles and remarks on standard error"),
    read("-csv", "FILE", "the tables, a line per number", |reader, text| {
        reader.settings.csv = Some(PathBuf::from(text));
        Ok(None)
    }),
    read("-report", "FILE", "the tables as charts: .html, .svg, .png or .pdf; also -+report FILE", |reader, text| {
        reader.settings.pictures = Some(PathBuf::from(text));
        Ok(None)
    }),
    read("-stuck-after", "SECONDS", "report an I/O that takes longer (30); 0 for never", |reader, text| {
        reader.settings.stuck_after = seconds("--stuck-after", text)?;
        Ok(None)
    }),
    read("-untrusted", "", "the files of -+m and -+R may name no machines and no path outside", |reader, _| {
        reader.given.untrusted = true;
        Ok(None)
    }),
    read("-member", "", "", |_, _| Err(Refusal::Member)),
];

/// Reason for rejecting options that change how cluster members are reached.
const REMOTE_SHELL: &str =
    "members of a cluster talk through the remote shell that started them; -+m FILE alone is enough";
/// Reason for rejecting the options for clocks of other machines.
const ONE_CLOCK: &str = "there is no time server; the clock of this machine is used, and its drift is checked";

const REFUSED: &[SettingRow] = &[
    refused("+c", "HOST", "member of a cluster", REMOTE_SHELL),
    refused("+s", "", "member of a cluster", REMOTE_SHELL),
    refused("+t", "", "network test", "the network is not measured here; plumb fio --ioengine=net does it"),
    refused("+H", "HOST", "time server", ONE_CLOCK),
    refused("+P", "#", "port of the time server", ONE_CLOCK),
];

const DIAGNOSTIC: &str = ">>> I/O Diagnostic mode enabled. <<<\n\tPerformance measurements are invalid in this mode.";
const THINK_TIME: &str = ">>> Think time is included in throughput cal. <<<";
const MICROSECONDS: &str = "Microseconds/op Mode. Output is in microseconds per operation.";
const CPU_TIME: &str = "CPU utilization Resolution = 0.000 seconds.\n\tCPU utilization Excel chart enabled";
const SHORT_CIRCUIT_MODE: &str = "Short circuit mode. For\n\t filesystem development testing ONLY !";
const OLD_DATA_MODE: &str =
    "Using old data sets.\n\t Performance measurements may be invalid in this\n\t mode due to published hack.";

/// Kind of a given number of children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Children {
    /// Exact number (-t).
    Exactly,
    /// Lower bound (-l).
    Least,
    /// Upper bound (-u).
    Most,
}

fn printed(text: impl Into<String>) -> SettingOutcome {
    Ok(Some(text.into()))
}

/// Treats a size that is not a number as not given.
fn or_default(size: u64, default: u64) -> u64 {
    if size == 0 { default } else { size }
}

/// Checks that a record size in kB fits iozone's buffer.
fn record(kb: u64) -> Result<u64, Refusal> {
    let most = Settings::LARGEST_RECORD_KB;
    if kb <= most {
        return Ok(kb);
    }
    let out = format!("Error: maximum record size {kb} kB is greater than maximum buffer size {most} kB\n ");
    Err(Refusal::Original { status: 23, out, err: String::new() })
}

fn obsolete_auto(to: &mut Settings) {
    to.mode = Mode::Auto;
    to.columns = ShownColumns::FirstTwoTests;
    to.no_crossover = true;
    to.tests.extend([Test::Write, Test::Read]);
}

fn map_files(to: &mut Settings) {
    to.mapping = to.mapping.or(Some(Mapping::AtEnd));
}

fn lock_shared(to: &mut Settings) {
    to.rare.record_locks = true;
    to.shared_file = true;
}

fn dense(to: &mut Settings) {
    to.rare.dense = true;
    to.splash.push("\tDedup+compress enabled\n ".to_owned());
}

fn show_operations(to: &mut Settings) {
    if to.unit == Unit::Rate {
        to.unit = Unit::Operations;
    }
}

/// iozone uses the lowest byte of the number; 0 selects its own pattern.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the lowest byte, as iozone takes it")]
fn verify_all(to: &mut Settings, number: i64) -> Option<String> {
    let byte = if number as u8 == 0 { PATTERN } else { number as u8 };
    to.data = Data::Full(byte);
    let pattern = u32::from(byte) * 0x0101_0101;
    Some(format!("Verify Mode. Pattern {pattern:x}\n\tPerformance measurements are invalid in this mode."))
}
