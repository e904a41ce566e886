//! Parts that a build may omit (cargo features of this crate), and the message for a part that is missing.
//!
//! See docs/building.md for each feature.

use crate::failure::Failure;
use std::sync::LazyLock;

/// A part of the program that is built only with a cargo feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// Charts and HTML pages.
    Report,
    /// Pages and charts as PDF.
    Pdf,
    /// Tables of measurements as Parquet.
    Parquet,
    /// iozone's tables as .xlsx.
    Workbook,
    /// The screen of `plumb watch`.
    Live,
    /// The store of results, their history and trend.
    Store,
    /// Metrics for a receiver of OTLP.
    Otlp,
}

impl Feature {
    /// All features, in the order of the version text.
    const ALL: [Feature; 7] = [
        Feature::Report,
        Feature::Pdf,
        Feature::Parquet,
        Feature::Workbook,
        Feature::Live,
        Feature::Store,
        Feature::Otlp,
    ];

    /// The name in Cargo.toml, and true if this build has the feature.
    const fn row(self) -> (&'static str, bool) {
        match self {
            Feature::Report => ("report", cfg!(feature = "report")),
            Feature::Pdf => ("pdf", cfg!(feature = "pdf")),
            Feature::Parquet => ("parquet", cfg!(feature = "parquet")),
            Feature::Workbook => ("workbook", cfg!(feature = "workbook")),
            Feature::Live => ("live", cfg!(feature = "live")),
            Feature::Store => ("store", cfg!(feature = "store")),
            Feature::Otlp => ("otlp", cfg!(feature = "otlp")),
        }
    }

    /// The part that a command belongs to.
    pub(crate) fn of_command(name: &str) -> Option<Feature> {
        match name {
            "report" | "plot" => Some(Feature::Report),
            "watch" => Some(Feature::Live),
            "store" | "history" | "trend" => Some(Feature::Store),
            _ => None,
        }
    }

    /// Refuses `what` if this build does not have the feature.
    pub(crate) fn require(self, what: &str) -> Result<(), Failure> {
        match self.row() {
            (_, true) => Ok(()),
            (name, false) => Err(Failure::not_built(what, name)),
        }
    }
}

/// The version, and below it the features of this build: `+report -live`.
pub(crate) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let marks = Feature::ALL.map(|feature| match feature.row() {
            (name, true) => format!("+{name}"),
            (name, false) => format!("-{name}"),
        });
        format!("{}\nfeatures: {}", env!("CARGO_PKG_VERSION"), marks.join(" "))
    });
    &VERSION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_built_is_refused_by_its_name() {
        for feature in Feature::ALL {
            let (name, built) = feature.row();
            let refused = feature.require("x").err().map(|failure| failure.message().to_owned());
            assert_eq!(refused.is_none(), built, "{name}");
            assert!(refused.is_none_or(|message| message.contains(&format!("without the feature `{name}`"))));
            assert!(version().contains(&format!("{}{name}", if built { '+' } else { '-' })), "{name}");
        }
    }
}
