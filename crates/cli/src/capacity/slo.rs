//! Limits on response times, as they are written: `p99<2ms`, `write.p99.9<10ms`.

use measure::{Direction, Nanos};

/// A limit on response times.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slo {
    /// The direction that it is for; `None` for all I/Os.
    pub(crate) direction: Option<Direction>,
    /// The percentile, like 99.9.
    pub(crate) percent: f64,
    /// The response time that it must stay below.
    pub(crate) limit: Nanos,
    /// The percentile as it was written, like `p99.9`.
    percentile: String,
}

impl Slo {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text} is not a limit on response times; write it like p99<2ms or write.p99.9<10ms");
        let (left, right) = text.split_once('<').ok_or_else(wrong)?;
        let (left, right) = (left.trim(), right.trim());
        let (direction, percentile) = match left.split_once(".p") {
            Some(("read", _)) => (Some(Direction::Read), &left["read.".len()..]),
            Some(("write", _)) => (Some(Direction::Write), &left["write.".len()..]),
            Some((other, _)) if !other.starts_with('p') => {
                return Err(format!("{text}: {other} is not a direction; there are read and write"));
            }
            _ => (None, left),
        };
        let percent: f64 = percentile.strip_prefix('p').and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
        if !(50.0..=99.99).contains(&percent) {
            return Err(format!("{text}: the percentile is from p50 to p99.99"));
        }
        let limit = time(right).ok_or_else(|| format!("{text}: {right} is not a time; write it like 2ms or 500us"))?;
        Ok(Slo { direction, percent, limit, percentile: percentile.to_owned() })
    }

    /// Largest share of I/Os beyond it.
    pub(crate) fn beyond(&self) -> f64 {
        // In steps of a hundredth of a percent, or 100 − 99.9 would be 0.0999999999999943.
        ((100.0 - self.percent) * 1e4).round() / 1e6
    }

    /// The direction and percentile: `write p99.9`.
    pub(crate) fn percentile(&self) -> String {
        let direction = self.direction.map(|direction| format!("{} ", direction.word())).unwrap_or_default();
        direction + &self.percentile
    }

    /// The limit in words: `write p99.9 < 10 ms`.
    pub(crate) fn words(&self) -> String {
        format!("{} < {}", self.percentile(), measure::text::time(self.limit.as_f64()))
    }
}

/// Reads a time with its unit.
fn time(text: &str) -> Option<Nanos> {
    let digits = text.trim_end_matches(|letter: char| letter.is_alphabetic());
    let factor = match &text[digits.len()..] {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    let seconds = digits.trim().parse::<f64>().ok()? * factor;
    (1e-9..=3600.0).contains(&seconds).then(|| Nanos::from_secs_f64(seconds))
}

/// Reads a rate such as `20k`, in I/Os per second.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => text.strip_suffix(['m', 'M']).map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    match digits.parse::<f64>() {
        Ok(rate) if (1.0..=1e9).contains(&(rate * factor)) => Ok(rate * factor),
        _ => Err(format!("{text} is not a rate of at least 1 I/O per second; write it like 500 or 20k")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_a_percentile_a_time_and_maybe_a_direction() {
        for (text, direction, percent, limit, beyond, words) in [
            ("p99<2ms", None, 99.0, 2_000_000, 0.01, "p99 < 2 ms"),
            ("p99.9 < 500us", None, 99.9, 500_000, 0.001, "p99.9 < 500 µs"),
            ("write.p95<1s", Some(Direction::Write), 95.0, 1_000_000_000, 0.05, "write p95 < 1 s"),
            ("read.p99.99<1.5ms", Some(Direction::Read), 99.99, 1_500_000, 0.0001, "read p99.99 < 1.5 ms"),
        ] {
            let found = Slo::parse(text).unwrap();
            assert_eq!((found.direction, found.percent, found.limit), (direction, percent, Nanos(limit)), "{text}");
            assert_eq!((found.beyond(), found.words().as_str()), (beyond, words), "{text}");
        }
        for text in
            ["", "p99", "99<2ms", "p99<2", "p99<0ms", "p100<2ms", "p99<2kb", "trim.p99<2ms", "p1<2ms", "pNaN<1ms"]
        {
            assert!(Slo::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_at_least_one_per_second() {
        assert_eq!((rate("500"), rate("20k"), rate("1.5M")), (Ok(500.0), Ok(20_000.0), Ok(1_500_000.0)));
        for text in ["", "0", "0.5", "-3", "k", "20q", "inf", "NaN"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
