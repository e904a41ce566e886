//! Cost models: what an I/O costs by its size, and what concurrency brings, fitted to measured points.
//!
//! Owns the models, their parameters with standard errors, and each point's error. Leaves showing them to `cli`.

mod block_size;
mod least_squares;
mod scalability;

pub use block_size::{AccessModel, SizePoint, access_model, is_memory, size_points};
pub use scalability::{Scalability, UserPoint, scalability, user_points};

/// A fitted number and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Its standard error; infinite where as many numbers were fitted as there are points.
    pub standard_error: f64,
}
