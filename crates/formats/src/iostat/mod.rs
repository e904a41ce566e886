//! Reports as iostat prints them: text in all its widths, and JSON.
//!
//! Owns columns, widths, spelling and colours. Leaves the rates to `monitor` and the moments to `cli`.

mod cell;
mod columns;
pub mod json;
mod read;
pub mod text;

pub use cell::Colours;
pub(crate) use read::{IostatReader, device_from_json, from_json};

use model::{CpuActivity, DeviceActivity};

/// The machine, as the head of the output names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The system, `Linux`.
    pub system: String,
    /// The kernel's release.
    pub release: String,
    /// The host's name.
    pub name: String,
    /// The processor's architecture.
    pub machine: String,
    /// How many processors.
    pub cpus: usize,
    /// The day, spelled.
    pub date: String,
}

/// One report: what is `None` is not asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The moment, spelled.
    pub moment: Option<String>,
    /// The processors.
    pub cpu: Option<CpuActivity>,
    /// The devices, in the order to show.
    pub devices: Option<Vec<DeviceActivity>>,
}

/// Which columns a device has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// Requests and amounts.
    #[default]
    Basic,
    /// The same, writes and discards together.
    BasicShort,
    /// Everything.
    Extended,
    /// Everything, all operations together.
    ExtendedShort,
    /// Requests and amounts as sysstat 9 to 11.5 had them.
    BasicOld,
    /// Everything as sysstat 9 to 11.5 had it: `avgrq-sz`, `avgqu-sz`, `svctm`.
    ExtendedOld,
}

/// What amounts of data are counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// 1024 bytes.
    #[default]
    Kilobytes,
    /// 1024² bytes.
    Megabytes,
    /// Sectors of 512 bytes.
    Blocks,
}

/// How numbers are spelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// In the unit of the heading.
    #[default]
    Plain,
    /// With a letter of their own.
    Human,
}

/// Where a device's name stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// Before its numbers.
    #[default]
    First,
    /// Behind them, all in one table.
    Last,
    /// Behind them, extended columns cut into four tables.
    LastCut,
}

/// How text is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The columns.
    pub columns: Columns,
    /// The unit of amounts.
    pub unit: Unit,
    /// Decimals of plain numbers, 0 to 2.
    pub decimals: usize,
    /// The spelling of numbers.
    pub spelling: Spelling,
    /// The place of names.
    pub naming: Naming,
    /// Colours; `None` for none.
    pub colours: Option<Colours>,
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
        }
    }
}
