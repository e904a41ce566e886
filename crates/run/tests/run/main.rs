//! Runs through `execute`: against the simulated device, on real files, with workers that die, with logs and with
//! checks.

#![expect(clippy::unwrap_used, reason = "a test's helper fails as the test does")]

mod allocation;
mod calibration;
mod engines;
mod files;
mod life;
mod logs;
mod monitored;
mod open_loop;
mod replay;
mod signal;
mod sim;
mod support;
mod timing;
mod turns;
mod verify;
mod wear_out;
