//! The drop-in held against Debian's iostat: on recorded trees byte by byte, on this machine number by number.
//!
//! The real iostat sees a recorded tree through a separate mount namespace, which needs root. Without iostat or
//! without root the tests fail: a comparison that did not happen proves nothing.

mod generated;
mod read_back;
mod recording;

use crate::context::{PLUMB, fio, place, plumb};
use house::{Cases, Process, Run, Transcript, bytes_read, children, wait_for};
use recording::Moment;
use rustix::process::Signal;
use std::io::{PipeReader, Read};
use std::path::Path;
use std::time::Duration;

/// Variables and their values.
type Variables = &'static [(&'static str, &'static str)];

/// Words, and the variables they are given with; all are run over the server's recording.
const REPLAYED: &[(&str, Variables)] = &[
    ("", &[]),
    ("1 3", &[]),
    ("-d 1 4", &[]),
    ("-c 1 3", &[]),
    ("-x 1 4", &[]),
    ("-dx sda sdb nvme0n1 1 3", &[]),
    ("-xs 1 3", &[]),
    ("-s -d 1 3", &[]),
    ("-xm 1 2", &[]),
    ("-m 1 2", &[]),
    ("-dk 1 2", &[]),
    ("-h 1 3", &[]),
    ("-hx 1 3", &[]),
    ("--human -x 1 2", &[]),
    ("--human -s 1 2", &[]),
    ("--human --dec=0 -x 1 2", &[]),
    ("--human --dec=1 1 2", &[]),
    ("-hm 1 2", &[]),
    ("--pretty 1 2", &[]),
    ("--pretty -x 1 2", &[]),
    ("--pretty --compact -x 1 2", &[]),
    ("--pretty -xs 1 2", &[]),
    ("--dec=0 -x 1 3", &[]),
    ("--dec=1 1 3", &[]),
    ("-t 1 2", &[]),
    ("-tx 1 2", &[("S_TIME_FORMAT", "ISO")]),
    ("-y 1 2", &[]),
    ("-yx -d 1 2", &[]),
    ("-z 1 4", &[]),
    ("-xz 1 4", &[]),
    ("-zy 1 3", &[]),
    ("-p sda 1 3", &[]),
    ("-x -p sda,sdb 1 2", &[]),
    ("-p ALL 1 3", &[]),
    ("-p", &[]),
    ("-xp", &[]),
    ("-d ALL 1 3", &[]),
    ("-d nosuch sdb 1 2", &[]),
    ("-d sdb sda sdb", &[]),
    ("-dx sdv sdr 1 4", &[]),
    ("-d -g a sdb sda 1 3", &[]),
    ("-d -g a sdb sda -g b nvme0n1 dm-flush 1 3", &[]),
    ("-dx -g a sdb sda -g b nvme0n1 sdr", &[]),
    ("-d -H -g a sdb sda nosuch 1 2", &[]),
    ("-dxs --pretty -g a sdr sdb", &[]),
    ("-o JSON 1 3", &[]),
    ("-o JSON -x 1 4", &[]),
    ("-o JSON -xs -t 1 2", &[("S_TIME_FORMAT", "ISO")]),
    ("-o JSON -y 1 2", &[]),
    ("-o JSON -m -g a sda sdb 1 2", &[]),
    ("-o JSON -c", &[]),
    ("-o JSON -d nosuch", &[]),
    ("", &[("POSIXLY_CORRECT", "")]),
    ("-x 1 2", &[("POSIXLY_CORRECT", "1")]),
    ("-xs 1 2", &[("POSIXLY_CORRECT", "1")]),
    ("-s 1 2", &[("POSIXLY_CORRECT", "1")]),
    ("-k", &[("POSIXLY_CORRECT", "1")]),
    ("-x 1 3", &[("S_COLORS", "always")]),
    ("-h 1 3", &[("S_COLORS", "always")]),
    ("--human --dec=1 -xs 1 4", &[("S_COLORS", "always")]),
    ("-hx --dec=0 1 3", &[("S_COLORS", "always")]),
    ("--dec=1 -x 1 3", &[("S_COLORS", "always"), ("S_COLORS_SGR", "H=33;22:I=36:Z=junk:N=")]),
];

/// Words and the locales they are run in, over the server's recording.
const LOCALES: &[(&str, Variables)] = &[
    ("-d -t", &[("LC_ALL", "en_US.UTF-8")]),
    ("-o JSON -t 1 2", &[("LC_ALL", "en_US.UTF-8")]),
    ("-tx 1 2", &[("LC_ALL", "de_DE.UTF-8")]),
    ("-hx 1 2", &[("LC_ALL", "de_DE.UTF-8"), ("S_COLORS", "always")]),
    ("--dec=1 --human 1 2", &[("LC_ALL", "de_DE.UTF-8")]),
    ("-o JSON -xt 1 2", &[("LC_ALL", "de_DE.UTF-8")]),
    ("-t", &[("LC_ALL", ""), ("LC_TIME", "en_US.UTF-8"), ("LANG", "de_DE.UTF-8")]),
    ("-t", &[("LC_ALL", ""), ("LC_NUMERIC", "de_DE.UTF-8"), ("LANG", "")]),
    ("-t", &[("LC_ALL", "en_US.UTF-8"), ("S_TIME_FORMAT", "ISO")]),
    ("-t", &[("LC_ALL", "C.UTF-8")]),
    ("-t", &[("LC_ALL", "no_SUCH.UTF-8")]),
];

/// Words and variables over the server's recording, where sysstat 12.7.5 differs from Debian 12's version. Its output
/// is kept in `golden/iostat-12.7.5`; `--compat=12.8` is left out for it.
const NEWEST: &[(&str, Variables, &str)] = &[
    ("--compat=12.8 -x sda sdb nvme0n1 loop0 1 3", &[("S_COLORS", "always")], "colours.txt"),
    (
        "--compat=12.8 -hx --compact sda sdb nvme0n1 loop0 1 2",
        &[("S_COLORS", "always"), ("S_COLORS_SGR", "W=33;22:X=36:N=1")],
        "human.txt",
    ),
    ("--compat=12.8 -xs", &[("S_COLORS", "always"), ("S_COLORS_SGR", "M=33:H=7:X=junk")], "short.txt"),
];

/// Words over the server's recording, and lines that are shown: options that came with sysstat 12.8.
const NEW_OPTIONS: &[(&str, &[&str])] = &[
    (
        "-dG sdb nvme0n1 1 2",
        &[
            "Device             tps    GB_read/s    GB_wrtn/s    GB_dscd/s    GB_read    GB_wrtn    GB_dscd",
            "sdb              48.22         0.00         0.02         0.00          0          0          0",
        ],
    ),
    ("-dxsG sdb", &["Device             tps      GB/s    rqm/s   await  areq-sz  aqu-sz  %util"]),
    ("-ds --human -G sdb", &["Device             tps    GB_read/s     GB_w+d/s    GB_read     GB_w+d"]),
    (
        "-d -G sdw 1 2",
        &["sdw               2.89         0.00         0.00         0.00          0          0          0"],
    ),
    ("-o JSON -G -x sdb", &["\"rGB/s\": 0.00, \"wGB/s\": 0.00, \"dGB/s\": 0.00"]),
    ("-y -d -p sda10 --compat=12.8 1 1", &["CPU)\n\nDevice "]),
];

/// Words, run over a recording with mapped and persistent names, of devices that are plugged in while it is shown.
const PLUGGED: &[&str] = &[
    "-d -j ID 1 4",
    "-ds -j label",
    "-dx -j path 1 2",
    "-dx -j PATH --compact",
    "-xs -j path",
    "-d -N -j Id",
    "-d -j ID -N 1 2",
    "-d -p ALL -j ID",
    "-ds wwn-b -j ID sda",
    "-ds -p wwn-b,zz -j ID",
    "-ds -j ID -p wwn-b,sda 1 2",
    "-ds -j LaBeL my\\x20disk sda",
    "-ds -N vg-root -j ID",
    "-ds -j PATH -j ID sda pci-1 zz",
    "-ds -j PATH pci-1 -j ID nvme-Z",
    "-ds -j ID -g grp wwn-b zz sdr",
    "-H -j ID -g grp wwn-b nvme-X",
    "-ds -j path /dev/disk/by-id/wwn-b disk/by-id/zz",
    "-ds -j ID -p wwn-b-part1",
    "-dx -j ID -o JSON nvme-X",
    "-c -j ID",
    "-ds -f /mnt 1 3",
    "-ds +f /mnt 1 3",
    "-dx +f /mnt/ 1 2",
    "-ds +f /mnt -p ALL 1 3",
    "-ds -f /mnt/ -p ALL 1 3",
    "-ds +f /mnt -p 1 3",
    "-ds -f /mnt -p sda",
    "-ds +f /mnt -p sda,spdk0 1 2",
    "-ds -f /mnt -p spdk0 sda1 1 2",
    "-ds -f /mnt sda10 spdk0 spdk0p1 sda1",
    "-ds +f /mnt sda spdk0 sda1 spdk0p1 1 2",
    "-ds +f /mnt -g grp sda spdk0 1 2",
    "-ds +f /mnt -g grp -p ALL 1 2",
    "-ds -f /mnt ALL",
    "-ds +f /mnt ALL 1 2",
    "-dz +f /mnt idle nvme0n1 aspdk 1 2",
    "-d -o JSON +f /mnt -x 1 2",
    "-c -f /mnt",
    "-ds -j ID +f /mnt 1 2",
    "-ds 1 4",
    "-ds -p ALL 1 4",
    "-ds -p 1 4",
    "-ds -p sda 1 2",
    "-ds -g grp -p sda sdb 1 2",
    "-ds -g grp ALL 1 2",
    "-ds -g grp sda -p 1 2",
    "-ds -g grp -p ALL 1 2",
    "-ds sdb dm-2 -p ALL 1 4",
    "-ds -p ALL -p sda 1 2",
    "-ds -p sda -p ALL",
    "-ds -N nvme0n1 vg-root",
    "-ds -N vg-root nvme0n1",
    "-ds -N vg-root a-swap sda",
    "-ds -N a-swap vg-root",
    "-ds -N vg-root ALL",
    "-ds -N nvme0n1 vg-root -p ALL",
    "-ds -N -g grp nvme0n1 vg-root sda",
    "-ds -N /dev/mapper/vg-root dm-2 sdb",
    "-ds /dev//sda",
    "-ds //dev/disk//by-id/wwn-b",
    "-ds -p //dev/sdb",
    "-ds +f /mnt sda sdb -p ALL 1 2",
    "-ds +f /mnt ALL sda -p sdb 1 2",
    "-ds sda0 -p ALL,sdc sda1 1 2",
    "-ds -g grp sda0 sda1 -p ALL 1 2",
];

/// Words over the recording of old disks: lines of four numbers, names with `/`, and what one word of a group means for
/// the others.
const OLD_DISKS: &[&str] = &[
    "-dx -p hda,nvme10n1p12",
    "-d -p hda 1 2",
    "-dx hda hda1 1 2",
    "-dxs -p hda",
    "-dxs -p ALL",
    "-d --human -p hda",
    "-dx -g a hda1 sda",
    "-dx -g a -p hda",
    "-dx -g a -p ALL",
    "-dx -H -g a hda1 hda",
    "-o JSON -dx -p hda",
    "-d -p sda -g parts sda1 sda12",
    "-d -g a -p sda -g b sda1 sdb",
    "-d -p sda,sdb -g a sdb nvme0n1 1 2",
    "-d -p sda nosuch -g a sdb",
    "-d -p sda -g a -p sdb -g b hda",
    "-d -p hda -g a -p sda -g b nvme0n1",
    "-d -p nvme10n1 -g a nvme10n1p12",
    "-d sda1 -g a -p sda",
    "-g a hda -g a sda",
    "-d -g a sda -g b sdb -g a sda1 1 2",
    "-d -g a -g a sda",
    "-d -g a sda sdb -g a",
    "-H -g a sda -g a sdb",
    "-o JSON -d -g a sda -g a sdb",
    "-g a -g a",
    "-g a -g b",
    "-d -g a -g b -p",
    "-d -H -g a -g b",
    "-dz -g a -g b 1 2",
    "-d -g a -g b ALL",
    "-d -g a -g b nosuch",
    "-xp ALL",
    "-xps ALL",
    "-dp ALL 1 2",
    "-d ALL -p",
    "-d -p -d ALL",
    "-dx -g a ALL -p",
    "-dzp ALL 1 2",
    "-dxp",
    "-d -p ,",
    "-d -p sda,,sdb",
    "-d cciss!c0d0",
    "-d -p cciss!c0d0",
    "-d /dev/cciss/c0d0",
    "-d -N -g lv vg-root a-swap",
    "-d -N -p vg-root",
    "-d -N vg-root -p a-swap",
    "-d nvme0c0n1 nvme0n1",
    "-d -p nvme0c0n1,nvme0n1",
    "-d -y 1 2",
    "-d sdb dm-1 nvme10n1p12 -g c dm-1",
    "-d -p ALL sdb hda",
    "-d sdb -p ALL hda dm-1",
    "-d -p nvme10n1p2,ALL sdb sda1",
    "-d -p -p sdb,hda nvme0n1",
    "-d -p ALL cciss!c0d0 sdb",
    "-d sdb hda sda -p sda -g a nvme0n1 dm-1",
    "-d -p sdb,sda -p hda -g a sda1",
    "-d ALL sdb hda -g a",
    "-d ALL -p sdb,hda -g a nosuch",
    "-d sdb hda ALL -g a nvme0n1",
    "-N -d a-swap nosuch vg-root sda12",
    "-d -N nvme0n1 /dev/a-swap hda",
    "-dx hda1 -p ALL",
    "-dx -p ALL hda1",
    "-dx -g a hda1 -p ALL",
    "-dx -g a nosuch",
    "-dx -g a nosuch sda",
    "-dx -g a sda -g b sda",
    "-dx -g a -p ALL -g b nosuch",
    "-dx -g a -g b sda1 -p sda",
    "-dxs -g a -p",
    "-dxs -g a",
    "-d -H sda -g a sdb",
    "-d -H -p sda -g a sdb",
    "-d -H sda1 hda2 -g c -g a -z",
    "-c -g a",
    "-c -y -g a -H 1 1",
    "-c -g a nosuch",
];

/// What Debian's iostat refuses, and we must too.
const REFUSED: &[&str] = &[
    "1 0",
    "0 3",
    "1 2 3",
    "1 -3",
    "-k -m",
    "-km",
    "-H",
    "-T",
    "-g",
    "-o",
    "-o XML",
    "-xo JSON",
    "-dg a sda",
    "--dec=3",
    "--dec=10",
    "--dec=",
    "--dec",
    "--foo",
    "-q",
    "-- sda",
    "-j",
    "-jID",
    "-dj ID",
    "-j nosuch",
    "-j ../id",
    "-Hg a sda",
    "-f /nosuch",
    "+f /nosuch",
    "-f",
    "+f",
    "-df /mnt",
    "-f/mnt",
    "-f /mnt -f /mnt",
    "-f /mnt +f /mnt",
];

fn ours(root: &Path, words: &str, variables: &[(&str, &str)]) -> Transcript {
    clean(plumb(place(), "iostat").words(words).env("PLUMB_ROOT", root), variables).end()
}

/// The directory of the locales of [`LOCALES`]. Minimal machines have only C.
const LOCALE_DIRECTORY: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/locales");

/// Compiles the locales from Debian's sources, once.
fn compile_locales() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        std::fs::create_dir_all(LOCALE_DIRECTORY).expect("our own directory");
        for language in ["en_US", "de_DE", "fa_IR", "fi_FI", "zh_CN"] {
            // Of Debian's package `locales`.
            let words = format!("-i {language} -f UTF-8 {LOCALE_DIRECTORY}/{language}.UTF-8");
            Run::new("localedef", Path::new(LOCALE_DIRECTORY)).words(words).succeeds();
        }
    });
}

/// Nothing of the developer's own environment may change what is shown.
fn clean(run: Run, variables: &[(&str, &str)]) -> Run {
    let run = run.env("LOCPATH", LOCALE_DIRECTORY).env("LC_ALL", "C").env("TZ", "UTC").without_env("S_COLORS");
    variables.iter().fold(run, |run, (name, value)| run.env(name, value))
}

/// Debian's iostat.
fn iostat(words: &str) -> Run {
    clean(Run::new("iostat", place()).words(words), &[])
}

/// Puts the tree at `$0` in the place of the machine's, and starts the program.
const BINDS: &str = "for path in proc/stat proc/uptime proc/diskstats proc/devices sys/block \
                     sys/dev/block sys/devices/system/cpu mnt dev; do mount --bind \"$0/$path\" \"/$path\" || exit 99; done; \
                     exec \"$@\"";

/// The real iostat over a recording: the tree in its place is changed after each report.
fn real(program: &str, moments: &[Moment], words: &str, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let live = tempfile::tempdir().expect("a directory");
    moments[0].record(live.path());
    let run = clean(Run::new(program, live.path()).words(words), variables);
    let (mut pipe, writer) = std::io::pipe().expect("a pipe");
    let run = run.under(["unshare", "--mount", "sh", "-c", BINDS, &live.path().to_string_lossy()]);
    let child = run.output_to(writer).start();
    let (mut text, mut buffer, mut later) = (Vec::new(), [0; 65536], moments[1..].iter());
    loop {
        let read = pipe.read(&mut buffer).expect("a pipe");
        if read == 0 {
            break;
        }
        text.extend_from_slice(&buffer[..read]);
        // The rest of this report comes at once, and then it waits for the next second.
        let mut end = Rest::Some;
        while end == Rest::Some || end == Rest::None && !sleeps(child.id()) {
            std::thread::sleep(Duration::from_millis(100));
            end = drain(&mut pipe, &mut text);
        }
        if let (Rest::None, Some(moment)) = (end, later.next()) {
            // It sees all of the next moment or nothing; its alarm waits.
            child.signal(Signal::STOP);
            moment.record(live.path());
            child.signal(Signal::CONT);
        }
    }
    let status = child.end().status;
    assert_ne!(status, Some(99), "the recorded tree could not be put over /proc and /sys: are we root?");
    (status, String::from_utf8(text).expect("text"))
}

/// True if the process waits, twice within 20 ms.
fn sleeps(id: u32) -> bool {
    let before = waits(id);
    std::thread::sleep(Duration::from_millis(20));
    before && waits(id)
}

fn waits(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, fields)| !fields.starts_with(['R', 'D']))
}

/// What a pipe held: something, nothing, or its end.
#[derive(PartialEq)]
enum Rest {
    Some,
    None,
    End,
}

/// Takes what the pipe holds.
fn drain(pipe: &mut PipeReader, text: &mut Vec<u8>) -> Rest {
    let before = text.len();
    let flags = rustix::fs::fcntl_getfl(&*pipe).expect("a pipe");
    rustix::fs::fcntl_setfl(&*pipe, flags | rustix::fs::OFlags::NONBLOCK).expect("a pipe");
    let end = pipe.read_to_end(text);
    rustix::fs::fcntl_setfl(&*pipe, flags).expect("a pipe");
    match end {
        Ok(_) => Rest::End,
        Err(_) if text.len() > before => Rest::Some,
        Err(_) => Rest::None,
    }
}

/// The digits of moments are what they are; everything else must be the same.
fn without_moments(text: &str) -> String {
    let fold = |line: &str| {
        let bare = line.trim_start().trim_start_matches("\"timestamp\": \"");
        let digits = bare.chars().take(19).filter(char::is_ascii_digit).count();
        let is_moment =
            bare.len() >= 17 && (digits == 12 || digits == 14) && !line.contains("  ") && bare.contains(':');
        if is_moment { line.replace(|letter: char| letter.is_ascii_digit(), "0") } else { line.to_owned() }
    };
    text.split('\n').map(fold).collect::<Vec<_>>().join("\n")
}

/// The first line in which two texts differ.
fn first_difference(expected: &str, found: &str) -> Option<String> {
    let (mut expected, mut found) = (expected.split('\n'), found.split('\n'));
    for number in 1.. {
        match (expected.next(), found.next()) {
            (None, None) => return None,
            (one, other) if one != other => {
                return Some(format!(
                    "line {number}\n    iostat {:?}\n    ours   {:?}",
                    one.unwrap_or("<end>"),
                    other.unwrap_or("<end>")
                ));
            }
            _ => {}
        }
    }
    None
}

/// The drop-in over a recording.
fn recorded(moments: &[Moment], words: &str, variables: &[(&str, &str)]) -> Transcript {
    let root = tempfile::tempdir().expect("a directory");
    record_all(moments, root.path());
    ours(root.path(), words, variables)
}

/// Records all moments. After the last one the machine stays as it is, as the real iostat sees it.
fn record_all(moments: &[Moment], root: &Path) {
    for (number, moment) in moments.iter().enumerate() {
        moment.record(&root.join(number.to_string()));
    }
    for number in moments.len()..moments.len() + 3 {
        let last = (moments.len() - 1).to_string();
        std::os::unix::fs::symlink(last, root.join(number.to_string())).expect("a link");
    }
}

/// The same as the kept output of a newer iostat, which is recorded again if `PLUMB_NEWEST_IOSTAT` names that program.
fn newest(words: &str, variables: &[(&str, &str)], file: &str) -> Result<(), String> {
    // The first line has the machine's name.
    let after_host = |text: &str| text.split_once('\n').unwrap_or_default().1.to_owned();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/iostat-12.7.5").join(file);
    if let Some(program) = std::env::var_os("PLUMB_NEWEST_IOSTAT") {
        let program = program.to_str().expect("a plain path");
        let (_, text) = real(program, &recording::server(), &words.replace("--compat=12.8", ""), variables);
        std::fs::write(&path, after_host(&text)).expect("a golden file");
    }
    let kept = std::fs::read_to_string(&path).expect("a golden file");
    let found = recorded(&recording::server(), words, variables);
    first_difference(&kept, &after_host(&found.stdout)).map_or(Ok(()), Err)
}

fn replay(moments: &[Moment], words: &str, variables: &[(&str, &str)]) -> Option<String> {
    let (status, expected) = real("iostat", moments, words, variables);
    let found = recorded(moments, words, variables);
    let shown = found.stdout;
    if status != found.status {
        return Some(format!("status {status:?}, ours {:?}: {}", found.status, found.stderr));
    }
    first_difference(&without_moments(&expected), &without_moments(&shown))
}

/// Each command line over a recording is a test; so is each that is refused.
pub(super) fn groups() -> Vec<Cases> {
    // The original waits a second between reports.
    let mut cases = Cases::waiting("iostat", 12);
    for &(words, variables) in REPLAYED {
        let variables_named: String = variables.iter().map(|(name, value)| format!(":{name}_{value}")).collect();
        cases = cases.case(&format!("replayed::{words}{variables_named}"), move || {
            replay(&recording::server(), words, variables).map_or(Ok(()), Err)
        });
    }
    for &(words, variables) in LOCALES {
        let named: String = variables.iter().map(|(name, value)| format!(":{name}_{value}")).collect();
        cases = cases.case(&format!("locales::{words}{named}"), move || {
            compile_locales();
            replay(&recording::server(), words, variables).map_or(Ok(()), Err)
        });
    }
    for &(words, variables, file) in NEWEST {
        cases = cases.case(&format!("newest::{words}"), move || newest(words, variables, file));
    }
    for &(words, lines) in NEW_OPTIONS {
        cases = cases.case(&format!("new_options::{words}"), move || {
            let shown = recorded(&recording::server(), words, &[]).stdout;
            let missing = lines.iter().find(|line| !shown.contains(*line));
            missing.map_or(Ok(()), |line| Err(format!("no {line:?} in\n{shown}")))
        });
    }
    for &words in PLUGGED {
        cases = cases
            .case(&format!("plugged::{words}"), move || replay(&recording::plugged(), words, &[]).map_or(Ok(()), Err));
    }
    for &words in OLD_DISKS {
        cases = cases.case(&format!("old_disks::{words}"), move || {
            replay(&recording::old_disks(), words, &[]).map_or(Ok(()), Err)
        });
    }
    for words in ["-d 1 4", "-x 1 4", "-d sdb sda 1 4", "-dz 1 4", "-dp ALL 1 4"] {
        cases =
            cases.case(&format!("away::{words}"), move || replay(&recording::away(), words, &[]).map_or(Ok(()), Err));
    }
    for &(words, variables) in MANY_DISKS {
        cases = cases.case(&format!("two_hundred_disks::{words}"), move || {
            replay(&recording::many(), words, variables).map_or(Ok(()), Err)
        });
    }
    cases = read_back::add_to(cases);
    cases = generated::add_to(cases);
    for &words in REFUSED {
        cases = cases.case(&format!("refused::{words}"), move || is_refused(words));
    }
    let cases = house::tests!(
        cases,
        enough_command_lines_are_replayed,
        a_signal_ends_the_loop_and_closes_json,
        a_link_named_iostat_is_iostat_and_the_old_columns_are_there,
        seconds_since_the_epoch_replace_the_time_of_a_report,
        help_is_shown_and_our_refusals_name_a_way,
    );
    let here = house::tests!(
        Cases::waiting_later("iostat_here", 1),
        this_machine_since_boot_is_the_same_to_both,
        a_loop_device_at_work_is_the_same_to_both_within_3_percent,
    );
    vec![cases, here]
}

fn enough_command_lines_are_replayed() {
    assert!(REPLAYED.len() >= 40);
}

/// Words and variables, run over a recording of 200 disks.
const MANY_DISKS: &[(&str, Variables)] =
    &[("-x 1 2", &[]), ("-d -p ALL 1 2", &[]), ("-hx 1 2", &[("S_COLORS", "always")])];

fn is_refused(words: &str) -> Result<(), String> {
    for ended in [iostat(words).end(), ours(Path::new("/"), words, &[])] {
        if (ended.status, ended.stdout.len()) != (Some(1), 0) || ended.stderr.is_empty() {
            return Err(ended.to_string());
        }
    }
    Ok(())
}

/// The numbers of a text, and the text without them.
fn numbers(text: &str) -> (String, Vec<f64>) {
    let (mut shape, mut found) = (String::new(), Vec::new());
    for line in text.lines() {
        for word in line.split_ascii_whitespace() {
            match word.parse() {
                Ok(number) => found.push(number),
                Err(_) => shape += word,
            }
            shape.push(' ');
        }
        shape.push('\n');
    }
    (shape, found)
}

fn this_machine_since_boot_is_the_same_to_both() {
    for words in ["", "-x", "-dm", "-xs", "-c", "-d -p ALL", "-d ALL", "-s", "-dx -p", "-d 1 1"] {
        let theirs = iostat(words).end();
        let found = ours(Path::new("/"), words, &[]);
        let ((shape, expected), (our_shape, found)) = (numbers(&theirs.stdout), numbers(&found.stdout));
        assert_eq!(shape, our_shape, "{words}");
        for (one, other) in expected.iter().zip(&found) {
            // Others may use the machine between the two looks: what happened since boot moves little in that time.
            assert!((one - other).abs() <= 0.05 + 0.03 * one.abs(), "{words}: {one} against our {other}");
        }
    }
}

fn a_loop_device_at_work_is_the_same_to_both_within_3_percent() {
    // The two begin some milliseconds apart, between which a busy machine may put more: then they are compared once
    // more.
    let found: Vec<_> = (0..3).map_while(|_| differences_at_work().err()).collect();
    assert!(found.len() < 3, "{found:?}");
}

/// Runs both during a load of 100 reads/s; what differs.
fn differences_at_work() -> Result<(), String> {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let device = house::LoopDevice::new(directory.path(), 64 << 20).expect("a loop device: are we root?");
    let node = device.path().to_str().expect("a plain name").to_owned();
    let load = format!(
        "--name=load --filename={node} --rw=randread --bs=8k --direct=1 --ioengine=psync --rate_iops=100 \
         --runtime=12 --time_based"
    );
    let load = fio(directory.path(), load).start();
    let is_at_work = || children(load.id()).into_iter().any(|worker| bytes_read(worker) > 100 << 13);
    wait_for("a load at work", || is_at_work().then_some(()));
    let words = format!("-dxy {node} 6 1");
    let theirs = iostat(&words).start();
    let found = clean(plumb(place(), "iostat").words(&words), &[]).start();
    let read = |process: Process| {
        let ended = process.end();
        numbers(ended.stdout.lines().find(|line| line.starts_with("loop")).unwrap_or_default()).1
    };
    let (expected, found) = (read(theirs), read(found));
    load.end();
    assert_eq!((expected.len(), found.len()), (22, 22));
    // Short requests are busy time by whole jiffies, if one falls on them at all: the last column jumps.
    let step = |column| if column == 21 { 0.5 } else { 0.05 };
    let both = expected.iter().zip(&found).enumerate();
    let mut far = both.filter(|&(column, (one, other))| (one - other).abs() > step(column) + 0.03 * one.abs());
    if (97.0..=103.0).contains(&found[0]) && (776.0..=824.0).contains(&found[1]) && far.next().is_none() {
        Ok(())
    } else {
        Err(format!("{expected:?} against our {found:?}"))
    }
}

fn a_signal_ends_the_loop_and_closes_json() {
    for (words, end) in [("-d 5", "\n\n\n"), ("-o JSON 5", "\t]\n}}\n")] {
        let mut running = plumb(place(), "iostat").words(words).start();
        assert!(!running.line().is_empty(), "it has begun");
        wait_for("its pause", || sleeps(running.id()).then_some(()));
        running.signal(Signal::INT);
        let ended = running.end().exits(0);
        assert!(ended.stdout.ends_with(end), "{:?}", ended.stdout);
    }
}

fn a_link_named_iostat_is_iostat_and_the_old_columns_are_there() {
    let place = place();
    std::os::unix::fs::symlink(PLUMB, place.file("iostat")).expect("a link");
    for (number, moment) in recording::server().iter().enumerate() {
        moment.record(&place.file(number.to_string()));
    }
    let run = Run::new(place.file("iostat"), &place).words("-dx --compat=9 -y sdb 1 2 --root=.");
    let text = clean(run, &[]).end().stdout;
    // From 100 to 350 in 10.37 s: 500 writes of 1024 sectors, 2250 ms busy.
    let expected = "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\n\
                    sdb               0.00     0.00    0.00   48.22     0.00 24686.60  1024.00     0.00    0.00    0.00    0.00   4.50  21.70\n";
    assert!(text.contains(expected), "{text}");
}

fn seconds_since_the_epoch_replace_the_time_of_a_report() {
    let now = || std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
    for words in ["-d -U", "-tU -d", "-o JSON -dU"] {
        let before = now();
        let found = recorded(&recording::server(), words, &[("S_TIME_FORMAT", "ISO")]);
        let text = found.stdout;
        let seconds = text.lines().find_map(|line| {
            let line = line.trim();
            let line = line.strip_prefix("\"timestamp\": \"").map_or(Some(line), |rest| rest.strip_suffix("\","))?;
            line.parse::<u64>().ok()
        });
        assert!(seconds.is_some_and(|seconds| (before..=now()).contains(&seconds)), "{words}: {text}");
    }
}

fn help_is_shown_and_our_refusals_name_a_way() {
    let help = ours(Path::new("/"), "--help", &[]);
    assert!(help.status == Some(0) && help.stdout.starts_with("Usage: iostat"), "{help}");
    for (words, part) in [
        ("-j nosuch", "/dev/disk/by-nosuch"),
        ("-f /nosuch", "no such directory"),
        ("-f /mnt +f /mnt", "one directory"),
    ] {
        ours(Path::new("/"), words, &[]).exits(1).complains(part);
    }
}
