//! Decides the next I/O: limits, think time, syncs, direction, rate, target and block, in this order.
//!
//! Simple loads are planned ahead ([`ahead`]): as many I/Os as can be issued before anything else has to be decided.
//! [`Load::next`] then only counts these down, those with a rate once each is due.

mod ahead;

use super::limits::Limits;
use super::next_file::FileSelector;
use super::next_offset::{self, Offer, Targets};
use super::pace::{Pace, Think, Verdict};
use super::random::{Purpose, Random, stream_seed};
use super::replay::{RecordFailure, Recording, Replay, Witness};
use super::review::{Numbers, Review, Turn};
use super::syncs::{Flushes, Syncs};
use super::verify_resume::Skips;
use super::walk::Walk;
use super::zones::WriteEnd;
use super::{LoadError, LoadSetup, Next, Region, Request, ZoneAction};
use ahead::{Plain, PlainRun};
use measure::{Direction, Nanos};
use plan::{Mix, Operation, PacePlan, ZonePlan};

/// One worker's load.
///
/// ```
/// use load::{Load, LoadSetup, Next, Region};
/// use measure::{Nanos, PerDirection};
/// use plan::{BlockSize, JobPlan};
///
/// let mut job = JobPlan::with_defaults("scan", "an example", "psync");
/// job.load.block_size = PerDirection::all(BlockSize::Fixed(4096));
/// let regions = [Region { start: 0, end: 8192, reach: Default::default() }];
/// let mut load = Load::new(&LoadSetup { job: &job, number: 1, regions: &regions, zones: &[], system_seed: 0 })?;
/// load.begin(Nanos::ZERO);
/// let steps = std::iter::from_fn(|| Some(load.next(Nanos::ZERO)).filter(|next| *next != Next::Stop));
/// let offsets: Vec<u64> = steps.filter_map(|next| if let Next::Issue(io) = next { Some(io.offset) } else { None }).collect();
/// assert_eq!(offsets, [0, 4096]);
/// # Ok::<(), load::LoadError>(())
/// ```
#[derive(Debug)]
pub struct Load {
    run: PlainRun,
    /// Time at which the runtime ends.
    deadline: Nanos,
    stopped: bool,
    targets: Targets,
    limits: Limits,
    pace: Pace,
    think: Think,
    syncs: Syncs,
    mix: Mix,
    mix_draws: Random,
    read_percent: u64,
    /// The direction drawn for the next I/O, kept while it waits for its rate.
    chosen: Option<Direction>,
    /// Index of the next target in round-robin order.
    turn: usize,
    /// Selects the next file, unless that is simply the next target.
    files: Option<Box<FileSelector>>,
    passes: Passes,
    /// Blocks to be read back, in a job that verifies.
    pub(super) review: Option<Review>,
    /// Which writes are durable, in a job that verifies these alone.
    flushes: Option<Box<Flushes>>,
    /// I/Os that are skipped, in a job that only checks what an earlier run wrote.
    pub(super) skips: Option<Box<Skips>>,
    /// Replaces the generated I/Os by recorded ones.
    replay: Option<Box<Replay>>,
    /// A walk that can be planned ahead, before it begins.
    walk: Option<Box<Walk>>,
    /// Observer of issued I/Os.
    witness: Option<Box<dyn Witness>>,
    rules: Rules,
}

/// A worker that waits for a zone asks again after this time.
const ZONE_PAUSE: Nanos = Nanos::from_micros(20);

/// The parts of the plan that never change during a run.
#[derive(Clone, Copy, Debug)]
struct Rules {
    runtime: Option<Nanos>,
    /// True if the runtime counts only from the end of a ramp.
    ramps: bool,
    drops_cache: bool,
    /// True if each pass makes the same random draws again.
    repeats: bool,
    rate_ignores_think: bool,
    largest: u32,
    /// True if zones of a zoned device are written.
    follows_zones: bool,
    /// After a failed write the device is asked for the write pointer.
    recovers_zones: bool,
    /// The I/O shape of a load that can be planned ahead.
    plain: Option<Plain>,
}

/// Passes over the data.
#[derive(Clone, Copy, Debug, Default)]
struct Passes {
    over: u64,
    /// I/Os of this pass.
    ios: u64,
    /// Targets from this index on have their pages dropped from the cache before the pass begins.
    to_drop: Option<usize>,
    /// True if a pass of a replay has ended, and its writes are to be read back.
    to_review: bool,
}

impl Load {
    /// Prepares everything, so that deciding on an I/O does not have to allocate memory.
    ///
    /// # Errors
    /// If no target has a block to do I/O on, or a random map does not fit into memory.
    pub fn new(setup: &LoadSetup<'_>) -> Result<Load, LoadError> {
        let job = setup.job;
        next_offset::check(setup)?;
        let seed = |purpose| stream_seed(job.load.seed.unwrap_or(setup.system_seed), setup.number, purpose);
        let skips = Skips::new(job);
        // A skipped I/O takes no time, so no rate applies.
        let at_will = PacePlan::default();
        let pace_plan = if skips.as_ref().is_some_and(|skips| skips.walks()) { &at_will } else { &job.pace };
        let pace = Pace::new(pace_plan, &job.load, seed(Purpose::Gap));
        let think = Think::new(pace_plan);
        let syncs = Syncs::new(job, setup.regions.len());
        let review = Review::new(job, seed(Purpose::Trim));
        let replays = Review::may_replay(job) && pace.is_free() && think.is_off();
        let flushes = Flushes::of(job);
        let verifies = review.is_some() || flushes.is_some() || skips.is_some();
        let plans = think.is_off() && syncs.is_off() && !verifies;
        let walk = Walk::new(setup);
        let walks_freely = plans && pace.is_free() && Replay::is_once(job);
        let rules = Rules {
            runtime: job.limits.runtime,
            ramps: !job.limits.ramp.is_zero() || job.limits.ramp_bytes > 0,
            drops_cache: job.files.invalidate,
            repeats: job.load.repeat_per_loop,
            rate_ignores_think: job.pace.rate_ignores_think,
            largest: job.load.largest(),
            follows_zones: false,
            recovers_zones: matches!(job.load.zones, ZonePlan::Zoned(zones) if zones.recovers),
            plain: Plain::of(setup, &pace).filter(|_| plans && walk.is_none()),
        };
        let device = setup.zones.first().and_then(|zones| zones.as_ref()?.device());
        let zone = device.map_or(0, |device| device.zone_size);
        let mut load = Load {
            run: PlainRun::empty(),
            deadline: Nanos::MAX,
            stopped: false,
            targets: Targets::new(setup)?,
            files: FileSelector::new(setup).map(Box::new),
            limits: Limits::new(job, setup.regions, zone),
            pace,
            think,
            syncs,
            mix: job.load.mix,
            mix_draws: Random::new(seed(Purpose::Mix)),
            read_percent: u64::from(job.load.read_percent),
            chosen: None,
            turn: 0,
            passes: Passes::default(),
            review,
            flushes,
            skips,
            replay: None,
            walk: None,
            witness: None,
            rules,
        };
        load.rules.follows_zones = load.follows_zones();
        match walk.map(Box::new) {
            Some(walk) if walks_freely => load.walk = Some(walk),
            Some(walk) => load.replay = Some(Box::new(Replay::of_walk(job, walk))),
            None => {}
        }
        if let Some(mut skips) = load.skips.take() {
            let at_once =
                || Load { pace: Pace::new(&at_will, &job.load, 0), think: Think::new(&at_will), ..load.again() };
            skips.number(|| Numbers::of(job, at_once));
            load.skips = Some(skips);
        }
        if replays && let Some(mut review) = load.review.take() {
            review.replay(load.again());
            load.review = Some(review);
        }
        Ok(load)
    }

    /// Number of zone resets so far.
    pub fn zone_resets(&self) -> u64 {
        self.targets.each.iter().map(next_offset::Target::zone_resets).sum()
    }

    /// A copy of the load that issues the same I/Os as this one from now on, without verification, replay or witness.
    pub(super) fn again(&self) -> Load {
        Load {
            run: self.run.clone(),
            targets: self.targets.clone(),
            limits: self.limits.clone(),
            pace: self.pace.clone(),
            think: self.think.clone(),
            syncs: self.syncs.clone(),
            files: self.files.clone(),
            mix_draws: self.mix_draws.clone(),
            review: None,
            flushes: None,
            skips: None,
            replay: None,
            walk: None,
            witness: None,
            ..*self
        }
    }

    /// A load that issues recorded I/Os at their recorded times. `setup` gives its limits; its regions are not used.
    ///
    /// # Errors
    /// Those of [`Load::new`], which cannot occur for a region of one block.
    pub fn replaying(setup: &LoadSetup<'_>, recording: Box<dyn Recording>) -> Result<Load, LoadError> {
        let end = u64::from(setup.job.load.smallest());
        let block = [Region { start: 0, end, reach: super::Reach::Whole }];
        let mut load = Load::new(&LoadSetup { regions: &block, ..*setup })?;
        load.replay = Some(Box::new(Replay::new(setup.job, recording)));
        load.walk = None;
        load.rules.plain = None;
        Ok(load)
    }

    /// The seeds of all random streams of this worker, in a fixed order.
    pub fn seeds(setup: &LoadSetup<'_>) -> Vec<u64> {
        let seed = setup.job.load.seed.unwrap_or(setup.system_seed);
        Purpose::ALL.map(|purpose| stream_seed(seed, setup.number, purpose)).to_vec()
    }

    /// Adds a witness, which is called for every I/O when it is issued.
    pub fn witnessed(mut self, witness: Box<dyn Witness>) -> Load {
        self.witness = Some(witness);
        // The witness would not see I/Os that are planned ahead.
        self.rules.plain = None;
        if let Some(walk) = self.walk.take() {
            self.replay = Some(Box::new(Replay::once(walk)));
        }
        self
    }

    /// Passes an I/O to the witness that the loop issued by itself, at the end of a pass.
    pub fn note_issued(&mut self, now: Nanos, request: &Request) {
        if let Some(flushes) = &mut self.flushes {
            flushes.issued(request);
        }
        if let Some(witness) = &mut self.witness {
            witness.issued(now, request);
        }
    }

    /// Ends the load: returns an error of the replayed log or of the witness.
    ///
    /// # Errors
    /// The first of these errors.
    pub fn conclude(&mut self, now: Nanos) -> Result<(), RecordFailure> {
        let kept = self.witness.as_mut().map_or(Ok(()), |witness| witness.finish(now));
        let given = self.replay.as_mut().and_then(|replay| replay.take_failure()).map_or(Ok(()), Err);
        given.and(kept)
    }

    /// Starts the load at `now`: rates count from here, and the runtime too, unless there is a ramp.
    pub fn begin(&mut self, now: Nanos) {
        if let Some(witness) = &mut self.witness {
            witness.begin(now);
        }
        self.pace.restart(now);
        if !self.rules.ramps {
            self.set_deadline(now);
        }
        if let Some(walk) = self.walk.take() {
            self.run = PlainRun::walked(walk);
            // The load ends with these I/Os.
            self.stopped = true;
        }
    }

    /// Ends the ramp: the runtime and rates count from here. What was issued so far stays counted: `size` and
    /// `number_ios` include the ramp.
    pub fn ramp_over(&mut self, now: Nanos) {
        self.pace.restart(now);
        self.set_deadline(now);
    }

    /// True if [`Load::next`] returns [`Next::Stop`] because the runtime has passed, and not for another reason.
    pub fn is_out_of_time(&self, now: Nanos) -> bool {
        !self.stopped && now >= self.deadline
    }

    /// Goes on after the runtime for this number of further I/Os. What a rate would have issued meanwhile is not made
    /// up for.
    pub fn go_on(&mut self, further: u64, now: Nanos) {
        self.settle();
        self.deadline = Nanos::MAX;
        self.limits.allow(further);
        self.pace.forgive(now);
    }

    /// Makes [`Load::next`] return [`Next::Stop`] from now on.
    pub fn stop(&mut self) {
        self.settle();
        self.stopped = true;
    }

    /// Decides what to do at `now`. The I/O of a [`Next::Issue`] counts as issued.
    #[inline]
    pub fn next(&mut self, now: Nanos) -> Next {
        self.planned(now).map_or_else(|| self.next_at_rate(now), Next::Issue)
    }

    #[inline(never)]
    fn next_at_rate(&mut self, now: Nanos) -> Next {
        self.planned_at_rate(now).map_or_else(|| self.decide(now), Next::Issue)
    }

    /// Counts a read, write or trim that completed, successfully or not, for think time; or a sync that succeeded.
    #[inline]
    pub fn completed(&mut self, request: &Request) {
        if request.direction().is_some() {
            self.completed_transfers(1);
        } else {
            self.synced(request);
        }
    }

    /// [`Load::completed`] for reads, writes or trims.
    #[inline]
    pub fn completed_transfers(&mut self, count: u64) {
        self.think.completed(count);
    }

    #[cold]
    fn synced(&mut self, request: &Request) {
        self.note_synced(request.file);
        self.tell_completed(request);
    }

    /// A sync of this file succeeded.
    pub fn note_synced(&mut self, file: u32) {
        if let Some(flushes) = &mut self.flushes {
            let durable = flushes.synced(file);
            if let Some(review) = &mut self.review {
                review.flushed(file, durable);
            }
        }
    }

    /// Passes an I/O that completed in full to the witness; called only by loops that inspect each I/O.
    pub fn note_completed(&mut self, request: &Request) {
        if let Some(flushes) = &mut self.flushes {
            flushes.completed(request);
        }
        if let (Some(review), Operation::Write) = (&mut self.review, request.operation) {
            review.completed(request);
        }
        if request.operation == Operation::Write {
            self.zone_write_ended(request, WriteEnd::Known);
        }
        self.tell_completed(request);
    }

    /// True if the job reads blocks back while it writes others.
    pub fn reviews_among_writes(&self) -> bool {
        self.review.as_ref().is_some_and(Review::is_among_writes)
    }

    /// True if a write may go where a block is being read back or written: one has to wait for the other.
    pub fn may_overlap_itself(&self) -> bool {
        self.review.as_ref().is_some_and(Review::may_overlap)
    }

    fn tell_completed(&mut self, request: &Request) {
        if let Some(witness) = &mut self.witness {
            witness.completed(request);
        }
    }

    /// Passes on that a file was closed in exchange for another.
    pub fn note_closed(&mut self, now: Nanos, file: u32) {
        if let Some(witness) = &mut self.witness {
            witness.closed(now, file);
        }
    }

    /// Number of writes of this job, from its first one on, that are on stable storage; `None` if the job does not
    /// follow this.
    pub fn durable_writes(&self) -> Option<u64> {
        self.flushes.as_ref().map(|flushes| flushes.durable())
    }

    /// Passes a message about the worker to the witness.
    pub fn note(&mut self, text: &str) {
        if let Some(witness) = &mut self.witness {
            witness.note(text);
        }
    }

    /// Handles an I/O that failed, in a job that goes on.
    #[cold]
    pub fn failed(&mut self, request: &Request) {
        if request.operation == Operation::Write {
            let end = if self.rules.recovers_zones { WriteEnd::Lost } else { WriteEnd::Known };
            self.zone_write_ended(request, end);
        }
        if let (Some(review), Operation::Write) = (&mut self.review, request.operation) {
            review.failed(request);
        }
        if let (Some(flushes), Operation::Sync | Operation::DataSync) = (&mut self.flushes, request.operation) {
            flushes.sync_failed(request.file);
        }
        if let Some(witness) = &mut self.witness {
            witness.failed(request);
        }
        self.tell_completed(request);
    }

    /// Number of passes that used up the data. It is increased together with the [`Next::Drain`] or [`Next::Stop`] that
    /// follows such a pass.
    pub const fn passes(&self) -> u64 {
        self.passes.over
    }

    /// The directions of the load.
    pub(super) const fn mix(&self) -> Mix {
        self.mix
    }

    /// Stops planning ahead.
    pub(super) const fn decide_each(&mut self) {
        self.rules.plain = None;
    }

    fn set_deadline(&mut self, now: Nanos) {
        self.deadline = self.rules.runtime.map_or(Nanos::MAX, |runtime| now.saturating_add(runtime));
    }

    #[inline(never)]
    fn decide(&mut self, now: Nanos) -> Next {
        if self.files.as_ref().is_some_and(|files| files.open.is_some()) {
            return self.decide_with_few_open(now);
        }
        self.choose_and_note(now)
    }

    /// Decides with fewer open files than files: an I/O may have to wait until its file is open.
    fn decide_with_few_open(&mut self, now: Nanos) -> Next {
        loop {
            let waiting = self.files.as_mut().and_then(|files| files.open.as_mut()?.take_waiting());
            let over = self.stopped || now >= self.deadline;
            let next = waiting.filter(|_| !over).unwrap_or_else(|| self.choose_and_note(now));
            let Some(open) = self.files.as_mut().and_then(|files| files.open.as_mut()) else { return next };
            if let Some(next) = open.assign(next) {
                return next;
            }
        }
    }

    fn choose_and_note(&mut self, now: Nanos) -> Next {
        let next = self.choose(now);
        let next = if self.skips.is_none() { next } else { self.next_unskipped(next, now) };
        if let Some(witness) = &mut self.witness {
            match &next {
                Next::Issue(request) => witness.issued(now, request),
                Next::Zone { request, action, .. } if action.is_trim() => witness.issued(now, request),
                Next::Review { request, .. } => witness.reviewed(now, request),
                Next::Wait(until) => witness.waits(now, *until),
                _ => {}
            }
        }
        next
    }

    pub(super) fn choose(&mut self, now: Nanos) -> Next {
        self.settle();
        if self.stopped || now >= self.deadline {
            return Next::Stop;
        }
        if let Some(target) = self.next_cache_to_drop() {
            return Next::DropCache(target);
        }
        match self.think.consider(now, self.deadline) {
            Verdict::Work => {}
            Verdict::Refreshed if self.rules.rate_ignores_think => self.pace.forgive(now),
            Verdict::Refreshed => {}
            Verdict::Pause(next) => return next,
        }
        if let Some(next) = self.review.as_mut().map(Review::step).and_then(review_step) {
            return self.count_review_step(next);
        }
        if self.replay.is_some() {
            return self.replayed(now);
        }
        // Blocks that were chosen for a trim are still trimmed, whatever the number of I/Os is by then (as in fio).
        let trims_first = || self.review.as_ref().is_some_and(Review::has_to_trim);
        if self.limits.reached() || (self.limits.ios_reached() && !trims_first()) {
            if let Some(next) = self.rest_of_review() {
                return next;
            }
            self.stopped = true;
            return Next::Stop;
        }
        if let Some(next) = self.syncs.take_due() {
            if let (Some(flushes), Next::Issue(sync)) = (&mut self.flushes, &next) {
                flushes.issued(sync);
            }
            return next;
        }
        let direction = match self.choose_direction(now) {
            Ok(direction) => direction,
            Err(due) => return Next::Wait(due.min(self.deadline)),
        };
        self.choose_block(direction, now)
    }

    /// The next I/O of a recorded log, counted. What it wrote is read back after each pass.
    fn replayed(&mut self, now: Nanos) -> Next {
        if self.passes.to_review {
            if let Some(next) = self.rest_of_review() {
                return next;
            }
            self.passes.to_review = false;
        }
        let next = self.replay.as_mut().map_or(Next::Stop, |replay| replay.next(now));
        match &next {
            Next::Wait(moment) => return Next::Wait((*moment).min(self.deadline)),
            Next::Drain => {
                self.passes.over += 1;
                self.passes.to_review = true;
            }
            // At its end the log returns `Stop` again after everything has been read back.
            Next::Stop => return self.rest_of_review().unwrap_or(next),
            Next::Issue(request) => self.book_replayed(request),
            _ => {}
        }
        next
    }

    fn book_replayed(&mut self, request: &Request) {
        if request.direction().is_some() {
            self.think.issued();
        }
        if let Some(flushes) = &mut self.flushes {
            flushes.issued(request);
        }
        if let (Some(review), Operation::Write) = (&mut self.review, request.operation) {
            review.wrote(request);
        }
    }

    /// The direction of the next I/O, or the time at which the first direction is due.
    fn choose_direction(&mut self, now: Nanos) -> Result<Direction, Nanos> {
        let drawn = match self.chosen {
            Some(direction) => direction,
            None => self.draw_direction(),
        };
        self.chosen = Some(drawn);
        let due = self.pace.due(drawn);
        if due <= now {
            return Ok(drawn);
        }
        // The drawn direction is ahead of its rate; in a mix the other direction goes if it is due.
        let other = match (self.mix, drawn) {
            (Mix::ReadWrite, Direction::Read) => Direction::Write,
            (Mix::ReadWrite, Direction::Write) if self.read_percent > 0 => Direction::Read,
            _ => return Err(due),
        };
        if other == Direction::Write && self.read_percent >= 100 {
            return Err(due);
        }
        let other_due = self.pace.due(other);
        if other_due <= now { Ok(other) } else { Err(due.min(other_due)) }
    }

    fn draw_direction(&mut self) -> Direction {
        match self.mix {
            Mix::Only(direction) => direction,
            Mix::ReadWrite if self.mix_draws.below(100) < self.read_percent => Direction::Read,
            Mix::ReadWrite => Direction::Write,
            Mix::TrimWrite => match self.next_target() {
                Some(target) if self.targets.each[target].has_trimmed() => Direction::Write,
                _ => Direction::Trim,
            },
        }
    }

    fn choose_block(&mut self, direction: Direction, now: Nanos) -> Next {
        while let Some(target) = self.next_target() {
            if direction == Direction::Write
                && let Some(offer) = self.targets.each[target].take_trimmed()
            {
                return match offer {
                    Offer::Bytes { offset, length } => self.issue(target, direction, offset, length),
                    Offer::Act { offset, length, action } => self.act(target, offset, length, action),
                    _ => Next::Wait(now.saturating_add(ZONE_PAUSE)),
                };
            }
            if let Some(files) = &mut self.files
                && files.has_had_enough(target, &self.targets.each[target])
                && !self.targets.comes_to_an_end(target)
            {
                files.make_way(target);
                continue;
            }
            match self.targets.take(target, direction) {
                Offer::Bytes { offset, length } => return self.issue(target, direction, offset, length),
                Offer::Restarted if self.rules.drops_cache => return Next::DropCache(index(target)),
                Offer::Restarted => {}
                Offer::Over => self.used_up(target),
                Offer::Busy => return Next::Wait(now.saturating_add(ZONE_PAUSE)),
                Offer::Act { offset, length, action } => return self.act(target, offset, length, action),
            }
        }
        self.end_pass()
    }

    /// Acts on a zone of a target. A trim counts as issued.
    fn act(&mut self, target: usize, offset: u64, length: u32, action: ZoneAction) -> Next {
        let zone = self.targets.each[target].zone_size();
        if action.is_trim()
            && let Next::Issue(request) = self.issue(target, Direction::Trim, offset, length)
        {
            return Next::Zone { request, length: zone, action };
        }
        Next::Zone { request: Request::new(Operation::Trim, index(target), offset, 0), length: zone, action }
    }

    /// Notes the result of a [`Next::Zone`]: what the device reported as written, or errno.
    pub fn zone_done(&mut self, request: &Request, action: ZoneAction, result: Result<u64, i32>) {
        self.targets.each[request.file as usize].acted(action, result);
    }

    /// True if the job writes to zones of a zoned device: the loop inspects each I/O.
    pub fn follows_zones(&self) -> bool {
        self.targets.each.iter().any(next_offset::Target::is_on_zoned_device)
    }

    fn zone_write_ended(&mut self, request: &Request, end: WriteEnd) {
        if let (true, Some(target)) = (self.rules.follows_zones, self.targets.each.get_mut(request.file as usize)) {
            target.write_ended(request, end);
        }
    }

    /// Handles a target that is used up: it is done for this pass, or starts over.
    fn used_up(&mut self, target: usize) {
        if let Some(files) = &mut self.files {
            files.finished(target);
            if files.starts_over() && self.targets.each[target].has_moved() {
                self.targets.start_over(target);
                return;
            }
        }
        self.targets.each[target].finish();
    }

    /// The next target: one I/O to each in turn, without those that are used up.
    fn next_target(&mut self) -> Option<usize> {
        let targets = &self.targets.each;
        if let Some(files) = &mut self.files {
            return files.next(targets);
        }
        let ready = |&target: &usize| !targets[target].is_over();
        (self.turn..targets.len()).find(ready).or_else(|| (0..self.turn.min(targets.len())).find(ready))
    }

    fn issue(&mut self, target: usize, direction: Direction, offset: u64, length: u32) -> Next {
        let plain = Request::new(Operation::of(direction), index(target), offset, length);
        let request = Request { due: self.pace.due_at(direction), ..plain };
        if self.mix == Mix::TrimWrite && direction == Direction::Trim {
            self.targets.each[target].remember_trimmed(offset, length);
        }
        self.chosen = None;
        self.turn = target + 1;
        if let Some(files) = &mut self.files {
            files.selected(target, length);
        }
        self.passes.ios += 1;
        self.limits.count(1, u64::from(length));
        self.pace.issued(direction, length);
        self.think.issued();
        if direction == Direction::Write {
            self.syncs.written(&request);
            if let Some(flushes) = &mut self.flushes {
                flushes.issued(&request);
            }
            if let Some(review) = &mut self.review {
                review.wrote(&request);
            }
        }
        self.plan_ahead();
        Next::Issue(request)
    }

    /// Handles the end of the data on every target: another pass, or the end.
    fn end_pass(&mut self) -> Next {
        if (self.passes.ios == 0 || self.limits.verifies_after(self.passes.over + 1, self.rules.largest))
            && let Some(next) = self.rest_of_review()
        {
            return next;
        }
        self.passes.over += 1;
        if self.passes.ios == 0 || !self.limits.wants_another_pass(self.passes.over, self.rules.largest) {
            self.stopped = true;
            return Next::Stop;
        }
        self.passes.ios = 0;
        self.passes.to_drop = self.rules.drops_cache.then_some(0);
        self.targets.restart();
        if let Some(files) = &mut self.files {
            if self.rules.repeats { files.repeat() } else { files.restart() }
        }
        self.turn = 0;
        self.chosen = None;
        Next::Drain
    }

    /// Reads back the remaining blocks when a pass has issued all its writes.
    fn rest_of_review(&mut self) -> Option<Next> {
        let next = self.review.as_mut().map(Review::finish).and_then(review_step)?;
        Some(self.count_review_step(next))
    }

    fn count_review_step(&mut self, next: Next) -> Next {
        match &next {
            // A trim of a block that was written counts for number_ios.
            Next::Issue(_) => self.limits.count(1, 0),
            Next::Review { request, .. } => self.limits.count_review(request.length),
            _ => {}
        }
        next
    }

    fn next_cache_to_drop(&mut self) -> Option<u32> {
        let target = self.passes.to_drop?;
        let more = target + 1 < self.targets.each.len();
        self.passes.to_drop = more.then_some(target + 1);
        Some(index(target))
    }
}

const fn review_step(turn: Turn) -> Option<Next> {
    match turn {
        Turn::None => None,
        Turn::Begin => Some(Next::BeginReview),
        Turn::Read(request, expects) => Some(Next::Review { request, expects }),
        Turn::End => Some(Next::EndReview),
        Turn::Settle => Some(Next::Drain),
        Turn::Trim(request) => Some(Next::Issue(request)),
    }
}

/// Targets are numbered with 32 bits in every request.
fn index(target: usize) -> u32 {
    u32::try_from(target).unwrap_or(u32::MAX)
}
