//! Weighted linear least squares with at most three coefficients, solved by the normal equations.

use super::Estimate;

/// Fitted coefficients with their covariance.
#[derive(Clone, Debug)]
pub(super) struct Fit<const N: usize> {
    pub(super) values: [f64; N],
    covariance: [[f64; N]; N],
    /// Degrees of freedom: rows minus coefficients.
    freedom: usize,
}

impl<const N: usize> Fit<N> {
    pub(super) fn estimate(&self, k: usize) -> Estimate {
        self.of(self.values[k], self.covariance[k][k])
    }

    /// Estimate of 1 ÷ a coefficient.
    pub(super) fn inverse(&self, k: usize) -> Estimate {
        let value = 1.0 / self.values[k];
        self.of(value, self.covariance[k][k] * value.powi(4))
    }

    /// Estimate of one coefficient ÷ another, by the delta method.
    pub(super) fn ratio(&self, k: usize, by: usize) -> Estimate {
        let ratio = self.values[k] / self.values[by];
        let (own, theirs, both) = (self.covariance[k][k], self.covariance[by][by], self.covariance[k][by]);
        self.of(ratio, (own + ratio * ratio * theirs - 2.0 * ratio * both) / self.values[by].powi(2))
    }

    fn of(&self, value: f64, variance: f64) -> Estimate {
        let standard_error = if self.freedom == 0 { f64::INFINITY } else { variance.max(0.0).sqrt() };
        Estimate::with_error(value, standard_error, self.freedom)
    }
}

/// Fits y ≈ Σ c[k] · x[k] to the least relative errors: rows ÷ y. `None` if undetermined, or a y is not positive.
pub(super) fn relative<const N: usize>(rows: &[([f64; N], f64)]) -> Option<Fit<N>> {
    if rows.iter().any(|(_, y)| !y.is_finite() || *y <= 0.0) {
        return None;
    }
    absolute(&rows.iter().map(|(x, y)| (x.map(|x| x / y), 1.0)).collect::<Vec<_>>())
}

/// Fits y ≈ Σ c[k] · x[k]. Columns are scaled first, because their magnitudes differ by many powers of ten.
fn absolute<const N: usize>(rows: &[([f64; N], f64)]) -> Option<Fit<N>> {
    if rows.len() < N || rows.iter().any(|(x, y)| !y.is_finite() || x.iter().any(|x| !x.is_finite())) {
        return None;
    }
    let scale: [f64; N] =
        std::array::from_fn(|k| rows.iter().map(|(x, _)| x[k].powi(2)).sum::<f64>().sqrt().max(f64::MIN_POSITIVE));
    let scaled: Vec<([f64; N], f64)> =
        rows.iter().map(|(x, y)| (std::array::from_fn(|k| x[k] / scale[k]), *y)).collect();
    let mut normal = [[0.0; N]; N];
    let mut right = [0.0; N];
    for (row, y) in &scaled {
        for i in 0..N {
            right[i] += row[i] * y;
            for j in 0..N {
                normal[i][j] += row[i] * row[j];
            }
        }
    }
    let inverse = inverted(normal)?;
    let fitted: [f64; N] = std::array::from_fn(|i| (0..N).map(|j| inverse[i][j] * right[j]).sum());
    let left: f64 = scaled.iter().map(|(row, y)| (y - (0..N).map(|k| row[k] * fitted[k]).sum::<f64>()).powi(2)).sum();
    let freedom = rows.len() - N;
    let variance = if freedom == 0 { 0.0 } else { left / crate::run_facts::float(freedom as u64) };
    Some(Fit {
        values: std::array::from_fn(|k| fitted[k] / scale[k]),
        covariance: std::array::from_fn(|i| std::array::from_fn(|j| variance * inverse[i][j] / scale[i] / scale[j])),
        freedom,
    })
}

/// Inverts a matrix by Gauss-Jordan elimination with pivoting; `None` if it is nearly singular.
fn inverted<const N: usize>(mut matrix: [[f64; N]; N]) -> Option<[[f64; N]; N]> {
    let mut inverse: [[f64; N]; N] = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for column in 0..N {
        let pivot = (column..N).max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))?;
        if matrix[pivot][column].abs() < 1e-12 {
            return None;
        }
        matrix.swap(column, pivot);
        inverse.swap(column, pivot);
        let by = matrix[column][column];
        matrix[column].iter_mut().chain(inverse[column].iter_mut()).for_each(|cell| *cell /= by);
        let (line, line_inverse) = (matrix[column], inverse[column]);
        for row in (0..N).filter(|&row| row != column) {
            let by = matrix[row][column];
            for k in 0..N {
                matrix[row][k] -= by * line[k];
                inverse[row][k] -= by * line_inverse[k];
            }
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_line_is_found_exactly() {
        let rows: Vec<([f64; 2], f64)> =
            (9..24).map(|power| f64::from(1 << power)).map(|size| ([1.0, size], 1e-4 + size / 5e8)).collect();
        let fit = relative(&rows).unwrap();
        let (access, rate) = (fit.estimate(0), fit.inverse(1));
        assert!((access.value / 1e-4 - 1.0).abs() < 1e-9 && (rate.value / 5e8 - 1.0).abs() < 1e-9);
        assert!(access.standard_error < 1e-12 && access.half_width < 1e-11);
    }

    #[test]
    fn what_does_not_determine_a_line_gives_none() {
        assert!(relative::<2>(&[([1.0, 4.0], 1.0)]).is_none());
        assert!(relative(&[([1.0, 4.0], 1.0), ([1.0, 4.0], 1.1), ([1.0, 4.0], 1.2)]).is_none());
        assert!(relative(&[([1.0, 4.0], 0.0), ([1.0, 5.0], 1.1)]).is_none());
    }

    #[test]
    fn intervals_are_those_of_the_textbook() {
        // Five points near y = 1 + 2x; t(0.975, 3) is 3.182446.
        let rows = [(0.0, 1.2), (1.0, 2.8), (2.0, 5.1), (3.0, 6.8), (4.0, 9.1)].map(|(x, y)| ([1.0, x], y));
        let fit = absolute(&rows).unwrap();
        let (intercept, slope) = (fit.estimate(0), fit.estimate(1));
        assert!((slope.value - 1.98).abs() < 1e-9 && (intercept.value - 1.04).abs() < 1e-9, "{slope:?} {intercept:?}");
        let t = slope.half_width / slope.standard_error;
        assert!((t - 3.182_446).abs() < 1e-5, "{t}");
        let left: f64 = rows.iter().map(|(x, y)| (y - 1.04 - 1.98 * x[1]).powi(2)).sum();
        assert!((slope.standard_error - (left / 3.0 / 10.0).sqrt()).abs() < 1e-12, "{slope:?}");
    }
}
