//! Rows of histogram logs: `time, direction, size, bins...`.

use measure::{Direction, Histogram};
use std::io::Write;

/// Bins in a row at full resolution: 29 groups of 64; the last bin also collects all longer latencies.
pub const COLUMNS: usize = 1856;

/// Converts a histogram to the bins of a row. plumb's histogram has a larger range than fio's; latencies above fio's
/// range go to the last bin.
pub fn fold(histogram: &Histogram, bins: &mut [u64; COLUMNS]) {
    let counts = histogram.counts();
    bins.copy_from_slice(&counts[..COLUMNS]);
    let beyond = counts[COLUMNS..].iter().copied().fold(0, u64::saturating_add);
    bins[COLUMNS - 1] = bins[COLUMNS - 1].saturating_add(beyond);
}

/// Reduces the resolution: each bin becomes the sum of 2^`coarseness` adjacent bins (`log_hist_coarseness`).
pub fn coarser(bins: &[u64; COLUMNS], coarseness: u32) -> impl Iterator<Item = u64> {
    bins.chunks(1 << coarseness.min(6)).map(|chunk| chunk.iter().sum())
}

/// Appends a row as a line of text.
pub fn push_histogram(
    text: &mut Vec<u8>,
    at_ms: u64,
    direction: Direction,
    block: u64,
    bins: impl Iterator<Item = u64>,
) {
    // Writing to a vector cannot fail.
    let _ = write!(text, "{at_ms}, {}, {block}", direction as u8);
    for bin in bins {
        let _ = write!(text, ", {bin}");
    }
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Nanos;

    #[test]
    fn a_row_keeps_every_count_at_any_coarseness_and_latency() {
        let mut histogram = Histogram::new();
        for latency in [3, 127, 5_000, 20_000_000_000, 900_000_000_000] {
            histogram.record(Nanos(latency));
        }
        let mut bins = [0; COLUMNS];
        fold(&histogram, &mut bins);
        assert_eq!((bins[3], bins[127], bins[COLUMNS - 1]), (1, 1, 2));
        for coarseness in 0..=6 {
            let row: Vec<u64> = coarser(&bins, coarseness).collect();
            assert_eq!((row.len(), row.iter().sum::<u64>()), (COLUMNS >> coarseness, 5), "coarseness {coarseness}");
        }
    }

    #[test]
    fn a_row_is_time_direction_size_and_bins() {
        let mut text = Vec::new();
        push_histogram(&mut text, 100, Direction::Trim, 4096, [0, 7].into_iter());
        assert_eq!(String::from_utf8(text).unwrap(), "100, 2, 4096, 0, 7\n");
    }
}
