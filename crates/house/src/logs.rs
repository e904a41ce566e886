//! Integration of fio logs over time.

/// Sum of the rows of a direction (time in ms, value per second, direction), each multiplied by the length of its
/// window: it starts at the last multiple of `ms` before the row's time, or at the previous row if that is later. A
/// window without a completion has no row.
pub fn sum_over_time(rows: &[Vec<u64>], direction: u64, ms: u64) -> u64 {
    let (mut before, mut sum) = (0, 0);
    for row in rows.iter().filter(|row| row[2] == direction) {
        let began = (row[0].saturating_sub(1) / ms * ms).max(before);
        sum += row[1] * (row[0] - began);
        before = row[0];
    }
    sum / 1000
}
