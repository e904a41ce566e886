//! Engines whose I/Os are something else than data in a file: names, space, connections, company, devices.

use crate::place::Place;
use crate::rig::{BLOCK, Rig, io, options};
use engine::{ENGINES, Engine, EngineClock, EngineError, Io, Operation, Submitted, Target, Visitor, dispatch};
use measure::{Clock, Nanos, SystemClock};
use plan::option::Value;
use plan::{EngineSpec, Work};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const WHOLE: i64 = BLOCK as i64;
/// Engines that need a device which is not here.
const OF_DEVICES: [&str; 3] = ["sg", "mtd", "io_uring_cmd"];

/// Whether the script of files and buffers fits an engine. What it does not fit is tested here, or this fails.
pub(crate) fn follows_the_script(engine: &EngineSpec) -> bool {
    let work = engine.capabilities.work;
    let has_own_tests = match work {
        Work::Metadata => ["filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"].as_slice(),
        Work::Allocation => &["falloc", "ftruncate", "e4defrag"],
        Work::Stream => &["net", "netsplice"],
        Work::Background => &["cpuio", "exec"],
        Work::Data => &OF_DEVICES,
        Work::Null => &[],
    };
    let own = has_own_tests.contains(&engine.name);
    assert!(own || matches!(work, Work::Data | Work::Null), "{} has no test of what it does", engine.name);
    !own && !is_left_out(engine.name)
}

/// Whether `PLUMB_WITHOUT_ENGINE` names the engine: the one that a tool cannot carry (tools/sanitize says why).
pub(crate) fn is_left_out(engine: &str) -> bool {
    std::env::var("PLUMB_WITHOUT_ENGINE").is_ok_and(|name| name == engine)
}

/// Opens an engine, starts it, carries out I/Os one by one; their results and whether it made a call for each.
struct Each<'a> {
    targets: &'a [Target],
    values: &'a [(&'static str, Value)],
    ios: &'a [Io],
}

impl Visitor for Each<'_> {
    type Out = Result<Vec<(i64, bool)>, EngineError>;

    fn visit<E: Engine>(self) -> Self::Out {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(self.values), self.targets, 1, clock)?;
        rig.engine.start(&|| true)?;
        let one = |io: &Io| (rig.results(&[*io])[0], rig.engine.made_call());
        Ok(self.ios.iter().map(one).collect())
    }
}

fn each(engine: &str, targets: &[Target], values: &[(&'static str, Value)], ios: &[Io]) -> Vec<(i64, bool)> {
    dispatch(engine, Each { targets, values, ios }).unwrap().unwrap_or_else(|error| panic!("{engine}: {error}"))
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Names in a directory, of two blocks each.
fn names(directory: &Path) -> Vec<Target> {
    let target = |number: u32| Target {
        path: directory.join(format!("n{number}")),
        descriptor: None,
        size: 2 * BLOCK as u64,
        block_device: false,
        writable: false,
        zone_size: None,
    };
    (0..3).map(target).collect()
}

/// Both blocks of each of three names.
fn both_blocks() -> Vec<Io> {
    let block = |name: u32, block: usize| io(Operation::Read, name, (block * BLOCK) as u64, BLOCK);
    (0..3).flat_map(|name| [block(name, 0), block(name, 1)]).collect()
}

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

#[test]
fn names_are_made_and_removed_with_one_call_per_name_and_pass() {
    let calls: Vec<(i64, bool)> = [(WHOLE, true), (WHOLE, false)].repeat(3);
    for (make, look, remove) in [("filecreate", "filestat", "filedelete"), ("dircreate", "dirstat", "dirdelete")] {
        let directory = tempfile::tempdir().unwrap();
        let names = names(directory.path());
        assert_eq!(each(make, &names, &[], &both_blocks()), calls, "{make}");
        assert_eq!(entries(directory.path()), 3, "{make}");
        assert_eq!(names[0].path.is_dir(), make == "dircreate");
        for way in ["stat", "lstat", "statx"] {
            let two_passes = [both_blocks(), both_blocks()].concat();
            let found = each(look, &names, &[("stat_type", text(way))], &two_passes);
            assert_eq!(found, calls.repeat(2), "{look} by {way}");
        }
        assert_eq!(each(remove, &names, &[], &both_blocks()), calls, "{remove}");
        assert_eq!(entries(directory.path()), 0, "{remove}");
    }
}

#[test]
fn a_name_that_is_not_there_is_the_error_of_its_io() {
    let directory = tempfile::tempdir().unwrap();
    let first = &both_blocks()[..1];
    for engine in ["filestat", "filedelete"] {
        let results = each(engine, &names(directory.path()), &[], first);
        assert_eq!(results[0].0, -i64::from(libc::ENOENT), "{engine}");
    }
    std::fs::create_dir(directory.path().join("n0")).unwrap();
    assert_eq!(each("dircreate", &names(directory.path()), &[], first)[0].0, -i64::from(libc::EEXIST));
}

/// An empty file on a file system that has holes, and a target for it.
fn empty_file(directory: &Path) -> (std::fs::File, Vec<Target>) {
    let path = directory.join("data");
    let file = std::fs::File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    let target = Target {
        path,
        descriptor: Some(file.as_raw_fd()),
        size: 16 * BLOCK as u64,
        block_device: false,
        writable: true,
        zone_size: None,
    };
    (file, vec![target])
}

#[test]
fn falloc_reserves_within_the_size_extends_and_punches_holes() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let (file, target) = empty_file(directory.path());
    let look = || (file.metadata().unwrap().len(), file.metadata().unwrap().blocks() * 512);
    let block = |operation, block: usize| [io(operation, 0, (block * BLOCK) as u64, BLOCK)];
    assert_eq!(each("falloc", &target, &[], &block(Operation::Read, 0))[0].0, WHOLE);
    assert_eq!(look(), (0, 4096), "a read keeps the size");
    assert_eq!(each("falloc", &target, &[], &block(Operation::Write, 1))[0].0, WHOLE);
    assert_eq!(look(), (8192, 8192), "a write extends");
    assert_eq!(each("falloc", &target, &[], &block(Operation::Trim, 1))[0].0, WHOLE);
    assert_eq!(look(), (8192, 4096), "a trim punches a hole");
    assert_eq!(each("falloc", &target, &[], &[io(Operation::Sync, 0, 0, 0)])[0].0, 0);
}

#[test]
fn ftruncate_cuts_to_the_offset_of_each_write_and_cannot_read() {
    let directory = tempfile::tempdir().unwrap();
    let (file, target) = empty_file(directory.path());
    for block in [3_usize, 7, 2] {
        let write = [io(Operation::Write, 0, (block * BLOCK) as u64, BLOCK)];
        assert_eq!(each("ftruncate", &target, &[], &write)[0].0, WHOLE);
        assert_eq!(file.metadata().unwrap().len(), (block * BLOCK) as u64);
    }
    let read = [io(Operation::Read, 0, 0, BLOCK)];
    assert_eq!(each("ftruncate", &target, &[], &read)[0].0, -i64::from(libc::EINVAL));
}

fn refusal(engine: &str, targets: &[Target], values: &[(&'static str, Value)]) -> EngineError {
    dispatch(engine, Each { targets, values, ios: &[] }).unwrap().expect_err(engine)
}

#[test]
fn an_engine_without_its_device_or_option_says_what_works() {
    let place = Place::memory();
    let named = |name: &'static str, value: &str| vec![(name, text(value))];
    let donor = tempfile::tempdir_in("/dev/shm").unwrap();
    let donor = donor.path().join("donor");
    let cases = [
        ("sg", vec![], "filename=/dev/sg0"),
        ("mtd", vec![], "filename=/dev/mtd0"),
        ("io_uring_cmd", vec![], "filename=/dev/ng0n1"),
        ("e4defrag", vec![], "donorname="),
        ("e4defrag", named("donorname", donor.to_str().unwrap()), "not ext4"),
        ("cpuio", vec![], "cpuload="),
        ("exec", vec![], "program="),
        ("exec", named("program", "/no/such/program"), "/no/such/program"),
        ("net", vec![], "port="),
        ("net", vec![("port", Value::Integer(1))], "hostname="),
        ("net", named("protocol", "vsock"), "is not available yet"),
        ("net", vec![("protocol", text("udp")), ("listen", Value::Flag(true))], "listen"),
        (
            "net",
            vec![
                ("protocol", text("udp")),
                ("hostname", text("239.0.0.7")),
                ("port", Value::Integer(9)),
                ("pingpong", Value::Flag(true)),
            ],
            "a multicast has many",
        ),
        ("netsplice", named("protocol", "udp"), "ioengine=net"),
        ("libaio", vec![("cmdprio_percentage", text("5")), ("cmdprio_bssplit", text("4k/5"))], "exclude"),
    ];
    for (engine, values, expected) in cases {
        let error = refusal(engine, &place.targets(), &values).to_string();
        assert!(error.contains(expected), "{engine} {values:?}: {error}");
    }
}

/// Burns for a while; how long the calls took, how long they wanted to rest, and how much CPU the thread used.
struct Burn(&'static str, i64);

impl Visitor for Burn {
    type Out = [Nanos; 3];

    fn visit<E: Engine>(self) -> Self::Out {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let values =
            [("cpuload", Value::Integer(self.1)), ("cpuchunks", Value::Integer(20_000_000)), ("cpumode", text(self.0))];
        let mut rig = Rig::<E>::open(&options(&values), &[], 1, clock.clone()).unwrap();
        let (began, before) = (clock.now(), cpu());
        assert!(matches!(rig.engine.submit(io(Operation::Read, 0, 0, BLOCK)), Submitted::Done(_)));
        [clock.now().saturating_sub(began), rig.engine.rest_after(), cpu().saturating_sub(before)]
    }
}

/// CPU time of this thread.
fn cpu() -> Nanos {
    // SAFETY: rusage is a C structure for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes one rusage, which outlives it.
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) }, 0);
    let micros = |time: libc::timeval| u64::try_from(time.tv_sec * 1_000_000 + time.tv_usec).unwrap();
    Nanos((micros(usage.ru_utime) + micros(usage.ru_stime)) * 1000)
}

#[test]
fn cpuio_burns_for_a_cycle_and_rests_for_the_rest_of_its_share() {
    let mut used_in_all = Nanos::ZERO;
    for mode in ["noop", "qsort"] {
        for (load, rest_per_cycle) in [(100, 0.0), (50, 1.0), (20, 4.0)] {
            let [took, rest, used] = dispatch("cpuio", Burn(mode, load)).unwrap();
            assert!(took >= Nanos::from_millis(20), "{mode} {load}: {took:?}");
            let ratio = rest.as_f64() / took.as_f64();
            assert!((ratio - rest_per_cycle).abs() <= rest_per_cycle / 10.0, "{mode} {load}: rests {ratio} cycles");
            assert!(used <= took.saturating_add(Nanos::from_millis(10)), "{used:?} in {took:?}");
            used_in_all = used_in_all.saturating_add(used);
        }
    }
    // Others take their share of the processor, all of it for one cycle of 20 ms; but it must have been at work.
    assert!(used_in_all > Nanos::from_millis(4), "{used_in_all:?} in six cycles");
}

/// One end of a connection: carries out its I/Os in a separate thread; the bytes that went through, and a sum of
/// them.
struct OneEnd<'a> {
    target: Target,
    values: &'a [(&'static str, Value)],
    blocks: u64,
}

impl Visitor for OneEnd<'_> {
    type Out = (u64, u64);

    fn visit<E: Engine>(self) -> Self::Out {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let longest = clock.now() + Nanos::from_secs(5);
        let writes = self.target.writable;
        let mut rig = Rig::<E>::open(&options(self.values), &[self.target], 1, clock.clone()).unwrap();
        rig.engine.start(&|| true).unwrap();
        let (mut bytes, mut sum) = (0, 0);
        let operation = if writes { Operation::Write } else { Operation::Read };
        for block in 0..self.blocks {
            if writes {
                rig.buffers.slot(0)[..BLOCK].fill(u8::try_from(block % 251).unwrap());
            }
            let result = loop {
                match rig.results(&[io(operation, 0, block * BLOCK as u64, BLOCK)])[0] {
                    // Of the other end nothing more may come.
                    0 if rig.engine.is_over() || clock.now() > longest => break 0,
                    0 => {}
                    result => break result,
                }
            };
            if result == 0 {
                break;
            }
            assert_eq!(result, WHOLE);
            bytes += BLOCK as u64;
            sum += rig.buffers.slot(0)[..BLOCK].iter().map(|&byte| u64::from(byte)).sum::<u64>();
        }
        (bytes, sum)
    }
}

/// What both ends of a connection saw: the end that waits first.
fn both_ends(
    engine: &'static str,
    common: &[(&'static str, Value)],
    waits: &[(&'static str, Value)],
    calls: &[(&'static str, Value)],
    path: &Path,
    blocks: [u64; 2],
) -> [(u64, u64); 2] {
    let end = |writable, own: &[(&'static str, Value)], blocks| {
        let target =
            Target { path: path.to_owned(), descriptor: None, size: 0, block_device: false, writable, zone_size: None };
        let values = [common, own].concat();
        move || dispatch(engine, OneEnd { target, values: &values, blocks }).unwrap()
    };
    let (receiver, sender) = (end(false, waits, blocks[0]), end(true, calls, blocks[1]));
    std::thread::scope(|scope| {
        let receiver = scope.spawn(receiver);
        // The end that waits must be there first; a run sees to that by itself.
        std::thread::sleep(std::time::Duration::from_millis(200));
        let sender = scope.spawn(sender);
        [receiver.join().unwrap(), sender.join().unwrap()]
    })
}

/// A port that no process has.
fn free_port() -> Value {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    Value::Integer(i64::from(listener.local_addr().unwrap().port()))
}

#[test]
fn what_a_stream_sends_is_received_whole_and_both_ends_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listen = [("listen", Value::Flag(true))];
    let host = [("hostname", text("127.0.0.1"))];
    for engine in ["net", "netsplice"] {
        for more in [
            vec![],
            vec![("nodelay", Value::Flag(true)), ("window_size", Value::Integer(65536)), ("mss", Value::Integer(1000))],
        ] {
            let common = [vec![("port", free_port())], more].concat();
            let [received, sent] = both_ends(engine, &common, &listen, &host, &path, [100, 100]);
            assert_eq!((received.0, sent.0), (100 * BLOCK as u64, 100 * BLOCK as u64), "{engine} {common:?}");
            // Spliced pages may be sent after the buffer was filled again: of those only the number is certain.
            assert!(engine == "netsplice" || received == sent, "{engine} {common:?}");
        }
        let unix = [("protocol", text("unix"))];
        let [received, sent] = both_ends(engine, &unix, &listen, &[], &path, [100, 40]);
        assert_eq!((received.0, sent.0), (40 * BLOCK as u64, 40 * BLOCK as u64), "{engine}: the sender has less");
        assert!(!path.exists(), "the socket is removed");
    }
    let [received, sent] =
        both_ends("net", &[("port", free_port()), ("pingpong", Value::Flag(true))], &listen, &host, &path, [50, 50]);
    assert_eq!((received, received.0), (sent, 50 * BLOCK as u64), "ping-pong");
}

#[test]
fn a_datagram_receiver_ends_with_the_sender_despite_losses() {
    let host = [("hostname", text("127.0.0.1"))];
    let common = [("port", free_port()), ("protocol", text("udp"))];
    let [received, sent] = both_ends("net", &common, &[], &host, Path::new(""), [20, 10]);
    assert_eq!(sent.0, 10 * BLOCK as u64);
    assert!(received.0 <= sent.0 && received.0 > 0, "{} of {} bytes", received.0, sent.0);
}

#[test]
fn a_multicast_member_receives_more_than_the_first_datagram() {
    let group = [("hostname", text("239.255.77.1")), ("interface", text("127.0.0.1"))];
    let common = [vec![("port", free_port()), ("protocol", text("udp"))], group.to_vec()].concat();
    let [received, sent] = both_ends("net", &common, &[], &[], Path::new(""), [20, 10]);
    assert_eq!(sent.0, 10 * BLOCK as u64);
    assert!(received.0 <= sent.0 && received.0 > BLOCK as u64, "{} of {} bytes", received.0, sent.0);
}

/// Runs a program to its end.
struct Program<'a>(&'a [(&'static str, Value)]);

impl Visitor for Program<'_> {
    type Out = usize;

    fn visit<E: Engine>(self) -> usize {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(self.0), &[], 1, clock).unwrap();
        rig.engine.start(&|| true).unwrap();
        let mut looks = 0;
        while !rig.engine.is_over() {
            assert_eq!(rig.results(&[io(Operation::Read, 0, 0, BLOCK)]), [WHOLE]);
            looks += 1;
        }
        looks
    }
}

#[test]
fn exec_is_over_with_its_program_and_the_program_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("written");
    let arguments = format!("-c 'sleep 0.3; echo %n > {}'", file.display());
    let quiet = ("std_redirect", Value::Flag(false));
    let looks =
        dispatch("exec", Program(&[("program", text("/bin/sh")), ("arguments", text(&arguments)), quiet.clone()]));
    assert!(looks.unwrap() >= 2);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "rig\n");
    // Opened, started and dropped: the program is asked to end, and it does, long before the time of grace.
    let values = [
        ("program", text("/bin/sleep")),
        ("arguments", text("60")),
        ("grace_time", Value::Integer(20_000_000_000)),
        quiet,
    ];
    let began = std::time::Instant::now();
    assert!(each("exec", &[], &values, &[]).is_empty());
    assert!(began.elapsed().as_secs() < 10);
}

#[test]
fn e4defrag_swaps_blocks_and_keeps_the_data() {
    // The build's directory is on the machine's own disk, which is ext4 in the rule; elsewhere the refusal is tested.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (file, target) = empty_file(directory.path());
    std::os::unix::fs::FileExt::write_all_at(&file, &[7; 4 * BLOCK], 0).unwrap();
    file.sync_all().unwrap();
    // SAFETY: posix_fadvise(2) takes no memory. Pages in the cache may be busy, and then the kernel refuses to swap.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    let donor = directory.path().join("donor");
    let values = [("donorname", text(donor.to_str().unwrap())), ("inplace", Value::Flag(true))];
    let ios: Vec<Io> = (0..4).map(|block| io(Operation::Write, 0, (block * BLOCK) as u64, BLOCK)).collect();
    match dispatch("e4defrag", Each { targets: &target, values: &values, ios: &ios }).unwrap() {
        Ok(results) => {
            let swapped = results.iter().filter(|result| result.0 == WHOLE).count();
            let busy = results.iter().filter(|result| result.0 == -i64::from(libc::EBUSY)).count();
            assert!(swapped > 0 && swapped + busy == 4, "{results:?}");
            assert!(std::fs::read(&target[0].path).unwrap().iter().all(|&byte| byte == 7));
            assert_eq!(std::fs::metadata(&donor).unwrap().len(), 0);
        }
        Err(error) => assert!(error.to_string().contains("not ext4"), "{error}"),
    }
}

#[test]
fn every_engine_has_a_test_of_what_it_does() {
    assert!(ENGINES.iter().filter(|engine| follows_the_script(engine)).count() >= 12);
}
