//! The time of day as iozone prints it.

/// The current time in the format of ctime(3).
pub(super) fn began() -> String {
    formats::local_time::spelled(measure::unix_ms(), &jiff::tz::TimeZone::system())
}
