//! Power cuts of a guest: `plumb durable` against disks of which the truth is known. Half of them are honest, half
//! ignore flushes; each is an nbdkit that keeps what was written in its memory until it is flushed, and a cut is a kill
//! of qemu and of all of them. A boot judges the cut before it and writes until the next one.
//!
//! Not in the gate: a boot takes half a minute (`make durable`).

use crate::context::PLUMB;
use house::Cases;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The disk, a plugin of nbdkit.
const DISK: &str = include_str!("volatile.py");
/// What runs in each boot.
const SCRIPT: &str = include_str!("power.sh");
/// Cuts of all honest disks together, and of those that lie, unless POWER_CUTS=HONEST,LYING says otherwise.
const CUTS: [usize; 2] = [56, 20];
/// What is on a disk: nothing, or a file system.
const KINDS: [&str; 4] = ["raw", "ext4", "xfs", "btrfs"];
/// Honest disks of each kind in a guest. Of those that lie there is one of each.
const HONEST: usize = 2;
/// Bytes that a disk below a file system writes completely or not at all.
const UNIT: u32 = 4096;
/// Acknowledgements of each writer before a cut.
const LEAST: usize = 200;
/// Longest time until they are there.
const PATIENCE: Duration = Duration::from_secs(1_000);

pub(super) fn cases() -> Cases {
    Cases::new("power", 1).on_request("honest disks lose nothing and liars are found", all)
}

/// A disk of the guest.
#[derive(Clone, Debug)]
struct Disk {
    /// Name of its file, its serial number and its port: `ext4-lies-3`.
    name: String,
    kind: &'static str,
    is_honest: bool,
    /// Its place among the disks of the guest, which is the same when it is judged: xfs knows itself by that.
    at: usize,
}

/// Processes that end with this value.
struct Running(Vec<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The answer to one cut of one disk: its words, and what was printed.
type Answers = Vec<(Disk, String, String)>;

fn all() -> Result<(), String> {
    let wanted = std::env::var("POWER_CUTS").ok();
    let wanted: Option<Vec<usize>> = wanted.map(|text| text.split(',').filter_map(|word| word.parse().ok()).collect());
    let [honest, lying] = match wanted.as_deref() {
        Some([honest, lying]) => [*honest, *lying],
        _ => CUTS,
    };
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("power");
    drop(fs::remove_dir_all(&place));
    fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    fs::write(place.join("volatile.py"), DISK).map_err(|error| error.to_string())?;
    let boots = honest.div_ceil(HONEST * KINDS.len()).max(lying.div_ceil(KINDS.len()));
    let (mut judge, mut answers): (Vec<Disk>, Answers) = (Vec::new(), Vec::new());
    for boot in 0..=boots {
        // An honest disk goes on; one that lies is a new one for each cut, because little is left of its file system.
        let of = |is_honest: bool, cuts: usize, copies: usize| {
            let all = copies * KINDS.len();
            (0..if boot * all < cuts { all } else { 0 }).map(move |at| {
                let kind = KINDS[at % KINDS.len()];
                let name = if is_honest { format!("{kind}-true-{at}") } else { format!("{kind}-lies-{boot}") };
                let first = if is_honest { 0 } else { (HONEST + boot % 2) * KINDS.len() };
                Disk { name, kind, is_honest, at: first + at }
            })
        };
        let write: Vec<Disk> = of(true, honest, HONEST).chain(of(false, lying, 1)).collect();
        let found = run(&place, boot, &judge, &write)?;
        for (disk, answer, said) in &found {
            println!("cut {boot} of {}: {}: {}", disk.name, answer.trim(), said.lines().last().unwrap_or_default());
        }
        answers.extend(found);
        judge = write;
    }
    judged(&answers)
}

/// Whether all answers are true. Nothing of a lying disk that can be mounted may go unseen.
fn judged(answers: &Answers) -> Result<(), String> {
    let mut counts: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    let mut wrong = String::new();
    for (disk, answer, said) in answers {
        *counts.entry((disk.is_honest, answer.trim())).or_default() += 1;
        let is_true =
            if disk.is_honest { answer.trim() == "yes" } else { ["no", "not mountable"].contains(&answer.trim()) };
        if !is_true {
            wrong += &format!("{disk:?}: {answer}\n{said}\n");
        }
    }
    println!("(honest, answer): cuts: {counts:?}");
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// One boot: judges the disks of the last cut, writes to these, and cuts the power.
fn run(place: &Path, boot: usize, judge: &[Disk], write: &[Disk]) -> Result<Answers, String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("boot {boot}: {what}: {error}");
    let share = place.join(format!("boot-{boot}"));
    fs::create_dir_all(&share).map_err(|error| failed("the share", &error))?;
    let strip = Command::new("strip").args(["--strip-all", "-o"]).arg(share.join("plumb")).arg(PLUMB).status();
    strip.map_err(|error| failed("strip", &error))?;
    let mut script = String::new();
    for disk in judge {
        fs::copy(place.join(&disk.name).with_extension("acks"), share.join(format!("{}.acks", disk.name)))
            .map_err(|error| failed("acknowledgements", &error))?;
        script += &format!("judge {} {}\n", disk.name, disk.kind);
    }
    for disk in write {
        script += &format!("write {} {}\n", disk.name, disk.kind);
    }
    fs::write(share.join("script"), format!("{SCRIPT}{script}finish\n"))
        .map_err(|error| failed("the script", &error))?;
    let mut disks = write.to_vec();
    disks.extend(judge.iter().filter(|disk| !write.iter().any(|other| other.name == disk.name)).cloned());
    let (mut running, mut words) = (Running(Vec::new()), vec![format!("-pidfile {}", share.join("pid").display())]);
    words.push("-device virtio-serial-pci,max_ports=16 -device virtio-scsi-pci,id=scsi".to_owned());
    disks.sort_by_key(|disk| disk.at);
    for disk in &disks {
        let at = disk.at;
        running.0.push(started(place, disk).map_err(|error| failed(&disk.name, &error))?);
        words.push(attached(disk));
        if write.iter().any(|other| other.name == disk.name) {
            let acks = place.join(&disk.name).with_extension("acks");
            // Those of the cut before would count until qemu makes the file again.
            drop(fs::remove_file(&acks));
            words.push(format!("-chardev file,id=c{at},path={}", acks.display()));
            words.push(format!("-device virtserialport,chardev=c{at},name={}", disk.name));
        }
    }
    let mut guest = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/guest"));
    let guest = guest.arg("run").arg(&share).env("GUEST_WORDS", words.join(" ")).env("GUEST_LIMIT", "1500");
    let log = File::create(share.join("guest")).map_err(|error| failed("its log", &error))?;
    let guest = guest.stdout(Stdio::null()).stderr(log).spawn().map_err(|error| failed("tools/guest", &error))?;
    let mut guest = Running(vec![guest]);
    if write.is_empty() {
        guest.0[0].wait().map_err(|error| failed("tools/guest", &error))?;
    } else {
        let waited = wait(place, &share, write, &mut guest.0[0]);
        // The machine first: a disk that is gone would be an error that a writer sees.
        let pid = fs::read_to_string(share.join("pid")).map_err(|error| failed("qemu", &error))?;
        let killed = Command::new("kill").args(["-9", pid.trim()]).status().map_err(|error| failed("kill", &error))?;
        waited?;
        if !killed.success() {
            return Err(failed("kill", &killed));
        }
    }
    drop(running);
    let answer = |disk: &Disk| {
        let said = |kind: &str| fs::read_to_string(share.join(format!("{}.{kind}", disk.name))).unwrap_or_default();
        (disk.clone(), said("answer"), said("text"))
    };
    Ok(judge.iter().map(answer).collect())
}

/// Starts the disk of a cut; a new one has what mkfs of this machine made.
fn started(place: &Path, disk: &Disk) -> Result<Child, String> {
    let image = place.join(&disk.name).with_extension("img");
    if !image.exists() {
        let file = File::create(&image).map_err(|error| error.to_string())?;
        let mib = if disk.kind == "raw" { 64 } else { 320 };
        file.set_len(mib << 20).map_err(|error| error.to_string())?;
        if disk.kind != "raw" {
            let force = if disk.kind == "ext4" { "-F" } else { "-f" };
            let made = Command::new(format!("mkfs.{}", disk.kind)).args([force, "-q"]).arg(&image).output();
            let made = made.map_err(|error| format!("mkfs.{}: {error}", disk.kind))?;
            if !made.status.success() {
                return Err(String::from_utf8_lossy(&made.stderr).into_owned());
            }
        }
    }
    let socket = socket(disk);
    drop(fs::remove_file(&socket));
    let mut nbdkit = Command::new("nbdkit");
    nbdkit
        .args(["--foreground", "--exit-with-parent", "--unix"])
        .arg(&socket)
        .arg("python")
        .arg(place.join("volatile.py"));
    // A file system on a disk that loses any sector can seldom be mounted, and plumb would have nothing to find.
    let lie = match (disk.is_honest, disk.kind) {
        (true, _) => "no",
        (false, "raw") => "order",
        (false, _) => "late",
    };
    // Disks of today write 4 KiB or nothing of it. Until Linux 6.11 ext4 is not mounted again if a part of the block
    // that commits a transaction is there.
    let unit = if disk.kind == "raw" { 512 } else { UNIT };
    nbdkit.arg(format!("file={}", image.display())).arg(format!("lie={lie}")).arg(format!("unit={unit}"));
    let child = nbdkit.spawn().map_err(|error| format!("nbdkit: {error}"))?;
    let begun = Instant::now();
    while !socket.exists() {
        if begun.elapsed() > Duration::from_secs(20) {
            return Err("nbdkit does not listen".to_owned());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(child)
}

/// The longest name of a socket has 107 bytes, so it is not with the images.
fn socket(disk: &Disk) -> PathBuf {
    std::env::temp_dir().join(format!("plumb-power-{}-{}", std::process::id(), disk.name))
}

/// The words of qemu for a disk: SCSI, which has FUA, or virtio. The NVMe of qemu 7.2 acknowledges a write with FUA, and
/// neither hands FUA on nor flushes: of eight honest ext4 below it, three lost writes in one cut.
fn attached(disk: &Disk) -> String {
    let Disk { at, name, .. } = disk;
    let drive = format!("-drive if=none,id=d{at},format=raw,file=nbd:unix:{}", socket(disk).display());
    let device = if ["raw", "ext4"].contains(&disk.kind) {
        format!("scsi-hd,bus=scsi.0,lun={at},dpofua=on,product={name}")
    } else {
        format!("virtio-blk-pci,serial={name}")
    };
    format!("{drive} -device {device},physical_block_size={UNIT},drive=d{at}")
}

/// Waits until all writers of this boot have acknowledged enough, and a while that is drawn.
fn wait(place: &Path, share: &Path, write: &[Disk], guest: &mut Child) -> Result<(), String> {
    let begun = Instant::now();
    let count = |disk: &Disk| {
        let text = fs::read(place.join(&disk.name).with_extension("acks")).unwrap_or_default();
        text.iter().filter(|byte| **byte == b'\n').count()
    };
    while !write.iter().all(|disk| count(disk) >= LEAST) {
        let is_over = guest.try_wait().map_err(|error| error.to_string())?.is_some();
        if is_over || begun.elapsed() > PATIENCE {
            let counts: Vec<(&str, usize)> = write.iter().map(|disk| (disk.name.as_str(), count(disk))).collect();
            let log = fs::read_to_string(share.join("log")).unwrap_or_default();
            return Err(format!("the guest wrote too little: {counts:?}\n{log}"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let more = u64::from(begun.elapsed().subsec_nanos()) % 3_000;
    std::thread::sleep(Duration::from_millis(more));
    Ok(())
}
