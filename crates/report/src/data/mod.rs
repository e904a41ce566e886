//! Chart data as plain structures: numbers are in base units (nanoseconds, bytes, bytes per second) or shares.
//!
//! A report's page contains the same JSON for download; docs/pictures.md documents the fields.

mod answers;
mod blocks;
mod card;
mod cdf;
mod curve;
mod devices;
pub(crate) mod measured;
pub(crate) mod of_measurements;
pub(crate) mod placed;
mod series;
mod surface;
mod sweep;

pub(crate) use analysis::measured as of_result;
pub use analysis::{AtWork, Bin, Level, Rounds, Step};
pub use answers::{
    BarOfParts, Capacity, ChangedTest, Changes, KindOfIo, LimitedRound, LimitedRule, Limits, NumberChange, Parts,
    RateTrial, RecordedIos, ResponseLimit, SlowIo,
};
pub use blocks::{BlockPoint, Blocks, CurvePoint};
pub use card::{Band, Card, CardRow, Letters, Mark, NO_GRADE, Scaling, Workload};
pub use cdf::{Cdf, Distribution};
pub use curve::{Curve, LoadCurve, LoadPoint};
pub use devices::{DeviceRow, Devices, Quantity};
pub use measured::{Axis, Table};
pub(crate) use of_measurements::test_in_words;
pub use of_measurements::{card, sweeps};
pub use series::{Change, Line, Panel, Series, Ticks, Unit};
pub use surface::Surface;
pub(crate) use sweep::MOST_IN_WORDS;
pub use sweep::{Overlay, Sweep};
