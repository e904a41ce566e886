//! Sequences that fio 3.33 issued, compared with plumb's.

use super::*;

const RECORDED: &str = include_str!("../../tests/golden/fio-3.33/load-sequences.txt");

/// The job and the regions of a recorded command line.
pub(super) fn parse(arguments: &str) -> (JobPlan, Vec<Region>) {
    let mut job = job();
    let (mut files, mut start, mut each) = (1, 0, None);
    for argument in arguments.split(' ') {
        let (option, value) = argument.trim_start_matches('-').split_once('=').unwrap();
        match option {
            "rw" => {
                let (word, skip) = value.split_once(':').map_or((value, None), |(word, skip)| (word, Some(skip)));
                job.load.mix = mix(word, &mut job.load.random);
                if let Some(skip) = skip {
                    let bytes = i64::try_from(bytes_of(skip.trim_start_matches('-'))).unwrap();
                    job.load.step = Step::Skip(if skip.starts_with('-') { -bytes } else { bytes });
                }
            }
            "bs" => job.load.block_size = block_sizes(value),
            "size" => job.files.size = Some(Extent::Bytes(bytes_of(value))),
            "filesize" => each = Some(bytes_of(value)),
            "io_size" => job.files.io_size = Some(Extent::Bytes(bytes_of(value))),
            "offset" => start = bytes_of(value),
            "nrfiles" => files = bytes_of(value),
            "loops" => job.limits.loops = bytes_of(value),
            "number_ios" => job.limits.ios = Some(bytes_of(value)),
            "rwmixread" => job.load.read_percent = value.parse().unwrap(),
            "fsync" => job.load.fsync_every = bytes_of(value),
            "fdatasync" => job.load.fdatasync_every = bytes_of(value),
            "norandommap" => job.load.cover_all = value == "0",
            _ if super::handling::parse(option, value, &mut job) => {}
            _ => panic!("{option} is not known here"),
        }
    }
    let each = each.unwrap_or_else(|| match job.files.size {
        Some(Extent::Bytes(bytes)) => bytes / files,
        _ => panic!("no size"),
    });
    (
        job,
        (0..files)
            .map(|_| Region { start, end: start + each, reach: if start == 0 { Reach::Whole } else { Reach::Part } })
            .collect(),
    )
}

fn mix(value: &str, random: &mut bool) -> Mix {
    *random = value.starts_with("rand");
    match value.trim_start_matches("rand") {
        "read" => Mix::Only(Direction::Read),
        "write" => Mix::Only(Direction::Write),
        "rw" => Mix::ReadWrite,
        "trimwrite" => Mix::TrimWrite,
        "trim" => Mix::Only(Direction::Trim),
        _ => panic!("{value} is not known here"),
    }
}

pub(super) fn block_sizes(value: &str) -> PerDirection<BlockSize> {
    let sizes: Vec<u32> = value.split(',').map(|size| u32::try_from(bytes_of(size)).unwrap()).collect();
    let size = |index: usize| BlockSize::Fixed(*sizes.get(index).unwrap_or(&sizes[0]));
    PerDirection { read: size(0), write: size(1), trim: size(2) }
}

pub(super) fn bytes_of(value: &str) -> u64 {
    match value.strip_suffix('k') {
        Some(number) => number.parse::<u64>().unwrap() * K,
        None => value.parse().unwrap(),
    }
}

/// Compares the words of one direction as far as both sequences go: the order of directions is random, the blocks of
/// each are not.
fn check_direction(arguments: &str, recorded: &str, ours: &str, letter: char) {
    let of = |sequence: &str| -> Vec<String> {
        sequence.split(' ').filter(|word| word.starts_with(letter)).map(str::to_owned).collect()
    };
    let (recorded, ours) = (of(recorded), of(ours));
    let common = recorded.len().min(ours.len());
    assert!(common > 0, "{arguments}");
    assert_eq!(recorded[..common], ours[..common], "{arguments}");
}

#[test]
fn sequential_loads_issue_what_fio_issues() {
    let cases: Vec<&str> = RECORDED.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(cases.len() >= 30);
    for case in cases.chunks(2) {
        let (arguments, recorded) = (case[0], case[1]);
        let (job, regions) = parse(arguments);
        let ours = words(&trace(&job, &regions));
        if job.load.mix == Mix::ReadWrite && job.load.read_percent == 50 {
            check_direction(arguments, recorded, &ours, 'R');
            check_direction(arguments, recorded, &ours, 'W');
        } else {
            assert_eq!(ours, recorded, "{arguments}");
        }
    }
}

/// The number of I/Os that fio issues, and the set of their offsets.
pub(super) fn ask_fio(arguments: &str) -> (usize, BTreeSet<u64>) {
    let output = std::process::Command::new("timeout")
        .args(["--kill-after=1", "60", "fio"])
        .args(["--debug=io", "--name=a", "--ioengine=null"])
        .args(arguments.split(' '))
        .output()
        .expect("the oracle fio is installed (make oracles)");
    let text = String::from_utf8(output.stdout).unwrap();
    let offsets = text.lines().filter(|line| line.contains("queue: io_u")).map(|line| {
        let rest = line.split_once("off=0x").unwrap().1;
        u64::from_str_radix(rest.split_once(',').unwrap().0, 16).unwrap()
    });
    let offsets: Vec<u64> = offsets.collect();
    (offsets.len(), offsets.into_iter().collect())
}

#[test]
fn random_loads_issue_the_same_number_and_set_as_fio() {
    for arguments in [
        "--rw=randread --bs=4k --size=400k",
        "--rw=randread --bs=4k --size=18k",
        "--rw=randread --bs=4k --size=64k --loops=3",
        "--rw=randread --bs=4k --size=64k --io_size=160k",
        "--rw=randread --bs=4k --size=100k --nrfiles=5 --loops=2",
        "--rw=randwrite --bs=4k --size=64k --offset=12k",
        "--rw=randrw --bs=4k --size=256k",
        "--rw=randtrimwrite --bs=4k --size=128k",
        "--rw=randwrite --bs=4k --size=64k --fsync=4",
    ] {
        let (count, set) = ask_fio(arguments);
        let (job, regions) = parse(arguments);
        let ours = trace(&job, &regions);
        // The positions of syncs are not compared, but their number is.
        assert_eq!(ours.requests.len(), count, "{arguments}: {}", words(&ours));
        assert_eq!(offsets(&ours).into_iter().collect::<BTreeSet<_>>(), set, "{arguments}");
    }
}

#[test]
fn random_loads_without_a_map_issue_as_many_as_fio() {
    for arguments in [
        "--rw=randread --bs=4k --size=400k --norandommap=1",
        "--rw=randread --bs=4k --size=18k --norandommap=1 --loops=2",
        "--rw=randread --bs=4k --size=16k --norandommap=1 --io_size=40k --loops=2",
        "--rw=randrw --bs=4k --size=256k --norandommap=1 --nrfiles=4",
    ] {
        let (count, _) = ask_fio(arguments);
        let (job, regions) = parse(arguments);
        assert_eq!(trace(&job, &regions).requests.len(), count, "{arguments}");
    }
}
