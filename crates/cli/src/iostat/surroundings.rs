//! iostat's environment: variables, the terminal, the clock.

use formats::iostat::Colours;
use jiff::Zoned;
use std::io::IsTerminal;

/// The environment, read once.
pub(crate) struct Surroundings {
    /// `PLUMB_ROOT`.
    pub(crate) root: Option<String>,
    /// True if amounts are blocks of 512 bytes: `POSIXLY_CORRECT`.
    pub(crate) blocks: bool,
    /// `S_COLORS`, `S_COLORS_SGR`.
    pub(crate) colours: Option<Colours>,
    spelling: Spelling,
}

/// Format of dates and times.
enum Spelling {
    /// As in the C locale: `11/20/26 11:25:04`.
    Usual,
    /// `S_TIME_FORMAT=ISO`: `2026-11-20T11:25:04+0000`.
    Iso,
}

impl Surroundings {
    /// Reads the environment of this process.
    pub(crate) fn here() -> Self {
        let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let coloured = match variable("S_COLORS").as_deref() {
            Some("never") => false,
            Some("always") => true,
            _ => std::io::stdout().is_terminal(),
        };
        let colours = || Colours::chosen(&variable("S_COLORS_SGR").unwrap_or_default());
        let iso = variable("S_TIME_FORMAT").as_deref() == Some("ISO");
        Surroundings {
            root: variable("PLUMB_ROOT").filter(|root| !root.is_empty()),
            blocks: variable("POSIXLY_CORRECT").is_some(),
            colours: coloured.then(colours),
            spelling: if iso { Spelling::Iso } else { Spelling::Usual },
        }
    }

    /// The current date.
    pub(crate) fn date(&self) -> String {
        let format = match self.spelling {
            Spelling::Usual => "%m/%d/%y",
            Spelling::Iso => "%Y-%m-%d",
        };
        Zoned::now().strftime(format).to_string()
    }

    /// The current date and time.
    pub(crate) fn moment(&self) -> String {
        let format = match self.spelling {
            Spelling::Usual => "%m/%d/%y %H:%M:%S",
            Spelling::Iso => "%Y-%m-%dT%H:%M:%S%z",
        };
        Zoned::now().strftime(format).to_string()
    }
}
