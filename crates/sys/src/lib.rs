//! Safe interfaces to system calls, and readers of /proc and /sys, in four modules.
//!
//! /proc and /sys are read below a root directory that the caller gives, so that recorded trees can be replayed. The
//! crate only reports facts; the crates above make the decisions. It depends on no other crate of the workspace.

pub mod devices;
mod error;
pub mod files;
pub mod machine;
pub mod processes;

pub use error::SysError;
