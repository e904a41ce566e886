//! iostat's reports: text in all its layouts, and JSON; written and read.
//!
//! Owns columns, widths, number formats and colours. Leaves the rates to `monitor` and the timing of reports to `cli`.

mod cell;
mod columns;
pub mod json;
mod latency;
mod read;
pub mod text;

pub use cell::{Colours, Thresholds};
pub(crate) use columns::{are_short, bytes_of_unit};
pub use latency::{Latencies, NamedLatency};
pub(crate) use read::{IostatReader, device_from_json, from_json};

use model::{CpuActivity, DeviceActivity};

/// Description of the machine in the first line of the output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Operating system, `Linux`.
    pub system: String,
    /// Kernel release.
    pub release: String,
    /// Host name.
    pub name: String,
    /// Processor architecture.
    pub machine: String,
    /// The number of processors.
    pub cpus: usize,
    /// Date, formatted.
    pub date: String,
}

/// One report; parts that are `None` were not requested.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Time, formatted.
    pub moment: Option<String>,
    /// CPU utilization.
    pub cpu: Option<CpuActivity>,
    /// The devices, in display order.
    pub devices: Option<Vec<DeviceActivity>>,
    /// Latencies of the interval.
    pub latency: Option<Latencies>,
}

/// Set of columns for a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// Requests and amounts (default).
    #[default]
    Basic,
    /// The same, writes and discards combined (`-s`).
    BasicShort,
    /// Extended statistics (`-x`).
    Extended,
    /// Extended statistics, all operations combined (`-x -s`).
    ExtendedShort,
    /// Requests and amounts in the format of sysstat 9 to 11.5.
    BasicOld,
    /// Extended statistics in the format of sysstat 9 to 11.5: `avgrq-sz`, `avgqu-sz`, `svctm`.
    ExtendedOld,
}

/// Unit of amounts of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// 1024 bytes.
    #[default]
    Kilobytes,
    /// 1024² bytes.
    Megabytes,
    /// 1024³ bytes.
    Gigabytes,
    /// Sectors of 512 bytes.
    Blocks,
}

/// Format of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// In the unit given in the heading.
    #[default]
    Plain,
    /// Each with its own unit letter (`--human`).
    Human,
}

/// Position of the device name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// Before its numbers.
    #[default]
    First,
    /// After its numbers, all in one table.
    Last,
    /// After its numbers, extended columns split into four tables.
    LastCut,
}

/// Layout of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Set of columns.
    pub columns: Columns,
    /// Unit of amounts.
    pub unit: Unit,
    /// Decimals of plain numbers, 0 to 2.
    pub decimals: usize,
    /// Format of numbers.
    pub spelling: Spelling,
    /// Position of names.
    pub naming: Naming,
    /// Colours; `None` for uncoloured text.
    pub colours: Option<Colours>,
    /// The sign before decimals. JSON always has a point.
    pub decimal_point: String,
}

impl Default for Layout {
    fn default() -> Self {
        Layout {
            columns: Columns::default(),
            unit: Unit::default(),
            decimals: 2,
            spelling: Spelling::default(),
            naming: Naming::default(),
            colours: None,
            decimal_point: ".".to_owned(),
        }
    }
}
