//! Rates, times and shares in words.

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent >= 9.95 { format!("{percent:.0} %") } else { format!("{percent:.2} %") }
}

/// A number with three digits.
fn three_digits(number: f64) -> String {
    let digits = if number < 9.995 { 2 } else { usize::from(number < 99.95) };
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A rate: `42.1k`.
pub(super) fn rate(rate: f64) -> String {
    match rate {
        _ if rate >= 999_500.0 => three_digits(rate / 1e6) + "M",
        _ if rate >= 999.5 => three_digits(rate / 1e3) + "k",
        _ => three_digits(rate),
    }
}

/// A time in nanoseconds: `1.71 ms`.
pub(crate) fn time(ns: f64) -> String {
    match ns {
        _ if ns >= 999_500_000.0 => three_digits(ns / 1e9) + " s",
        _ if ns >= 999_500.0 => three_digits(ns / 1e6) + " ms",
        _ if ns >= 999.5 => three_digits(ns / 1e3) + " µs",
        _ => three_digits(ns) + " ns",
    }
}

/// A time in seconds: `14 min`.
pub(crate) fn minutes(seconds: f64) -> String {
    if seconds >= 99.5 { format!("{:.0} min", seconds / 60.0) } else { format!("{seconds:.0} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        let rates = [0.5, 7.0, 42_123.0, 999_400.0, 999_600.0, 9999.0].map(rate);
        assert_eq!(rates, ["0.5", "7", "42.1k", "999k", "1M", "10k"]);
        let times = [500.0, 2e6, 1_710_000.0, 3e9, 999_600.0].map(time);
        assert_eq!(times, ["500 ns", "2 ms", "1.71 ms", "3 s", "1 ms"]);
        assert_eq!([0.0, 0.0046, 0.069, 0.0999, 1.0].map(percent), ["0.00 %", "0.46 %", "6.90 %", "10 %", "100 %"]);
        assert_eq!([3.0, 99.0, 417.0].map(minutes), ["3 s", "99 s", "7 min"]);
    }
}
