//! What the echoed options of a fio job say about its results.

use model::{Echo, ReportStyle};

/// A job's options over the global ones.
pub(super) struct Words<'global> {
    own: Vec<(String, String)>,
    global: &'global [(String, String)],
}

impl<'global> Words<'global> {
    pub(super) fn new(own: Vec<(String, String)>, global: &'global [(String, String)]) -> Self {
        Words { own, global }
    }

    /// The last value of an option, the job's own first.
    fn get(&self, name: &str) -> Option<&str> {
        let last = |options: &'_ [(String, String)]| options.iter().rposition(|(option, _)| option == name);
        match last(&self.own) {
            Some(index) => Some(&self.own[index].1),
            None => last(self.global).map(|index| self.global[index].1.as_str()),
        }
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name).and_then(|value| value.trim().parse().ok())
    }

    /// Whether a flag is on; written without a value it is.
    fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| value.trim() != "0")
    }

    /// How many workers stand behind one row.
    pub(super) fn workers(&self) -> u32 {
        let merged = self.flag("group_reporting").unwrap_or(false);
        if merged { self.number("numjobs").unwrap_or(1).max(1) } else { 1 }
    }

    pub(super) fn echo(&self) -> Echo {
        let paths = self.get("filename").map(|names| names.split(':').map(str::to_owned).collect());
        Echo {
            description: self.get("description").map(str::to_owned),
            options: self.own.clone(),
            engine: self.get("ioengine").unwrap_or("psync").to_owned(),
            direct: self.flag("direct").unwrap_or(false),
            paths: paths.unwrap_or_default(),
            ..Echo::default()
        }
    }

    pub(super) fn style(&self) -> ReportStyle {
        let standard = ReportStyle::default();
        let list = self.get("percentile_list");
        let on = |name: &str| self.flag(name).unwrap_or(false);
        let measures_none = on("gtod_reduce");
        let completion = !measures_none && !on("disable_clat");
        let total = !measures_none && !on("disable_lat");
        ReportStyle {
            group_reporting: self.flag("group_reporting").unwrap_or(false),
            completion_percentiles: completion
                && self.flag("clat_percentiles").unwrap_or(standard.completion_percentiles),
            total_percentiles: total && self.flag("lat_percentiles").unwrap_or(standard.total_percentiles),
            submission_percentiles: self.flag("slat_percentiles").unwrap_or(standard.submission_percentiles),
            percentile_digits: list.map_or(standard.percentile_digits, most_decimals),
            unit_base: self.number("kb_base").unwrap_or(standard.unit_base),
            bits: self.number("unit_base") == Some(1),
            significant_figures: self
                .number("significant_figures")
                .map_or(standard.significant_figures, allowed_figures),
            shows_errors: self.get("continue_on_error").is_some_and(|value| value != "none" && value != "0"),
            ..standard
        }
    }
}

/// A double has no more digits to show.
const MOST_DECIMALS: usize = 17;

/// fio takes 1 to 10 figures.
fn allowed_figures(figures: usize) -> usize {
    figures.clamp(1, 10)
}

/// Most digits after a point in a list of numbers.
fn most_decimals(list: &str) -> usize {
    let decimals = |number: &str| number.trim().split_once('.').map_or(0, |(_, decimals)| decimals.len());
    list.split([':', ',']).map(decimals).max().unwrap_or(0).min(MOST_DECIMALS)
}
