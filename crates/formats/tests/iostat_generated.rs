//! Reports of iostat that a generator makes up: read back they are what JSON says of the same interval, and a report that
//! is cut anywhere says nothing else.

use formats::iostat::{Colours, Columns, Host, Layout, Naming, Report, Spelling, Thresholds, Unit, json, text};
use formats::stream::parse;
use model::reading::{Content, Damage, IostatRow};
use model::{CpuActivity, DeviceActivity, FlushActivity, OperationActivity};

/// A generator that gives the same reports for the same number.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.next()).unwrap() % all.len()].clone()
    }

    /// Of any size up to the largest that its column has room for.
    fn number(&mut self, largest: f64) -> f64 {
        let size = self.of(&[0.0, 1e-4, 1e-2, 0.5, 1.0]);
        f64::from(u32::try_from(self.next() % 100_000).unwrap()) / 100_000.0 * largest * size
    }

    fn operation(&mut self) -> OperationActivity {
        OperationActivity {
            per_second: self.number(9000.0),
            sectors: self.next() % 1_000_000_000,
            sectors_per_second: self.number(900_000.0),
            merges_per_second: self.number(9000.0),
            merged_percent: Some(self.number(100.0)),
            await_ms: Some(self.number(900.0)),
            request_sectors: Some(self.number(9000.0)),
        }
    }

    fn device(&mut self, number: usize) -> DeviceActivity {
        let names =
            ["sda", "nvme0n1", "dm-0", "mmcblk0p1", "a-name-of-20-letters", "my\\x20disk", " group", "cciss/c0d0"];
        let (reads, writes, discards) = (self.operation(), self.operation(), self.operation());
        DeviceActivity {
            // No name is the start of another one.
            name: format!("{}{number}", self.of(&names)),
            together: OperationActivity {
                sectors_per_second: reads.sectors_per_second + writes.sectors_per_second + discards.sectors_per_second,
                ..self.operation()
            },
            reads,
            writes,
            discards,
            flushes: FlushActivity { per_second: self.number(900.0), await_ms: Some(self.number(900.0)) },
            queue: self.number(900.0),
            utilisation_percent: self.number(100.0),
        }
    }

    fn report(&mut self, moment: Option<&str>) -> Report {
        let cpu = CpuActivity { user: self.number(100.0), idle: self.number(100.0), ..CpuActivity::default() };
        Report {
            moment: moment.map(str::to_owned),
            cpu: self.of(&[Some(cpu), None]),
            devices: Some((0..=self.next() % 3).map(|number| self.device(usize::try_from(number).unwrap())).collect()),
            latency: None,
        }
    }

    fn layout(&mut self) -> Layout {
        let columns = self.of(&[
            Columns::Basic,
            Columns::BasicShort,
            Columns::Extended,
            Columns::Extended,
            Columns::ExtendedShort,
            Columns::BasicOld,
            Columns::ExtendedOld,
        ]);
        let is_old = matches!(columns, Columns::BasicOld | Columns::ExtendedOld);
        let naming = match columns {
            _ if is_old => Naming::First,
            Columns::Extended => self.of(&[Naming::First, Naming::Last, Naming::LastCut, Naming::LastCut]),
            _ => self.of(&[Naming::First, Naming::Last]),
        };
        let colours = Colours::chosen(Thresholds::Sysstat12_6, "");
        Layout {
            columns,
            unit: self.of(&[Unit::Kilobytes, Unit::Megabytes, Unit::Gigabytes, Unit::Blocks]),
            decimals: self.of(&[2, 2, 1, 0]),
            spelling: if is_old { Spelling::Plain } else { self.of(&[Spelling::Plain, Spelling::Human]) },
            naming,
            colours: self.of(&[None, None, None, Some(colours)]),
            decimal_point: self.of(&[".", ".", ",", "\u{66b}"]).to_owned(),
        }
    }
}

fn rows(text: &str) -> (Vec<IostatRow>, Vec<Damage>) {
    let (readings, damages) = parse(text.as_bytes());
    let row = |found| if let Content::Device(row) | Content::Processors(row) = found { Some(*row) } else { None };
    (readings.into_iter().filter_map(|reading| row(reading.found)).collect(), damages)
}

/// The value in JSON. It has no columns of old versions, and writes and discards are never one.
fn expected(row: &IostatRow, column: &str) -> Option<f64> {
    let name = column.replace('%', "");
    let part = |(unit, rest): (&str, &str), part: &str| row.value(&[&format!("{unit}_{part}{rest}")]);
    match name.split_once("_w+d") {
        Some(names) => Some(part(names, "wrtn")? + part(names, "dscd")?),
        None => row.value(&[&name]),
    }
}

/// True if a value of text is the one in JSON, to half of the last digit that is printed.
fn is_same(layout: &Layout, column: &str, found: f64, expected: f64) -> bool {
    let is_sum = ["_read", "_wrtn", "_dscd", "_w+d"].iter().any(|end| column.ends_with(end));
    let decimals = if layout.spelling == Spelling::Human { layout.decimals.min(1) } else { layout.decimals };
    let half = 0.5 / 10_f64.powi(i32::try_from(decimals).unwrap());
    // A number with its own unit is at least one of it, and small ones are at least 0.0k: two blocks.
    let of_unit = if layout.spelling == Spelling::Human { expected.abs().max(2.0) } else { 1.0 };
    // JSON has whole units of sums, and two decimals of rates.
    (found - expected).abs() <= half * of_unit + if is_sum { 2.0 } else { 0.011 }
}

fn check(number: u64) {
    let mut random = Random(number);
    let layout = random.layout();
    let moment =
        random.of(&[None, Some("11/27/26 08:17:44"), Some("2026-11-27T08:17:44+0000"), Some("27.11.26 8.17.44")]);
    let reports: Vec<Report> = (0..=random.next() % 2).map(|_| random.report(moment)).collect();
    let host = Host { system: "Linux".into(), release: "6.1.0".into(), name: "vm".into(), ..Host::default() };
    let printed: String =
        text::head(&host) + &reports.iter().map(|report| text::report(report, &layout)).collect::<String>();
    let documents: Vec<String> =
        reports.iter().map(|report| json::report(report, layout.columns, layout.unit)).collect();
    let (of_json, _) = rows(&(json::head(&host) + &documents.join(json::SEPARATOR) + "\n" + json::TAIL));
    let (of_text, damages) = rows(&printed);
    let context = || format!("report {number}: {layout:?}\n{printed}");
    assert!(damages.is_empty(), "{damages:?} {}", context());
    assert_eq!(of_text.len(), of_json.len(), "{}", context());
    for (text, json) in of_text.iter().zip(&of_json) {
        assert_eq!((text.device.trim(), &text.date), (json.device.trim(), &json.date), "{}", context());
        for (column, &found) in text.columns.iter().zip(&text.values) {
            // Before discards there were none in this column.
            let other = layout.columns == Columns::BasicOld && column == "tps";
            let same = other || expected(json, column).is_none_or(|expected| is_same(&layout, column, found, expected));
            assert!(same, "{column} is {found} in {text:?}, {json:?} {}", context());
        }
    }
    (0..4).for_each(|_| check_cut(&mut random, &printed, &of_text, &context));
}

/// Of a report that is cut, each value is that of the whole one, and what is missing is said unless a line ends there.
fn check_cut(random: &mut Random, printed: &str, whole: &[IostatRow], context: &dyn Fn() -> String) {
    let end = usize::try_from(random.next()).unwrap() % printed.len();
    let Some(cut) = printed.get(..end) else { return };
    let (found, damages) = rows(cut);
    assert!(found.len() <= whole.len(), "cut at {end}: {}", context());
    let last = found.len().saturating_sub(1);
    for (index, (found, whole)) in found.iter().zip(whole).enumerate() {
        // The name may be what is cut, where it is last.
        let named = found.device == whole.device || index == last && whole.device.starts_with(&found.device);
        let same = found.values == whole.values[..found.values.len()]
            && found.columns[..] == whole.columns[..found.columns.len()];
        assert!(named && same, "cut at {end}: {found:?} of {whole:?} {damages:?} {}", context());
        assert!(
            found.values.len() == whole.values.len() || !damages.is_empty(),
            "cut at {end}: {found:?} {}",
            context()
        );
    }
}

#[test]
fn reports_of_all_forms_are_read_back() {
    let count = std::env::var("PLUMB_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(200);
    (0..count).for_each(check);
}
