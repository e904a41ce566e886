//! Chart data as plain structures: every number is in base units (nanoseconds, bytes, bytes per second) or a fraction
//! of 1.
//!
//! A report's page contains the same JSON for download; docs/pictures.md documents the fields.

mod blocks;
mod capacity;
mod card;
mod cdf;
mod changes;
mod curve;
mod devices;
mod limits;
pub(crate) mod measured;
pub(crate) mod of_measurements;
mod overlay;
pub(crate) mod placed;
mod series;
mod surface;
mod sweep;

pub(crate) use analysis::measured as of_result;
pub use analysis::{AtWork, Bin, Level, Rounds, Step};
pub use blocks::{BlockPoint, Blocks, CurvePoint};
pub use capacity::{Capacity, RateTrial, ResponseLimit};
pub use card::{Band, Card, Letters, Mark, Row, Scaling, Workload};
pub use cdf::{Cdf, Distribution};
pub use changes::{ChangedTest, Changes, NumberChange};
pub use curve::{Curve, LoadCurve, LoadPoint};
pub use devices::{DeviceRow, Devices, Quantity};
pub use limits::{LimitedRound, LimitedRule, Limits};
pub use measured::{Axis, Table};
pub(crate) use of_measurements::test_in_words;
pub use of_measurements::{card, sweeps};
pub use overlay::Overlay;
pub use series::{Change, Line, Panel, Series, Ticks, Unit};
pub use surface::Surface;
pub use sweep::Sweep;
