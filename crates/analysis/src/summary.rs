//! Summary sentences of a sweep: its peak, and the cost of more load. Each is true of the given levels, or absent.

use crate::Level;
use crate::checks::BUSY_USERS;
use crate::level::{Difference, difference};
use measure::text;

/// A rate of this fraction of the peak counts as having reached it.
const NEAR_PEAK: f64 = 0.9;
/// Most values that a sentence names as within the noise of the best.
const MOST_RIVALS: usize = 3;
/// Most systems whose share of the best is stated: with the best as many as an overlay draws.
const MOST_SHARES: usize = 11;
/// A gain of less than half a percent would print as 0 %.
const NO_GAIN: f64 = 0.005;

/// Quantity that is varied over a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// Processes with one I/O in flight each, or more if a depth is given.
    #[default]
    Users,
    /// I/Os that each user keeps in flight.
    Depth,
}

impl Load {
    /// For example `1 user`, `depth 8`.
    pub fn counted(self, count: u32) -> String {
        match (self, count) {
            (Load::Users, 1) => "1 user".to_owned(),
            (Load::Users, _) => format!("{count} users"),
            (Load::Depth, _) => format!("depth {count}"),
        }
    }

    /// Name of the axis: `users`.
    pub fn plural(self) -> &'static str {
        match self {
            Load::Users => "users",
            Load::Depth => "depth",
        }
    }

    /// More of it, in words.
    fn more(self) -> &'static str {
        match self {
            Load::Users => "more users bring",
            Load::Depth => "more depth brings",
        }
    }

    fn less(self) -> &'static str {
        match self {
            Load::Users => "fewer users are",
            Load::Depth => "less depth is",
        }
    }

    fn reach(self, count: u32) -> String {
        let verb = if self == Load::Users && count != 1 { "reach" } else { "reaches" };
        format!("{} {verb}", self.counted(count))
    }
}

/// Further levels of the same test, apart from those that a sentence is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elsewhere {
    /// Nothing: these levels are all that was measured.
    #[default]
    Nothing,
    /// Further levels, which differ in another option.
    OtherLevels,
}

/// Sentences about a sweep of `what` (`8k random reads`) over users alone; empty if nothing was measured.
pub fn sentences(what: &str, points: &[Level]) -> Vec<String> {
    sentences_over(Load::Users, what, points, Elsewhere::Nothing)
}

/// Sentences about a sweep of `what` over any kind of load: two, and of several reasons for no answer one each; empty
/// if nothing was measured.
pub fn sentences_over(load: Load, what: &str, points: &[Level], elsewhere: Elsewhere) -> Vec<String> {
    let mut points: Vec<&Level> = points.iter().collect();
    points.sort_by_key(|point| point.count());
    let Some(&peak) = points.iter().rev().max_by(|a, b| a.iops.total_cmp(&b.iops)) else { return Vec::new() };
    let near = points.iter().find(|point| point.iops >= NEAR_PEAK * peak.iops).copied().unwrap_or(peak);
    let idle: Vec<u32> = points.iter().filter(|point| point.at_work.is_some()).map(|point| users(point)).collect();
    let other_than: Vec<(u32, &str)> =
        points.iter().filter_map(|point| Some((users(point), not_of_storage(point)?))).collect();
    if !idle.is_empty() || !other_than.is_empty() {
        let (counts, checks): (Vec<u32>, Vec<&str>) = other_than.into_iter().unzip();
        let named = if counts.len() < points.len() { list(load, &counts) } else { String::new() };
        let why = match points.as_slice() {
            [_] => not_of_the_storage(&named, &checks),
            _ => no_answer(&named, &checks),
        };
        let why = why.map_or_else(String::new, |why| format!("; {why}"));
        let mut found = vec![match points.as_slice() {
            [one] if idle.is_empty() => format!("{} reach {}{why}.", text::capitalised(what), rate(load, one)),
            _ => format!("The highest rate seen for {what} is {}{why}.", rate(load, peak)),
        }];
        if !idle.is_empty() {
            let counted = match load {
                Load::Users => "that number of users",
                Load::Depth => "that number of I/Os in flight",
            };
            found.push(format!(
                "No scaling verdict: with {} IOPS × latency does not give {counted}.",
                list(load, &idle)
            ));
        }
        return found;
    }
    let first = match (points.as_slice(), elsewhere) {
        ([one], Elsewhere::Nothing) => {
            format!("{} reach {}; no other load was measured.", text::capitalised(what), rate(load, one))
        }
        ([one], Elsewhere::OtherLevels) => format!("{} reach {}.", text::capitalised(what), rate(load, one)),
        _ => peak_sentence(load, what, &points, [peak, near]),
    };
    vec![first, cost_sentence(load, &points, near)]
}

/// The check for which the numbers of a level are not of the storage, unless another sentence is about it.
fn not_of_storage(level: &Level) -> Option<&str> {
    level.not_storage.as_deref().filter(|check| level.at_work.is_none() || *check != BUSY_USERS)
}

/// `no answer: with 8 users the numbers are not of the storage (cache)`; `None` without a check that says so. Without a
/// name it is so for all levels.
pub fn no_answer(named: &str, checks: &[&str]) -> Option<String> {
    not_of_the_storage(named, checks).map(|why| format!("no answer: {why}"))
}

/// The same of numbers that answer no question.
fn not_of_the_storage(named: &str, checks: &[&str]) -> Option<String> {
    let mut found: Vec<&str> = Vec::new();
    for check in checks {
        if !found.contains(check) {
            found.push(check);
        }
    }
    let with = if named.is_empty() { String::new() } else { format!("with {named} ") };
    (!found.is_empty()).then(|| format!("{with}the numbers are not of the storage ({})", found.join(", ")))
}

fn peak_sentence(load: Load, what: &str, points: &[&Level], [peak, near]: [&Level; 2]) -> String {
    let others = || points.iter().filter(|point| users(point) != users(peak));
    let rivals: Vec<u32> = others().filter(|point| is_within_noise(point, peak)).map(|point| users(point)).collect();
    let near_clause =
        || format!("already {} {} of that.", load.reach(users(near)), text::percent(near.iops / peak.iops));
    if !rivals.is_empty() {
        let mut alike = rivals.clone();
        alike.push(users(peak));
        alike.sort_unstable();
        let rest = if alike.contains(&users(near)) { ".".to_owned() } else { format!("; {}", near_clause()) };
        return format!(
            "The rates of {what} with {} lie within the noise of {}; the highest is {}{rest}",
            list(load, &alike),
            rounds_of(peak),
            rate(load, peak)
        );
    }
    let what = text::capitalised(what);
    let sure = if others().all(|point| difference(&point.rates, &peak.rates) == Difference::BeyondNoise) {
        format!(", beyond the noise of {}", rounds_of(peak))
    } else {
        " in one round".to_owned()
    };
    if users(near) != users(peak) {
        return format!("{what} peak at {}{sure}; {}", rate(load, peak), near_clause());
    }
    let lesser = points.iter().filter(|point| users(point) < users(peak)).max_by(|a, b| a.iops.total_cmp(&b.iops));
    match lesser {
        Some(lesser) => format!(
            "{what} peak at {}{sure}; {} more than 10 % below ({} {} of it).",
            rate(load, peak),
            load.less(),
            load.reach(users(lesser)),
            // Rounded down: what is 10.4 % below is not 90 % of it.
            text::percent((100.0 * lesser.iops / peak.iops).floor() / 100.0)
        ),
        None => format!("{what} peak at {} already{sure}; {} nothing.", rate(load, peak), load.more()),
    }
}

/// True if both were measured in several rounds, and their intervals overlap.
fn is_within_noise(one: &Level, other: &Level) -> bool {
    difference(&one.rates, &other.rates) == Difference::WithinNoise
}

fn rounds_of(point: &Level) -> String {
    format!("{} rounds", point.rates.len())
}

fn cost_sentence(load: Load, points: &[&Level], near: &Level) -> String {
    let (Some(least), Some(most)) = (points.first(), points.last()) else { return String::new() };
    if users(least) == users(most) {
        return format!("One request takes {} on average.", text::time(least.average_ns));
    }
    // Beyond the knee more users only queue; if the knee is the last point, the whole range is described.
    let from = if users(near) < users(most) { near } else { least };
    let tail = match (from.p99_ns, most.p99_ns) {
        (Some(a), Some(b)) => format!(", p99 from {} to {}", text::time(a), text::time(b)),
        _ => ", p99 unknown for lack of samples".to_owned(),
    };
    let (before, after) = (text::time(from.average_ns), text::time(most.average_ns));
    let latency = match before == after {
        true => format!("leaves the average latency at {after}"),
        false => format!("changes the average latency from {before} to {after}"),
    };
    let (least, gain) = (load.counted(users(from)), gain(from, most));
    format!("Going from {least} to {} brings {gain} and {latency}{tail}.", users(most))
}

/// For example `9 % more IOPS`.
fn gain(from: &Level, most: &Level) -> String {
    let gain = most.iops / from.iops;
    if is_within_noise(from, most) {
        format!("no change of IOPS beyond the noise of {}", rounds_of(most))
    } else if gain >= 2.0 {
        format!("{} times the IOPS", text::number(gain))
    } else if (gain - 1.0).abs() < NO_GAIN {
        "no more IOPS".to_owned()
    } else if gain >= 1.0 {
        format!("{} more IOPS", text::percent(gain - 1.0))
    } else {
        format!("{} fewer IOPS", text::percent(1.0 - gain))
    }
}

fn rate(load: Load, point: &Level) -> String {
    format!("{} with {}", amount(point), load.counted(users(point)))
}

/// The load of a level as a number of users, or depth.
fn users(level: &Level) -> u32 {
    u32::try_from(level.count()).unwrap_or(u32::MAX)
}

/// `73,634 IOPS (575 MiB/s)`.
fn amount(point: &Level) -> String {
    format!("{} IOPS ({})", text::number(point.iops), text::rate(point.rate))
}

/// `8 and 16 users`, `depth 8 and 16`.
fn list(load: Load, counts: &[u32]) -> String {
    let words = text::listed(&counts.iter().map(u32::to_string).collect::<Vec<_>>());
    match (load, counts) {
        (_, []) => String::new(),
        (_, [only]) => load.counted(*only),
        (Load::Users, _) => format!("{words} users"),
        (Load::Depth, _) => format!("depth {words}"),
    }
}

/// The quantity by which the values of an option are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// I/Os per second.
    Ios,
    /// Bytes per second.
    Bytes,
}

impl Rank {
    fn of(self, point: &Level) -> f64 {
        match self {
            Rank::Ios => point.iops,
            Rank::Bytes => point.rate,
        }
    }

    fn rounds(self, point: &Level) -> Vec<f64> {
        let scale = self.of(point) / point.iops;
        point.rates.iter().map(|iops| iops * scale).collect()
    }

    fn unit(self) -> &'static str {
        match self {
            Rank::Ios => "IOPS",
            Rank::Bytes => "MiB/s",
        }
    }
}

/// The sentence on the value of an option with which `what` does the most, and on the next best; `None` without values.
pub fn best_value(what: &str, rank: Rank, values: &[(String, Level)]) -> Option<String> {
    let by_rate = |a: &&(String, Level), b: &&(String, Level)| rank.of(&a.1).total_cmp(&rank.of(&b.1));
    let (best, top) = values.iter().rev().max_by(by_rate)?;
    let (what, unit) = (text::capitalised(what), rank.unit());
    let other_than: Vec<(String, &str)> =
        values.iter().filter_map(|(name, point)| Some((name.clone(), point.not_storage.as_deref()?))).collect();
    if !other_than.is_empty() {
        let (names, checks): (Vec<String>, Vec<&str>) = other_than.into_iter().unzip();
        let named = if names.len() < values.len() { text::listed_up_to(&names, MOST_RIVALS) } else { String::new() };
        let refusal = no_answer(&named, &checks).unwrap_or_default();
        return Some(format!("{what}: the highest {unit} seen are those with {best}, {}; {refusal}.", amount(top)));
    }
    let others = || values.iter().filter(|(name, _)| name != best);
    let Some((next, second)) = others().rev().max_by(by_rate) else {
        return Some(format!("{what} reach {} with {best}.", amount(top)));
    };
    let compared = |point: &Level| difference(&rank.rounds(point), &rank.rounds(top));
    let rivals: Vec<&str> = others()
        .filter(|(_, point)| compared(point) == Difference::WithinNoise)
        .map(|(name, _)| name.as_str())
        .collect();
    if !rivals.is_empty() {
        let more = rivals.len().saturating_sub(MOST_RIVALS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let verb = if rivals.len() > 1 { "lie" } else { "lies" };
        return Some(format!(
            "{what}: the highest {unit} are those with {best}, {}, but {}{more} {verb} within the noise of {}.",
            amount(top),
            rivals[..rivals.len().min(MOST_RIVALS)].join(", "),
            rounds_of(top)
        ));
    }
    let share = text::percent(rank.of(second) / rank.of(top));
    let (top_amount, rounds) = (amount(top), rounds_of(top));
    Some(match others().all(|(_, point)| compared(point) == Difference::BeyondNoise) {
        true => format!(
            "{what} reach the most {unit} with {best}: {top_amount}, beyond the noise of {rounds}; with {next} it is \
             {share} of that."
        ),
        // Which of two is faster, one round of each cannot say: the noise between rounds is not known.
        false => format!(
            "{what} had the most {unit} with {best}: {top_amount} in one round; with {next} it is {share} of that; one \
             round cannot tell which is best."
        ),
    })
}

/// All words with commas between them; of more than `most` the first ones, and the number of the rest.
fn named_up_to(words: &[String], most: usize) -> String {
    match words.get(most..) {
        None | Some([]) => words.join(", "),
        Some(rest) => format!("{} and {} more", words[..most].join(", "), rest.len()),
    }
}

/// Which of several systems has the most IOPS at its peak, or that it is not known, and how far the others are from
/// it; empty below two systems.
pub fn best_system(systems: &[(String, Level)]) -> Vec<String> {
    let mut ranked: Vec<&(String, Level)> = systems.iter().collect();
    ranked.sort_by(|one, other| other.1.iops.total_cmp(&one.1.iops));
    let [(best, top), others @ ..] = ranked.as_slice() else { return Vec::new() };
    if others.is_empty() || top.iops <= 0.0 {
        return Vec::new();
    }
    let compared = |point: &Level| difference(&point.rates, &top.rates);
    let alike: Vec<String> = others
        .iter()
        .filter(|(_, point)| compared(point) == Difference::WithinNoise)
        .map(|(name, _)| name.clone())
        .collect();
    let (count, top_amount) = (systems.len(), amount(top));
    let answer = if others.iter().any(|(_, point)| compared(point) == Difference::OneRound) {
        format!(
            "Which of the {count} is best is not known from one round each; the highest peak is that of {best}, \
             {top_amount}."
        )
    } else if alike.is_empty() {
        format!("The best of the {count} is {best}: {top_amount} at its peak, beyond the noise of {}.", rounds_of(top))
    } else {
        let verb = if alike.len() > 1 { "lie" } else { "lies" };
        format!(
            "Which of the {count} is best is not known: the highest peak is that of {best}, {top_amount}, but {} {verb} \
             within the noise of {}.",
            text::listed_up_to(&alike, MOST_RIVALS),
            rounds_of(top)
        )
    };
    let of_top = |(name, point): &&(String, Level)| format!("{name} {}", text::percent(point.iops / top.iops));
    let shares: Vec<String> = others.iter().map(of_top).collect();
    vec![answer, format!("Peaks of the others, as shares of it: {}.", named_up_to(&shares, MOST_SHARES))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, fixtures::closed_loop};
    use measure::{Direction, Nanos};

    fn point(users: u32, iops: u64, latency_us: u64) -> Level {
        let result = closed_loop(users, iops * 4, Nanos::from_micros(latency_us), Nanos::from_secs(4));
        Level::of(f64::from(users), &result, Direction::Read, &check(&result)).unwrap()
    }

    #[test]
    fn the_peak_the_knee_and_the_price_of_more_users_are_stated() {
        let points = [point(1, 18_883, 50), point(8, 67_558, 115), point(16, 65_711, 239), point(64, 73_634, 850)];
        assert_eq!(
            sentences("8k random reads", &points),
            [
                "8k random reads peak at 73,634 IOPS (575 MiB/s) with 64 users in one round; already 8 users reach 92 % of that.",
                "Going from 8 users to 64 brings 9 % more IOPS and changes the average latency from 115 µs to 850 µs, \
                 p99 from 115 µs to 848 µs."
            ]
        );
    }

    #[test]
    fn a_gain_that_rounds_to_nothing_is_called_nothing() {
        let points = [point(1, 18_000, 50), point(32, 88_529, 361), point(64, 88_616, 722)];
        let second = &sentences("8k random reads", &points)[1];
        assert!(second.starts_with("Going from 32 users to 64 brings no more IOPS and changes"), "{second}");
    }

    #[test]
    fn perfect_scaling_is_stated_over_the_whole_way() {
        let points = [point(1, 1_000, 1_000), point(8, 8_000, 1_000)];
        assert_eq!(
            sentences("reads", &points),
            [
                "Reads peak at 8,000 IOPS (62.5 MiB/s) with 8 users in one round; fewer users are more than 10 % below (1 user reaches 12 % of it).",
                "Going from 1 user to 8 brings 8 times the IOPS and leaves the average latency at 1 ms, \
                 p99 unknown for lack of samples."
            ]
        );
    }

    #[test]
    fn idle_users_forbid_a_scaling_verdict() {
        let points = [point(1, 1_000, 1_000), point(8, 4_000, 1_000), point(16, 4_000, 1_000)];
        let found = sentences("reads", &points);
        assert_eq!(found[0], "The highest rate seen for reads is 4,000 IOPS (31.2 MiB/s) with 8 users.");
        assert_eq!(
            found[1],
            "No scaling verdict: with 8 and 16 users IOPS × latency does not give that number of users."
        );
    }

    #[test]
    fn numbers_that_are_not_of_the_storage_have_no_answer() {
        let mut points = [point(1, 1_000, 1_000), point(8, 8_000, 1_000)];
        points[1].not_storage = Some("cache".into());
        let highest = "The highest rate seen for reads is 8,000 IOPS (62.5 MiB/s) with 8 users; no answer: ";
        let of_eight = format!("{highest}with 8 users the numbers are not of the storage (cache).");
        assert_eq!(sentences("reads", &points), [of_eight.as_str()]);
        points[0].not_storage = Some("holes".into());
        let of_both = format!("{highest}the numbers are not of the storage (holes, cache).");
        assert_eq!(sentences("reads", &points), [of_both]);
        assert_eq!(
            sentences("reads", &points[1..]),
            ["Reads reach 8,000 IOPS (62.5 MiB/s) with 8 users; the numbers are not of the storage (cache)."]
        );
        points[0] = Level { not_storage: Some("busy users".into()), ..point(1, 3_000, 1_000) };
        let idle = "No scaling verdict: with 1 user IOPS × latency does not give that number of users.";
        assert_eq!(sentences("reads", &points), [of_eight, idle.to_owned()]);
        let named = points.map(|level| (level.load.to_string(), level));
        assert_eq!(
            best_value("reads", Rank::Ios, &named[1..]).unwrap(),
            "Reads: the highest IOPS seen are those with 8, 8,000 IOPS (62.5 MiB/s); no answer: the numbers are not of the \
             storage (cache)."
        );
    }

    #[test]
    fn nothing_measured_says_nothing_and_one_point_says_so() {
        assert_eq!(sentences("reads", &[]), Vec::<String>::new());
        assert!(sentences("reads", &[point(8, 8_000, 1_000)])[0].ends_with("no other load was measured."));
    }

    #[test]
    fn one_level_among_others_does_not_claim_to_be_the_only_one() {
        let found = sentences_over(Load::Depth, "reads", &[point(8, 8_000, 1_000)], Elsewhere::OtherLevels);
        assert_eq!(found[0], "Reads reach 8,000 IOPS (62.5 MiB/s) with depth 8.");
    }

    fn rounds(users: u32, iops: [u64; 3]) -> Level {
        let rounds = iops.map(|rate| rate as f64).to_vec();
        Level { rates: rounds, at_work: None, not_storage: None, ..point(users, iops[1], 1_000) }
    }

    #[test]
    fn a_peak_is_named_only_beyond_the_noise_of_its_rounds() {
        let noisy =
            [rounds(1, [4_000, 4_010, 4_020]), rounds(2, [7_000, 8_000, 8_900]), rounds(4, [7_500, 8_100, 8_900])];
        assert_eq!(
            sentences("reads", &noisy)[0],
            "The rates of reads with 2 and 4 users lie within the noise of 3 rounds; the highest is 8,100 IOPS (63.3 MiB/s) with 4 users."
        );
        assert!(
            sentences("reads", &noisy[1..])[1].starts_with("Going from 2 users to 4 brings no change of IOPS beyond")
        );
        let clear = [rounds(1, [4_000, 4_010, 4_020]), rounds(2, [8_000, 8_010, 8_020])];
        let first = &sentences("reads", &clear)[0];
        assert!(first.contains("with 2 users, beyond the noise of 3 rounds; fewer users are"), "{first}");
    }

    #[test]
    fn the_best_value_of_an_option_is_named_with_the_next() {
        let named = |name: &str, point: Level| (name.to_owned(), point);
        let once = [named("libaio", point(1, 9_000, 100)), named("io_uring", point(1, 10_000, 100))];
        assert_eq!(
            best_value("reads", Rank::Ios, &once).unwrap(),
            "Reads had the most IOPS with io_uring: 10,000 IOPS (78.1 MiB/s) in one round; with libaio it is 90 % of that; \
             one round cannot tell which is best."
        );
        let noisy =
            [named("libaio", rounds(1, [7_000, 9_000, 12_000])), named("io_uring", rounds(1, [7_000, 9_100, 11_000]))];
        assert_eq!(
            best_value("reads", Rank::Bytes, &noisy).unwrap(),
            "Reads: the highest MiB/s are those with io_uring, 9,100 IOPS (71.1 MiB/s), but libaio lies within the noise of 3 rounds."
        );
    }

    #[test]
    fn the_best_of_several_systems_is_named_only_beyond_the_noise() {
        let named = |name: &str, point: Level| (name.to_owned(), point);
        let once =
            [named("a", point(1, 9_000, 100)), named("b", point(8, 10_000, 100)), named("c", point(1, 5_000, 100))];
        assert_eq!(
            best_system(&once),
            [
                "Which of the 3 is best is not known from one round each; the highest peak is that of b, 10,000 IOPS (78.1 MiB/s).",
                "Peaks of the others, as shares of it: a 90 %, c 50 %."
            ]
        );
        let far = [named("a", rounds(1, [4_000, 4_010, 4_020])), named("b", rounds(1, [8_000, 8_010, 8_020]))];
        assert_eq!(
            best_system(&far)[0],
            "The best of the 2 is b: 8,010 IOPS (62.6 MiB/s) at its peak, beyond the noise of 3 rounds."
        );
        let near = [named("a", rounds(1, [7_000, 9_000, 12_000])), named("b", rounds(1, [7_000, 9_100, 11_000]))];
        assert!(
            best_system(&near)[0].ends_with("but a lies within the noise of 3 rounds."),
            "{:?}",
            best_system(&near)
        );
        let many: Vec<_> =
            (0..200_u32).map(|at| named(&format!("s{at}"), point(1, 9_000 - u64::from(at), 100))).collect();
        assert!(best_system(&many)[1].ends_with(", s11 99.9 % and 188 more."), "{:?}", best_system(&many));
        assert!(best_system(&far[..1]).is_empty() && best_system(&[]).is_empty());
    }
}
