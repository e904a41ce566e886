//! Columns of device lines: heading, width and value of each, for text and JSON.

use super::cell::Value;
use super::{Columns, Unit};
use model::{DeviceActivity, OperationActivity};

/// One column. `@` in its heading is replaced by the unit. Its JSON key is the heading without a percent sign.
pub(super) struct Column {
    heading: &'static str,
    pub(super) width: usize,
    pub(super) value: fn(&DeviceActivity) -> Value,
}

const fn column(heading: &'static str, width: usize, value: fn(&DeviceActivity) -> Value) -> Column {
    Column { heading, width, value }
}

impl Column {
    /// The heading in text, with the unit filled in.
    pub(super) fn heading(&self, unit: &str) -> String {
        self.heading.replace('@', unit)
    }

    pub(super) fn key(&self, unit: &str) -> String {
        self.heading(unit).replace('%', "")
    }
}

/// Sum of writes and discards.
fn written(device: &DeviceActivity) -> OperationActivity {
    OperationActivity {
        sectors: device.writes.sectors.saturating_add(device.discards.sectors),
        sectors_per_second: device.writes.sectors_per_second + device.discards.sectors_per_second,
        ..OperationActivity::default()
    }
}

const BASIC: &[Column] = &[
    column("tps", 8, |device| Value::Requests(device.together.per_second)),
    column("@_read/s", 12, |device| Value::SectorRate(device.reads.sectors_per_second)),
    column("@_wrtn/s", 12, |device| Value::SectorRate(device.writes.sectors_per_second)),
    column("@_dscd/s", 12, |device| Value::SectorRate(device.discards.sectors_per_second)),
    column("@_read", 10, |device| Value::SectorCount(device.reads.sectors)),
    column("@_wrtn", 10, |device| Value::SectorCount(device.writes.sectors)),
    column("@_dscd", 10, |device| Value::SectorCount(device.discards.sectors)),
];

const BASIC_SHORT: &[Column] = &[
    column("tps", 8, |device| Value::Requests(device.together.per_second)),
    column("@_read/s", 12, |device| Value::SectorRate(device.reads.sectors_per_second)),
    column("@_w+d/s", 12, |device| Value::SectorRate(written(device).sectors_per_second)),
    column("@_read", 10, |device| Value::SectorCount(device.reads.sectors)),
    column("@_w+d", 10, |device| Value::SectorCount(written(device).sectors)),
];

const BASIC_OLD: &[Column] = &[
    column("tps", 8, |device| Value::Requests(device.reads.per_second + device.writes.per_second)),
    column("@_read/s", 12, |device| Value::SectorRate(device.reads.sectors_per_second)),
    column("@_wrtn/s", 12, |device| Value::SectorRate(device.writes.sectors_per_second)),
    column("@_read", 10, |device| Value::SectorCount(device.reads.sectors)),
    column("@_wrtn", 10, |device| Value::SectorCount(device.writes.sectors)),
];

/// The columns of one operation, whose letter begins each heading.
macro_rules! operation {
    ($letter:literal, $operation:ident) => {
        &[
            column(concat!($letter, "/s"), 7, |device| Value::Requests(device.$operation.per_second)),
            column(concat!($letter, "@/s"), 9, |device| Value::SectorRate(device.$operation.sectors_per_second)),
            column(concat!($letter, "rqm/s"), 8, |device| Value::Merges(device.$operation.merges_per_second)),
            column(concat!("%", $letter, "rqm"), 6, |device| Value::MergedPercent(device.$operation.merged_percent)),
            column(concat!($letter, "_await"), 7, |device| Value::Milliseconds(device.$operation.await_ms)),
            column(concat!($letter, "areq-sz"), 8, |device| Value::RequestSize(device.$operation.request_sectors)),
        ]
    };
}

const READS: &[Column] = operation!("r", reads);
const WRITES: &[Column] = operation!("w", writes);
const DISCARDS: &[Column] = operation!("d", discards);

const REST: &[Column] = &[
    column("f/s", 7, |device| Value::Requests(device.flushes.per_second)),
    column("f_await", 7, |device| Value::Milliseconds(device.flushes.await_ms)),
    column("aqu-sz", 7, |device| Value::Length(device.queue)),
    column("%util", 6, |device| Value::Percent(device.utilisation_percent)),
];

const EXTENDED_SHORT: &[Column] = &[
    column("tps", 8, |device| Value::Requests(device.together.per_second)),
    column("@/s", 9, |device| Value::SectorRate(device.together.sectors_per_second)),
    column("rqm/s", 8, |device| Value::Merges(device.together.merges_per_second)),
    column("await", 7, |device| Value::Milliseconds(device.together.await_ms)),
    column("areq-sz", 8, |device| Value::RequestSize(device.together.request_sectors)),
    column("aqu-sz", 7, |device| Value::Length(device.queue)),
    column("%util", 6, |device| Value::Percent(device.utilisation_percent)),
];

const EXTENDED_OLD: &[Column] = &[
    column("rrqm/s", 8, |device| Value::Merges(device.reads.merges_per_second)),
    column("wrqm/s", 8, |device| Value::Merges(device.writes.merges_per_second)),
    column("r/s", 7, |device| Value::Requests(device.reads.per_second)),
    column("w/s", 7, |device| Value::Requests(device.writes.per_second)),
    column("r@/s", 8, |device| Value::SectorRate(device.reads.sectors_per_second)),
    column("w@/s", 8, |device| Value::SectorRate(device.writes.sectors_per_second)),
    column("avgrq-sz", 8, |device| Value::Sectors(both_mean(device, |operation| operation.request_sectors))),
    column("avgqu-sz", 8, |device| Value::Length(device.queue)),
    column("await", 7, |device| Value::Milliseconds(both_mean(device, |operation| operation.await_ms))),
    column("r_await", 7, |device| Value::Milliseconds(device.reads.await_ms)),
    column("w_await", 7, |device| Value::Milliseconds(device.writes.await_ms)),
    column("svctm", 6, |device| Value::Milliseconds(service_ms(device))),
    column("%util", 6, |device| Value::Percent(device.utilisation_percent)),
];

/// Mean over reads and writes.
fn both_mean(device: &DeviceActivity, of: fn(&OperationActivity) -> Option<f64>) -> Option<f64> {
    let both = [&device.reads, &device.writes];
    let requests: f64 = both.iter().map(|operation| operation.per_second).sum();
    let sum = both.iter().filter_map(|operation| Some(operation.per_second * of(operation)?)).sum::<f64>();
    (requests > 0.0).then(|| sum / requests)
}

/// Device busy time per read and write: sysstat's service time (`svctm`).
fn service_ms(device: &DeviceActivity) -> Option<f64> {
    let requests = device.reads.per_second + device.writes.per_second;
    (requests > 0.0).then(|| device.utilisation_percent * 10.0 / requests)
}

/// The text columns, in the groups into which `--pretty` splits them.
pub(super) fn tables(columns: Columns) -> &'static [&'static [Column]] {
    match columns {
        Columns::Basic => &[BASIC],
        Columns::BasicShort => &[BASIC_SHORT],
        Columns::BasicOld => &[BASIC_OLD],
        Columns::Extended => &[READS, WRITES, DISCARDS, REST],
        Columns::ExtendedShort => &[EXTENDED_SHORT],
        Columns::ExtendedOld => &[EXTENDED_OLD],
    }
}

/// The JSON column set for that of text. sysstat 12 has no short basic JSON, and none with older columns.
pub(super) fn of_json(columns: Columns) -> Columns {
    match columns {
        Columns::Basic | Columns::BasicShort | Columns::BasicOld => Columns::Basic,
        Columns::Extended | Columns::ExtendedOld => Columns::Extended,
        Columns::ExtendedShort => Columns::ExtendedShort,
    }
}

/// Name of the unit in headings and keys.
pub(super) fn label(columns: Columns, unit: Unit) -> &'static str {
    match (unit, columns) {
        (Unit::Kilobytes, _) => "kB",
        (Unit::Megabytes, _) => "MB",
        (Unit::Gigabytes, _) => "GB",
        (Unit::Blocks, Columns::Basic | Columns::BasicShort | Columns::BasicOld) => "Blk",
        (Unit::Blocks, _) => "sec",
    }
}

/// The bytes of the unit of a column, by its name: `rkB/s`, `MB_read`, `wareq-sz`; `None` of a count, time or share.
pub(crate) fn bytes_of_unit(column: &str) -> Option<f64> {
    const UNITS: &[(&str, f64)] = &[
        ("kB", 1024.0),
        ("MB", 1_048_576.0),
        ("GB", 1_073_741_824.0),
        ("Blk_", 512.0),
        ("sec/s", 512.0),
        ("avgrq-sz", 512.0),
        ("areq-sz", 1024.0),
    ];
    UNITS.iter().find(|(name, _)| column.contains(name)).map(|&(_, bytes)| bytes)
}

/// True if these are columns of `-s`, where reads and writes, or writes and discards, are one number.
pub(crate) fn are_short(columns: &[String]) -> bool {
    columns.iter().any(|column| column == "areq-sz" || column.ends_with("_w+d/s"))
}
