//! Numbers and time: units as types, the clock, the latency histogram, moments and interval samples.
//!
//! This crate represents and combines numbers; other crates measure and print them. Everything that a worker updates
//! per I/O is a fixed-layout value without pointers, so that it can be in memory shared between processes, with an
//! associative merge operation.

#![deny(unsafe_code)]

mod clock;
mod direction;
mod histogram;
mod lists;
mod moments;
mod random_bytes;
mod samples;
mod split_mix;
pub mod text;
mod tsc;
mod units;

pub use clock::{Clock, ClockCost, ClockReport, ClockSource, SystemClock, VirtualClock, unix_ms};
pub use direction::{Direction, PerDirection};
pub use histogram::{BUCKETS, Histogram};
pub use lists::{distinct, push_new};
pub use moments::Moments;
pub use random_bytes::RandomBytes;
pub use samples::{IntervalRates, IntervalSampler, SampleStatistics};
pub use split_mix::{SplitMix, split_mix};
pub use units::{Bytes, BytesPerSecond, Nanos, float};
