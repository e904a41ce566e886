//! The numbers of a comparison in columns.

use super::{Metric, Row, Verdict, percent_of};
use crate::statistics::ALPHA;
use measure::text;

impl Row {
    /// `(−13.1 to −10.1)`, in percent; `None` without an interval.
    pub fn interval_text(&self) -> Option<String> {
        let (low, high) = self.change?.interval(ALPHA);
        let ends = [low, high].map(percent_of);
        let [low, high] = ends.map(text::signed);
        ends.iter().all(|end| end.is_finite()).then(|| format!("({low} to {high})"))
    }

    /// `−11.6 %`; `None` if a number is missing.
    pub fn change_text(&self) -> Option<String> {
        self.ratio().map(|ratio| text::signed(percent_of(ratio)) + " %")
    }

    /// The smallest change that would be seen: `2.1 %`.
    pub fn visible_text(&self) -> Option<String> {
        let visible = self.change.map(|change| change.smallest_visible().exp_m1())?;
        visible.is_finite().then(|| if visible > 9.99 { "> 999 %".to_owned() } else { text::percent(visible) })
    }

    /// Number, old, new, change, interval, verdict and smallest change that would be seen.
    pub fn cells(&self) -> [String; 7] {
        let number = |number: Option<f64>| number.map(|number| self.metric.text(number));
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        [
            self.metric.title(),
            or_dash(number(self.old)),
            or_dash(number(self.new)),
            or_dash(self.change_text()),
            self.interval_text().unwrap_or_default(),
            if self.old.is_some() && self.new.is_some() {
                self.verdict.word().to_owned()
            } else {
                "not known".to_owned()
            },
            self.visible_text().unwrap_or_default(),
        ]
    }
}

/// A table of rows of [`Row::cells`], or like them: words to the left, numbers to the right.
pub fn table(head: [&str; 7], rows: impl Iterator<Item = [String; 7]>) -> String {
    let lines: Vec<[String; 7]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    text::aligned(&lines, &[0, 5])
}

impl Metric {
    /// A rate or a latency with its unit.
    pub fn text(self, number: f64) -> String {
        if self == Metric::Iops { text::number(number) } else { text::time(number) }
    }
}

impl Verdict {
    /// The verdict with its sign.
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Same => "= same",
            Verdict::Better => "▲ better",
            Verdict::Worse => "▼ worse",
            Verdict::Slight => "≈ differs slightly",
            Verdict::CannotTell => "? cannot tell",
        }
    }
}
