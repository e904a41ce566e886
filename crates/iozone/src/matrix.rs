//! Combinations of file size and record size.

use crate::settings::Settings;

/// File size from which small records are skipped, in kB.
const CROSSOVER_KB: u64 = 16 << 10;
/// Smallest record size for such files, in kB.
const CROSSOVER_RECORD_KB: u64 = 64;

/// The sizes of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sizes {
    /// File size in kB.
    pub file_kb: u64,
    /// Record size in kB.
    pub record_kb: u64,
}

/// The rows, and the first one whose record is larger than its file, if any: iozone runs the rows before it and stops
/// there.
pub fn rows(settings: &Settings) -> (Vec<Sizes>, Option<Sizes>) {
    if !settings.is_matrix() {
        let size = settings.sizes_kb.first().copied().unwrap_or(Settings::SIZE_KB);
        let record = settings.records_kb.first().copied().unwrap_or(Settings::RECORD_KB);
        return (vec![Sizes { file_kb: size, record_kb: record }], None);
    }
    let (least, most) = settings.size_range_kb;
    let sizes = if settings.sizes_kb.is_empty() { steps(least, most, settings) } else { rising(&settings.sizes_kb) };
    let mut rows = Vec::new();
    for file_kb in sizes {
        let records = records(settings, file_kb);
        match records.first() {
            Some(&record_kb) if record_kb > file_kb => return (rows, Some(Sizes { file_kb, record_kb })),
            _ => {
                let fitting = records.into_iter().filter(|&record_kb| record_kb <= file_kb);
                rows.extend(fitting.map(|record_kb| Sizes { file_kb, record_kb }));
            }
        }
    }
    (rows, None)
}

/// Record sizes of a matrix for a file, also those that are larger than the file.
fn records(settings: &Settings, size: u64) -> Vec<u64> {
    let is_given = settings.record_range_kb != (None, None) || !settings.sizes_kb.is_empty();
    let mut records = report_records_kb(settings);
    if size > CROSSOVER_KB && !settings.no_crossover && !is_given {
        records.retain(|&record| record >= CROSSOVER_RECORD_KB);
    }
    records
}

/// The record sizes that have a column in the report tables, in kB.
pub fn report_records_kb(settings: &Settings) -> Vec<u64> {
    let (least, most) = settings.record_bounds_kb();
    if settings.records_kb.len() > 1 { rising(&settings.records_kb) } else { steps(least, most, settings) }
}

/// Sizes from one to another, each larger by the factor of the settings.
fn steps(from: u64, to: u64, settings: &Settings) -> Vec<u64> {
    std::iter::successors(Some(from.max(1)), |&size| size.checked_mul(settings.multiplier.max(2)))
        .take_while(|&size| size <= to)
        .collect()
}

/// A list of sizes as iozone walks it: those that are larger than all before them.
fn rising(given: &[u64]) -> Vec<u64> {
    let mut kept = Vec::new();
    for &size in given {
        if kept.last().is_none_or(|&last| size > last) {
            kept.push(size);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::Mode;

    fn matrix(change: impl FnOnce(&mut Settings)) -> Vec<(u64, u64)> {
        let mut settings = Settings { mode: Mode::Auto, ..Settings::default() };
        change(&mut settings);
        in_kb(&settings)
    }

    fn in_kb(settings: &Settings) -> Vec<(u64, u64)> {
        rows(settings).0.iter().map(|sizes| (sizes.file_kb, sizes.record_kb)).collect()
    }

    #[test]
    fn a_matrix_doubles_both_ways() {
        let found = matrix(|settings| settings.size_range_kb = (64, 128));
        assert_eq!(found.len(), 5 + 6);
        assert_eq!((found[0], found[10]), ((64, 4), (128, 128)));
    }

    #[test]
    fn beyond_the_crossover_small_records_are_left_out() {
        let large = |settings: &mut Settings| settings.size_range_kb = (32 << 10, 32 << 10);
        assert_eq!(matrix(large)[0], (32 << 10, 64));
        let all = matrix(|settings| {
            large(settings);
            settings.no_crossover = true;
        });
        assert_eq!(all[0], (32 << 10, 4));
    }

    #[test]
    fn a_record_larger_than_its_file_ends_the_matrix() {
        let settings = Settings { mode: Mode::Auto, record_range_kb: (Some(128), None), ..Settings::default() };
        assert_eq!(rows(&settings), (Vec::new(), Some(Sizes { file_kb: 64, record_kb: 128 })));
    }

    #[test]
    fn lists_are_walked_in_order() {
        let settings = Settings { sizes_kb: vec![64, 128], records_kb: vec![4, 16], ..Settings::default() };
        assert_eq!(in_kb(&settings), [(64, 4), (64, 16), (128, 4), (128, 16)]);
        let settings = Settings { sizes_kb: vec![64, 128, 32], ..settings };
        assert_eq!(in_kb(&settings), [(64, 4), (64, 16), (128, 4), (128, 16)], "a smaller one is passed over");
        let settings = Settings { records_kb: Vec::new(), ..settings };
        assert_eq!(rows(&settings).0.len(), 5 + 6, "what is not listed is a matrix");
    }
}
