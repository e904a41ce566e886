//! The supervisor: prepares files, starts workers when they are due, monitors them, and collects their results.

mod by_caller;
mod devices;
mod estimate;
mod event_loop;
mod execute;
mod group_steady_state;
mod interim;
mod latency;
mod layout_thread;
mod prepare;
mod result;
mod schedule;
mod stuck;
mod workers;
mod zones;

pub use execute::{Runner, calibrate, execute};
