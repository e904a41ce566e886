//! A row of iozone's table of another run: rates that no disk has.
//!
//! Signals: the rates. iozone does one record at a time, so each is a time for a record.

use super::{CACHE, CHECKS, Needs, note};
use measure::text;
use model::reading::{IozoneRow, IozoneUnit};
use model::{Grade, Note};

/// No disk answers sooner: the command and the interrupt take this long.
const FASTEST_REQUEST_S: f64 = 3e-6;
/// Nor does one thread get more bytes per second than these from disks.
const FASTEST_BYTES_PER_SECOND: f64 = 32e9;

/// The remark on a row, of the check `cache`, and that the others were not possible.
pub fn check_iozone_row(row: &IozoneRow) -> Vec<Note> {
    // Those that need samples are known to be impossible.
    let not_checked = CHECKS.iter().filter(|check| check.needs == Needs::Own).map(|check| {
        let sentence = "the table states rates without the jobs that they are of".to_owned();
        Note { check: check.id.to_owned(), ..note(Grade::NotChecked, sentence, &[]) }
    });
    judge(row).into_iter().chain(not_checked).collect()
}

fn judge(row: &IozoneRow) -> Option<Note> {
    let record = row.record_bytes;
    let seconds = |value: f64| match row.head.unit {
        IozoneUnit::KibPerSecond => record / (1024.0 * value),
        IozoneUnit::OperationsPerSecond => 1.0 / value,
        IozoneUnit::MicrosecondsPerOperation => value / 1e6,
    };
    let least = FASTEST_REQUEST_S + record / FASTEST_BYTES_PER_SECOND;
    let times = row.values.iter().filter(|(_, value)| *value > 0.0).map(|&(test, value)| (test, seconds(value)));
    let mut too_fast: Vec<(&str, f64)> = times.filter(|&(_, seconds)| seconds < least).collect();
    too_fast.sort_by(|one, other| one.1.total_cmp(&other.1));
    let &(test, fastest) = too_fast.first()?;
    let others = match too_fast.len() - 1 {
        0 => String::new(),
        1 => ", and so was another test".to_owned(),
        more => format!(", and so were {more} other tests"),
    };
    let sentence = format!(
        "{test} took {} for a record of {}, which is faster than any disk: memory answered{others}",
        text::time(fastest * 1e9),
        text::rounded_size(record)
    );
    let evidence = [("record_bytes", record), ("record_ns", fastest * 1e9), ("fastest_disk_ns", least * 1e9)];
    Some(Note { check: CACHE.to_owned(), ..note(Grade::NotAStorageResult, sentence, &evidence) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::IozoneHead;

    fn said(unit: IozoneUnit, record_bytes: f64, values: &[(&'static str, f64)]) -> Option<String> {
        let head = IozoneHead { unit, ..IozoneHead::default() };
        let row = IozoneRow { head, record_bytes, values: values.to_vec(), ..IozoneRow::default() };
        check_iozone_row(&row).into_iter().find(|note| note.check == CACHE).map(|note| note.sentence)
    }

    #[test]
    fn a_record_that_is_faster_than_any_disk_came_from_memory() {
        let kib = |record_kib: f64, values| said(IozoneUnit::KibPerSecond, 1024.0 * record_kib, values);
        assert_eq!(
            kib(4.0, &[("write", 1_363_069.0), ("read", 8_883_968.0), ("reread", 400_000.0)]).as_deref(),
            Some(
                "read took 450 ns for a record of 4 KiB, which is faster than any disk: memory answered, and so was another test"
            )
        );
        assert_eq!(kib(4.0, &[("read", 400_000.0)]), None, "10 µs");
        assert_eq!(kib(1024.0, &[("read", 12_000_000.0)]), None, "87 µs, as fast disks do");
        assert!(kib(1024.0, &[("read", 60_000_000.0)]).is_some(), "17 µs");
        assert_eq!(kib(4.0, &[("write", 0.0)]), None, "not measured");
        assert!(said(IozoneUnit::OperationsPerSecond, 4096.0, &[("read", 2e6)]).is_some());
        assert!(said(IozoneUnit::MicrosecondsPerOperation, 4096.0, &[("read", 0.5)]).is_some());
        assert_eq!(said(IozoneUnit::MicrosecondsPerOperation, 4096.0, &[("read", 80.0)]), None);
    }
}
