//! Cost models: what an I/O costs by its size, and what concurrency brings, fitted to measured points.
//!
//! Owns the models, their parameters with standard errors and intervals, and each point's error. Leaves showing them to `cli`.

mod block_size;
mod least_squares;
mod mixture;
mod scalability;

pub use block_size::{AccessModel, SizePoint, access_model, is_memory, size_points};
pub use mixture::{Mixture, MixturePoint, Part, device_rate, mixture, mixture_points};
pub use scalability::{Scalability, UserPoint, scalability, user_points};

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A fitted number and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Its standard error; infinite where as many numbers were fitted as there are points.
    pub standard_error: f64,
    /// Half of the interval that holds the true number with 95 % confidence, if the model is right.
    pub half_width: f64,
}

impl Estimate {
    /// A number that is known.
    pub const fn exact(value: f64) -> Self {
        Estimate { value, standard_error: 0.0, half_width: 0.0 }
    }

    /// With an interval by Student's t for so many degrees of freedom.
    fn with_error(value: f64, standard_error: f64, freedom: usize) -> Self {
        let quantile = StudentsT::new(0.0, 1.0, crate::evidence::float(freedom as u64))
            .map_or(f64::INFINITY, |distribution| distribution.inverse_cdf(0.975));
        let half_width = if standard_error > 0.0 { standard_error * quantile } else { 0.0 };
        Estimate { value, standard_error, half_width }
    }
}
