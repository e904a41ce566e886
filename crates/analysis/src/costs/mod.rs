//! Cost models, fitted to measured points: cost of an I/O by size, and throughput by concurrency.
//!
//! Owns the models, their parameters with errors and intervals, and the error at each point.

mod block_size;
mod least_squares;
mod mixture;
mod scalability;

pub use block_size::{AccessModel, SizePoint, access_model, is_memory, size_points};
pub use mixture::{Mixture, MixturePoint, Part, device_rate, mixture, mixture_points};
pub use scalability::{Scalability, UserPoint, depth_of, scalability, user_points};

use crate::statistics::student::quantile;

/// A fitted parameter and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Value.
    pub value: f64,
    /// Standard error; infinite if there are as many parameters as points.
    pub standard_error: f64,
    /// Half width of the 95 % confidence interval, assuming that the model is right.
    pub half_width: f64,
}

impl Estimate {
    /// A known value without error.
    pub const fn exact(value: f64) -> Self {
        Estimate { value, standard_error: 0.0, half_width: 0.0 }
    }

    /// An estimate with an interval by Student's t with this many degrees of freedom.
    fn with_error(value: f64, standard_error: f64, freedom: usize) -> Self {
        let quantile = quantile(0.975, crate::run_facts::float(freedom as u64)).unwrap_or(f64::INFINITY);
        let half_width = if standard_error > 0.0 { standard_error * quantile } else { 0.0 };
        Estimate { value, standard_error, half_width }
    }
}
