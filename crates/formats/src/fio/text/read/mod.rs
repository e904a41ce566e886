//! Reader of fio's text reports, 1.5x to 3.42, line by line → [`ReadRun`].
//!
//! Owns the structure of a report: whose a line is, where a report ends, what is missing. Lines are `lines`'.

mod lines;

use crate::event::{Event, Line, Sink};
use crate::fio::CLIENTS_SUM;
use crate::fio::failures::{Failure, Failures};
use crate::read_number::{Era, split_at_parenthesis};
use lines::LatencyLine;
use model::reading::{
    Content, PriorityTime, ReadDirection, ReadJob, ReadKind, ReadLatency, ReadPriority, ReadRun, Reading,
};

/// Jobs after which an open report is passed on in parts, so that memory stays bounded.
const MOST_JOBS: usize = 4096;
/// Number of percentiles that fio prints by default; a capacity hint.
const USUAL_PERCENTILES: usize = 17;
/// Most job announcements kept before a report; further ones are dropped.
const MOST_ANNOUNCED: usize = 4096;

/// Lines that fio prints before its results.
#[derive(Clone, Debug, Default)]
struct Session {
    line: u64,
    /// The run as they state it; without jobs.
    run: ReadRun,
    /// The announcements of jobs, `NAME: (g=0): rw=..`.
    announced: Vec<ReadJob>,
    failures: Failures,
    /// The process of the first job of its last report.
    pid: Option<f64>,
    /// True once a result followed, in text or in another format.
    answered: bool,
}

impl Session {
    /// Keeps the announcement of a job. Each clone of it repeats it.
    fn announce(&mut self, job: ReadJob) {
        if self.announced.len() < MOST_ANNOUNCED && self.announced.iter().all(|known| known.name != job.name) {
            self.announced.push(job);
        }
    }
}

/// Section of the report to which the next lines belong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Outside,
    Job,
    Groups,
    Disks,
}

/// The latency to which the following percentiles belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Submission,
    Completion,
    Total,
    Sync,
    Priority(Priority),
}

/// One priority of a direction; the key includes which of the latencies is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Priority {
    time: PriorityTime,
    class: u16,
    level: u16,
    hint: Option<u16>,
}

impl Priority {
    /// The entry for this priority in the direction, created if missing.
    fn of(self, direction: &mut ReadDirection) -> &mut ReadPriority {
        let new = ReadPriority {
            time: self.time,
            class: f64::from(self.class),
            level: f64::from(self.level),
            hint: self.hint.map(f64::from),
            ..ReadPriority::default()
        };
        let known = direction.priorities.iter().position(|known| {
            (known.time, known.class, known.level, known.hint) == (new.time, new.class, new.level, new.hint)
        });
        let at = known.unwrap_or_else(|| {
            direction.priorities.push(new);
            direction.priorities.len() - 1
        });
        &mut direction.priorities[at]
    }
}

/// Classifies a line by its colons; a cheap test before any parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colons {
    /// The line has no colon.
    None,
    /// A colon is followed by `(g`, as after the name of a job.
    BeforeGroup,
    /// Any other colon.
    Other,
}

impl Colons {
    fn of(text: &str) -> Colons {
        let bytes = text.as_bytes();
        let mut found = Colons::None;
        for at in memchr::memchr_iter(b':', bytes) {
            if bytes[at..].starts_with(b": (g") {
                return Colons::BeforeGroup;
            }
            found = Colons::Other;
        }
        found
    }
}

/// State of the reader between lines.
#[derive(Debug, Default)]
pub(crate) struct TextReader {
    session: Session,
    run: ReadRun,
    first_line: u64,
    section: Section,
    in_sync: bool,
    group: Option<f64>,
    percentiles: Option<(Target, f64)>,
    saw_groups: bool,
    last_line: u64,
    era: Option<Era>,
    /// The lines before the next results, where they begin before the open report has ended.
    next: Option<Box<Session>>,
    /// An invocation without results when the next one began: they may still come.
    earlier: Option<Box<Session>>,
    /// True once it was said that lines of two reports are mixed in the open one.
    is_mixed: bool,
}

impl TextReader {
    /// Consumes a line if it is part of a report; returns true if it did.
    pub(crate) fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> bool {
        let number = line.number;
        let text = lines::without_host(line.text);
        let text = if line.unended { lines::without_broken_word(text) } else { text };
        let taken = match text.as_bytes().first().copied().unwrap_or(0) {
            0 if text.is_empty() => return self.blank(),
            b'|' => self.percentile_line(number, text, sink),
            first => match Colons::of(text) {
                // Version lines, and headings of truncated sections; every other line of a report has a colon.
                Colons::None => {
                    matches!(first, b'f' | b'R' | b'D' | b'S' | b'0'..=b'9')
                        && (self.in_tables(number, text, sink) || self.announcement(number, text, sink))
                }
                Colons::BeforeGroup => {
                    self.head(number, text, sink)
                        || self.in_job(number, text, sink)
                        || self.in_tables(number, text, sink)
                        || self.announced(number, text, sink)
                        || self.announcement(number, text, sink)
                }
                Colons::Other => {
                    self.in_job(number, text, sink)
                        || self.in_tables(number, text, sink)
                        || self.announcement(number, text, sink)
                }
            },
        };
        if taken {
            self.last_line = number;
        }
        taken
    }

    fn blank(&mut self) -> bool {
        self.percentiles = None;
        if self.section == Section::Disks && !self.run.disks.is_empty() {
            self.section = Section::Outside;
        }
        false
    }

    /// Records that a result in another format came from the same invocation.
    pub(crate) fn answered_elsewhere(&mut self) {
        self.current().answered = true;
    }

    /// Output of another tool begins: a report that already has its group lines is complete.
    pub(crate) fn followed_by_another(&mut self, sink: &mut Sink<'_>) {
        if self.saw_groups {
            self.close_run(sink);
        }
    }

    /// Passes on the open report.
    pub(crate) fn finish(&mut self, sink: &mut Sink<'_>) {
        self.close_run(sink);
        let last = std::mem::take(&mut self.session);
        self.earlier.take().into_iter().for_each(|earlier| close_session(*earlier, sink));
        close_session(last, sink);
    }

    /// Says that lines of two reports are mixed, once for each report.
    fn say_mixed(&mut self, number: u64, what: &str, sink: &mut Sink<'_>) {
        if !std::mem::replace(&mut self.is_mixed, true) {
            sink(Event::damage(
                number,
                format!("{what}: lines of two reports are mixed here, and cannot be separated"),
            ));
        }
    }

    /// The failures of the invocation, for its documents and terse lines.
    pub(crate) fn failures(&mut self) -> &mut Failures {
        &mut self.current().failures
    }

    fn close_run(&mut self, sink: &mut Sink<'_>) {
        self.section = Section::Outside;
        self.percentiles = None;
        self.in_sync = false;
        self.group = None;
        let mut run = std::mem::take(&mut self.run);
        if std::mem::take(&mut self.is_mixed) {
            // They may be of the other report.
            run.groups.clear();
        }
        run.jobs.iter_mut().filter(|job| job.workers > Some(1.0)).for_each(|job| self.keep_what_is_common(job));
        let saw_groups = std::mem::take(&mut self.saw_groups);
        if saw_groups || !is_empty(&run) {
            let Session { failures, announced, run: stated, .. } = &mut self.session;
            run.started_workers = run.started_workers.or(stated.started_workers);
            failures.add_jobs(&mut run, announced);
            failures.mark_killed(&mut run);
        }
        if !is_empty(&run) {
            self.report(run, saw_groups, sink);
        }
        if let Some(next) = self.next.take() {
            close_session(std::mem::replace(&mut self.session, *next), sink);
        }
    }

    /// Passes on a report, with what is missing in it.
    fn report(&mut self, run: ReadRun, saw_groups: bool, sink: &mut Sink<'_>) {
        // The sum over clients has no group lines.
        let named = run.jobs.iter().any(|job| job.name.as_deref().is_some_and(|name| name != CLIENTS_SUM));
        if named && !saw_groups {
            sink(Event::damage(self.last_line, "the report ends here, before its `Run status group`"));
            run.jobs
                .last()
                .into_iter()
                .filter_map(lines::missing)
                .for_each(|what| sink(Event::damage(self.last_line, what)));
        }
        // A job without I/O, of cpuio for example, states that it issued none.
        let is_empty = |job: &&ReadJob| job.directions.is_empty() && job.issued.is_empty();
        for job in run.jobs.iter().filter(is_empty).filter(|job| job.errno.is_none_or(|errno| errno == 0.0)) {
            sink(Event::damage(job.line, "the job has no numbers"));
        }
        self.session.answered = true;
        sink(Event::Reading(Reading::new("fio-text", self.first_line, Content::Run(Box::new(run)))));
    }

    /// Opens a report if none is open, and adds the announcements.
    fn open_run(&mut self, number: u64) {
        if is_empty(&self.run) {
            self.first_line = number;
            self.run = self.session.run.clone();
        }
    }

    /// Parses the first line of a job block.
    fn head(&mut self, number: u64, text: &str, sink: &mut Sink<'_>) -> bool {
        let parts = split_at_parenthesis(text, ": (groupid=");
        if let Some((name, rest)) = parts {
            self.job_head(number, name, rest, sink);
        }
        parts.is_some()
    }

    /// Parses the line that announces a job.
    fn announced(&mut self, number: u64, text: &str, sink: &mut Sink<'_>) -> bool {
        let Some((name, rest)) = split_at_parenthesis(text, ": (g=") else { return false };
        self.begin_session(number, sink);
        let (job, whole) = lines::announced(name, rest);
        if !whole {
            sink(Event::damage(number, "the line of this job is damaged: no rw=, bs= or ioengine="));
        }
        self.current().announce(job);
        true
    }

    /// Parses lines printed before the results.
    fn announcement(&mut self, number: u64, text: &str, sink: &mut Sink<'_>) -> bool {
        if let Some(version) = lines::version(text) {
            self.begin_session(number, sink);
            self.current().run.version = Some(version.to_owned());
            return true;
        }
        if let Some(failure) = Failure::of(number, text) {
            // Only JSON and terse lines can have none of the lines before it.
            let session = self.current();
            if session.line == 0 || session.answered && session.announced.is_empty() {
                self.begin_session(number, sink);
            }
            self.current().failures.add(failure);
            return true;
        }
        let session = self.current();
        if session.line == 0 {
            return false;
        }
        if let Some(job) = lines::announced_without_io(text) {
            session.announce(job);
            return true;
        }
        let run = &mut session.run;
        if let Some(workers) = lines::started(text) {
            run.started_workers = Some(workers);
        } else if let Some((job, bytes)) = lines::laid_out(text) {
            run.laid_out_bytes = Some(run.laid_out_bytes.unwrap_or(0.0) + bytes);
            session.failures.lays_out(job);
        } else if let Some(progress) = lines::progress(text) {
            run.progress = Some(progress);
        } else {
            return false;
        }
        true
    }

    /// The invocation whose first lines are read.
    fn current(&mut self) -> &mut Session {
        self.next.as_deref_mut().unwrap_or(&mut self.session)
    }

    fn begin_session(&mut self, number: u64, sink: &mut Sink<'_>) {
        let has_run = !self.run.jobs.is_empty() || !self.run.groups.is_empty();
        let is_over = |session: &Session| session.answered || session.run.started_workers.is_some();
        if self.next.is_none() && self.section == Section::Job && !self.saw_groups {
            // The group lines of the open report may still come.
            self.next = Some(Box::default());
        } else if self.next.as_deref().map_or(has_run || is_over(&self.session), is_over) {
            self.close_run(sink);
            let over = std::mem::take(&mut self.session);
            if over.answered || over.announced.is_empty() {
                close_session(over, sink);
            } else if let Some(earlier) = self.earlier.replace(Box::new(over)) {
                close_session(*earlier, sink);
            }
        }
        let session = self.current();
        if session.line == 0 {
            session.line = number;
        }
    }

    /// Takes up the earlier invocation if this job is of that one: two were started at a time.
    fn choose_session(&mut self, name: &str, pid: Option<f64>) {
        let has = |session: &Session| session.announced.iter().any(|job| job.name.as_deref() == Some(name));
        let is_of_this = has(&self.session) && (!self.session.answered || self.session.pid == pid);
        if let Some(earlier) = self.earlier.as_deref_mut().filter(|earlier| !is_of_this && has(earlier)) {
            std::mem::swap(earlier, &mut self.session);
        }
    }

    /// Parses the lines of a job block.
    fn in_job(&mut self, number: u64, text: &str, sink: &mut Sink<'_>) -> bool {
        if let Some((kind, rest)) = lines::rate_head(text) {
            self.rate_line(number, kind, rest, sink);
            return true;
        }
        if self.section != Section::Job {
            return false;
        }
        let Some(job) = self.run.jobs.last_mut() else { return false };
        if let Some(latency) = LatencyLine::of(text) {
            self.latency_line(number, &latency, sink);
            return true;
        }
        if lines::is_second(job, text) {
            self.say_mixed(number, &format!("a second line {}", lines::shown(text)), sink);
            return true;
        }
        let read = lines::job_line(job, text);
        if read.is_some() {
            self.percentiles = None;
        }
        self.in_sync |= text.starts_with("fsync/");
        if read == Some(false) {
            sink(Event::damage(number, format!("damaged line of a job: {}", lines::shown(text))));
        }
        read.is_some()
    }

    fn job_head(&mut self, number: u64, name: &str, rest: &str, sink: &mut Sink<'_>) {
        if matches!(self.section, Section::Groups | Section::Disks)
            || self.run.jobs.len() >= MOST_JOBS
            || (self.section == Section::Outside && !self.run.jobs.is_empty())
        {
            self.saw_groups |= self.run.jobs.len() >= MOST_JOBS;
            self.close_run(sink);
        }
        let has = |session: &Session| session.announced.iter().any(|job| job.name.as_deref() == Some(name.trim()));
        if self.next.as_deref().is_some_and(|next| has(next) || !has(&self.session)) {
            self.close_run(sink);
        }
        let mut head = ReadJob::default();
        if !lines::job_head(&mut head, rest) {
            sink(Event::damage(number, format!("damaged head of a job: {}", lines::shown(rest))));
        }
        if is_empty(&self.run) {
            self.choose_session(name.trim(), head.pid);
            self.session.pid = head.pid;
        }
        self.open_run(number);
        // Clones are announced once, under the name they share.
        let announced = self.session.announced.iter().find(|job| job.name.as_deref() == Some(name.trim()));
        let mut job = announced.cloned().unwrap_or_default();
        (job.line, job.name) = (number, Some(name.trim().to_owned()));
        (job.group, job.workers, job.errno) = (head.group, head.workers, head.errno);
        (job.pid, job.date) = (head.pid, head.date);
        self.run.jobs.push(job);
        self.section = Section::Job;
        self.percentiles = None;
        self.in_sync = false;
    }

    /// A group's block has the name of its first job: what the jobs do not have in common is not that of the block.
    fn keep_what_is_common(&self, job: &mut ReadJob) {
        for other in self.session.announced.iter().filter(|other| other.group == job.group) {
            job.depth = job.depth.filter(|_| job.depth == other.depth);
            job.engine.take_if(|engine| Some(&*engine) != other.engine.as_ref());
            job.pattern.take_if(|pattern| Some(&*pattern) != other.pattern.as_ref());
            if job.block_sizes != other.block_sizes {
                job.block_sizes.clear();
            }
        }
    }

    fn rate_line(&mut self, number: u64, kind: ReadKind, rest: &str, sink: &mut Sink<'_>) {
        if self.saw_groups || self.section == Section::Disks || self.run.jobs.len() >= MOST_JOBS {
            self.saw_groups |= self.run.jobs.len() >= MOST_JOBS;
            self.close_run(sink);
        }
        let is_second = |job: &ReadJob| job.directions.iter().any(|known| known.kind == kind);
        if self.section == Section::Job && self.run.jobs.last().is_some_and(|job| job.pid.is_some() && is_second(job)) {
            self.say_mixed(number, &format!("a second line of {}s in one job", kind.word()), sink);
        }
        // Numbers without a job line are an excerpt of a report: they go to a job without a name.
        if self.section != Section::Job || self.run.jobs.last().is_none_or(is_second) {
            self.open_run(number);
            self.run.jobs.push(ReadJob { line: number, ..ReadJob::default() });
            self.section = Section::Job;
        }
        let mut direction = ReadDirection::new(kind);
        let era = lines::rate(&mut direction, rest);
        if era.is_none() {
            sink(Event::damage(number, format!("damaged rate of {}s: {}", kind.word(), lines::shown(rest))));
        }
        self.era = era.or(self.era);
        self.in_sync = false;
        self.percentiles = None;
        if let Some(job) = self.run.jobs.last_mut() {
            // With unified_rw_reporting=both, fio prints the rates of the sum as 0.
            if kind == ReadKind::Mixed && !job.directions.is_empty() && direction.bytes == Some(0.0) {
                (direction.bytes, direction.bytes_per_second, direction.iops) = (None, None, None);
            }
            job.directions.push(direction);
        }
    }

    fn latency_line(&mut self, number: u64, line: &LatencyLine<'_>, sink: &mut Sink<'_>) {
        self.percentiles = None;
        let target = if self.in_sync && line.target == Target::Completion { Target::Sync } else { line.target };
        if line.heads_percentiles {
            self.percentiles = Some((target, line.unit_ns));
            if let (Target::Priority(priority), Some(direction)) = (target, self.direction()) {
                priority.of(direction).percent = line.percent;
            }
            return;
        }
        let read = lines::moments(line);
        if read.is_none() {
            sink(Event::damage(number, format!("damaged latencies: {}", lines::shown(line.rest))));
        }
        if let (Some(found), Some(slot)) = (read, self.latency(target)) {
            let is_second = slot.min_ns.is_some() && !matches!(target, Target::Priority(_) | Target::Sync);
            *slot = found;
            if is_second {
                self.say_mixed(number, "a second line of the same latency in one job", sink);
            }
        }
    }

    fn percentile_line(&mut self, number: u64, text: &str, sink: &mut Sink<'_>) -> bool {
        let Some((target, unit_ns)) = self.percentiles.filter(|_| self.section == Section::Job) else { return false };
        let mut whole = true;
        let Some(slot) = self.latency(target) else { return false };
        if slot.percentiles.is_empty() {
            slot.percentiles.reserve(USUAL_PERCENTILES);
        }
        for pair in lines::pairs_in_brackets(&text[1..]).filter(|pair| !pair.trim().is_empty()) {
            match lines::percentile(pair) {
                Some((percent, value)) => slot.percentiles.push((percent, value * unit_ns)),
                None => whole = false,
            }
        }
        if !whole {
            sink(Event::damage(number, format!("damaged percentiles: {}", lines::shown(text))));
        }
        true
    }

    /// The entry for a latency of the current direction.
    fn latency(&mut self, target: Target) -> Option<&mut ReadLatency> {
        let job = self.run.jobs.last_mut()?;
        if target == Target::Sync {
            return Some(job.sync.get_or_insert_default());
        }
        let direction = job.directions.last_mut()?;
        let slot = match target {
            Target::Submission => &mut direction.submission,
            Target::Completion => &mut direction.completion,
            Target::Total | Target::Sync => &mut direction.total,
            Target::Priority(priority) => return Some(&mut priority.of(direction).latency),
        };
        Some(slot.get_or_insert_default())
    }

    /// The current direction: the last one read.
    fn direction(&mut self) -> Option<&mut ReadDirection> {
        self.run.jobs.last_mut()?.directions.last_mut()
    }

    /// Parses group and disk lines.
    fn in_tables(&mut self, number: u64, text: &str, sink: &mut Sink<'_>) -> bool {
        if let Some(rest) = text.strip_prefix("Run status group") {
            let group = crate::read_number::leading(rest).map(|(number, _)| number);
            if self.saw_groups && group <= self.group {
                // Group lines without jobs are excerpts of reports.
                match self.run.jobs.is_empty() {
                    true => self.close_run(sink),
                    false => self.say_mixed(number, "a second `Run status group` of this number", sink),
                }
            }
            self.open_run(number);
            self.section = Section::Groups;
            self.saw_groups = true;
            self.group = group;
            return true;
        }
        if text.starts_with("Disk stats (read/write)") {
            if self.section == Section::Disks {
                self.close_run(sink);
            }
            self.open_run(number);
            self.section = Section::Disks;
            return true;
        }
        let (what, whole) = match self.section {
            Section::Groups => {
                let read = lines::group(text, self.group);
                ("group", read.map(|(group, whole)| (self.run.groups.push(group), whole).1))
            }
            Section::Disks => {
                let read = lines::disk(text);
                ("disk", read.map(|(disk, whole)| (self.run.disks.push(disk), whole).1))
            }
            Section::Outside | Section::Job => return false,
        };
        if whole == Some(false) {
            sink(Event::damage(number, format!("damaged line of a {what}: {}", lines::shown(text))));
        }
        whole.is_some()
    }
}

/// Reports an invocation that has no result, and killed workers of which no job is known.
fn close_session(session: Session, sink: &mut Sink<'_>) {
    session.failures.unassigned().for_each(|(line, what)| sink(Event::damage(line, what)));
    if session.answered || session.line == 0 {
        return;
    }
    let Some(name) = session.announced.first().and_then(|first| first.name.as_ref()) else { return };
    let failure = session.failures.first_error();
    let why = failure.map_or_else(String::new, |(_, why)| format!(": {why}"));
    let what = format!("the run of `{name}` that is announced here has no result{why}");
    sink(Event::damage(session.line, what));
    // The run was interrupted: the announcements are all that is known.
    let errno = failure.map(|(errno, _)| errno);
    let jobs = session.announced.into_iter().map(|job| ReadJob { line: session.line, errno, ..job }).collect();
    let run = ReadRun { jobs, ..session.run };
    sink(Event::Reading(Reading::new("fio-text", session.line, Content::Run(Box::new(run)))));
}

fn is_empty(run: &ReadRun) -> bool {
    run.jobs.is_empty() && run.groups.is_empty() && run.disks.is_empty()
}
