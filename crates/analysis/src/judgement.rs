//! All that is found about a result, stored in it: the one order of its steps.

use crate::{checks, limiter, regime};
use model::RunResult;

/// Runs the checks on a result, and determines its limiting resource and its phases. All are stored in the result, and so in
/// its JSON. A limit and phases that the run itself found stay if its samples are not in the result.
///
/// ```
/// let mut result = model::RunResult::default();
/// analysis::judge(&mut result);
/// assert_eq!((result.limited_by, result.lasting), (None, None));
/// ```
pub fn judge(result: &mut RunResult) {
    if !result.is_judged() {
        result.limited_by = limiter::limited_by(result);
    }
    regime::describe(result);
    result.notes = checks::check(result);
}
