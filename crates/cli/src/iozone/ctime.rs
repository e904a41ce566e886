//! The time of day as iozone prints it.

/// The current time in the format of ctime(3).
pub(super) fn began() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let ms = u64::try_from(now.as_millis()).unwrap_or(0);
    formats::local_time::spelled(ms, &jiff::tz::TimeZone::system())
}
