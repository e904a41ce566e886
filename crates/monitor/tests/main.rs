//! Device and processor counters: recorded trees, and a loop device.

#![expect(clippy::unwrap_used, reason = "a test's helper fails as the test does")]

mod loop_device;
mod recorded;
mod recorder;
