//! iostat's environment: variables, the terminal, the clock.

use formats::iostat::Colours;
use jiff::Zoned;
use std::io::IsTerminal;

/// The environment, read once.
pub(crate) struct Surroundings {
    pub(crate) root: Option<String>,
    /// True if amounts are blocks of 512 bytes: `POSIXLY_CORRECT`.
    pub(crate) blocks: bool,
    /// `S_COLORS`, `S_COLORS_SGR`.
    pub(crate) colours: Option<Colours>,
    /// Formats of dates and of times.
    formats: [&'static str; 2],
}

/// As in the C locale: `11/20/26 11:25:04`.
const C_LOCALE: [&str; 2] = ["%m/%d/%y", "%m/%d/%y %H:%M:%S"];
/// `S_TIME_FORMAT=ISO`: `2026-11-20T11:25:04+0000`.
const ISO: [&str; 2] = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%z"];

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
            formats: if iso { ISO } else { C_LOCALE },
        }
    }

    pub(crate) fn date(&self) -> String {
        Zoned::now().strftime(self.formats[0]).to_string()
    }

    /// The current date and time.
    pub(crate) fn moment(&self) -> String {
        Zoned::now().strftime(self.formats[1]).to_string()
    }
}
