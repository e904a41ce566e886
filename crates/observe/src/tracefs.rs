//! An instance of tracefs: events with filters in the kernel, read as binary pages (kernel doc: trace/ftrace).
//!
//! Its name has the process that made it. It is removed when dropped; the next recording removes those of processes
//! that were killed.

use crate::ObserveError;
use crate::calls::CALLS;
use crate::event::{Event, Layout, Of, PAUSES, SOURCES, Thread, What, device_word};
use crate::format::Format;
use crate::page::PageLayout;
use crate::process::now;
use measure::Nanos;
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use sys::devices::identity::DeviceNumber;
use sys::files::operations::{self, OpenFlags};
use sys::files::output_file;

/// Where the kernel has tracefs, and where older systems mount it.
const PLACES: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];
/// Begin of the names of instances.
const PREFIX: &str = "plumb.";
/// Memory for the events of all processors, and bounds of one's.
const MEMORY_KB: usize = 128 << 10;
const LEAST_KB: usize = 256;
const MOST_KB: usize = 4096;

/// Advice where root is missing.
const NEEDS_ROOT: &str = "reading events of the kernel needs root: sudo plumb ...";

/// The directory of tracefs.
#[derive(Debug)]
pub(crate) struct Tracefs(PathBuf);

impl Tracefs {
    /// Finds it if it is mounted.
    pub(crate) fn if_mounted() -> Option<Self> {
        let places = PLACES.iter().map(|place| Path::new("/").join(place));
        places.into_iter().find(|place| place.join("instances").is_dir()).map(Tracefs)
    }

    /// Finds it; mounts it if it is not.
    pub(crate) fn find() -> Result<Self, ObserveError> {
        let place = Path::new("/").join(PLACES[0]);
        let denied =
            |path: &Path| std::fs::read_dir(path).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        if Self::if_mounted().is_none() && denied(&place) {
            return Err(ObserveError::Unavailable(format!("{} is not readable: {NEEDS_ROOT}", place.display())));
        }
        if Self::if_mounted().is_none() {
            mount(&place)?;
        }
        Self::if_mounted().ok_or_else(|| {
            ObserveError::Unavailable(format!(
                "{} has no instances: this kernel is built without them",
                place.display()
            ))
        })
    }

    /// Removes instances of processes that have ended.
    pub(crate) fn remove_orphans(&self) {
        let instances = std::fs::read_dir(self.0.join("instances")).into_iter().flatten().flatten();
        for instance in instances {
            let name = instance.file_name();
            let process =
                name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('.').next()?.parse::<u32>().ok());
            let is_over =
                |process: u32| process == std::process::id() || !Path::new("/proc").join(process.to_string()).exists();
            // A live one of another namespace of processes has open files, and cannot be removed.
            if process.is_some_and(is_over) {
                let _ = std::fs::remove_dir(instance.path());
            }
        }
    }
}

/// Mounts tracefs by mount(8).
///
/// Another process may do it at the same time: then it fails, and it is there.
fn mount(place: &Path) -> Result<(), ObserveError> {
    let output = Command::new("mount").args(["-t", "tracefs", "tracefs"]).arg(place).output();
    let why = match output {
        Ok(_) if place.join("instances").is_dir() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("mount: {error}"),
    };
    Err(ObserveError::Unavailable(format!(
        "tracefs is not mounted and cannot be ({why}): {NEEDS_ROOT}; in a container, give it the host's {}",
        place.display()
    )))
}

/// The text of a file that answers the first read alone.
fn in_one_read(path: &Path) -> io::Result<String> {
    let mut bytes = vec![0; 4096];
    let length = File::open(path)?.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// A processor's buffer.
#[derive(Debug)]
struct Buffer {
    cpu: u32,
    pages: File,
    last: Nanos,
}

/// An instance with its events.
#[derive(Debug)]
pub(crate) struct Instance {
    path: PathBuf,
    buffers: Vec<Buffer>,
    layouts: FxHashMap<u16, Layout>,
    layout: PageLayout,
    page: Vec<u8>,
    /// Events that this kernel has not.
    pub(crate) missing: Vec<String>,
    /// Records that were read.
    pub(crate) events: u64,
    /// Time between the events around lost ones.
    pub(crate) unrecorded: Nanos,
}

impl Instance {
    /// Makes an instance that records nothing yet.
    pub(crate) fn make(tracefs: &Tracefs, suffix: &str) -> Result<Self, ObserveError> {
        let name = format!("{PREFIX}{}.{suffix}", std::process::id());
        let path = tracefs.0.join("instances").join(name);
        std::fs::create_dir(&path).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => {
                ObserveError::Unavailable(format!("{}: {error}: {NEEDS_ROOT}", path.display()))
            }
            _ => ObserveError::file(&path, error),
        })?;
        let header = path.join("events/header_page");
        // Older kernels have it above the instances alone.
        let header = if header.exists() { header } else { tracefs.0.join("events/header_page") };
        let text = in_one_read(&header).map_err(|error| ObserveError::file(&header, error));
        let parsed = text.and_then(|text| {
            PageLayout::parse(&text).ok_or_else(|| ObserveError::form(&header, "the head of a page has another form"))
        });
        let mut instance = match parsed {
            Ok(layout) => Instance {
                path,
                buffers: Vec::new(),
                layouts: FxHashMap::default(),
                layout,
                page: Vec::new(),
                missing: Vec::new(),
                events: 0,
                unrecorded: Nanos::ZERO,
            },
            Err(error) => {
                let _ = std::fs::remove_dir(&path);
                return Err(error);
            }
        };
        // Pages may be larger than the usual one.
        instance.page = vec![0; instance.layout.size().max(64 << 10)];
        instance.write("trace_clock", "mono")?;
        instance.open_buffers()?;
        Ok(instance)
    }

    fn open_buffers(&mut self) -> Result<(), ObserveError> {
        let directory = self.path.join("per_cpu");
        let entries = std::fs::read_dir(&directory).map_err(|error| ObserveError::file(&directory, error))?;
        for entry in entries.flatten() {
            let number = entry.file_name().to_str().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
            let Some(cpu) = number else { continue };
            let flags = OpenFlags::RDONLY | OpenFlags::NONBLOCK;
            let pages = operations::open(&entry.path().join("trace_pipe_raw"), flags, 0)?;
            self.buffers.push(Buffer { cpu, pages, last: now() });
        }
        let size = (MEMORY_KB / self.buffers.len().max(1)).clamp(LEAST_KB, MOST_KB);
        self.write("buffer_size_kb", &size.to_string())
    }

    fn write(&self, file: &str, text: &str) -> Result<(), ObserveError> {
        let path = self.path.join(file);
        output_file::write(&path, text.as_bytes()).map_err(|error| ObserveError::file(&path, error))
    }

    /// Records events of these threads alone, and of all that they start.
    pub(crate) fn follow(&self, threads: &[Thread]) -> Result<(), ObserveError> {
        self.write("options/event-fork", "1")?;
        let words: Vec<String> = threads.iter().map(|thread| thread.0.to_string()).collect();
        self.write("set_event_pid", &(words.join(" ") + "\n"))?;
        self.write("tracing_on", "1")
    }

    /// Records the calls and what happens to their threads.
    pub(crate) fn enable_calls(&mut self) -> Result<(), ObserveError> {
        for call in &CALLS {
            let enter = format!("syscalls/sys_enter_{}", call.name);
            self.enable(&enter, call.is_needed(), None, &|format| Layout::of_enter(call, format))?;
            if call.has_end() {
                let exit = format!("syscalls/sys_exit_{}", call.name);
                self.enable(&exit, call.is_needed(), None, &|format| Layout::of_exit(call, format))?;
            }
        }
        self.enable_sources(Of::Threads, None)
    }

    /// Records what happens in the block layer, of these devices alone if there are some.
    pub(crate) fn enable_block(&mut self, devices: &[DeviceNumber]) -> Result<(), ObserveError> {
        let words: Vec<String> = devices.iter().map(|device| format!("dev == {}", device_word(*device))).collect();
        let filter = (!words.is_empty()).then(|| words.join(" || "));
        self.enable_sources(Of::Block, filter.as_deref())
    }

    /// Records requests of io_uring. Threads of the kernel that serve a ring follow no fork.
    pub(crate) fn enable_rings(&mut self) -> Result<(), ObserveError> {
        self.enable_sources(Of::Rings, None)
    }

    fn enable_sources(&mut self, of: Of, filter: Option<&str>) -> Result<(), ObserveError> {
        for source in SOURCES.iter().filter(|source| source.of == of) {
            let filter = if source.path.ends_with("balance_dirty_pages") { Some(PAUSES) } else { filter };
            let is_there = |path: &&str| self.path.join("events").join(path).exists();
            let path = source.older.filter(|older| !is_there(&source.path) && is_there(older)).unwrap_or(source.path);
            self.enable(path, source.is_needed, filter, &|format| Layout::of(path, format))?;
        }
        Ok(())
    }

    fn enable(
        &mut self,
        event: &str,
        is_needed: bool,
        filter: Option<&str>,
        layout: &dyn Fn(&Format) -> Option<Layout>,
    ) -> Result<(), ObserveError> {
        let path = self.path.join("events").join(event);
        let text = match std::fs::read_to_string(path.join("format")) {
            Ok(text) => text,
            Err(_) if !is_needed => {
                self.missing.push(event.to_owned());
                return Ok(());
            }
            Err(error) => {
                let why = if event.starts_with("syscalls/") { " (CONFIG_FTRACE_SYSCALLS)" } else { "" };
                let shown = path.display();
                return Err(ObserveError::Unavailable(format!(
                    "this kernel has no event {event}{why}: {shown}: {error}"
                )));
            }
        };
        let format = Format::parse(&text);
        match layout(&format) {
            Some(layout) => drop(self.layouts.insert(format.id, layout)),
            None if is_needed => return Err(ObserveError::form(&path, "the event has other fields")),
            None => {
                self.missing.push(event.to_owned());
                return Ok(());
            }
        }
        if let Some(filter) = filter {
            self.write(&format!("events/{event}/filter"), filter)?;
        }
        self.write(&format!("events/{event}/enable"), "1")
    }

    /// Adds the events that there are.
    pub(crate) fn read(&mut self, events: &mut Vec<Event>) -> Result<(), ObserveError> {
        let Instance { path, buffers, layouts, layout, page, events: count, unrecorded, .. } = self;
        for buffer in buffers {
            loop {
                let length = match buffer.pages.read(page) {
                    Ok(0) => break,
                    Ok(length) => length,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => return Err(ObserveError::file(path, error)),
                };
                let found = layout.read(&page[..length]);
                let found = found.ok_or_else(|| ObserveError::form(path, "a page of events cannot be read"))?;
                if found.lost.is_some() {
                    *unrecorded += found.begin.saturating_sub(buffer.last);
                    let (time, cpu, what) = (found.begin, buffer.cpu, What::Lost);
                    events.push(Event { time, cpu, thread: Thread(0), context: 0, what });
                }
                *count += found.records.len() as u64;
                for record in &found.records {
                    buffer.last = record.time;
                    let kind = record.bytes.get(..2).and_then(|bytes| Some(u16::from_ne_bytes(bytes.try_into().ok()?)));
                    let layout = kind.and_then(|kind| layouts.get(&kind));
                    events.extend(layout.and_then(|layout| layout.read(record, buffer.cpu)));
                }
            }
        }
        Ok(())
    }

    /// True if this thread is one of those that are recorded.
    pub(crate) fn follows(&self, thread: Thread) -> bool {
        let words = std::fs::read_to_string(self.path.join("set_event_pid")).unwrap_or_default();
        words.split_whitespace().any(|word| word.parse() == Ok(thread.0))
    }

    /// Records again, or for the first time.
    pub(crate) fn go_on(&mut self) -> Result<(), ObserveError> {
        self.buffers.iter_mut().for_each(|buffer| buffer.last = now());
        self.write("tracing_on", "1")
    }

    /// Records no more.
    pub(crate) fn stop(&self) -> Result<(), ObserveError> {
        self.write("tracing_on", "0")
    }

    /// Events that the kernel could not keep.
    pub(crate) fn lost(&self) -> u64 {
        let of_cpu = |buffer: &Buffer| {
            let path = self.path.join(format!("per_cpu/cpu{}/stats", buffer.cpu));
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let counted = |line: &str| {
                let (name, value) = line.split_once(':')?;
                ["overrun", "commit overrun", "dropped events"]
                    .contains(&name)
                    .then(|| value.trim().parse::<u64>().ok())?
            };
            text.lines().filter_map(counted).sum::<u64>()
        };
        self.buffers.iter().map(of_cpu).sum()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.write("events/enable", "0");
        // An instance whose files are open cannot be removed.
        self.buffers.clear();
        let _ = std::fs::remove_dir(&self.path);
    }
}
