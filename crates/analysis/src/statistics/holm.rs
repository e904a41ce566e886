//! Several questions at once: which of them may be answered with yes, so that all answers are right with 95 %.

/// True for each probability whose hypothesis is rejected, with an error probability of `alpha` over all of them (Holm 1979).
/// A probability that is not a number is never rejected, and counts as a question.
pub fn rejected(probabilities: &[f64], alpha: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    let key = |at: usize| if probabilities[at].is_nan() { f64::INFINITY } else { probabilities[at] };
    order.sort_by(|&a, &b| key(a).total_cmp(&key(b)));
    let mut found = vec![false; probabilities.len()];
    for (rank, &at) in order.iter().enumerate() {
        let left = (probabilities.len() - rank) as f64;
        // The first that is not rejected ends it.
        if key(at) > alpha / left {
            break;
        }
        found[at] = true;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_the_error_that_is_left() {
        assert_eq!(rejected(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
        assert_eq!(rejected(&[0.04, 0.01], 0.05), [true, true]);
        assert_eq!(rejected(&[0.03, 0.04], 0.05), [false, false]);
        assert_eq!(rejected(&[], 0.05), [false; 0]);
        assert_eq!(rejected(&[f64::NAN, 0.001], 0.05), [false, true]);
    }
}
