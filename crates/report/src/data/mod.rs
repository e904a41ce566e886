//! What charts draw, as plain data: every number is in base units (nanoseconds, bytes, bytes per second) or a share of 1.
//!
//! The same JSON lies in a report's page for its reader to download; docs/pictures.md names the fields.

mod blocks;
mod card;
mod cdf;
mod curve;
mod devices;
mod measured;
mod of_measurements;
mod overlay;
mod series;
mod surface;
mod sweep;

pub use blocks::{BlockPoint, Blocks, CurvePoint};
pub use card::{Band, Card, Letters, Mark, Row, Scaling, Workload};
pub use cdf::{Cdf, Distribution};
pub use curve::{Curve, LoadCurve, LoadPoint};
pub use devices::{DeviceRow, Devices, Quantity};
pub use measured::{Axis, Measured, Table};
pub use of_measurements::{card, singles, sweeps};
pub use overlay::Overlay;
pub use series::{Change, Line, Panel, Series, Ticks, Unit};
pub use surface::Surface;
pub use sweep::{AtWork, Bin, Level, Step, Sweep};
