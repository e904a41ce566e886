//! What an I/O costs by its size: a fixed part and a part for each byte, fitted to measured times.

/// time = fixed + per byte × size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    /// Nanoseconds of an I/O of no size.
    pub fixed_ns: f64,
    /// Nanoseconds for each byte.
    pub per_byte_ns: f64,
}

impl CostModel {
    /// Fits the line to (bytes, nanoseconds) so that the sum of the squared *relative* errors is least: a small I/O
    /// counts as much as a large one. `None` with fewer than two sizes, or where no time is known.
    ///
    /// Neither part is below zero: where the best line would have it so, the other part is fitted alone.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let known: Vec<(f64, f64)> = points.iter().copied().filter(|&(size, time)| size > 0.0 && time > 0.0).collect();
        let first = known.first()?.0;
        if known.iter().all(|&(size, _)| (size - first).abs() < 0.5) {
            return None;
        }
        // Weighted by 1 ÷ time²: (1, size) against 1, each divided by its time.
        let sum = |of: &dyn Fn(f64, f64) -> f64| known.iter().map(|&(size, time)| of(size, time)).sum::<f64>();
        let (ones, sizes) = (sum(&|_, t| 1.0 / (t * t)), sum(&|s, t| s / (t * t)));
        let (squares, times, products) = (sum(&|s, t| s * s / (t * t)), sum(&|_, t| 1.0 / t), sum(&|s, t| s / t));
        let determinant = ones * squares - sizes * sizes;
        let fixed_ns = (times * squares - products * sizes) / determinant;
        let per_byte_ns = (ones * products - sizes * times) / determinant;
        let model = if fixed_ns < 0.0 {
            CostModel { fixed_ns: 0.0, per_byte_ns: products / squares }
        } else if per_byte_ns < 0.0 {
            CostModel { fixed_ns: times / ones, per_byte_ns: 0.0 }
        } else {
            CostModel { fixed_ns, per_byte_ns }
        };
        (model.fixed_ns.is_finite() && model.per_byte_ns.is_finite()).then_some(model)
    }

    /// Nanoseconds of an I/O of so many bytes.
    pub fn time_ns(&self, bytes: f64) -> f64 {
        self.fixed_ns + self.per_byte_ns * bytes
    }

    /// Bytes per second that no block size exceeds; `None` where the size costs nothing.
    pub fn highest_rate(&self) -> Option<f64> {
        (self.per_byte_ns > 0.0).then(|| 1e9 / self.per_byte_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_true_line_is_found_again() {
        let truth = CostModel { fixed_ns: 80_000.0, per_byte_ns: 2.0 };
        let points: Vec<_> = (12..21).map(|power| f64::from(1 << power)).map(|s| (s, truth.time_ns(s))).collect();
        let found = CostModel::fit(&points).unwrap();
        assert!((found.fixed_ns / truth.fixed_ns - 1.0).abs() < 1e-6, "{found:?}");
        assert!((found.per_byte_ns / truth.per_byte_ns - 1.0).abs() < 1e-6, "{found:?}");
        assert_eq!(truth.highest_rate(), Some(5e8));
    }

    #[test]
    fn no_part_of_a_cost_is_negative() {
        let found = CostModel::fit(&[(4096.0, 1e3), (8192.0, 4e3), (16384.0, 16e3)]).unwrap();
        assert!(found.fixed_ns >= 0.0 && found.per_byte_ns > 0.0, "{found:?}");
        let found = CostModel::fit(&[(4096.0, 4e3), (8192.0, 2e3), (16384.0, 1e3)]).unwrap();
        assert!(found.fixed_ns > 0.0 && found.per_byte_ns == 0.0, "{found:?}");
    }

    #[test]
    fn one_size_is_no_line() {
        assert_eq!(CostModel::fit(&[]), None);
        assert_eq!(CostModel::fit(&[(4096.0, 1e3), (4096.0, 2e3)]), None);
        assert_eq!(CostModel::fit(&[(4096.0, 0.0), (8192.0, 2e3)]), None);
    }
}
