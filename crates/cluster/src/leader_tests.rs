//! The leader against simulated members, in random schedules: delays, losses, doubled and reordered messages, deaths,
//! silence, signals.

use super::leader::{Action, Event, Leader, MemberOutcome, OnLoss, Outcome, Rounds, Settings, Standing};
use super::message::{Answer, Beat, Facts, Instruction, MemberEnd, PROTOCOL, Stage, Task};
use measure::{Nanos, SplitMix};
use model::{JobError, JobResult, RunResult};
use std::collections::BTreeMap;

const SILENCE: Nanos = Nanos::from_secs(5);
const BEAT: Nanos = Nanos::from_millis(500);

/// What goes wrong with a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Healthy,
    DiesAt(Nanos),
    HangsAt(Nanos),
    CannotPrepare,
    WorkersFail,
    OtherVersion,
}

/// A simulated member.
#[derive(Clone, Debug)]
struct Member {
    fate: Fate,
    ahead: u64,
    state: State,
    /// Number of its round; `None` before the first one.
    round: Option<u32>,
    work: Nanos,
    /// I/Os when its time is over; `None` if that is the end of its job.
    in_time: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    LayingOut,
    Ready,
    Running,
    /// Its time is over, and it waits for the number of the others.
    OutOfTime,
    Done,
    Exited,
}

#[derive(Clone, Debug)]
enum Happening {
    ToLeader(usize, Answer),
    Gone(usize),
    ToMember(usize, Instruction),
    Beat(usize),
    LaidOut(usize, u32),
    Begin(usize, u32),
    WorkIsOver(usize, u32),
    Dies(usize),
    Signal,
}

/// A schedule: one seed.
struct World {
    random: SplitMix,
    members: Vec<Member>,
    queue: BTreeMap<(Nanos, u64), Happening>,
    number: u64,
    /// In a thousand messages.
    lost: u64,
    doubled: u64,
    longest_delay: u64,
    lost_any: Vec<bool>,
    now: Nanos,
    delivered: Vec<bool>,
}

impl World {
    fn new(seed: u64) -> World {
        let mut random = SplitMix::new(seed);
        let count = 1 + random.next_word() % 5;
        let trouble = random.next_word() % 4;
        let mut members = Vec::new();
        for _ in 0..count {
            let at = Nanos(random.next_word() % 12_000_000_000);
            let fate = match random.next_word() % 12 {
                _ if trouble == 0 => Fate::Healthy,
                0 | 1 => Fate::DiesAt(at),
                2 => Fate::HangsAt(at),
                3 if trouble == 2 => Fate::CannotPrepare,
                4 if trouble == 2 => Fate::WorkersFail,
                5 if trouble == 3 => Fate::OtherVersion,
                _ => Fate::Healthy,
            };
            let (ahead, work) = (random.next_word() % (1 << 40), Nanos(random.next_word() % 6_000_000_000));
            members.push(Member { fate, ahead, state: State::Waiting, round: None, work, in_time: None });
        }
        if random.next_word().is_multiple_of(3) {
            let ios = |random: &mut SplitMix| Some(1_000 + random.next_word() % 1_000);
            members.iter_mut().for_each(|member| member.in_time = ios(&mut random));
            // One may come to the end of its job before.
            if random.next_word().is_multiple_of(2) {
                members[0].in_time = None;
            }
        }
        let lossy = random.next_word().is_multiple_of(3) && trouble > 0;
        let mut world = World {
            lost_any: vec![false; members.len()],
            delivered: vec![false; members.len()],
            members,
            queue: BTreeMap::new(),
            number: 0,
            lost: if lossy { random.next_word() % 30 } else { 0 },
            doubled: random.next_word() % 100,
            longest_delay: 1 + random.next_word()
                % [100_000, 5_000_000, 200_000_000][(random.next_word() % 3) as usize],
            now: Nanos::ZERO,
            random,
        };
        for rank in 0..world.members.len() {
            let at = Nanos(world.random.next_word() % 2_000_000_000);
            let fate = world.members[rank].fate;
            let program = if fate == Fate::OtherVersion { "plumb 9" } else { "plumb 1" };
            let facts = Facts { protocol: PROTOCOL, program: program.to_owned(), ..Facts::default() };
            world.put(at, Happening::ToLeader(rank, Answer::Hello(Box::new(facts))));
            if let Fate::DiesAt(at) | Fate::HangsAt(at) = fate {
                world.put(at, Happening::Dies(rank));
            }
        }
        if trouble > 0 && world.random.next_word().is_multiple_of(6) {
            for _ in 0..=world.random.next_word() % 2 {
                let at = Nanos(world.random.next_word() % 10_000_000_000);
                world.put(at, Happening::Signal);
            }
        }
        world
    }

    fn put(&mut self, at: Nanos, happening: Happening) {
        self.number += 1;
        self.queue.insert((at, self.number), happening);
    }

    /// Sends over a network that delays, loses and doubles.
    fn carry(&mut self, rank: usize, happening: &Happening) {
        if self.random.next_word() % 1000 < self.lost {
            self.lost_any[rank] = true;
            return;
        }
        let copies = if self.random.next_word() % 1000 < self.doubled { 2 } else { 1 };
        for _ in 0..copies {
            let delay = Nanos(self.random.next_word() % self.longest_delay);
            self.put(self.now.saturating_add(delay), happening.clone());
        }
    }

    fn say(&mut self, rank: usize, answer: Answer) {
        self.carry(rank, &Happening::ToLeader(rank, answer));
    }

    fn clock(&self, rank: usize) -> Nanos {
        Nanos(self.now.get() + self.members[rank].ahead)
    }

    fn exit(&mut self, rank: usize) {
        if self.members[rank].state != State::Exited {
            self.members[rank].state = State::Exited;
            // The end of a pipe comes after all that was written to it.
            self.put(self.now.saturating_add(Nanos(self.longest_delay)), Happening::Gone(rank));
        }
    }

    fn finish(&mut self, rank: usize, error: Option<JobError>) {
        if matches!(self.members[rank].state, State::Done | State::Exited) {
            return;
        }
        self.members[rank].state = State::Done;
        let mut job = JobResult { workers: 1, error, ..JobResult::default() };
        job.directions.read.ios = 1 + rank as u64;
        let result = RunResult { jobs: vec![job], ..RunResult::default() };
        let finished = MemberEnd { round: self.round(rank), started: Some(Nanos(1)), ended: self.clock(rank), result };
        self.say(rank, Answer::Done(Box::new(finished)));
    }

    fn round(&self, rank: usize) -> u32 {
        self.members[rank].round.unwrap_or_default()
    }

    fn is_dead(&self, rank: usize) -> bool {
        let hangs = matches!(self.members[rank].fate, Fate::HangsAt(at) if at <= self.now);
        self.members[rank].state == State::Exited || hangs
    }

    fn member(&mut self, rank: usize, instruction: Instruction) {
        if self.is_dead(rank) {
            return;
        }
        match (instruction, self.members[rank].state) {
            (Instruction::Ping { number }, _) => self.say(rank, Answer::Pong { number, at: self.clock(rank) }),
            (Instruction::Prepare(_), State::Waiting) if self.members[rank].fate == Fate::CannotPrepare => {
                self.say(rank, Answer::Failed { why: "no such file".to_owned() });
                self.exit(rank);
            }
            (Instruction::Prepare(task), State::Waiting | State::Done)
                if self.members[rank].round.is_none_or(|round| round < task.round) =>
            {
                if self.members[rank].round.is_none() {
                    self.put(self.now, Happening::Beat(rank));
                }
                (self.members[rank].state, self.members[rank].round) = (State::LayingOut, Some(task.round));
                let at = self.now.saturating_add(Nanos(self.random.next_word() % 3_000_000_000));
                self.put(at, Happening::LaidOut(rank, task.round));
            }
            (Instruction::Go { at, round }, State::Ready) if round == self.round(rank) => {
                let at = Nanos(at.get().saturating_sub(self.members[rank].ahead)).max(self.now);
                self.put(at, Happening::Begin(rank, round));
            }
            (Instruction::Until { ios, round }, State::OutOfTime) if round == self.round(rank) => {
                assert!(self.members[rank].in_time.is_some_and(|own| own <= ios), "as many as the fastest");
                let at = self.now.saturating_add(Nanos(self.random.next_word() % 2_000_000_000));
                self.members[rank].state = State::Running;
                self.members[rank].in_time = None;
                self.put(at, Happening::WorkIsOver(rank, round));
            }
            (Instruction::Stop { .. }, State::LayingOut | State::Ready | State::Running | State::OutOfTime) => {
                self.finish(rank, None);
            }
            (Instruction::Stop { .. }, State::Waiting | State::Done) | (Instruction::Bye, _) => self.exit(rank),
            _ => {}
        }
    }

    fn happen(&mut self, happening: Happening, leader: &mut Leader) -> Vec<Action> {
        let rank = match &happening {
            Happening::Beat(rank) => *rank,
            Happening::LaidOut(rank, round) | Happening::Begin(rank, round) | Happening::WorkIsOver(rank, round) => {
                if *round != self.round(*rank) {
                    return Vec::new();
                }
                *rank
            }
            Happening::ToLeader(rank, answer) => {
                let is_counted =
                    leader.go().is_some() && matches!(leader.standing(*rank), Standing::Ready | Standing::Running);
                self.delivered[*rank] |= is_counted && matches!(answer, Answer::Done(_));
                return leader.step(Event::Answer(*rank, answer.clone()), self.now);
            }
            Happening::Gone(rank) => return leader.step(Event::Ended(*rank, "it ended".to_owned()), self.now),
            Happening::Signal => return leader.step(Event::Signal(2), self.now),
            Happening::ToMember(rank, instruction) => {
                self.member(*rank, instruction.clone());
                return Vec::new();
            }
            Happening::Dies(rank) => {
                if matches!(self.members[*rank].fate, Fate::DiesAt(_)) {
                    self.exit(*rank);
                }
                return Vec::new();
            }
        };
        if self.is_dead(rank) {
            return Vec::new();
        }
        match (happening, self.members[rank].state) {
            (Happening::Beat(_), State::LayingOut | State::Ready | State::Running | State::OutOfTime | State::Done) => {
                let stage = match self.members[rank].state {
                    State::LayingOut => Stage::LayingOut,
                    State::Ready => Stage::Ready,
                    State::Running | State::OutOfTime => Stage::Running,
                    _ => Stage::Resting,
                };
                let round = self.round(rank);
                let waits = self.members[rank].state == State::OutOfTime;
                let out_of_time = self.members[rank].in_time.filter(|_| waits);
                let at = self.clock(rank);
                self.say(rank, Answer::Beat(Beat { at, round, stage, out_of_time, ..Beat::default() }));
                self.put(self.now.saturating_add(BEAT), Happening::Beat(rank));
            }
            (Happening::LaidOut(..), State::LayingOut) if self.members[rank].fate == Fate::WorkersFail => {
                let message = "cannot open".to_owned();
                self.finish(rank, Some(JobError { errno: 2, operation: "open".to_owned(), message, signal: None }));
            }
            (Happening::LaidOut(..), State::LayingOut) => {
                self.members[rank].state = State::Ready;
                let round = self.round(rank);
                self.say(rank, Answer::Ready { round });
            }
            (Happening::Begin(_, round), State::Ready) => {
                self.members[rank].state = State::Running;
                let at = self.now.saturating_add(self.members[rank].work);
                self.put(at, Happening::WorkIsOver(rank, round));
            }
            (Happening::WorkIsOver(..), State::Running) if self.members[rank].in_time.is_some() => {
                self.members[rank].state = State::OutOfTime;
            }
            (Happening::WorkIsOver(..), State::Running) => self.finish(rank, None),
            _ => {}
        }
        Vec::new()
    }
}

/// A schedule at its end.
struct Ended {
    world: World,
    /// The rounds that were over, and the state at the end.
    rounds: Vec<Outcome>,
    last: Outcome,
    on_loss: OnLoss,
    /// Number of rounds that were wanted.
    wanted: usize,
}

/// Runs one schedule to its end.
fn run(seed: u64) -> Ended {
    let mut world = World::new(seed);
    let on_loss = if world.random.next_word().is_multiple_of(2) { OnLoss::Stop } else { OnLoss::GoOn };
    let wanted = 1 + usize::try_from(world.random.next_word() % 5).unwrap().saturating_sub(2);
    let counted = if wanted > 1 { Rounds::Several } else { Rounds::One };
    let settings = Settings { program: "plumb 1".to_owned(), silence: SILENCE, on_loss, rounds: counted };
    let mut leader = Leader::new(settings, vec![Task::default(); world.members.len()], Nanos::ZERO);
    // A lost order to begin and one to end are waited for, because such a member gives signs of life.
    let limit = Nanos::from_secs((14 + 12 + 6 * 5 + 2 * 60) * wanted as u64);
    let mut rounds = Vec::new();
    loop {
        let next = world.queue.first_key_value().map(|((at, _), _)| *at);
        let due = leader.due().expect("it is not over");
        let mut actions = if next.is_none_or(|next| due < next) {
            world.now = world.now.max(due);
            leader.step(Event::Time, world.now)
        } else {
            let ((at, _), happening) = world.queue.pop_first().expect("there is one");
            world.now = at;
            world.happen(happening, &mut leader)
        };
        assert!(world.now < limit, "seed {seed}: it does not end: {:?}", world.members);
        if actions.contains(&Action::Rest) {
            let over = leader.take_round();
            let is_whole = over.members.iter().all(|member| member.finished.is_some());
            rounds.push(over);
            let goes_on = is_whole || on_loss == OnLoss::GoOn;
            actions.extend(match rounds.len() < wanted && goes_on {
                true => {
                    world.delivered.fill(false);
                    leader.again(vec![Task::default(); world.members.len()], world.now)
                }
                false => leader.dismiss_all(world.now),
            });
        }
        let is_over = actions.last() == Some(&Action::Finish);
        assert_eq!(
            actions.iter().filter(|action| **action == Action::Finish).count(),
            usize::from(is_over),
            "seed {seed}"
        );
        for action in actions.drain(..) {
            match action {
                Action::Send(rank, instruction) => world.carry(rank, &Happening::ToMember(rank, instruction)),
                Action::Kill(rank) => world.exit(rank),
                Action::Say(..) | Action::Lost(..) | Action::Rest | Action::Finish => {}
            }
        }
        if is_over {
            assert_eq!(leader.due(), None, "seed {seed}");
            return Ended { world, rounds, last: leader.take_round(), on_loss, wanted };
        }
    }
}

#[test]
fn random_schedules_end_with_everything_that_was_finished() {
    let (mut complete, mut partial, mut never, mut all_rounds, mut left_out) = (0, 0, 0, 0, 0);
    for seed in 0..10_000 {
        let Ended { world, mut rounds, last, on_loss, wanted } = run(seed);
        let all_well = |rank: usize| world.members[rank].fate == Fate::Healthy && !world.lost_any[rank];
        let everyone_well = (0..world.members.len()).all(all_well) && last.signal.is_none();
        let begun = rounds.iter().take(rounds.len().saturating_sub(1));
        let may_follow =
            |member: &MemberOutcome| member.finished.is_some() || on_loss == OnLoss::GoOn && member.lost.is_some();
        assert!(begun.flat_map(|round| &round.members).all(may_follow), "seed {seed}");
        left_out +=
            rounds.windows(2).filter(|pair| pair[1].members.iter().any(|member| member.finished.is_none())).count();
        // The members were dismissed after the last round, or it is the only one, or something went wrong in it.
        let signal = last.signal;
        let is_dismissed = !rounds.is_empty()
            && last.members.iter().all(|member| member.finished.is_none())
            && (rounds.len() == wanted || last.go.is_some());
        let outcome = if is_dismissed { rounds.pop().expect("there is one") } else { last };
        for (rank, member) in outcome.members.iter().enumerate() {
            let ios = member.finished.as_ref().map(|finished| finished.result.jobs[0].ios());
            if world.delivered[rank] {
                assert_eq!(ios, Some(rank as u64 + 1), "seed {seed}: the result of member {rank} is gone");
            }
            assert!(ios.is_none() || member.lost.is_none(), "seed {seed}: member {rank} is lost and finished");
            if all_well(rank) && signal.is_none() {
                assert_eq!(member.lost, None, "seed {seed}: member {rank} is well, and called lost");
                let others_end_it = on_loss == OnLoss::Stop || outcome.go.is_none();
                assert!(ios.is_some() || others_end_it, "seed {seed}: member {rank} is well, and has no result");
            }
            let has_a_reason = signal.is_some() || outcome.go.is_none();
            assert!(ios.is_some() || member.lost.is_some() || has_a_reason, "seed {seed}: member {rank} is missing");
        }
        assert!(!everyone_well || outcome.members.iter().all(|member| member.finished.is_some()), "seed {seed}");
        if everyone_well && wanted > 1 {
            assert_eq!(rounds.len() + 1, wanted, "seed {seed}: all were well, and a round is missing");
            all_rounds += 1;
        }
        match outcome.members.iter().filter(|member| member.finished.is_some()).count() {
            all if all == outcome.members.len() => complete += 1,
            0 => never += 1,
            _ => partial += 1,
        }
    }
    // Schedules of all kinds, or the test shows nothing.
    assert!(
        complete > 2_000 && partial > 300 && never > 1_000 && all_rounds > 500 && left_out > 50,
        "{complete} {partial} {never} {all_rounds} {left_out}"
    );
}

fn leader_of_two() -> Leader {
    let settings =
        Settings { program: "plumb 1".to_owned(), silence: SILENCE, on_loss: OnLoss::Stop, rounds: Rounds::One };
    Leader::new(settings, vec![Task::default(); 2], Nanos::ZERO)
}

/// Lets a member greet and answer the pings, and returns the number of tasks that are sent then. Clocks agree, over a
/// network that takes no time.
fn greet(leader: &mut Leader, rank: usize) -> usize {
    let facts = Facts { protocol: PROTOCOL, program: "plumb 1".to_owned(), ..Facts::default() };
    let mut answers = vec![Answer::Hello(Box::new(facts))];
    let mut prepared = 0;
    while let Some(answer) = answers.pop() {
        for action in leader.step(Event::Answer(rank, answer), Nanos::ZERO) {
            match action {
                Action::Send(_, Instruction::Ping { number }) => answers.push(Answer::Pong { number, at: Nanos::ZERO }),
                Action::Send(_, Instruction::Prepare(_)) => prepared += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    prepared
}

#[test]
fn a_member_that_never_greets_leaves_no_files_on_others() {
    let mut leader = leader_of_two();
    assert_eq!(greet(&mut leader, 0), 0, "it waits for the other");
    let gone = leader.step(Event::Ended(1, "it ended with status 255".to_owned()), Nanos::from_millis(1));
    assert!(gone.contains(&Action::Send(0, Instruction::Bye)), "{gone:?}");
    assert!(!gone.iter().any(|action| matches!(action, Action::Send(_, Instruction::Prepare(_)))), "{gone:?}");
}

#[test]
fn a_login_may_take_longer_than_a_silence() {
    let mut leader = leader_of_two();
    assert_eq!(leader.step(Event::Time, SILENCE), []);
    let named = leader.step(Event::Time, Nanos::from_secs(10));
    assert!(matches!(&named[..], [Action::Say(0, _), Action::Say(1, _)]), "{named:?}");
    assert!(is_lost(&leader.step(Event::Time, Nanos::from_secs(60)), 0));
}

#[test]
fn each_host_that_refuses_is_named() {
    let mut leader = leader_of_two();
    let refused = |rank| Event::Ended(rank, format!("it ended with status {} (through ssh)", 254 + rank));
    for rank in [0, 1] {
        let actions = leader.step(refused(rank), Nanos::from_millis(1));
        let is_named =
            |action: &Action| matches!(action, Action::Lost(lost, why) if *lost == rank && why.contains("25"));
        assert!(actions.iter().any(is_named), "{rank}: {actions:?}");
    }
    let mut leader = leader_of_two();
    leader.step(refused(0), Nanos::from_millis(1));
    let asked = leader.step(Event::Ended(1, "it ended with status 0".to_owned()), Nanos::from_millis(2));
    assert!(!asked.iter().any(|action| matches!(action, Action::Lost(..))), "it was asked to end: {asked:?}");
}

#[test]
fn a_slow_layout_of_one_member_delays_the_start_of_all() {
    let mut leader = leader_of_two();
    assert_eq!([0, 1].map(|rank| greet(&mut leader, rank)), [0, 2]);
    let ready = Answer::Ready { round: 0 };
    assert_eq!(leader.step(Event::Answer(0, ready.clone()), Nanos::from_millis(1)), [], "it waits for the other");
    let late = Nanos::from_millis(1_001);
    let begun = leader.step(Event::Answer(1, ready), late);
    let at = late.saturating_add(Nanos::from_millis(200));
    assert_eq!(begun, [0, 1].map(|rank| Action::Send(rank, Instruction::Go { at, round: 0 })));
}

/// A leader of two members whose workers run, and the time of their start.
fn running() -> (Leader, Nanos) {
    let mut leader = leader_of_two();
    assert_eq!([0, 1].map(|rank| greet(&mut leader, rank)), [0, 2]);
    let start = Nanos::from_millis(200);
    for rank in [0, 1] {
        leader.step(Event::Answer(rank, Answer::Ready { round: 0 }), Nanos::ZERO);
    }
    [0, 1].iter().for_each(|&rank| assert_eq!(beat(&mut leader, rank, start), []));
    (leader, start)
}

fn beat(leader: &mut Leader, rank: usize, at: Nanos) -> Vec<Action> {
    leader.step(Event::Answer(rank, Answer::Beat(Beat { at, stage: Stage::Running, ..Beat::default() })), at)
}

fn is_lost(actions: &[Action], rank: usize) -> bool {
    actions.iter().any(|action| matches!(action, Action::Lost(lost, _) if *lost == rank))
}

#[test]
fn a_member_that_is_slow_to_end_is_not_lost() {
    let (mut leader, start) = running();
    let after = |times: u64| start.saturating_add(Nanos(times * BEAT.get()));
    // The first one is silent from the start on.
    let mut said = Vec::new();
    (1..=10).for_each(|times| said.extend(beat(&mut leader, 1, after(times))));
    assert!(is_lost(&said, 0), "{said:?}");
    assert!(matches!(said.last(), Some(Action::Send(1, Instruction::Stop { .. }))), "{said:?}");
    // The other one needs 20 s to end.
    (11..=50).for_each(|times| assert_eq!(beat(&mut leader, 1, after(times)), []));
    leader.step(Event::Answer(1, Answer::Done(Box::default())), after(51));
    let over = leader.step(Event::Ended(1, String::new()), after(52));
    assert_eq!(over.last(), Some(&Action::Finish));
    let outcome = leader.take_round();
    assert!(outcome.members[1].finished.is_some() && outcome.members[1].lost.is_none(), "{outcome:?}");
}

#[test]
fn a_member_that_falls_silent_at_its_end_is_lost() {
    let (mut leader, start) = running();
    let gone = start.saturating_add(BEAT);
    leader.step(Event::Ended(0, "it was killed".to_owned()), gone);
    beat(&mut leader, 1, gone);
    assert_eq!(leader.due(), Some(gone.saturating_add(SILENCE)));
    assert!(is_lost(&leader.step(Event::Time, gone.saturating_add(SILENCE)), 1));
    // One that only gives signs of life is not waited for without end.
    let (mut leader, start) = running();
    leader.step(Event::Ended(0, "it was killed".to_owned()), start);
    let lost = (1..).find(|&times| {
        let actions = beat(&mut leader, 1, start.saturating_add(Nanos(times * BEAT.get())));
        is_lost(&actions, 1)
    });
    assert_eq!(lost, Some(120), "a minute in beats");
}

#[test]
fn a_leader_that_was_stopped_gives_no_one_up() {
    let (mut leader, start) = running();
    let away = Nanos::from_secs(60);
    let back = start.saturating_add(away);
    leader.was_stopped(away);
    // What the other one said has not been read yet.
    assert_eq!(beat(&mut leader, 0, back), []);
    assert_eq!(beat(&mut leader, 1, back.saturating_add(Nanos::from_secs(1))), []);
    let silent = back.saturating_add(SILENCE);
    assert!(is_lost(&leader.step(Event::Time, silent), 0));
}
