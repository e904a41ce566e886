//! A signal ends a wait for completions.

use crate::rig::{BLOCK, Rig, io, options};
use engine::{Completion, Engine, EngineClock, Operation, Submitted, Target, Visitor, dispatch};
use measure::SystemClock;
use std::io::{PipeReader, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Waits for a read of an empty pipe, in one call that submits and waits or in two.
struct Wait<'a> {
    pipe: &'a PipeReader,
    in_one_call: bool,
    write: Box<dyn FnOnce() + 'a>,
}

impl Visitor for Wait<'_> {
    type Out = u32;

    fn visit<E: Engine>(self) -> u32 {
        let target = Target {
            path: "pipe".into(),
            descriptor: Some(self.pipe.as_raw_fd()),
            size: u64::MAX,
            block_device: false,
            writable: false,
            zone_size: None,
        };
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(&[]), &[target], 2, clock).unwrap();
        // It owns the pipe's other end, and goes before the ring, which waits for its read: that ends when a check
        // fails.
        let write = self.write;
        assert_eq!(rig.engine.submit(io(Operation::Read, 0, 0, BLOCK)), Submitted::Queued);
        let mut done: Vec<Completion> = Vec::with_capacity(2);
        let reaped = if self.in_one_call {
            rig.engine.flush_and_reap(1, 2, &mut done).unwrap().1
        } else {
            rig.engine.flush().unwrap();
            rig.engine.reap(1, 2, &mut done).unwrap()
        };
        // The I/O is still in flight and completes as ever; the last signal may come in this wait.
        write();
        while rig.engine.reap(1, 2, &mut done).unwrap() == 0 {}
        assert_eq!(done, [Completion { slot: 0, result: 4 }]);
        reaped
    }
}

extern "C" fn ignore(_signal: i32) {}

/// SIGUSR1 interrupts calls and does nothing else.
fn interrupt_on_signal() {
    // SAFETY: sigaction is a C structure for which zeros are valid: no SA_RESTART, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = ignore as *const () as usize;
    // SAFETY: `action` outlives the call, and the handler has the signature of a plain one.
    assert_eq!(unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()) }, 0);
}

#[test]
fn a_signal_ends_a_wait_and_the_io_goes_on() {
    interrupt_on_signal();
    for in_one_call in [false, true] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let (tell, message) = mpsc::channel();
        let waiting = AtomicBool::new(true);
        let reaped = std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                // SAFETY: pthread_self(3) has no conditions.
                tell.send(unsafe { libc::pthread_self() }).unwrap();
                let waiting = &waiting;
                let write = Box::new(move || {
                    waiting.store(false, Ordering::SeqCst);
                    writer.write_all(b"data").unwrap();
                });
                dispatch("io_uring", Wait { pipe: &reader, in_one_call, write }).unwrap()
            });
            let thread = message.recv().unwrap();
            while waiting.load(Ordering::SeqCst) && !worker.is_finished() {
                std::thread::sleep(Duration::from_millis(20));
                // SAFETY: the thread is not joined yet.
                unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
            }
            worker.join().unwrap()
        });
        assert_eq!(reaped, 0);
    }
}
