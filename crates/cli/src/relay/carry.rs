//! Carries messages between the leader on rank 0 and all members, until the leader has ended; then ends the member
//! here, and MPI.
//!
//! The leader gives a sign of life twice a second. If it falls silent for longer than `--silence`, or its process ends,
//! every relay closes the input of its member, which ends in order and keeps its result.

use crate::member::Member;
use crate::pace::{Pace, Paces};
use crate::pipe::{LeaderPipe, Stream, status};
use crate::say;
use cluster::{Content, Frame, Frames, Notice};
use measure::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::path::Path;
use std::time::{Duration, Instant};
use sys::processes::mpi::{Barrier, MpiError, World};
use sys::processes::signals::Watch;

/// Time for members to exit after a leader that has ended in order: it waited for them.
const AFTER_ORDER: Nanos = Nanos::from_millis(500);
/// Time for all relays to meet at the end.
const MEETING: Duration = Duration::from_millis(700);
/// Time that a member has to end in order if nothing can be heard of the leader.
const LAST_WORDS: Duration = Duration::from_millis(800);

/// Time that the leader has to end members after a signal of the launcher. Open MPI kills them after a second.
const FOR_LEADER: Duration = Duration::from_millis(600);

/// The time up to which the end may last.
enum Stage {
    Carrying,
    /// The member has until this time to end.
    Ending(Instant),
    /// The member is gone, and the other relays have until this time to be where this one is.
    Meeting(Barrier, Instant),
}

pub(super) struct Relay {
    world: World,
    member: Member,
    /// On rank 0.
    leader: Option<LeaderPipe>,
    /// On rank 0: the host of each rank, as far as it is known, until all are.
    hosts: Vec<Option<String>>,
    library: String,
    paces: Paces,
    /// The latest sign of life of the leader, and the silence that may follow it.
    alive: Option<(Instant, Duration)>,
    stage: Stage,
    /// True once rank 0 was given up.
    is_deserted: bool,
    status: u8,
    signals: Watch,
    seen_signals: u32,
    signalled: Option<Instant>,
}

impl Relay {
    pub(super) fn new(world: World, library: &str, member: Member, leader: Option<LeaderPipe>) -> Result<Self, String> {
        let signals = Watch::begin().map_err(|error| error.to_string())?;
        // What was started before has the usual one.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let hosts = vec![None; world.size() as usize];
        let library = library.to_owned();
        let (paces, stage) = (Paces::default(), Stage::Carrying);
        Ok(Relay {
            world,
            member,
            leader,
            hosts,
            library,
            paces,
            alive: None,
            stage,
            is_deserted: false,
            status: 0,
            signals,
            seen_signals: 0,
            signalled: None,
        })
    }

    /// Carries until all is over. Returns the exit status.
    pub(super) fn carry(mut self) -> Result<u8, String> {
        let rank = self.world.rank();
        let name = sys::machine::host::name(Path::new("/")).unwrap_or_else(|| "localhost".to_owned());
        let failed = |error: MpiError| format!("rank {rank}: {error}");
        self.send_to_leader(Frame::notice(rank, Notice::Host(name))).map_err(failed)?;
        let mut looked = Instant::now();
        loop {
            if let Some((_, silence)) = self.alive
                && std::mem::replace(&mut looked, Instant::now()).elapsed() > silence
            {
                self.was_stopped();
            }
            self.pass_signals();
            while let Some((_, bytes)) = self.world.receive().map_err(failed)? {
                self.arrived(&bytes).map_err(failed)?;
            }
            self.read_leader().map_err(failed)?;
            self.read_member().map_err(failed)?;
            self.watch_leader().map_err(failed)?;
            match self.end().map_err(failed)? {
                None => self.wait(),
                Some(End::Met) => {
                    self.world.finalise().map_err(failed)?;
                    return Ok(self.status);
                }
                Some(End::NotMet) => {
                    let status = self.status.max(1);
                    self.world.abort(status);
                    return Ok(status);
                }
            }
        }
    }

    fn send_to_leader(&mut self, frame: Frame) -> Result<(), MpiError> {
        if self.world.rank() > 0 {
            return self.world.send(0, frame.to_bytes());
        }
        self.take_for_leader(frame);
        Ok(())
    }

    /// On rank 0: a frame of a relay or its member.
    fn take_for_leader(&mut self, frame: Frame) {
        let Some(leader) = &mut self.leader else { return };
        match frame {
            Frame { rank, content: Content::Notice(Notice::Host(host)) } => {
                if let Some(place) = self.hosts.get_mut(rank as usize) {
                    *place = Some(host);
                }
                if let Some(hosts) = self.hosts.iter().cloned().collect::<Option<Vec<String>>>() {
                    leader.send(&Frame::notice(0, Notice::World { library: self.library.clone(), hosts }));
                }
            }
            frame => leader.send(&frame),
        }
    }

    /// A message of another relay.
    fn arrived(&mut self, bytes: &[u8]) -> Result<(), MpiError> {
        let mut frames = Frames::default();
        frames.push(bytes);
        match frames.next_frame() {
            Ok(Some(frame)) if self.world.rank() == 0 => self.take_for_leader(frame),
            Ok(Some(frame)) => self.for_here(frame),
            Ok(None) => {}
            Err(error) => return Err(MpiError::Call { call: "a message", why: error.to_string() }),
        }
        Ok(())
    }

    /// A frame of the leader for the member here, or for all relays.
    fn for_here(&mut self, frame: Frame) {
        match frame.content {
            Content::Line(line) => {
                self.paces.instruction(frame.rank, &line);
                self.member.send(&line);
            }
            Content::Notice(Notice::Kill) => self.member.kill(),
            Content::Notice(Notice::Alive(silence)) => self.alive = Some((Instant::now(), silence.as_duration())),
            Content::Notice(Notice::Over(grace)) => self.over(grace.as_duration()),
            Content::Notice(Notice::Host(_) | Notice::World { .. } | Notice::Ended(_)) => {}
        }
    }

    /// On rank 0: passes on what the leader says, and notices its end.
    fn read_leader(&mut self) -> Result<(), MpiError> {
        let Some(leader) = &mut self.leader else { return Ok(()) };
        leader.write();
        let (frames, state) = leader.read();
        for frame in frames {
            match &frame.content {
                Content::Notice(Notice::Alive(_)) => {
                    self.send_to_others(&frame)?;
                    self.for_here(frame);
                }
                _ if frame.rank == 0 => self.for_here(frame),
                _ if frame.rank < self.world.size() => {
                    if let Content::Line(line) = &frame.content {
                        self.paces.instruction(frame.rank, line);
                    }
                    self.world.send(frame.rank, frame.to_bytes())?;
                }
                _ => {}
            }
        }
        match state {
            Ok(Stream::Open) => Ok(()),
            Ok(Stream::Ended) => self.leader_ended(),
            Err(error) => {
                say(&format!("the leader: {error}"));
                self.leader_ended()
            }
        }
    }

    /// On rank 0: lets all others end.
    fn leader_ended(&mut self) -> Result<(), MpiError> {
        let Some(mut leader) = self.leader.take() else { return Ok(()) };
        let (status, why) = status(leader.ending());
        self.status = self.status.max(status);
        let grace = match why {
            None => AFTER_ORDER,
            Some(why) => {
                say(&format!(
                    "the leader: {why}; each member that has measured keeps its result in its directory: plumb cluster merge plumb-cluster-member-*.json"
                ));
                self.alive
                    .map_or(AFTER_ORDER, |(_, silence)| Nanos(u64::try_from(silence.as_nanos()).unwrap_or(u64::MAX)))
            }
        };
        self.send_to_others(&Frame::notice(0, Notice::Over(grace)))?;
        self.over(grace.as_duration());
        Ok(())
    }

    fn send_to_others(&mut self, frame: &Frame) -> Result<(), MpiError> {
        let bytes = frame.to_bytes();
        (1..self.world.size()).try_for_each(|rank| self.world.send(rank, bytes.clone()))
    }

    /// The leader has ended: so must the member, within this time.
    fn over(&mut self, grace: Duration) {
        self.member.close();
        if matches!(self.stage, Stage::Carrying) {
            self.stage = Stage::Ending(Instant::now() + grace);
        }
    }

    fn read_member(&mut self) -> Result<(), MpiError> {
        let rank = self.world.rank();
        self.member.write();
        for line in self.member.read() {
            self.send_to_leader(Frame::line(rank, line))?;
        }
        match self.member.ending() {
            Some(why) => self.send_to_leader(Frame::notice(rank, Notice::Ended(why))),
            None => Ok(()),
        }
    }

    /// Gives up a leader that says nothing. Rank 0 first: it can kill it, and the others hear of it.
    fn watch_leader(&mut self) -> Result<(), MpiError> {
        let Some((at, silence)) = self.alive.filter(|_| matches!(self.stage, Stage::Carrying)) else { return Ok(()) };
        let later = Duration::from_millis(match self.world.rank() {
            0 => 0,
            1 => 500,
            _ => 800,
        });
        if at.elapsed() < silence + later {
            return Ok(());
        }
        self.status = 1;
        if let Some(leader) = &mut self.leader {
            say(&format!("the leader said nothing for {silence:?}, and is ended"));
            leader.kill();
            self.alive = Some((at, LAST_WORDS));
            return self.leader_ended();
        }
        say(&format!(
            "rank {}: nothing was heard of the leader and of rank 0 for {silence:?}; all ranks end",
            self.world.rank()
        ));
        self.over(LAST_WORDS);
        self.is_deserted = true;
        Ok(())
    }

    /// This process was stopped for so long that the others have given it up. What the leader has sent meanwhile, to
    /// kill members, must not keep the member here from ending in order.
    fn was_stopped(&mut self) {
        say(&format!("rank {}: it was stopped, and was given up by the others", self.world.rank()));
        self.status = 1;
        self.leader = None;
        self.is_deserted = true;
        self.over(LAST_WORDS);
    }

    /// Ends the member in its time, and then meets the other relays.
    fn end(&mut self) -> Result<Option<End>, MpiError> {
        let now = Instant::now();
        match &mut self.stage {
            Stage::Carrying => Ok(None),
            Stage::Ending(until) => {
                if self.member.is_gone() && self.is_deserted {
                    return Ok(Some(End::NotMet));
                }
                if self.member.is_gone() {
                    let until = *until + MEETING;
                    self.stage = Stage::Meeting(self.world.enter_barrier()?, until);
                } else if now > *until {
                    self.member.kill();
                }
                Ok(None)
            }
            Stage::Meeting(barrier, until) => {
                if self.world.has_left_barrier(barrier)? {
                    return Ok(Some(End::Met));
                }
                // Rank 0 ends all that are not there; the others do if it is rank 0 that is missing.
                let patience = if self.world.rank() == 0 { Duration::ZERO } else { MEETING };
                Ok((now > *until + patience).then_some(End::NotMet))
            }
        }
    }

    /// Passes a signal to the leader, which ends all members in order. On other ranks the leader has some time to do
    /// so: launchers signal all ranks. After it the member ends and keeps its result, because a launcher kills what
    /// does not end.
    fn pass_signals(&mut self) {
        let count = self.signals.count();
        if count > self.seen_signals {
            self.seen_signals = count;
            self.signalled.get_or_insert_with(Instant::now);
            if let Some(leader) = &self.leader {
                leader.signal(self.signals.caught().unwrap_or_default());
            }
        }
        if self.leader.is_none() && self.signalled.is_some_and(|at| at.elapsed() > FOR_LEADER) {
            self.member.close();
        }
    }

    /// Sleeps until something arrives at a pipe, or until it is time to look at MPI.
    fn wait(&self) {
        let pace = if matches!(self.stage, Stage::Carrying) { self.paces.now() } else { Pace::Starting };
        // Long messages advance a piece with each look.
        let nap = if self.world.is_busy() { pace.min(Pace::Starting).nap() } else { pace.nap() };
        let (output, input) = self.member.streams();
        let mut asked = Vec::with_capacity(3);
        asked.extend(output.map(|stream| PollFd::from_borrowed_fd(stream, PollFlags::IN)));
        asked.extend(input.map(|stream| PollFd::from_borrowed_fd(stream, PollFlags::OUT)));
        if let Some(leader) = &self.leader {
            let (stream, has_more) = leader.stream();
            let more = if has_more { PollFlags::OUT } else { PollFlags::empty() };
            asked.push(PollFd::from_borrowed_fd(stream, PollFlags::IN | more));
        }
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(nap.subsec_nanos()) };
        // A signal ends it early.
        let _ = poll(&mut asked, Some(&time));
    }
}

/// How the relays ended.
enum End {
    /// All are there: MPI can end in order.
    Met,
    /// Some are stopped or hang: the launcher must end them.
    NotMet,
}
