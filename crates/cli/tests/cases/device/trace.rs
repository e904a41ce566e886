//! The block layer's tracepoints of one device, recorded in an instance of tracefs that is the test's own.

use house::Run;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A recording under way.
pub(crate) struct Trace {
    instance: PathBuf,
    mount: tempfile::TempDir,
    device: String,
}

/// What was recorded.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) completed: u64,
    pub(crate) sectors: u64,
    /// From issue to completion, of all together.
    pub(crate) wait_ms: f64,
    /// Events for which the buffer had no room, or whose other half is missing.
    pub(crate) lost: u64,
}

impl Trace {
    /// Begins to record the device with this name.
    pub(crate) fn of(name: &str) -> io::Result<Self> {
        let number = fs::read_to_string(Path::new("/sys/block").join(name).join("dev"))?;
        let (major, minor) = number.trim().split_once(':').ok_or_else(|| io::Error::other("no device number"))?;
        let parse = |text: &str| text.parse::<u64>().map_err(io::Error::other);
        let filter = format!("dev == {}", parse(major)? << 20 | parse(minor)?);
        let mount = tempfile::tempdir()?;
        let mounted = Run::new("mount", mount.path()).words("-t tracefs tracefs").words([mount.path()]).end();
        if mounted.status != Some(0) {
            return Err(io::Error::other(format!("are we root, and has the kernel tracefs? {mounted}")));
        }
        let instance = mount.path().join("instances").join(format!("plumb-test-{}", std::process::id()));
        let trace = Trace { instance, mount, device: format!("{major},{minor}") };
        fs::create_dir(&trace.instance)?;
        let set = |file: &str, value: &str| fs::write(trace.instance.join(file), value);
        set("buffer_size_kb", "4096")?;
        set("trace_clock", "mono")?;
        for event in ["block_rq_issue", "block_rq_complete"] {
            set(&format!("events/block/{event}/filter"), &filter)?;
            set(&format!("events/block/{event}/enable"), "1")?;
        }
        Ok(trace)
    }

    /// Ends the recording and pairs its events.
    pub(crate) fn finish(self) -> Requests {
        fs::write(self.instance.join("tracing_on"), "0").expect("our own instance");
        let text = fs::read_to_string(self.instance.join("trace")).expect("our own instance");
        let mut found = Requests::default();
        let mut issued: HashMap<&str, f64> = HashMap::new();
        for line in text.lines() {
            if let Some((_, counts)) = line.split_once("entries-in-buffer/entries-written: ") {
                let mut counts = counts.split(['/', ' ']).filter_map(|word| word.parse::<u64>().ok());
                let (kept, written) = (counts.next().unwrap_or(0), counts.next().unwrap_or(0));
                found.lost += written - kept;
            }
            let Some(event) = Event::parse(line, &self.device) else { continue };
            match event.name {
                "block_rq_issue" => drop(issued.insert(event.sector, event.at_ms)),
                "block_rq_complete" => match issued.remove(event.sector) {
                    Some(began) => {
                        found.completed += 1;
                        found.sectors += event.sectors;
                        found.wait_ms += event.at_ms - began;
                    }
                    None => found.lost += 1,
                },
                _ => {}
            }
        }
        found.lost += issued.len() as u64;
        found
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.instance);
        Run::new("umount", &std::env::temp_dir()).words([self.mount.path()]).end();
    }
}

struct Event<'a> {
    name: &'a str,
    at_ms: f64,
    sector: &'a str,
    sectors: u64,
}

impl<'a> Event<'a> {
    /// `fio-12  [001] d..1.  85.123456: block_rq_issue: 7,0 RS 4096 () 1234 + 8 none,0,0 [fio]`.
    fn parse(line: &'a str, device: &str) -> Option<Self> {
        let (before, rest) = line.split_once(": block_rq_")?;
        let at: f64 = before.rsplit(' ').next()?.parse().ok()?;
        let name = if rest.starts_with("issue:") { "block_rq_issue" } else { "block_rq_complete" };
        let mut fields = rest.split_whitespace().skip(1);
        if fields.next()? != device || !fields.next()?.starts_with('R') {
            return None;
        }
        let fields: Vec<&str> = fields.collect();
        let plus = fields.iter().position(|field| *field == "+")?;
        Some(Event {
            name,
            at_ms: at * 1e3,
            sector: fields.get(plus - 1)?,
            sectors: fields.get(plus + 1)?.parse().ok()?,
        })
    }
}
