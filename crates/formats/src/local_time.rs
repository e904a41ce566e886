//! Times in the format of fio's reports, `Fri Nov 20 09:57:44 2026`, in a given time zone, and times that sort as text.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Formats milliseconds since 1970 UTC as date and time in `zone`, in the layout of ctime(3).
pub fn spelled(unix_ms: u64, zone: &TimeZone) -> String {
    let moment =
        i64::try_from(unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX);
    moment.to_zoned(zone.clone()).strftime("%a %b %e %H:%M:%S %Y").to_string()
}

/// Seconds since 1970 as `2026-11-20T09:57:44Z`.
pub(crate) fn utc(unix_s: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "saturates; a moment beyond the calendar is its end")]
    let moment = Timestamp::from_second(unix_s.floor() as i64).unwrap_or(Timestamp::MAX);
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A date as fio prints it, as `2026-11-20T09:57:44`, without the zone. Any other text is returned as it is.
pub(crate) fn sortable(printed: &str) -> String {
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    DateTime::strptime("%a %b %d %H:%M:%S %Y", &words)
        .map_or_else(|_| printed.to_owned(), |date| date.strftime("%Y-%m-%dT%H:%M:%S").to_string())
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

    #[test]
    fn times_sort_as_text() {
        assert_eq!(utc(1_795_168_664.9), "2026-11-20T09:57:44Z");
        assert_eq!(sortable("Fri Nov 20 09:57:44 2026"), "2026-11-20T09:57:44");
        assert_eq!(sortable("Sun Nov  1 01:59:59 2026"), "2026-11-01T01:59:59");
        assert_eq!(sortable("20.11.2026 12:00:02"), "20.11.2026 12:00:02");
    }
}
