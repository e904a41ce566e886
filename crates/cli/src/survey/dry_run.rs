//! `--dry-run`: the tests of a survey with time, bytes and wear, printed instead of running them.

use crate::width::wrapped;
use measure::{Nanos, text};
use survey::{Estimate, Precondition, Preparation, TestTime, WarmUp, short_size};

/// Maximum number of tests that are listed; further ones are only counted.
const MOST_LINES: usize = 200;
const GB: f64 = 1e9;

/// The whole plan as text.
pub(super) fn render(prepared: &Preparation, width: usize) -> String {
    let Preparation { request, found, suite, time, warm_up, .. } = prepared;
    let settles = request.precondition == Precondition::Steady;
    let estimate = Estimate { settles, ..Estimate::of(&suite.tests, *time, found.prepared_bytes(request)) };
    let mut text = wrapped(&format!("Dry run: nothing is done. {}", found.describe()), "", width);
    text.push('\n');
    for (number, test) in suite.tests.iter().take(MOST_LINES).enumerate() {
        text.push_str(&format!("{:>5}  {}\n", number + 1, test.describe()));
    }
    if suite.tests.len() > MOST_LINES {
        text.push_str(&format!("       and {} more\n", suite.tests.len() - MOST_LINES));
    }
    let left: Vec<&str> = suite.left_out.iter().map(|kind| kind.title()).collect();
    if !left.is_empty() {
        text.push_str(&wrapped(&format!("Left out, because it would overwrite data: {}.", left.join(", ")), "", width));
    }
    text.push('\n');
    text.push_str(&wrapped(&duration(*time, *warm_up, &estimate), "  ", width));
    text.push_str(&wrapped(&wear(&estimate), "  ", width));
    text.push_str(&wrapped(&format!("Engine: {}.", suite.engine), "  ", width));
    text
}

fn duration(time: TestTime, warm_up: WarmUp, estimate: &Estimate) -> String {
    let each = format!("{} tests of {} s", estimate.tests, time.time.as_secs_f64());
    let measured = text::clock(estimate.measured.as_duration());
    match warm_up {
        WarmUp::Steady => format!("Time: {each} are {measured}, and before each of them I/O until it is steady."),
        WarmUp::Seconds(_) if time.ramp == Nanos::ZERO => format!("Time: {each} are {measured}."),
        WarmUp::Seconds(_) => format!(
            "Time: {each} are {measured}, and {} s before each of them that do not count: {} in all{}.",
            time.ramp.as_secs_f64(),
            text::clock(estimate.measured.saturating_add(estimate.warm_up).as_duration()),
            if estimate.prepared_bytes > 0 { ", after the writing" } else { "" }
        ),
    }
}

/// The line on what is written, before and during the tests.
pub(super) fn wear(estimate: &Estimate) -> String {
    if estimate.prepared_bytes == 0 && estimate.writing == Nanos::ZERO {
        return "Wear: nothing is written.".to_owned();
    }
    let more = if estimate.settles { " and more, until the rate is settled," } else { "" };
    let mut text = format!("Wear: {}{more} are written before the first test", short_size(estimate.prepared_bytes));
    if estimate.writing > Nanos::ZERO {
        text.push_str(&format!(
            ", and for {} tests write as fast as the disk takes it: {:.0} GB in all at 100 MB/s, {:.0} GB at 1 GB/s",
            text::clock(estimate.writing.as_duration()),
            estimate.written_at(0.1 * GB) / GB,
            estimate.written_at(GB) / GB
        ));
    }
    text + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_that_only_reads_wears_nothing() {
        assert_eq!(wear(&Estimate::default()), "Wear: nothing is written.");
        let writes = Estimate { prepared_bytes: 1 << 30, writing: Nanos::from_secs(60), ..Estimate::default() };
        let settling = Estimate { settles: true, ..writes };
        assert!(wear(&settling).starts_with("Wear: 1G and more, until the rate is settled, are written before"));
        assert!(wear(&writes).contains("1G are written") && wear(&writes).contains("7 GB in all at 100 MB/s"));
    }
}
