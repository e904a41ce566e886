//! The gate before a worker: closed at first, then open for set-up, then open for I/O.

use super::control::{Control, Gate, STOP};
use rustix::thread::futex;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Waits until the gate is open as far as `wanted`; `false` if the worker is to end instead.
///
/// Sleeps on a futex, so that 256 waiting workers use no CPU.
pub(crate) fn pass(control: &Control, wanted: Gate) -> bool {
    loop {
        if control.stop_requested() {
            return false;
        }
        let seen = control.gate.load(Acquire);
        if seen >= wanted as u32 {
            return true;
        }
        // A job that shares its thread lets the others run; the thread looks again after some milliseconds.
        if engine::pause_at_gate() {
            continue;
        }
        // Woken by `open`; EAGAIN if the gate has changed since the load, EINTR on a signal: check again in all cases.
        let _ = futex::wait(&control.gate, futex::Flags::empty(), seen, None);
    }
}

/// True if the gate is open as far as `wanted`: the parent need not be woken to open it.
pub(crate) fn is_open(control: &Control, wanted: Gate) -> bool {
    control.gate.load(Acquire) >= wanted as u32
}

/// Opens the gate as far as `gate`.
pub(crate) fn open(control: &Control, gate: Gate) {
    control.gate.store(gate as u32, Release);
    let _ = futex::wake(&control.gate, futex::Flags::empty(), u32::MAX >> 1);
}

/// Asks a worker to end in order, in whatever state it is.
pub(crate) fn stop(control: &Control) {
    control.stop.fetch_or(STOP, Release);
    // A worker that waits at the gate sleeps until the gate's value changes, so change it too.
    open(control, Gate::Go);
}
