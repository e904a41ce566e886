//! Combinations of file size and record size.

use crate::modes::Mode;
use crate::settings::Settings;

/// File size from which small records are skipped, in kB.
const CROSSOVER_KB: u64 = 16 << 10;
/// Smallest record size for such files, in kB.
const CROSSOVER_RECORD_KB: u64 = 64;

/// File size and record size in kB.
pub type Row = (u64, u64);

/// The rows, and the first one whose record is larger than its file, if any: iozone runs the rows before it and stops
/// there.
pub fn rows(settings: &Settings) -> (Vec<Row>, Option<Row>) {
    let lists = settings.sizes_kb.len() > 1 || settings.records_kb.len() > 1;
    if settings.mode != Mode::Auto && !lists {
        let size = settings.sizes_kb.first().copied().unwrap_or(Settings::SIZE_KB);
        let record = settings.records_kb.first().copied().unwrap_or(Settings::RECORD_KB);
        return (vec![(size, record)], None);
    }
    let auto = settings.mode == Mode::Auto;
    let sizes = match settings.sizes_kb.as_slice() {
        [] if auto => steps(settings.size_range_kb.0, settings.size_range_kb.1, settings.multiplier),
        [] => vec![Settings::SIZE_KB],
        given => ascending(given),
    };
    let mut rows = Vec::new();
    for size in sizes {
        let records = match settings.records_kb.as_slice() {
            [] if auto => match automatic(settings, size) {
                Ok(records) => records,
                Err(record) => return (rows, Some((size, record))),
            },
            [] => vec![Settings::RECORD_KB],
            given => ascending(given).into_iter().filter(|&record| record <= size).collect(),
        };
        rows.extend(records.into_iter().map(|record| (size, record)));
    }
    (rows, None)
}

/// Record sizes for a file in automatic mode, or an error with the smallest size if the file is smaller than that.
fn automatic(settings: &Settings, size: u64) -> Result<Vec<u64>, u64> {
    let (least, most) = settings.record_range_kb;
    let free = settings.no_crossover || least.is_some() || most.is_some() || !settings.sizes_kb.is_empty();
    let from = match least {
        Some(least) => least,
        None if size > CROSSOVER_KB && !free => CROSSOVER_RECORD_KB,
        None => Settings::RECORD_KB,
    };
    if from > size {
        return Err(from);
    }
    Ok(steps(from, most.unwrap_or(Settings::LARGEST_RECORD_KB).min(size), settings.multiplier))
}

fn steps(from: u64, to: u64, multiplier: u64) -> Vec<u64> {
    std::iter::successors(Some(from.max(1)), |&size| size.checked_mul(multiplier.max(2)))
        .take_while(|&size| size <= to)
        .collect()
}

fn ascending(given: &[u64]) -> Vec<u64> {
    let mut sorted = given.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(change: impl FnOnce(&mut Settings)) -> Vec<(u64, u64)> {
        let mut settings = Settings { mode: Mode::Auto, ..Settings::default() };
        change(&mut settings);
        rows(&settings).0
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
        assert_eq!(rows(&settings), (Vec::new(), Some((64, 128))));
    }

    #[test]
    fn lists_are_walked_in_order() {
        let settings = Settings { sizes_kb: vec![64, 128], records_kb: vec![4, 16], ..Settings::default() };
        assert_eq!(rows(&settings).0, [(64, 4), (64, 16), (128, 4), (128, 16)]);
    }
}
