//! How much other processes worked during a run: a wrong row of a table may be their fault.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// From this much work of other processes on, in processors, a run has to wait for a processor now and then.
const BUSY: f64 = 0.1;
/// From this rate of other processes' reads on, in bytes per second, a run on a disk has to wait for them.
const READING: f64 = 1e6;

/// What other processes did while this one and its children worked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Others {
    /// Processors that they used in user mode, on average, and what the hypervisor took.
    pub(super) processors: f64,
    /// Bytes per second that they read from disks.
    pub(super) reads: f64,
}

impl Others {
    /// True if they were at work.
    pub(super) fn are_busy(&self) -> bool {
        self.processors > BUSY || self.reads > READING
    }
}

impl std::fmt::Display for Others {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "other processes: {:.1} processors, {:.1} MB/s read", self.processors, self.reads / 1e6)
    }
}

/// Counters of the machine without those of our children: the processor time in user mode and steal, and the bytes read
/// from disks. Kernel threads do the I/O of a loop device, so time in the kernel does not count; they write journals,
/// so writes do not count.
pub(super) struct OtherWork {
    started: Instant,
    seconds: f64,
    bytes: f64,
}

impl OtherWork {
    pub(super) fn start() -> Self {
        OtherWork { started: Instant::now(), seconds: seconds(), bytes: bytes() }
    }

    pub(super) fn others(&self) -> Others {
        let took = self.started.elapsed().as_secs_f64();
        // Reads of loop devices over memory are in our own, and not in those of disks.
        let reads = ((bytes() - self.bytes) / took).max(0.0);
        Others { processors: (seconds() - self.seconds) / took, reads }
    }
}

fn number(text: &str, at: usize) -> f64 {
    text.split_whitespace().nth(at).and_then(|word| word.parse().ok()).expect("a number")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn seconds() -> f64 {
    // Ticks of 10 ms, as on all of Linux's usual machines (USER_HZ is 100).
    let (all, own) = (read("/proc/stat"), read("/proc/self/stat"));
    let own = own.rsplit(") ").next().unwrap_or_default();
    // user, nice and steal of all processors; utime and cutime, the 14th and 16th field, of ours: the name and the
    // number are cut off.
    (number(&all, 1) + number(&all, 2) + number(&all, 8) - number(own, 11) - number(own, 13)) / 100.0
}

/// Bytes that were read from disks, without those of this process and of its children that have ended.
fn bytes() -> f64 {
    let is_disk = |line: &&str| {
        let name = line.split_whitespace().nth(2).unwrap_or_default();
        let device = Path::new("/sys/block").join(name);
        // Loop devices and other stacks read from disks, which are counted; memory has no device.
        device.join("device").exists()
    };
    let sectors: f64 = read("/proc/diskstats").lines().filter(is_disk).map(|line| number(line, 5)).sum();
    let own = read("/proc/self/io");
    let own = own.lines().find_map(|line| line.strip_prefix("read_bytes: ")).expect("a line");
    512.0 * sectors - number(own, 0)
}

/// What a run found, and how the machine was meanwhile.
pub(super) struct Tried<T> {
    pub(super) found: T,
    /// Other processes during the last try.
    pub(super) others: Others,
    /// Time of all tries.
    pub(super) took: Duration,
}

/// The longest wait for a quiet machine before a run is repeated, and that of all runs together, in seconds.
const PATIENCE: u64 = 15;
static PATIENCE_LEFT: AtomicU64 = AtomicU64::new(240);

/// Waits until other processes do little for a second; false if they do not stop.
fn is_quiet_soon() -> bool {
    for _ in 0..PATIENCE {
        if PATIENCE_LEFT.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err() {
            return false;
        }
        let work = OtherWork::start();
        std::thread::sleep(Duration::from_secs(1));
        if !work.others().are_busy() {
            return true;
        }
    }
    false
}

/// Runs it up to three times: again only if the result is wrong and other processes were at work meanwhile. On a quiet
/// machine the first result counts; on one that stays busy, the second.
pub(super) fn retried<T>(mut run: impl FnMut() -> T, is_right: impl Fn(&T) -> bool) -> Tried<T> {
    let started = Instant::now();
    let mut tries = 3;
    loop {
        let work = OtherWork::start();
        let found = run();
        let tried = Tried { found, others: work.others(), took: started.elapsed() };
        tries -= 1;
        if tries <= 0 || is_right(&tried.found) || !tried.others.are_busy() {
            return tried;
        }
        tries -= i32::from(!is_quiet_soon());
    }
}
