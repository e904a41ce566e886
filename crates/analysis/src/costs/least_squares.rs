//! Weighted linear least squares with at most three coefficients, by the normal equations.

use super::Estimate;

/// Fits y ≈ Σ c[k] · x[k] so that relative errors count: each row is divided by its y. Columns are scaled first, because
/// they differ by many powers of ten. `None` where rows do not determine the coefficients.
pub(super) fn relative<const N: usize>(rows: &[([f64; N], f64)]) -> Option<[Estimate; N]> {
    if rows.len() < N || rows.iter().any(|(_, y)| !y.is_finite() || *y <= 0.0) {
        return None;
    }
    let scale: [f64; N] = std::array::from_fn(|k| {
        rows.iter().map(|(x, y)| (x[k] / y).powi(2)).sum::<f64>().sqrt().max(f64::MIN_POSITIVE)
    });
    let scaled: Vec<[f64; N]> = rows.iter().map(|(x, y)| std::array::from_fn(|k| x[k] / y / scale[k])).collect();
    let mut normal = [[0.0; N]; N];
    let mut right = [0.0; N];
    for row in &scaled {
        for i in 0..N {
            right[i] += row[i];
            for j in 0..N {
                normal[i][j] += row[i] * row[j];
            }
        }
    }
    let inverse = inverted(normal)?;
    let fitted: [f64; N] = std::array::from_fn(|i| (0..N).map(|j| inverse[i][j] * right[j]).sum());
    let left: f64 = scaled.iter().map(|row| (1.0 - (0..N).map(|k| row[k] * fitted[k]).sum::<f64>()).powi(2)).sum();
    let freedom = rows.len() - N;
    let variance = if freedom == 0 { f64::INFINITY } else { left / crate::evidence::float(freedom as u64) };
    Some(std::array::from_fn(|k| Estimate {
        value: fitted[k] / scale[k],
        standard_error: (variance * inverse[k][k].max(0.0)).sqrt() / scale[k],
    }))
}

/// Gauss-Jordan with the largest pivot; `None` for a matrix that is as good as singular.
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
        let [access, per_byte] = relative(&rows).unwrap();
        assert!((access.value / 1e-4 - 1.0).abs() < 1e-9 && (per_byte.value * 5e8 - 1.0).abs() < 1e-9);
        assert!(access.standard_error < 1e-12);
    }

    #[test]
    fn what_does_not_determine_a_line_gives_none() {
        assert_eq!(relative::<2>(&[([1.0, 4.0], 1.0)]), None);
        assert_eq!(relative(&[([1.0, 4.0], 1.0), ([1.0, 4.0], 1.1), ([1.0, 4.0], 1.2)]), None);
        assert_eq!(relative(&[([1.0, 4.0], 0.0), ([1.0, 5.0], 1.1)]), None);
    }
}
