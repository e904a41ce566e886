//! Command lines that a generator makes up: the real iostat and ours print the same over a recording.
//!
//! Forty over each recording are tests; `PLUMB_GENERATED` is another number of them in all. What docs/iostat.md lists
//! as different is not drawn, or not compared: `%util` of a group after the first report. The real iostats of a recording
//! see one tree and wait side by side, so that two hundred of them take seconds.

use super::recording::{Moment, away, calm_server, many, old_disks, plugged};
use super::{BINDS, Rest, clean, drain, first_difference, ours, record_all, waits, without_moments};
use crate::context::place;
use crate::soak::draw::Draw;
use house::{Cases, Process, Run, wait_for};
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::io::PipeReader;
use std::path::Path;
use std::time::Duration;

const SEED: u64 = 20_261_127;

/// A recording, and how many reports a command line with a group has: later ones have members that are replaced.
struct Tree {
    name: &'static str,
    moments: fn() -> Vec<Moment>,
    reports_of_groups: usize,
}

const fn tree(name: &'static str, moments: fn() -> Vec<Moment>, reports_of_groups: usize) -> Tree {
    Tree { name, moments, reports_of_groups }
}

const TREES: &[Tree] = &[
    tree("old_disks", old_disks, 2),
    tree("server", calm_server, 4),
    tree("plugged", plugged, 2),
    tree("many", many, 2),
    tree("away", away, 0),
];

/// Each recording's command lines are a test.
pub(super) fn add_to(mut cases: Cases) -> Cases {
    let asked = std::env::var("PLUMB_GENERATED").ok().and_then(|count| count.parse().ok());
    let count = asked.unwrap_or(200) / TREES.len();
    for tree in TREES {
        cases = cases.case(&format!("generated::{}", tree.name), move || differences(tree, count));
    }
    cases
}

/// Draws command lines and runs them; the rows that differ.
fn differences(tree: &Tree, count: usize) -> Result<(), String> {
    let moments = (tree.moments)();
    let words = Vocabulary::of(&moments);
    let lines: Vec<Line> = (0..).map(|number| words.line(tree, &mut Draw::new(SEED, number))).take(count).collect();
    let root = tempfile::tempdir().expect("a directory");
    record_all(&moments, root.path());
    let mut found = Vec::new();
    for lines in lines.chunks(200) {
        for (line, expected) in lines.iter().zip(real(&moments, lines)) {
            let ended = ours(root.path(), &line.words(1), &[]);
            let [expected, shown] = [&expected, &ended.stdout].map(|text| line.comparable(text));
            if let Some(difference) = first_difference(&expected, &shown) {
                found.push(format!("{}: {difference}\n{}", line.words(1), ended.stderr));
            }
        }
    }
    let shown = found.iter().take(5).map(String::as_str).collect::<Vec<_>>().join("\n");
    if found.is_empty() { Ok(()) } else { Err(format!("{} of {count} differ:\n{shown}", found.len())) }
}

/// A drawn command line.
struct Line {
    options: Vec<String>,
    /// The number of reports, one second apart.
    reports: Option<usize>,
}

impl Line {
    fn words(&self, interval: u64) -> String {
        let reports = self.reports.map(|reports| format!(" {interval} {reports}"));
        self.options.join(" ") + &reports.unwrap_or_default()
    }

    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|word| word == option)
    }

    /// The text without dates, and without `%util` of groups, whose names begin with `grp-`, after the first report.
    fn comparable(&self, text: &str) -> String {
        let text = without_moments(text);
        if self.reports.is_none() || !self.has("-x") {
            return text;
        }
        let without_util = |line: &str| {
            let mut words: Vec<&str> = line.split_ascii_whitespace().collect();
            match words.iter().position(|word| word.starts_with("grp-")) {
                None => return line.to_owned(),
                Some(0) => drop(words.pop()),
                Some(last) => drop(words.remove(last - 1)),
            }
            words.join(" ")
        };
        text.split('\n').map(without_util).collect::<Vec<_>>().join("\n")
    }
}

/// What can be named over a recording: what is there from the beginning.
struct Vocabulary {
    devices: Vec<String>,
    mapper: Vec<String>,
    links: BTreeMap<String, Vec<String>>,
    in_user_space: bool,
    reports: usize,
}

impl Vocabulary {
    fn of(moments: &[Moment]) -> Self {
        let first = &moments[0];
        let names = first.devices.iter().filter_map(|(name, _)| name.rsplit('/').next());
        let mut links: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, _) in &first.links {
            if let Some((kind, link)) = path.strip_prefix("disk/by-").and_then(|path| path.split_once('/')) {
                links.entry(kind.to_owned()).or_default().push(link.to_owned());
            }
        }
        let mapper = first.links.iter().filter_map(|(path, _)| path.strip_prefix("mapper/"));
        Vocabulary {
            devices: names.map(str::to_owned).collect(),
            mapper: mapper.map(str::to_owned).collect(),
            links,
            in_user_space: !first.in_user_space.is_empty(),
            reports: moments.len(),
        }
    }

    /// A command line; options and names stand in any order.
    fn line(&self, tree: &Tree, draw: &mut Draw) -> Line {
        let with_mapper = !self.mapper.is_empty() && draw.once_in(3);
        let groups = if tree.reports_of_groups > 0 { *draw.one(&[0, 0, 0, 1, 1, 2, 3]) } else { 0 };
        let mut names = self.names(draw, with_mapper);
        for _ in 0..groups {
            let name = format!("grp-{}", draw.one(&["a", "b", "c"]));
            names.insert(draw.below(names.len() + 1), vec!["-g".into(), name]);
        }
        let mut first = Vec::new();
        for option in self.options(draw, groups > 0, with_mapper) {
            // Before names these change what the names mean.
            let decides = ["-N", "-j", "-f", "+f"].contains(&option[0].as_str());
            if decides || !draw.once_in(4) {
                first.push(option);
            } else {
                names.insert(draw.below(names.len() + 1), option);
            }
        }
        first.append(&mut names);
        let options: Vec<String> = first.concat();
        let most = if groups > 0 { tree.reports_of_groups } else { self.reports };
        let skips = options.iter().any(|word| word == "-y");
        let reports = 1 + draw.below(most.clamp(2, 3) - usize::from(skips));
        Line { reports: (skips || draw.once_in(2)).then_some(reports), options }
    }

    /// Devices, lists of `-p`, and `ALL`. A mapper name is given once and without `ALL`: iostat would show it twice.
    fn names(&self, draw: &mut Draw, with_mapper: bool) -> Vec<Vec<String>> {
        let mut mapper = if with_mapper { self.mapper.clone() } else { Vec::new() };
        let mut name = |draw: &mut Draw| self.name(draw, &mut mapper, with_mapper);
        let mut names: Vec<Vec<String>> = (0..draw.below(5)).map(|_| vec![name(draw)]).collect();
        for _ in 0..draw.below(3).saturating_sub(draw.below(2)) {
            let list: Vec<String> = (0..=draw.below(3)).map(|_| name(draw)).collect();
            let at = draw.below(names.len() + 1);
            match draw.below(8) {
                0 if !with_mapper => names.insert(at, vec!["-p".into()]),
                1 if !with_mapper => names.insert(at, vec!["-p".into(), "ALL".into()]),
                2 if !with_mapper => names.insert(at, vec!["-p".into(), list.join(",") + ",ALL," + &list[0]]),
                _ => names.insert(at, vec!["-p".into(), list.join(",")]),
            }
        }
        if !with_mapper && draw.once_in(10) {
            names.insert(draw.below(names.len() + 1), vec!["ALL".into()]);
        }
        names
    }

    fn name(&self, draw: &mut Draw, mapper: &mut Vec<String>, with_mapper: bool) -> String {
        let links: Vec<&String> = self.links.values().flatten().filter(|link| !link.starts_with("dm-")).collect();
        match draw.below(12) {
            0 => (*draw.one(&["nosuch", "a-name", "sdzz"])).to_owned(),
            1 if !links.is_empty() => (*draw.one(&links)).clone(),
            2..=4 if !mapper.is_empty() => mapper.remove(draw.below(mapper.len())),
            _ => {
                let plain = |name: &&String| !with_mapper || !name.starts_with("dm-");
                let devices: Vec<&String> = self.devices.iter().filter(plain).collect();
                let name = *draw.one(&devices);
                if draw.once_in(12) && !name.contains('!') { format!("/dev/{name}") } else { name.clone() }
            }
        }
    }

    fn options(&self, draw: &mut Draw, grouped: bool, with_mapper: bool) -> Vec<Vec<String>> {
        const PLAIN: &[(&str, usize)] =
            &[("-d", 2), ("-x", 2), ("-z", 5), ("-s", 4), ("--human", 10), ("-c", 14), ("-y", 8)];
        let mut options: Vec<Vec<String>> = Vec::new();
        let mut add = |words: &[&str]| options.push(words.iter().map(|&word| word.to_owned()).collect());
        if with_mapper || !self.mapper.is_empty() && draw.once_in(6) {
            add(&["-N"]);
        }
        let drawn: BTreeSet<&str> =
            PLAIN.iter().filter(|(_, times)| draw.once_in(*times)).map(|(option, _)| *option).collect();
        drawn.iter().for_each(|option| add(&[option]));
        if let Some(unit) = ["-k", "-m"].get(draw.below(8)) {
            add(&[unit]);
        }
        if let Some(decimals) = ["--dec=0", "--dec=1", "--dec=2"].get(draw.below(20)) {
            add(&[decimals]);
        }
        if grouped && draw.once_in(4) {
            add(&["-H"]);
        }
        // JSON of a group without members is damaged in iostat's, and so is a link's backslash.
        let is_json = !(grouped && drawn.contains("-x")) && draw.once_in(9);
        if is_json {
            add(&["-o", "JSON"]);
        }
        let kinds: Vec<&String> = self.links.keys().filter(|kind| !is_json || *kind != "label").collect();
        let is_pretty = match draw.below(8) {
            0 => {
                add(&["--pretty"]);
                true
            }
            1 => {
                add(&["-h"]);
                true
            }
            2 if !kinds.is_empty() => {
                let kind = draw.one(&kinds).as_str();
                add(&["-j", kind]);
                true
            }
            _ => false,
        };
        // The sum of a group in four tables is that of docs/iostat.md.
        if is_pretty && grouped || draw.once_in(12) {
            add(&["--compact"]);
        }
        if self.in_user_space && draw.once_in(6) {
            let word = draw.one(&["-f", "+f"]);
            add(&[word, "/mnt"]);
        }
        options
    }
}

/// A real iostat: it works, waits for the next moment, or has ended.
struct Running {
    process: Process,
    pipe: PipeReader,
    text: Vec<u8>,
    /// The length of the text when it waited last.
    before: usize,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Works,
    Waits,
    Ended,
}

impl Running {
    fn start(line: &Line, live: &Path, holder: &str) -> Self {
        let (pipe, writer) = std::io::pipe().expect("a pipe");
        // Three seconds are long enough to be stopped in time.
        let run = clean(Run::new("iostat", live).words(&*line.words(3)), &[]);
        let run = run.under(["nsenter", holder, "--"]).output_to(writer);
        Running { process: run.start(), pipe, text: Vec::new(), before: 0, state: State::Works }
    }

    /// Stops it if it has printed a report and waits; its alarm comes when it goes on.
    fn look(&mut self) {
        // In this order: what it printed before it waited has been read.
        let waits = waits(self.process.id());
        match drain(&mut self.pipe, &mut self.text) {
            Rest::End => self.state = State::Ended,
            Rest::None if waits && self.text.len() > self.before => {
                self.process.signal(Signal::STOP);
                self.before = self.text.len();
                self.state = State::Waits;
            }
            _ => {}
        }
    }
}

fn settle(running: &mut [Running]) {
    while running.iter().any(|one| one.state == State::Works) {
        running.iter_mut().filter(|one| one.state == State::Works).for_each(Running::look);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What the real iostat prints for each line: all see the same tree, which changes when all of them wait.
fn real(moments: &[Moment], lines: &[Line]) -> Vec<String> {
    let live = tempfile::tempdir().expect("a directory");
    moments[0].record(live.path());
    let holder = Run::new("sleep", place()).words("600");
    let holder = holder.under(["unshare", "--mount", "sh", "-c", BINDS, &live.path().to_string_lossy()]).start();
    wait_for("the recorded tree over /proc and /sys", || {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", holder.id())).unwrap_or_default();
        (name == "sleep\n").then_some(())
    });
    let namespace = format!("--mount=/proc/{}/ns/mnt", holder.id());
    let mut running: Vec<Running> = Vec::new();
    for lines in lines.chunks(20) {
        let begun = running.len();
        running.extend(lines.iter().map(|line| Running::start(line, live.path(), &namespace)));
        settle(&mut running[begun..]);
    }
    // After its last moment a machine stays as it is.
    let mut later = moments[1..].iter();
    while running.iter().any(|one| one.state == State::Waits) {
        if let Some(moment) = later.next() {
            moment.record(live.path());
        }
        for one in running.iter_mut().filter(|one| one.state == State::Waits) {
            one.process.signal(Signal::CONT);
            one.state = State::Works;
        }
        settle(&mut running);
    }
    holder.signal(Signal::KILL);
    holder.end();
    running
        .into_iter()
        .map(|one| {
            one.process.end();
            String::from_utf8(one.text).expect("text")
        })
        .collect()
}
