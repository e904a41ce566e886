//! Lists of events made by hand, and the parts that they must give.

use super::*;
use crate::calls::CALLS;
use crate::event::{Op, Span};

const DISK: DeviceNumber = DeviceNumber { major: 8, minor: 0 };
const STACKED: DeviceNumber = DeviceNumber { major: 252, minor: 0 };
const READER: Thread = Thread(10);
const OTHER: Thread = Thread(20);
const IDLE: Thread = Thread(0);

fn call(name: &str) -> &'static Call {
    CALLS.iter().find(|call| call.name == name).unwrap()
}

fn span(sector: u64, sectors: u64) -> Span {
    Span { device: DISK, sector, sectors, op: Op::Read, is_ahead: false, is_after_flush: false }
}

fn ahead(sector: u64, sectors: u64) -> Span {
    Span { is_ahead: true, ..span(sector, sectors) }
}

fn at(time: u64, thread: Thread, what: What) -> Event {
    Event { time: Nanos(time), cpu: 0, thread, context: 0, what }
}

fn enter(time: u64, thread: Thread, name: &str) -> Event {
    at(time, thread, What::Enter { call: call(name), descriptor: Some(3), offset: Some(0) })
}

fn exit(time: u64, thread: Thread, name: &str, result: i64) -> Event {
    at(time, thread, What::Exit { call: call(name), result })
}

fn queue(time: u64, thread: Thread, span: Span) -> Event {
    at(time, thread, What::Queue { span, name: *b"reader\0\0\0\0\0\0\0\0\0\0" })
}

fn sleep(time: u64, thread: Thread) -> Event {
    at(time, thread, What::Switch { from: thread, is_runnable: false, to: IDLE })
}

fn run(time: u64, thread: Thread) -> Event {
    at(time, IDLE, What::Switch { from: IDLE, is_runnable: true, to: thread })
}

fn wake(time: u64, by: Thread, thread: Thread) -> Event {
    at(time, by, What::Waking { thread })
}

fn joined(events: &[Event]) -> Joiner {
    let mut joiner = Joiner::new(Scope::Calls, FxHashMap::default());
    events.iter().for_each(|event| joiner.take(event));
    for io in &joiner.done {
        assert_eq!(io.parts.sum(), io.time, "the parts are not the whole: {io:?}");
    }
    joiner
}

/// The only I/O of these events, with its parts that are not zero.
fn only(events: &[Event]) -> Vec<(Part, u64)> {
    let joiner = joined(events);
    let [io] = &joiner.done[..] else { panic!("not one I/O: {:?}", joiner.done) };
    shown(io)
}

fn shown(io: &Io) -> Vec<(Part, u64)> {
    let parts = crate::io::PARTS.map(|part| (part, io.parts[part].0));
    parts.into_iter().filter(|(_, time)| *time > 0).collect()
}

#[test]
fn a_direct_read_is_divided_at_each_event() {
    let parts = only(&[
        enter(0, READER, "pread64"),
        queue(10, READER, span(0, 8)),
        at(13, READER, What::Request(span(0, 8))),
        at(20, READER, What::Issue(span(0, 8))),
        sleep(25, READER),
        at(120, OTHER, What::Complete(span(0, 8))),
        wake(123, OTHER, READER),
        run(130, READER),
        exit(140, READER, "pread64", 4096),
    ]);
    let expected = [
        (Part::FileSystem, 10),
        (Part::Tags, 3),
        (Part::Scheduler, 7),
        (Part::Device, 100),
        (Part::WakingUp, 10),
        (Part::CopyAndReturn, 10),
    ];
    assert_eq!(parts, expected);
}

#[test]
fn a_wake_up_directly_before_the_switch_is_of_that_sleep() {
    let events = |woken: u64, slept: u64| {
        only(&[
            enter(0, READER, "pread64"),
            queue(10, READER, span(0, 8)),
            at(13, READER, What::Request(span(0, 8))),
            at(20, READER, What::Issue(span(0, 8))),
            Event { cpu: 1, ..at(woken - 1, OTHER, What::Complete(span(0, 8))) },
            Event { cpu: 1, ..wake(woken, OTHER, READER) },
            sleep(slept, READER),
            run(slept + 10, READER),
            exit(slept + 12, READER, "pread64", 4096),
        ])
    };
    let is_in = |parts: &[(Part, u64)], part: Part| parts.iter().any(|(one, _)| *one == part);
    let parts = events(120, 121);
    assert!(parts.contains(&(Part::WakingUp, 10)) && !is_in(&parts, Part::NotSeen), "{parts:?}");
    let parts = events(120, 2_000_121);
    assert!(is_in(&parts, Part::NotSeen), "two milliseconds later it slept for something else: {parts:?}");
}

#[test]
fn a_read_without_a_wait_is_of_the_cache() {
    let events = [
        enter(0, READER, "read"),
        at(2, READER, What::PageCache),
        // Another has its turn; the read waits for nothing else.
        at(3, READER, What::Switch { from: READER, is_runnable: true, to: OTHER }),
        at(7, OTHER, What::Switch { from: OTHER, is_runnable: true, to: READER }),
        exit(9, READER, "read", 100),
    ];
    let joiner = joined(&events);
    assert_eq!(shown(&joiner.done[0]), [(Part::Cache, 5), (Part::WakingUp, 4)]);
    assert!(joiner.done[0].is_of_storage && joiner.done[0].bytes == 100);
}

#[test]
fn readahead_that_is_done_at_once_is_not_the_cache() {
    let parts = only(&[
        enter(0, READER, "read"),
        queue(1, READER, ahead(0, 8)),
        at(2, READER, What::Request(ahead(0, 8))),
        at(3, READER, What::Issue(ahead(0, 8))),
        at(40, READER, What::Complete(ahead(0, 8))),
        exit(45, READER, "read", 4096),
    ]);
    assert_eq!(parts, [(Part::FileSystem, 45)]);
}

#[test]
fn two_that_are_merged_have_the_times_of_one_request() {
    let joiner = joined(&[
        enter(0, READER, "pread64"),
        queue(1, READER, span(0, 8)),
        at(2, READER, What::Request(span(0, 8))),
        queue(3, READER, span(8, 8)),
        at(4, READER, What::Merge(span(8, 8))),
        at(5, READER, What::Issue(span(0, 16))),
        sleep(6, READER),
        at(30, OTHER, What::Complete(span(0, 16))),
        wake(30, OTHER, READER),
        run(31, READER),
        exit(31, READER, "pread64", 8192),
    ]);
    let io = &joiner.done[0];
    assert_eq!((io.parts[Part::Device], io.waited_for), (Nanos(25), 2));
}

#[test]
fn one_that_is_split_ends_with_its_last_part() {
    let parts = only(&[
        enter(0, READER, "pread64"),
        queue(0, READER, span(0, 16)),
        at(0, READER, What::Request(span(0, 8))),
        at(0, READER, What::Issue(span(0, 8))),
        at(0, READER, What::Request(span(8, 8))),
        at(1, READER, What::Issue(span(8, 8))),
        sleep(2, READER),
        at(50, OTHER, What::Complete(span(8, 8))),
        at(90, OTHER, What::Complete(span(0, 8))),
        wake(90, OTHER, READER),
        run(90, READER),
        exit(95, READER, "pread64", 8192),
    ]);
    assert_eq!(parts, [(Part::Device, 90), (Part::CopyAndReturn, 5)]);
}

#[test]
fn a_requeued_request_is_scheduled_again() {
    let parts = only(&[
        enter(0, READER, "pread64"),
        queue(0, READER, span(0, 8)),
        at(0, READER, What::Request(span(0, 8))),
        at(0, READER, What::Issue(span(0, 8))),
        sleep(1, READER),
        at(10, OTHER, What::Requeue(span(0, 8))),
        at(30, OTHER, What::Issue(span(0, 8))),
        at(40, OTHER, What::Complete(span(0, 8))),
        wake(40, OTHER, READER),
        run(40, READER),
        exit(40, READER, "pread64", 4096),
    ]);
    assert_eq!(parts, [(Part::Scheduler, 20), (Part::Device, 20)]);
}

#[test]
fn an_io_of_a_stacked_device_is_where_it_is_below() {
    let stacked = Span { device: STACKED, ..span(0, 8) };
    let parts = only(&[
        enter(0, READER, "pread64"),
        queue(0, READER, stacked),
        at(5, READER, What::Remap { to: span(100, 8), from: STACKED, from_sector: 0 }),
        queue(6, READER, span(100, 8)),
        at(7, READER, What::Request(span(100, 8))),
        at(8, READER, What::Issue(span(100, 8))),
        sleep(9, READER),
        at(50, OTHER, What::Complete(span(100, 8))),
        at(57, OTHER, What::BioComplete(stacked)),
        wake(57, OTHER, READER),
        run(57, READER),
        exit(57, READER, "pread64", 4096),
    ]);
    // The first 6 are in the stacked device, as the last 7.
    assert_eq!(parts, [(Part::Tags, 1), (Part::Scheduler, 1), (Part::Stack, 13), (Part::Device, 42)]);
}

#[test]
fn an_io_that_moves_down_ends_with_the_device_below() {
    let stacked = Span { device: STACKED, ..span(0, 8) };
    let parts = only(&[
        enter(0, READER, "pread64"),
        queue(0, READER, stacked),
        at(2, READER, What::Remap { to: span(100, 8), from: STACKED, from_sector: 0 }),
        at(4, READER, What::Request(span(100, 8))),
        at(5, READER, What::Issue(span(100, 8))),
        sleep(6, READER),
        at(50, OTHER, What::Complete(span(100, 8))),
        wake(50, OTHER, READER),
        run(50, READER),
        exit(50, READER, "pread64", 4096),
    ]);
    assert_eq!(parts, [(Part::Scheduler, 1), (Part::Stack, 4), (Part::Device, 45)]);
}

#[test]
fn a_device_without_requests_has_it_from_queue_to_end() {
    let parts = only(&[
        enter(0, READER, "pread64"),
        queue(1, READER, span(0, 8)),
        at(40, READER, What::BioComplete(span(0, 8))),
        exit(41, READER, "pread64", 4096),
    ]);
    assert_eq!(parts, [(Part::FileSystem, 1), (Part::Device, 39), (Part::CopyAndReturn, 1)]);
}

#[test]
fn what_another_thread_queues_after_a_sleep_was_throttled() {
    let parts = only(&[
        enter(0, READER, "pread64"),
        sleep(10, READER),
        queue(100, OTHER, span(0, 8)),
        at(101, OTHER, What::Request(span(0, 8))),
        at(102, OTHER, What::Issue(span(0, 8))),
        at(150, IDLE, What::Complete(span(0, 8))),
        wake(151, IDLE, READER),
        run(153, READER),
        exit(155, READER, "pread64", 4096),
    ]);
    let expected = [
        (Part::FileSystem, 10),
        (Part::Throttle, 90),
        (Part::Tags, 1),
        (Part::Scheduler, 1),
        (Part::Device, 48),
        (Part::WakingUp, 3),
        (Part::CopyAndReturn, 2),
    ];
    assert_eq!(parts, expected);
}

#[test]
fn the_same_sectors_twice_are_two_ios() {
    let joiner = joined(&[
        enter(0, READER, "pread64"),
        queue(0, READER, span(0, 8)),
        at(0, READER, What::Request(span(0, 8))),
        at(0, READER, What::Issue(span(0, 8))),
        sleep(0, READER),
        enter(5, OTHER, "pread64"),
        queue(5, OTHER, span(0, 8)),
        at(5, OTHER, What::Request(span(0, 8))),
        at(5, OTHER, What::Issue(span(0, 8))),
        sleep(5, OTHER),
        at(20, IDLE, What::Complete(span(0, 8))),
        wake(20, IDLE, READER),
        run(20, READER),
        exit(20, READER, "pread64", 4096),
        at(45, IDLE, What::Complete(span(0, 8))),
        wake(45, IDLE, OTHER),
        run(45, OTHER),
        exit(45, OTHER, "pread64", 4096),
    ]);
    let device: Vec<u64> = joiner.done.iter().map(|io| io.parts[Part::Device].0).collect();
    assert_eq!(device, [20, 40]);
}

#[test]
fn a_read_that_waits_for_readahead_waits_for_the_device() {
    let joiner = joined(&[
        enter(0, READER, "read"),
        at(1, READER, What::PageCache),
        queue(2, READER, ahead(0, 256)),
        at(2, READER, What::Request(ahead(0, 256))),
        at(2, READER, What::Issue(ahead(0, 256))),
        exit(10, READER, "read", 4096),
        enter(20, READER, "read"),
        at(20, READER, What::PageCache),
        sleep(25, READER),
        at(60, OTHER, What::Complete(ahead(0, 256))),
        wake(62, OTHER, READER),
        run(65, READER),
        exit(66, READER, "read", 4096),
    ]);
    assert_eq!(shown(&joiner.done[0]), [(Part::Cache, 10)]);
    let second = [(Part::FileSystem, 5), (Part::Device, 35), (Part::WakingUp, 5), (Part::CopyAndReturn, 1)];
    assert_eq!((shown(&joiner.done[1]), joiner.done[1].waited_for), (second.to_vec(), 1));
}

#[test]
fn waits_are_named_by_what_ended_them() {
    let of_wake = |before: What, by: Thread| {
        let parts = only(&[
            at(0, Thread(99), What::Commits),
            enter(0, READER, "fsync"),
            at(1, READER, before),
            sleep(2, READER),
            wake(12, by, READER),
            run(13, READER),
            exit(15, READER, "fsync", 0),
        ]);
        assert_eq!(parts.iter().map(|(_, time)| time).sum::<u64>(), 15);
        *parts.iter().max_by_key(|(_, time)| *time).unwrap()
    };
    assert_eq!(of_wake(What::PageCache, Thread(99)), (Part::Journal, 10));
    assert_eq!(of_wake(What::PageCache, OTHER), (Part::Wait, 10));
    assert_eq!(of_wake(What::DirtyPause, OTHER), (Part::DirtyLimit, 10));
    assert_eq!(of_wake(What::LogWait, OTHER), (Part::Journal, 10));
    let joiner = joined(&[
        enter(0, READER, "write"),
        sleep(2, READER),
        wake(12, OTHER, READER),
        run(13, READER),
        exit(15, READER, "write", 8),
    ]);
    assert_eq!(joiner.done[0].waker, Some(OTHER));
}

#[test]
fn an_io_that_is_not_issued_waits_with_its_thread() {
    let parts = only(&[
        enter(0, READER, "pread64"),
        queue(0, READER, span(0, 8)),
        at(1, READER, What::Request(span(0, 8))),
        at(2, READER, What::Switch { from: READER, is_runnable: true, to: OTHER }),
        at(52, OTHER, What::Switch { from: OTHER, is_runnable: true, to: READER }),
        at(53, READER, What::Issue(span(0, 8))),
        at(54, READER, What::Switch { from: READER, is_runnable: true, to: OTHER }),
        at(60, OTHER, What::Complete(span(0, 8))),
        run(64, READER),
        exit(64, READER, "pread64", 4096),
    ]);
    assert_eq!(parts, [(Part::Tags, 1), (Part::Scheduler, 2), (Part::Device, 7), (Part::WakingUp, 54)]);
}

#[test]
fn a_thread_that_was_interrupted_is_not_the_interrupt() {
    let complete = Event { context: 1, ..at(20, OTHER, What::Complete(span(0, 8))) };
    let parts = only(&[
        enter(0, READER, "read"),
        sleep(1, READER),
        queue(2, Thread(30), span(0, 8)),
        at(3, Thread(30), What::Request(span(0, 8))),
        at(4, Thread(30), What::Issue(span(0, 8))),
        complete,
        wake(21, OTHER, READER),
        run(22, READER),
        exit(23, READER, "read", 10),
    ]);
    assert_eq!(parts, [(Part::FileSystem, 1), (Part::Wait, 20), (Part::WakingUp, 1), (Part::CopyAndReturn, 1)]);
}

#[test]
fn a_sleep_whose_end_was_not_recorded_is_not_seen() {
    let parts =
        only(&[enter(0, READER, "pread64"), sleep(10, READER), run(90, READER), exit(95, READER, "pread64", 4096)]);
    assert_eq!(parts, [(Part::FileSystem, 10), (Part::CopyAndReturn, 5), (Part::NotSeen, 80)]);
}

#[test]
fn lost_events_break_the_calls_in_progress_and_no_others() {
    let joiner = joined(&[
        enter(0, READER, "pread64"),
        queue(1, READER, span(0, 8)),
        at(5, IDLE, What::Lost),
        at(9, OTHER, What::Complete(span(0, 8))),
        exit(10, READER, "pread64", 4096),
        enter(20, READER, "pread64"),
        at(21, READER, What::PageCache),
        exit(22, READER, "pread64", 4096),
    ]);
    assert_eq!((joiner.done.len(), joiner.counts.broken), (1, 1));
    assert_eq!(joiner.done[0].begin, Nanos(20));
}

#[test]
fn a_flush_is_one_of_the_device() {
    let flush = Span { op: Op::Write, ..span(u64::MAX, 0) };
    let issued = Span { op: Op::Other, ..flush };
    let parts = only(&[
        enter(0, READER, "fdatasync"),
        queue(2, READER, flush),
        at(3, READER, What::Request(flush)),
        at(4, READER, What::Issue(issued)),
        sleep(5, READER),
        at(54, OTHER, What::Complete(issued)),
        wake(54, OTHER, READER),
        run(54, READER),
        exit(54, READER, "fdatasync", 0),
    ]);
    assert_eq!(parts, [(Part::FileSystem, 2), (Part::Tags, 1), (Part::Scheduler, 1), (Part::Flush, 50)]);
}

#[test]
fn a_write_after_a_flush_waits_for_it() {
    let write = Span { op: Op::Write, is_after_flush: true, ..span(64, 8) };
    let flush = Span { op: Op::Other, ..span(u64::MAX, 0) };
    let parts = only(&[
        enter(0, READER, "fdatasync"),
        queue(2, READER, write),
        at(3, READER, What::Request(write)),
        at(4, READER, What::Issue(flush)),
        sleep(5, READER),
        at(54, OTHER, What::Complete(flush)),
        at(55, OTHER, What::Issue(write)),
        at(75, OTHER, What::Complete(write)),
        wake(75, OTHER, READER),
        run(75, READER),
        exit(75, READER, "fdatasync", 0),
    ]);
    let wanted = [(Part::FileSystem, 2), (Part::Tags, 1), (Part::Scheduler, 2), (Part::Device, 20), (Part::Flush, 50)];
    assert_eq!(parts, wanted);
}

#[test]
fn an_io_that_a_ring_hands_over_is_followed_in_the_block_layer() {
    let joiner = joined(&[
        enter(0, READER, "io_uring_enter"),
        queue(1, READER, span(0, 8)),
        at(2, READER, What::Request(span(0, 8))),
        at(3, READER, What::Issue(span(0, 8))),
        exit(4, READER, "io_uring_enter", 1),
        at(30, OTHER, What::Complete(span(0, 8))),
    ]);
    let [io] = &joiner.done[..] else { panic!("{:?}", joiner.done) };
    assert_eq!((io.reach, io.call, io.bytes, io.time), (Reach::Block, "io_uring_enter", 4096, Nanos(29)));
    assert_eq!(shown(io), [(Part::Tags, 1), (Part::Scheduler, 1), (Part::Device, 27)]);
    assert_eq!(io.program.as_deref(), Some("reader"));
}

fn submit(time: u64, request: u64, opcode: u64) -> Event {
    at(time, READER, What::RingSubmit { request, opcode, is_linked: false })
}

fn complete(time: u64, request: u64, result: i64) -> Event {
    at(time, READER, What::RingComplete { request, result })
}

/// An I/O from the queue to the driver, and its completion 40 later.
fn device(time: u64, by: Thread, name: Name, span: Span) -> Vec<Event> {
    vec![
        at(time, by, What::Queue { span, name }),
        at(time, by, What::Request(span)),
        at(time, by, What::Issue(span)),
        at(time + 40, IDLE, What::Complete(span)),
    ]
}

const NAMED: Name = *b"reader\0\0\0\0\0\0\0\0\0\0";
const KWORKER: Name = *b"kworker/0:1H\0\0\0\0";
const RING_WORKER: Name = *b"iou-wrk-10\0\0\0\0\0\0";

/// These lists in the order of time.
fn in_order(lists: &[&[Event]]) -> Vec<Event> {
    let mut events = lists.concat();
    events.sort_by_key(|event| event.time);
    events
}

#[test]
fn a_request_of_a_ring_ends_with_the_call_that_waits_for_it() {
    let events = in_order(&[
        &[enter(0, READER, "io_uring_enter"), submit(2, 70, 22), sleep(10, READER)],
        &device(5, READER, NAMED, span(0, 8)),
        &[run(48, READER), complete(51, 70, 4096), exit(55, READER, "io_uring_enter", 1)],
    ]);
    let joiner = joined(&events);
    let [io] = &joiner.done[..] else { panic!("{:?}", joiner.done) };
    assert_eq!((io.direction, io.reach, io.bytes, io.begin), (Direction::Read, Reach::Call, 4096, Nanos(2)));
    let expected = [(Part::FileSystem, 3), (Part::Device, 40), (Part::WakingUp, 6), (Part::CopyAndReturn, 4)];
    assert_eq!((shown(io), joiner.requests.ended_before), (expected.to_vec(), 0));
}

#[test]
fn a_request_that_is_complete_before_it_is_asked_for_ends_there() {
    let events = in_order(&[
        &[enter(0, READER, "io_uring_enter"), submit(1, 70, 23), submit(2, 71, 23), submit(3, 72, 4)],
        &[complete(4, 72, 512), exit(4, READER, "io_uring_enter", 3)],
        &[complete(20, 70, 4096), enter(30, READER, "io_uring_enter"), complete(40, 71, 4096), sleep(41, READER)],
        &[exit(90, READER, "io_uring_enter", 1)],
    ]);
    let joiner = joined(&events);
    let ends: Vec<(Direction, u64)> = joiner.done.iter().map(|io| (io.direction, io.begin.0 + io.time.0)).collect();
    assert_eq!(ends, [(Direction::Read, 4), (Direction::Write, 20), (Direction::Write, 40)]);
    assert_eq!((joiner.requests.ended_before, joiner.requests.count()), (2, 0));
    assert_eq!(shown(&joiner.done[0]), [(Part::Cache, 1)]);
}

#[test]
fn a_request_that_others_queue_is_followed() {
    let of = |opcode: u64, name: Name, op: Op| {
        let events = in_order(&[
            &[enter(0, READER, "io_uring_enter"), submit(0, 70, opcode), exit(10, READER, "io_uring_enter", 1)],
            &device(30, OTHER, name, Span { op, ..span(0, 16) }),
            &device(31, OTHER, name, Span { op, ..span(64, 8) }),
            &[complete(80, 70, if opcode == 3 { 0 } else { 4096 })],
        ]);
        let joiner = joined(&events);
        shown(&joiner.done[0])
    };
    let (file, woken) = ((Part::FileSystem, 10), (Part::WakingUp, 9));
    assert_eq!(of(22, KWORKER, Op::Read), [file, (Part::Throttle, 21), (Part::Device, 40), woken]);
    assert_eq!(of(22, RING_WORKER, Op::Read), [file, (Part::Wait, 21), (Part::Device, 40), woken]);
    assert_eq!(of(23, RING_WORKER, Op::Read), [file, (Part::Wait, 70)], "reads are not of a write");
    assert_eq!(of(3, RING_WORKER, Op::Write), [file, (Part::Wait, 29), (Part::Device, 41)]);
    assert_eq!(of(22, NAMED, Op::Read), [file, (Part::Wait, 70)], "those of another program");
}

#[test]
fn a_worker_may_be_faster_than_the_thread_that_handed_over() {
    let events = in_order(&[
        &[enter(0, READER, "io_uring_enter"), submit(1, 70, 22)],
        &device(10, OTHER, RING_WORKER, span(0, 8)),
        &[complete(55, 70, 4096), exit(60, READER, "io_uring_enter", 1)],
    ]);
    let joiner = joined(&events);
    let [io] = &joiner.done[..] else { panic!("{:?}", joiner.done) };
    let expected = [(Part::FileSystem, 9), (Part::Device, 40), (Part::WakingUp, 5), (Part::CopyAndReturn, 5)];
    assert_eq!((shown(io), io.is_of_storage), (expected.to_vec(), true));
}

#[test]
fn a_limit_above_a_loop_device_is_of_the_loop_device() {
    let below = Span { device: STACKED, ..span(900, 8) };
    let events = in_order(&[
        &[enter(0, READER, "io_uring_enter"), submit(0, 70, 22), submit(2, 71, 22), sleep(10, READER)],
        &device(1, READER, NAMED, span(0, 8)),
        &[run(42, READER), complete(43, 70, 4096), exit(44, READER, "io_uring_enter", 2)],
        &device(99, OTHER, KWORKER, below),
        &device(100, OTHER, KWORKER, span(64, 8)),
        &[complete(150, 71, 4096)],
    ]);
    let joiner = joined(&events);
    assert_eq!((joiner.done[1].device, joiner.done[1].parts[Part::Throttle].0), (Some(DISK), 90));
}

#[test]
fn a_buffered_request_waits_for_the_readahead_of_another() {
    let events = in_order(&[
        &[enter(0, READER, "io_uring_enter"), submit(0, 70, 22), at(1, READER, What::PageCache)],
        &device(2, READER, NAMED, ahead(0, 256)),
        &[submit(5, 71, 22), at(6, READER, What::PageCache), sleep(10, READER), run(44, READER)],
        &[complete(45, 70, 4096), complete(46, 71, 4096), exit(47, READER, "io_uring_enter", 2)],
    ]);
    let joiner = joined(&events);
    let second = [(Part::Device, 37), (Part::WakingUp, 4), (Part::CopyAndReturn, 1)];
    assert_eq!(shown(&joiner.done[1]), second);
    assert!(joiner.done.iter().all(|io| io.is_of_storage && io.waited_for == 1), "{:?}", joiner.done);
}

#[test]
fn linked_requests_begin_with_the_first() {
    let linked = at(1, READER, What::RingSubmit { request: 70, opcode: 23, is_linked: true });
    let write = Span { op: Op::Write, ..span(0, 8) };
    let events = in_order(&[
        &[enter(0, READER, "io_uring_enter"), linked, submit(2, 71, 3), exit(4, READER, "io_uring_enter", 2)],
        &device(3, READER, NAMED, write),
        &[complete(50, 70, 4096), complete(60, 71, 0)],
    ]);
    let joiner = joined(&events);
    assert_eq!(shown(&joiner.done[0]), [(Part::FileSystem, 2), (Part::Device, 40), (Part::WakingUp, 7)]);
    assert_eq!((joiner.done[1].direction, joiner.done[1].waited_for), (Direction::Sync, 0));
}

#[test]
fn requests_of_one_call_of_libaio_are_separate() {
    let begin = |time: u64, bytes: u64| at(time, READER, What::DirectBegin { bytes });
    let events = in_order(&[
        &[enter(0, READER, "io_submit"), begin(1, 8192), begin(4, 4096), exit(6, READER, "io_submit", 2)],
        &device(2, READER, NAMED, span(0, 8)),
        &device(3, READER, NAMED, span(100, 8)),
        &device(5, READER, NAMED, span(200, 8)),
        &[enter(10, READER, "io_getevents"), sleep(12, READER), run(60, READER)],
        &[exit(64, READER, "io_getevents", 2)],
    ]);
    let joiner = joined(&events);
    let sizes: Vec<(u64, u64)> = joiner.done.iter().map(|io| (io.begin.0, io.bytes)).collect();
    assert_eq!(sizes, [(0, 8192), (4, 4096)]);
    let second = [(Part::FileSystem, 1), (Part::Device, 40), (Part::WakingUp, 15), (Part::CopyAndReturn, 4)];
    assert_eq!(shown(&joiner.done[1]), second);
}

#[test]
fn a_batch_on_a_device_is_divided_by_number() {
    let count = |own: u64, requests: i64| {
        let ios: Vec<Event> = (0..own).flat_map(|index| device(1, READER, NAMED, span(index * 8, 8))).collect();
        let events = in_order(&[&[enter(0, READER, "io_submit")], &ios, &[exit(2, READER, "io_submit", requests)]]);
        let joiner = joined(&events);
        let bytes: Vec<u64> = joiner.done.iter().map(|io| io.bytes).collect();
        (bytes, joiner.requests.unclear, joiner.requests.count())
    };
    assert_eq!(count(2, 2), (vec![4096; 2], 0, 0));
    assert_eq!(count(4, 2), (vec![8192; 2], 0, 0));
    assert_eq!(count(3, 2), (vec![], 2, 0));
    assert_eq!(count(1, 2), (vec![4096], 0, 1), "a limit may hold the other back");
    assert_eq!(count(0, -11), (vec![], 0, 0));
}

#[test]
fn a_limit_holds_a_request_of_libaio_back() {
    let events = in_order(&[
        &[enter(0, READER, "io_submit"), exit(2, READER, "io_submit", 1), enter(3, READER, "io_getevents")],
        &[sleep(4, READER)],
        &device(100, OTHER, KWORKER, span(0, 8)),
        &[run(145, READER), exit(146, READER, "io_getevents", 1)],
    ]);
    let expected = [
        (Part::FileSystem, 2),
        (Part::Throttle, 98),
        (Part::Device, 40),
        (Part::WakingUp, 5),
        (Part::CopyAndReturn, 1),
    ];
    assert_eq!(only(&events), expected);
}

#[test]
fn a_buffered_batch_is_done_with_its_call() {
    let joiner = joined(&[
        enter(0, READER, "io_submit"),
        at(1, READER, What::CacheWrite),
        at(2, READER, What::CacheWrite),
        exit(9, READER, "io_submit", 2),
    ]);
    assert_eq!(joiner.done.iter().map(shown).collect::<Vec<_>>(), vec![vec![(Part::Cache, 9)]; 2]);
    assert_eq!((joiner.done[1].direction, joiner.done[1].bytes), (Direction::Write, 0));
}

#[test]
fn a_page_fault_is_over_when_its_thread_runs_again() {
    let fault = |slept: u64| {
        let events = in_order(&[
            &[at(0, READER, What::Fault), sleep(slept, READER), wake(slept + 39, IDLE, READER)],
            &device(slept - 2, READER, NAMED, ahead(0, 8)),
            &[run(slept + 45, READER), at(slept + 60, READER, What::Fault)],
            // The second is answered by memory; then the thread sleeps for something else.
            &[sleep(slept + 70, READER), wake(slept + 9_000, OTHER, READER), run(slept + 9_001, READER)],
            &[at(slept + 9_100, READER, What::Switch { from: READER, is_runnable: true, to: OTHER })],
        ]);
        let mut joiner = joined(&events);
        joiner.end();
        assert_eq!(joiner.counts.outside, 0);
        joiner.done.iter().map(|io| (io.direction, shown(io))).collect::<Vec<_>>()
    };
    let parts = vec![(Part::FileSystem, 5), (Part::Device, 38), (Part::WakingUp, 7)];
    assert_eq!(fault(5), [(Direction::Fault, parts)]);
    assert_eq!(fault(2_000_000), [], "a read much later is not of the fault");
}

#[test]
fn a_page_fault_whose_read_is_done_at_once_ends_with_it() {
    let of = |span: Span| {
        let events = in_order(&[&[at(0, READER, What::Fault)], &device(2, READER, NAMED, span)]);
        let mut joiner = joined(&events);
        joiner.end();
        joiner.done.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(of(span(0, 8)), [vec![(Part::FileSystem, 2), (Part::Device, 40)]]);
    assert_eq!(of(ahead(0, 8)), Vec::<Vec<(Part, u64)>>::new(), "it may be for another page");
}

#[test]
fn a_page_fault_within_a_call_is_of_the_call() {
    let joiner = joined(&[
        enter(0, READER, "write"),
        at(1, READER, What::Fault),
        sleep(2, READER),
        run(40, READER),
        exit(50, READER, "write", 4096),
    ]);
    assert_eq!(joiner.done.iter().map(|io| io.direction).collect::<Vec<_>>(), [Direction::Write]);
}

#[test]
fn a_partition_is_its_disk_and_a_device_has_the_ios_of_all() {
    let partition = DeviceNumber { major: 8, minor: 1 };
    let scope = Scope::Devices(FxHashSet::from_iter([partition]));
    let mut joiner = Joiner::new(scope, FxHashMap::from_iter([(partition, DISK)]));
    let on_partition = Span { device: partition, ..span(2056, 8) };
    for event in [
        at(0, READER, What::Remap { to: on_partition, from: partition, from_sector: 8 }),
        queue(1, READER, on_partition),
        at(2, READER, What::Request(on_partition)),
        at(3, READER, What::Issue(span(2056, 8))),
        queue(4, OTHER, span(0, 8)),
        at(9, IDLE, What::Complete(span(2056, 8))),
    ] {
        joiner.take(&event);
    }
    let [io] = &joiner.done[..] else { panic!("{:?}", joiner.done) };
    assert_eq!(shown(io), [(Part::Tags, 1), (Part::Scheduler, 1), (Part::Device, 6)]);
}

#[test]
fn a_stream_goes_on_where_it_ended() {
    let read =
        |time, name: &str, offset| at(time, READER, What::Enter { call: call(name), descriptor: Some(3), offset });
    let joiner = joined(&[
        read(0, "pread64", Some(0)),
        exit(1, READER, "pread64", 4096),
        read(2, "pread64", Some(4096)),
        exit(3, READER, "pread64", 4096),
        read(4, "pread64", Some(0)),
        exit(5, READER, "pread64", 4096),
        at(6, READER, What::Enter { call: call("lseek"), descriptor: Some(3), offset: None }),
        read(7, "read", None),
        exit(8, READER, "read", 10),
        read(9, "read", None),
        exit(10, READER, "read", 10),
    ]);
    let follows: Vec<Option<bool>> = joiner.done.iter().map(|io| io.is_sequential).collect();
    assert_eq!(follows, [None, Some(true), Some(false), None, Some(true)]);
}
