//! The gate before a worker: closed until its turn, then open to set up, then open to go.

use super::record::{Control, Gate, STOP};
use rustix::thread::futex;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Waits until the gate is open as far as `wanted`; `false` when the worker shall end instead.
///
/// Sleeps in the kernel; 256 workers that wait for their turn cost nothing.
pub(crate) fn pass(control: &Control, wanted: Gate) -> bool {
    loop {
        if control.stop_requested() {
            return false;
        }
        let seen = control.gate.load(Acquire);
        if seen >= wanted as u32 {
            return true;
        }
        // Woken by `open`; EAGAIN when the gate moved in between, EINTR on a signal: look again in all cases.
        let _ = futex::wait(&control.gate, futex::Flags::empty(), seen, None);
    }
}

/// Opens the gate as far as `gate`.
pub(crate) fn open(control: &Control, gate: Gate) {
    control.gate.store(gate as u32, Release);
    let _ = futex::wake(&control.gate, futex::Flags::empty(), u32::MAX >> 1);
}

/// Tells a worker to end in order, wherever it is.
pub(crate) fn stop(control: &Control) {
    control.stop.fetch_or(STOP, Release);
    // A worker that waits at the gate sleeps on the gate's value, so that must change too.
    open(control, Gate::Go);
}
