//! iostat's environment: variables, the terminal, the clock.

use crate::failure::Failure;
use formats::iostat::{Colours, Thresholds};
use monitor::iostat::{Flag, Request};
use std::ffi::CStr;
use std::io::IsTerminal;
use std::time::SystemTime;
use sys::machine::locale::Locale;

/// The environment, read once.
pub(crate) struct Surroundings {
    pub(crate) root: Option<String>,
    /// True if amounts are blocks of 512 bytes: `POSIXLY_CORRECT`.
    pub(crate) blocks: bool,
    /// `S_COLORS`, `S_COLORS_SGR`.
    pub(crate) colours: Option<Colours>,
    /// Formats of dates and of times.
    formats: [&'static CStr; 2],
    /// `LC_TIME` and `LC_NUMERIC`.
    locale: Locale,
}

/// The locale's own: `11/20/26 11:25:04` in the C locale.
const OF_LOCALE: [&CStr; 2] = [c"%x", c"%x %X"];
/// `S_TIME_FORMAT=ISO`: `2026-11-20T11:25:04+0000`.
const ISO: [&CStr; 2] = [c"%Y-%m-%d", c"%Y-%m-%dT%H:%M:%S%z"];

impl Surroundings {
    /// Reads the environment of this process; what the command line requests comes first.
    pub(crate) fn of(request: &Request) -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let coloured = match variable("S_COLORS").as_deref() {
            Some("never") => false,
            Some("always") => true,
            _ => std::io::stdout().is_terminal(),
        };
        let thresholds = if request.has(Flag::NewLook) { Thresholds::Sysstat12_8 } else { Thresholds::Sysstat12_6 };
        let colours = || Colours::chosen(thresholds, &variable("S_COLORS_SGR").unwrap_or_default());
        let mut formats = if variable("S_TIME_FORMAT").as_deref() == Some("ISO") { ISO } else { OF_LOCALE };
        if request.has(Flag::EpochSeconds) {
            formats[1] = c"%s";
        }
        // As in locale(7): an empty variable counts as absent.
        let chosen = |category| {
            let mut names = ["LC_ALL", category, "LANG"].into_iter().filter_map(variable);
            names.find(|name| !name.is_empty()).unwrap_or_default()
        };
        let locale = Locale::named(&chosen("LC_TIME"), &chosen("LC_NUMERIC"));
        Ok(Surroundings {
            root: variable("PLUMB_ROOT").filter(|root| !root.is_empty()),
            blocks: variable("POSIXLY_CORRECT").is_some(),
            colours: coloured.then(colours),
            formats,
            locale: locale.map_err(|error| Failure::new(format!("iostat: {error}")))?,
        })
    }

    pub(crate) fn date(&self) -> String {
        self.now(self.formats[0])
    }

    /// The current date and time.
    pub(crate) fn moment(&self) -> String {
        self.now(self.formats[1])
    }

    /// The sign before the decimals of text.
    pub(crate) fn decimal_point(&self) -> String {
        self.locale.decimal_point()
    }

    fn now(&self, format: &CStr) -> String {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.locale.time(format, i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX))
    }
}
