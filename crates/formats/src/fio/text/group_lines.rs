//! The `Run status group` section and its line per direction.

use crate::fio::group::{Group, GroupSum, Shown};
use crate::write_number::{Step, scaled};
use measure::Direction;
use model::ReportStyle;
use std::fmt::Write;

/// Appends the group's header and its lines.
pub(super) fn write(text: &mut String, group: &Group) {
    let _ = writeln!(text, "\nRun status group {} (all jobs):", group.number);
    for direction in Direction::ALL {
        if let Some(sum) = &group.sums[direction] {
            text.push_str(&line(Shown::One(direction), sum, &group.style));
        }
    }
    if let Some(sum) = &group.mixed {
        text.push_str(&line(Shown::Mixed, sum, &group.style));
    }
}

fn line(kind: Shown, sum: &GroupSum, style: &ReportStyle) -> String {
    let step = Step::of_base(style.unit_base);
    let rates = |step| {
        let rate = |value| rate(value, style, step);
        (rate(sum.bytes_per_second()), rate(sum.slowest), rate(sum.fastest))
    };
    let (first, second) = (rates(step), rates(step.other()));
    let amount = |step| scaled(sum.bytes, style.significant_figures, step, "B");
    format!(
        "{:>7}: bw={} ({}), {}-{} ({}-{}), io={} ({}), run={}-{}msec\n",
        kind.word().to_uppercase(),
        first.0,
        second.0,
        first.1,
        first.2,
        second.1,
        second.2,
        amount(step),
        amount(step.other()),
        sum.shortest_ms,
        sum.longest_ms
    )
}

/// Formats a rate with its unit: bytes, or bits with `unit_base=1`.
pub(super) fn rate(bytes_per_second: u64, style: &ReportStyle, step: Step) -> String {
    let figures = style.significant_figures;
    if style.bits {
        scaled(bytes_per_second.saturating_mul(8), figures, step, "bit/s")
    } else {
        scaled(bytes_per_second, figures, step, "B/s")
    }
}
