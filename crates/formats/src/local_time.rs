//! Times in the format of fio's reports, `Fri Nov 20 09:57:44 2026`, in a given time zone.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Formats milliseconds since 1970 UTC as date and time in `zone`, in the layout of ctime(3).
pub fn spelled(unix_ms: u64, zone: &TimeZone) -> String {
    let moment =
        i64::try_from(unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX);
    moment.to_zoned(zone.clone()).strftime("%a %b %e %H:%M:%S %Y").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::Offset;

    #[test]
    fn a_moment_is_spelled_in_the_zone_of_the_reader() {
        let zone = TimeZone::fixed(Offset::constant(2));
        assert_eq!(spelled(1_795_168_664_427, &TimeZone::UTC), "Fri Nov 20 09:57:44 2026");
        assert_eq!(spelled(1_793_491_199_000, &zone), "Sun Nov  1 01:59:59 2026");
        assert_eq!(spelled(0, &TimeZone::UTC), "Thu Jan  1 00:00:00 1970");
    }
}
