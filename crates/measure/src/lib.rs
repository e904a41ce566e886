//! Numbers and time: units as types, the clock, the latency histogram, moments and interval samples.
//!
//! Owns how a number is held and combined. Leaves to others where numbers come from and how they are shown.
//! Everything that a worker writes per I/O is a fixed-layout value without pointers, so it can live in memory
//! shared between processes and be merged by one associative operation.

#![deny(unsafe_code)]

mod clock;
mod direction;
mod histogram;
mod moments;
mod samples;
mod tsc;
mod units;

pub use clock::{Clock, ClockReport, ClockSource, SystemClock, VirtualClock};
pub use direction::{Direction, PerDirection};
pub use histogram::{BUCKETS, Histogram};
pub use moments::Moments;
pub use samples::{IntervalRates, IntervalSampler, SampleStatistics};
pub use units::{Bytes, BytesPerSecond, Nanos};
