//! The writer: records in turns of each way, and an acknowledgement of each to the witness, until the power is cut.

use super::DurableArgs;
use super::records::{Base, Records, device_bytes, remove_earlier};
use super::witness::connect;
use crate::failure::{Failure, signal_status};
use crate::output::Verbosity;
use crate::pages::MADE_BY;
use analysis::durability::{Line, RECORD, SCHEMA, Started, WAYS, Way, acknowledgement, line};
use measure::text;
use rustix::io::Errno;
use session::machine::seed_from_clock;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;
use sys::devices::identity::{BlockDevice, WriteCache};
use sys::files::mounts;
use sys::processes::signals::Watch;

/// Records of a way before the next one has its turn. Flushes of one way make the writes of others durable, too: so
/// what the last turn shows is of its way alone.
const TURN: u32 = 32;

/// Writes until the power is cut, a signal comes or something fails.
pub(super) fn write(args: &DurableArgs, target: &Path) -> Result<u8, Failure> {
    let verbosity = args.written.streams.verbosity();
    let signals = Watch::begin()?;
    let target = std::fs::canonicalize(target).map_err(|error| Failure::at(target, error))?;
    let (run, record) = (measure::split_mix(seed_from_clock()), args.record.unwrap_or(RECORD));
    let base = Base::of(&target, run)?;
    check(args, &target, &base, record)?;
    let text = args.witness.as_deref().unwrap_or_default();
    let Some(mut witness) = connect(text, args.secret_file.as_deref(), &signals)? else {
        return Ok(signal_status(signals.caught().unwrap_or_default()));
    };
    if let Base::Folder(_) = base {
        let earlier = remove_earlier(&target).map_err(|error| Failure::at(&target, error))?;
        earlier.iter().for_each(|path| verbosity.remark(&format!("plumb: durable: removed {}", path.display())));
    }
    let _exclusive = exclusive(&base)?;
    let mut records = Records::begin(base.clone(), run, record)?;
    let ways = prepared(args, &mut records, &base, verbosity)?;
    let started = started(&target, &base, run, record, ways.clone())?;
    say(&mut witness, &line(&Line::Writer(Box::new(started)))?)?;
    let names: Vec<&str> = ways.iter().map(|way| way.name()).collect();
    verbosity.remark(&format!(
        "plumb: durable: writing to {}: {}; acknowledgements go to {text}. Cut the power when you like.",
        target.display(),
        names.join(", ")
    ));
    let mut numbers: BTreeMap<Way, u64> = ways.iter().map(|way| (*way, 1)).collect();
    let begun = Instant::now();
    let since = || u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    for way in &ways {
        say(&mut witness, &acknowledgement(*way, 1, since()))?;
    }
    for way in ways.iter().cycle() {
        for _ in 0..TURN {
            if let Some(signal) = signals.caught() {
                say(&mut witness, &line(&Line::Ended(format!("signal {signal}")))?)?;
                return Ok(signal_status(signal));
            }
            let number = numbers.entry(*way).or_default();
            *number += 1;
            if let Err(error) = records.write(*way, *number) {
                let why = format!("{} number {number}: {error}", way.name());
                say(&mut witness, &line(&Line::Failed { way: *way, number: *number, why: error.to_string() })?)?;
                return Err(Failure::at(&target, format!("{why}; what was acknowledged is with the witness")));
            }
            say(&mut witness, &acknowledgement(*way, *number, since()))?;
        }
    }
    Err(Failure::new("durable: there is no way to write"))
}

fn say(witness: &mut Box<dyn Write + Send>, text: &str) -> Result<(), Failure> {
    let sent = witness.write_all(text.as_bytes()).and_then(|()| witness.flush());
    sent.map_err(|error| Failure::new(format!("durable: --witness: the acknowledgements cannot be sent: {error}")))
}

/// Checks before anything is written that the target may be, and that it can lose anything.
fn check(args: &DurableArgs, target: &Path, base: &Base, record: u64) -> Result<(), Failure> {
    let Base::Device(_) = base else {
        if args.overwrite.is_some() {
            return Err(Failure::at(target, "is not a device; --overwrite is for devices"));
        }
        let mount = mounts::holding(Path::new("/"), target)?;
        return match mount.filter(|mount| ["tmpfs", "ramfs"].contains(&mount.kind.as_str())) {
            Some(mount) => Err(Failure::at(
                target,
                format!("is on a {}, which loses all with the power; name a directory on a disk", mount.kind),
            )),
            None => Ok(()),
        };
    };
    let (needed, size) = (device_bytes(record), block_device(target).and_then(|device| device.size()));
    let shown = text::rounded_size(measure::float(needed));
    if size.is_some_and(|size| size < needed) {
        return Err(Failure::at(target, format!("is smaller than {shown}; give a smaller --record")));
    }
    let Some(word) = &args.overwrite else {
        // A device that is in use or holds data has no word that would help.
        survey::check_unused(target)?;
        let words = survey::own_words(target)?;
        let how = format!("its first {shown} would be overwritten; if that is right, add --overwrite {}", words.best());
        return Err(Failure::at(target, how));
    };
    Ok(survey::consented_writes(&[target.to_owned()], std::slice::from_ref(word)).map(drop)?)
}

fn block_device(path: &Path) -> Option<BlockDevice> {
    let root = Path::new("/");
    BlockDevice::by_number(root, sys::devices::identity::number_under(path).ok()?)
}

/// A device is for this process alone: nothing can mount it.
fn exclusive(base: &Base) -> Result<Option<std::fs::File>, Failure> {
    use sys::files::operations::{OpenFlags, open};
    match base {
        Base::Folder(_) => Ok(None),
        Base::Device(path) => Ok(Some(open(path, OpenFlags::RDWR | OpenFlags::EXCL, 0)?)),
    }
}

/// Prepares the ways that were asked for; of all ways those that are there.
fn prepared(args: &DurableArgs, records: &mut Records, base: &Base, verbosity: Verbosity) -> Result<Vec<Way>, Failure> {
    let mut ways: Vec<Way> = Vec::new();
    for way in if args.way.is_empty() { &WAYS[..] } else { &args.way } {
        if ways.contains(way) {
            continue;
        }
        let why = match records.prepare(*way) {
            Ok(()) => {
                ways.push(*way);
                continue;
            }
            Err(error) => why_not(*way, &error).ok_or_else(|| {
                let path = match base {
                    Base::Folder(path) | Base::Device(path) => path,
                };
                Failure::at(path, format!("{}: {error}", way.name()))
            })?,
        };
        if !args.way.is_empty() {
            return Err(Failure::new(format!("durable: --way {}: {why}", way.name())));
        }
        verbosity.remark(&format!("plumb: durable: without {}: {why}", way.name()));
    }
    records.flush()?;
    Ok(ways)
}

/// Reason for which a target has not this way; `None` if the error is another one.
fn why_not(way: Way, error: &io::Error) -> Option<String> {
    let is_refused = error.raw_os_error() == Some(Errno::OPNOTSUPP.raw_os_error());
    let kind = if is_refused { io::ErrorKind::Unsupported } else { error.kind() };
    match (way, kind) {
        (Way::Atomic, io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput) => Some(format!(
            "RWF_ATOMIC of such a record is refused ({error}); it needs Linux 6.11 or newer, a file system and a device with it"
        )),
        (_, io::ErrorKind::Unsupported) => Some(error.to_string()),
        (Way::Fua | Way::Direct, io::ErrorKind::InvalidInput) => Some(format!("O_DIRECT is refused ({error})")),
        _ => None,
    }
}

fn started(target: &Path, base: &Base, run: u64, record: u64, ways: Vec<Way>) -> Result<Started, Failure> {
    let root = Path::new("/");
    let is_device = matches!(base, Base::Device(_));
    let device = match mounts::holding(root, target)? {
        Some(mount) if !is_device => block_device(&mount.source).or_else(|| block_device(target)),
        _ => block_device(target),
    };
    let leaves = device.map(|device| device.leaves(root)).unwrap_or_default();
    let caches: Option<Vec<WriteCache>> = leaves.iter().map(BlockDevice::write_cache).collect();
    let identity = || {
        let words = survey::own_words(target)?;
        // What follows explains the word.
        Ok::<String, Failure>(words.best().split(' ').next().unwrap_or_default().to_owned())
    };
    Ok(Started {
        schema: SCHEMA,
        program: MADE_BY.to_owned(),
        run,
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        boot: boot()?,
        target: String::from_utf8_lossy(target.as_os_str().as_bytes()).into_owned(),
        file_system: if is_device { None } else { Some(file_system(target)?) },
        identity: if is_device { Some(identity()?) } else { None },
        is_write_through: caches
            .filter(|caches| !caches.is_empty())
            .map(|caches| caches.iter().all(|cache| *cache == WriteCache::WriteThrough)),
        record,
        ways,
    })
}

/// The start of this kernel.
pub(super) fn boot() -> Result<String, Failure> {
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    let text = std::fs::read_to_string(path).map_err(|error| Failure::at(path, error))?;
    Ok(text.trim().to_owned())
}

/// The number of a file system, which it keeps when the machine starts again.
pub(super) fn file_system(target: &Path) -> Result<u64, Failure> {
    Ok(rustix::fs::statvfs(target).map_err(|error| Failure::at(target, error))?.f_fsid)
}
