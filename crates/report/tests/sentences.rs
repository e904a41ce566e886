//! Every sentence about generated results of random shape is checked against the rows, by code that shares nothing with
//! the code that writes them. A sentence of a shape that is not known here fails, too.

use formats::sweep::{ColumnNames, csv_head, csv_row};
use model::Measurement;
use model::measurement::{MIB, ms};
use model::reading::ReadKind;
use report::sources::{PageRequest, Source, page};

/// Numbers of one generated row.
#[derive(Clone, Debug)]
struct Fact {
    system: &'static str,
    test: &'static str,
    users: u64,
    depth: u64,
    block: u64,
    engine: &'static str,
    iops: f64,
    mean_ns: f64,
    p99_ns: f64,
}

impl Fact {
    fn bytes(&self) -> f64 {
        self.iops * self.block as f64
    }

    fn row(&self) -> Measurement {
        let mut percentiles_ns = [None; 6];
        percentiles_ns[1] = Some(self.p99_ns);
        Measurement {
            system: Some(self.system.to_owned()),
            test: self.test.into(),
            users: Some(self.users as f64),
            depth: Some(self.depth as f64),
            block: Some((self.block, self.block)),
            kind: Some(if self.test.ends_with("read") { ReadKind::Read } else { ReadKind::Write }),
            bytes_per_second: Some(self.bytes()),
            iops: Some(self.iops),
            mean_ns: Some(self.mean_ns),
            percentiles_ns,
            engine: Some(self.engine.to_owned()),
            ..Measurement::default()
        }
    }

    fn words(&self) -> &'static str {
        match self.test {
            "randread" => "random read",
            _ => "sequential write",
        }
    }
}

/// Numbers that depend on a seed only.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn some<T: Copy>(&mut self, all: &[T]) -> Vec<T> {
        let count = 1 + self.below(all.len() as u64);
        all.iter().copied().take(usize::try_from(count).expect("a small number")).collect()
    }
}

/// A result of random shape: which axes vary, how many levels and rounds, holes, noise, idle users.
fn generated(seed: u64) -> Vec<Fact> {
    let mut random = Random(seed * 7919 + 17);
    let systems = random.some(&["lab", "old", "new"]);
    let tests = random.some(&["randread", "write"]);
    let (users, depths) = (random.some(&[1, 2, 8, 32]), random.some(&[1, 4, 16, 64]));
    let (blocks, engines) = (random.some(&[4096, 8192, 16_384, 65_536]), random.some(&["libaio", "io_uring"]));
    let (rounds, noise, hole) = (1 + random.below(3), random.below(40), random.below(3) == 0);
    let is_idle = random.below(6) == 0;
    let mut facts = Vec::new();
    for system in &systems {
        for test in &tests {
            for (&users, &depth) in users.iter().flat_map(|users| depths.iter().map(move |depth| (users, depth))) {
                for (&block, engine) in
                    blocks.iter().flat_map(|block| engines.iter().map(move |engine| (block, engine)))
                {
                    if hole && random.below(3) == 0 {
                        continue;
                    }
                    let load = (users * depth) as f64;
                    let best = 5_000.0 + random.below(60_000) as f64;
                    let level = best * load / (load + 6.0);
                    for _ in 0..rounds {
                        let iops = (level * (1.0 + random.below(noise + 1) as f64 / 100.0)).round();
                        let busy = if is_idle && load > 8.0 { load / 2.0 } else { load };
                        let mean_ns = (busy * 1e9 / iops).round();
                        facts.push(Fact {
                            system,
                            test,
                            users,
                            depth,
                            block,
                            engine,
                            iops,
                            mean_ns,
                            p99_ns: mean_ns * 3.0,
                        });
                    }
                }
            }
        }
    }
    facts
}

/// The rounds of one place.
type Level<'a> = Vec<&'a Fact>;

/// The numbers of the median round; of an even number, the lower one.
fn median<'a>(level: &Level<'a>) -> &'a Fact {
    let mut sorted = level.clone();
    sorted.sort_by(|a, b| a.iops.total_cmp(&b.iops));
    sorted[(sorted.len() - 1) / 2]
}

/// Mean ± Student's t: the quantiles for one and two degrees of freedom are exact to five digits.
fn interval(level: &Level<'_>, of: fn(&Fact) -> f64) -> Option<(f64, f64)> {
    let quantile = match level.len() {
        2 => 12.7062,
        3 => 4.302_65,
        _ => return None,
    };
    let count = level.len() as f64;
    let mean = level.iter().map(|fact| of(fact)).sum::<f64>() / count;
    let variance = level.iter().map(|fact| (of(fact) - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let half = quantile * (variance / count).sqrt();
    Some((mean - half, mean + half))
}

/// `Some(true)` if two levels differ beyond their noise; `None` if one has no interval.
fn differ(one: &Level<'_>, other: &Level<'_>, of: fn(&Fact) -> f64) -> Option<bool> {
    let (one, other) = (interval(one, of)?, interval(other, of)?);
    Some(one.0 > other.1 || other.0 > one.1)
}

/// Text before and after a separator.
fn split<'a>(text: &'a str, at: &str) -> (&'a str, &'a str) {
    text.split_once(at).unwrap_or_else(|| panic!("`{at}` is in `{text}`"))
}

fn number(text: &str) -> f64 {
    text.trim().replace(',', "").parse().unwrap_or_else(|_| panic!("`{text}` is a number"))
}

fn kib(text: &str) -> u64 {
    text.trim().trim_end_matches(" KiB").parse::<u64>().unwrap_or_else(|_| panic!("`{text}` is a size")) * 1024
}

/// One claim: a sentence, all rows of its system, and those of its subject.
struct Claim<'a> {
    sentence: &'a str,
    all: Vec<&'a Fact>,
}

/// The rows of a subject such as `8 KiB random reads with 2 users at depth 4 with libaio`.
fn of_subject<'a>(subject: &str, all: &[&'a Fact]) -> Vec<&'a Fact> {
    let subject = subject.to_lowercase();
    let block = subject.find(" kib ").map(|at| kib(&subject[..at]));
    let users = subject.split(" with ").skip(1).find_map(|part| part.split(" user").next()?.parse::<u64>().ok());
    let depth = subject
        .split(" at depth ")
        .nth(1)
        .map(|rest| rest.split(' ').next().unwrap_or_default().parse::<u64>().expect("a depth"));
    let engine = ["libaio", "io_uring"].into_iter().find(|engine| subject.contains(&format!("with {engine}")));
    let fits = |fact: &&Fact| {
        subject.contains(&format!("{}s", fact.words()))
            && block.is_none_or(|block| block == fact.block)
            && users.is_none_or(|users| users == fact.users)
            && depth.is_none_or(|depth| depth == fact.depth)
            && engine.is_none_or(|engine| engine == fact.engine)
    };
    all.iter().copied().filter(fits).collect()
}

/// The axis of a label and the label of a row on it.
fn label(axis: &str, fact: &Fact) -> String {
    match axis {
        "users" if fact.users == 1 => "1 user".to_owned(),
        "users" => format!("{} users", fact.users),
        "depth" => format!("depth {}", fact.depth),
        "block" => format!("blocks of {} KiB", fact.block / 1024),
        "engine" => fact.engine.to_owned(),
        "place" => {
            let users = if fact.users == 1 { "1 user".to_owned() } else { format!("{} users", fact.users) };
            format!("{} {} KiB, {}, {}, {users}", fact.words(), fact.block / 1024, fact.depth, fact.engine)
        }
        _ => panic!("{axis} is an axis"),
    }
}

fn axis_of(label: &str) -> &'static str {
    match label {
        label if label.ends_with(" user") || label.ends_with(" users") => "users",
        label if label.starts_with("depth ") => "depth",
        label if label.starts_with("blocks of ") => "block",
        "libaio" | "io_uring" => "engine",
        _ => panic!("`{label}` is on an axis"),
    }
}

/// The rows as levels of an axis, in its order. All that is not on the axis must be equal: otherwise the subject does
/// not say enough.
fn levels<'a>(axis: &str, rows: &[&'a Fact], sentence: &str) -> Vec<(String, Level<'a>)> {
    let mut found: Vec<(String, Level<'a>)> = Vec::new();
    let mut rows = rows.to_vec();
    rows.sort_by_key(|fact| (fact.users, fact.depth, fact.block));
    for fact in rows {
        let name = label(axis, fact);
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, level)) => level.push(fact),
            None => found.push((name, vec![fact])),
        }
    }
    if axis != "place" {
        let others = |fact: &Fact| {
            ["users", "depth", "block", "engine"]
                .into_iter()
                .filter(|other| *other != axis)
                .map(|other| label(other, fact))
                .collect::<Vec<_>>()
        };
        let first = others(found[0].1[0]);
        for fact in found.iter().flat_map(|(_, level)| level) {
            assert_eq!(others(fact), first, "the subject names all that its levels share: {sentence}");
        }
    }
    found
}

/// Half of the last of three significant digits of a printed number; a number from 1,000 on has all digits before its
/// point.
fn half_a_digit(printed: f64) -> f64 {
    let step = match printed.abs() {
        size if size >= 100.0 => 1.0,
        size if size >= 10.0 => 0.1,
        size if size >= 1.0 => 0.01,
        _ => 0.001,
    };
    0.501 * step
}

/// Checks `73,634 IOPS (575 MiB/s)` against a level.
fn check_amount(text: &str, level: &Level<'_>, sentence: &str) {
    let (iops, rest) = split(text, " IOPS (");
    let (rate, _) = split(rest, ")");
    let (rate, unit) = split(rate, " ");
    let unit = match unit {
        "KiB/s" => MIB / 1024.0,
        "MiB/s" => MIB,
        _ => panic!("`{unit}` is a unit of a rate: {sentence}"),
    };
    let fact = median(level);
    for (printed, actual) in [(number(iops), fact.iops), (number(rate), fact.bytes() / unit)] {
        assert!((printed - actual).abs() <= half_a_digit(printed), "{printed} is {actual}: {sentence}");
    }
}

fn check_time(text: &str, actual_ns: f64, sentence: &str) {
    let (value, unit) = split(text.trim(), " ");
    let unit_ns = match unit {
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => panic!("`{unit}` is a unit of time: {sentence}"),
    };
    let half = half_a_digit(number(value));
    assert!((number(value) - actual_ns / unit_ns).abs() <= half, "{text} is {:?}: {sentence}", ms(Some(actual_ns)));
}

fn check_percent(text: &str, ratio: f64, sentence: &str) {
    assert!((number(text) - 100.0 * ratio).abs() <= 1.0001, "{text} is {ratio}: {sentence}");
}

/// Checks `in one round` or `beyond the noise of 3 rounds`: true for the winner against every other level.
fn check_noise(said: &str, winner: &str, levels: &[(String, Level<'_>)], of: fn(&Fact) -> f64, sentence: &str) {
    let best = &levels.iter().find(|(name, _)| name == winner).expect("the winner is a level").1;
    let against: Vec<Option<bool>> =
        levels.iter().filter(|(name, _)| name != winner).map(|(_, level)| differ(best, level, of)).collect();
    if let Some((_, rest)) = said.split_once("beyond the noise of ") {
        assert_eq!(number(rest.split(' ').next().unwrap_or_default()), best.len() as f64, "{sentence}");
        assert!(against.iter().all(|differs| *differs == Some(true)), "{against:?}: {sentence}");
    } else {
        assert!(said.contains("in one round") && against.contains(&None), "{against:?}: {sentence}");
        assert!(!against.contains(&Some(false)), "{against:?}: {sentence}");
    }
}

impl<'a> Claim<'a> {
    fn holds(&self) {
        let text = self.sentence.strip_suffix('.').expect("a sentence ends");
        if let Some((subject, rest)) = text.split_once(" peak at ") {
            self.peak(subject, rest);
        } else if let Some((subject, rest)) = text.split_once(" reach the most ") {
            assert!(rest.contains(", beyond the noise of "), "{}", self.sentence);
            self.best_value(subject, rest);
        } else if let Some((subject, rest)) = text.split_once(" had the most ") {
            let rest = rest.strip_suffix("; one round cannot tell which is best").expect("no verdict of one round");
            self.best_value(subject, rest);
        } else if let Some((subject, rest)) = text.split_once(": the highest ") {
            self.best_within_noise(subject, rest);
        } else if let Some(rest) = text.strip_prefix("The rates of ") {
            self.alike(rest);
        } else if let Some(rest) = text.strip_prefix("The highest rate seen for ") {
            let (subject, rest) = split(rest, " is ");
            let (amount, level) = split(rest, " with ");
            let levels = levels(axis_of(level), &of_subject(subject, &self.all), self.sentence);
            self.is_top(level, amount, &levels, |fact| fact.iops);
        } else if let Some((subject, rest)) = text.split_once(" reach ") {
            let (rest, alone) =
                rest.split_once("; no other load was measured").map_or((rest, false), |(rest, _)| (rest, true));
            let (amount, level) = split(rest, " with ");
            let levels = levels(axis_of(level), &of_subject(subject, &self.all), self.sentence);
            self.is_top(level, amount, &levels, |fact| fact.iops);
            let places = self::levels("place", &self.all, self.sentence).len();
            assert_eq!(alone, places == 1, "{places} places: {}", self.sentence);
        } else {
            panic!("no evaluation knows this sentence: {}", self.sentence);
        }
    }

    fn is_top(&self, winner: &str, amount: &str, levels: &[(String, Level<'_>)], of: fn(&Fact) -> f64) {
        let best =
            &levels.iter().find(|(name, _)| name == winner).unwrap_or_else(|| panic!("{winner}: {}", self.sentence)).1;
        check_amount(amount, best, self.sentence);
        for (name, level) in levels {
            assert!(of(median(level)) <= of(median(best)), "{name} has more than {winner}: {}", self.sentence);
        }
    }

    fn peak(&self, subject: &str, rest: &str) {
        let (amount, rest) = split(rest, " with ");
        let (named, clause) = split(rest, "; ");
        let winner = named.split(" already").next().unwrap_or_default();
        let winner =
            winner.split(" in one round").next().unwrap_or_default().split(", beyond").next().unwrap_or_default();
        let levels = levels(axis_of(winner), &of_subject(subject, &self.all), self.sentence);
        self.is_top(winner, amount, &levels, |fact| fact.iops);
        check_noise(named, winner, &levels, |fact| fact.iops, self.sentence);
        self.near(clause, winner, &levels);
    }

    /// Checks what is said of the levels before the peak.
    fn near(&self, clause: &str, winner: &str, levels: &[(String, Level<'_>)]) {
        let top = median(&levels.iter().find(|(name, _)| name == winner).expect("known").1).iops;
        let share = |level: &Level<'_>| median(level).iops / top;
        let before: Vec<&(String, Level<'_>)> = levels.iter().take_while(|(name, _)| name != winner).collect();
        if let Some(rest) = clause.strip_prefix("already ") {
            let (name, percent) =
                split(rest, " reach").0.len().checked_add(0).map(|at| rest.split_at(at)).expect("known");
            let percent =
                percent.trim_start_matches(" reaches ").trim_start_matches(" reach ").trim_end_matches(" % of that");
            let at = before
                .iter()
                .position(|(known, _)| known == name)
                .unwrap_or_else(|| panic!("{name}: {}", self.sentence));
            check_percent(percent, share(&before[at].1), self.sentence);
            assert!(
                share(&before[at].1) >= 0.9 && before[..at].iter().all(|(_, level)| share(level) < 0.9),
                "{}",
                self.sentence
            );
        } else if clause.contains(" more than 10 % below (") {
            assert!(!before.is_empty() && before.iter().all(|(_, level)| share(level) < 0.9), "{}", self.sentence);
            let inside = split(clause, "(").1;
            let (name, percent) = inside.split_once(" reaches ").unwrap_or_else(|| split(inside, " reach "));
            let lesser =
                before.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}: {}", self.sentence));
            check_percent(split(percent, " %").0, share(&lesser.1), self.sentence);
            assert!(before.iter().all(|(_, level)| share(level) <= share(&lesser.1)), "{}", self.sentence);
        } else {
            assert!(clause == "more users bring nothing" || clause == "more depth brings nothing", "{}", self.sentence);
            assert!(before.is_empty(), "{}", self.sentence);
        }
    }

    fn alike(&self, rest: &str) {
        let (subject_and_list, rest) = split(rest, " lie within the noise of ");
        let (_, rest) = split(rest, "; the highest is ");
        let (highest, clause) = rest.split_once("; ").map_or((rest, None), |(highest, clause)| (highest, Some(clause)));
        let (amount, winner) = split(highest, " with ");
        let axis = axis_of(winner);
        let at = subject_and_list.rfind(" with ").expect("a list of levels");
        let (subject, list) = (&subject_and_list[..at], &subject_and_list[at + 6..]);
        let levels = levels(axis, &of_subject(subject, &self.all), self.sentence);
        self.is_top(winner, amount, &levels, |fact| fact.iops);
        let best = &levels.iter().find(|(name, _)| name == winner).expect("known").1;
        let words: Vec<&str> = list.split([' ', ',']).collect();
        for (name, level) in &levels {
            let value = name.trim_start_matches("depth ").split(' ').next().unwrap_or_default();
            let is_named = words.contains(&value);
            let is_alike = name == winner || differ(best, level, |fact| fact.iops) == Some(false);
            assert_eq!(is_named, is_alike, "{name}: {}", self.sentence);
        }
        if let Some(clause) = clause {
            self.near(clause, winner, &levels);
        }
    }

    /// The rows and the axis of `subject`, with the winner that is named; an overall sentence goes over all places.
    fn values(&self, subject: &str, winner: &str) -> (Vec<(String, Level<'a>)>, String) {
        if let Some(rest) = subject.strip_prefix("The ").and_then(|rest| rest.split_once(" levels of ")) {
            let levels = levels("place", &self.all, self.sentence);
            assert_eq!(number(rest.0), levels.len() as f64, "{}", self.sentence);
            let found: Vec<&(String, Level<'a>)> =
                levels.iter().filter(|(_, level)| is_named(winner, level[0], &self.all)).collect();
            assert_eq!(found.len(), 1, "`{winner}` names one level: {}", self.sentence);
            let name = found[0].0.clone();
            return (levels, name);
        }
        (levels(axis_of(winner), &of_subject(subject, &self.all), self.sentence), winner.to_owned())
    }

    fn best_value(&self, subject: &str, rest: &str) {
        let (unit, rest) = split(rest, " with ");
        let of: fn(&Fact) -> f64 = if unit == "IOPS" { |fact| fact.iops } else { Fact::bytes };
        let (winner, rest) = split(rest, ": ");
        let (amount, clause) = split(rest, "; with ");
        let (levels, winner) = self.values(subject, winner);
        self.is_top(&winner, amount, &levels, of);
        check_noise(amount, &winner, &levels, of, self.sentence);
        let (next, percent) = split(clause, " it is ");
        let top = of(median(&levels.iter().find(|(name, _)| *name == winner).expect("known").1));
        let others = levels.iter().filter(|(name, _)| *name != winner).map(|(_, level)| of(median(level)));
        let second = others.fold(0.0, f64::max);
        check_percent(split(percent, " %").0, second / top, self.sentence);
        let (levels, next) = self.values(subject, next);
        let next = &levels.iter().find(|(name, _)| *name == next).expect("known").1;
        assert!((of(median(next)) - second).abs() < 1e-6 * second, "{}", self.sentence);
    }

    fn best_within_noise(&self, subject: &str, rest: &str) {
        let (unit, rest) = split(rest, " are those with ");
        let of: fn(&Fact) -> f64 = if unit == "IOPS" { |fact| fact.iops } else { Fact::bytes };
        let at = rest.find(" IOPS (").expect("an amount");
        let at = rest[..at].rfind(", ").expect("a winner");
        let (winner, rest) = (&rest[..at], &rest[at + 2..]);
        let (amount, rivals) = split(rest, ", but ");
        let (levels, winner) = self.values(subject, winner);
        self.is_top(&winner, amount, &levels, of);
        let best = &levels.iter().find(|(name, _)| *name == winner).expect("known").1;
        let alike =
            levels.iter().filter(|(name, level)| *name != winner && differ(best, level, of) == Some(false)).count();
        let shown = split(rivals, " lie").0;
        let more = shown.split_once(" and ").map_or(0.0, |(_, more)| number(more.trim_end_matches(" more")));
        // Overall names hold commas themselves: only their number is known here.
        if !subject.contains(" levels of ") {
            let named = shown.split(" and ").next().unwrap_or_default().split(", ").count();
            assert_eq!(named as f64 + more, alike as f64, "{}", self.sentence);
        }
        assert!(alike > 0, "{}", self.sentence);
    }
}

/// True if `random read 8 KiB, depth 4, libaio, 2 users` is this row; what it leaves out must be the same in all rows
/// of the test.
fn is_named(name: &str, fact: &Fact, all: &[&Fact]) -> bool {
    let parts: Vec<&str> = name.split(", ").collect();
    let of_test: Vec<&&Fact> = all.iter().filter(|other| other.test == fact.test).collect();
    let fits = |axis: &str| {
        parts.contains(&label(axis, fact).as_str())
            || (of_test.iter().all(|other| label(axis, other) == label(axis, fact))
                && !parts.iter().any(|part| part.starts_with("depth ") && axis == "depth"))
    };
    parts[0] == format!("{} {} KiB", fact.words(), fact.block / 1024)
        && ["users", "depth", "engine"].into_iter().all(fits)
}

/// Checks the sentence on the price of more load, which follows the one on the peak and shares its subject.
fn check_cost(sentence: &str, before: &str, all: &[&Fact]) {
    let subject = ["The rates of ", "The highest rate seen for "]
        .into_iter()
        .find_map(|start| before.strip_prefix(start))
        .unwrap_or(before);
    let end = [" peak at ", " lie within", " reach ", " is "]
        .into_iter()
        .filter_map(|word| subject.find(word))
        .min()
        .expect("a verb");
    let mut subject = &subject[..end];
    if before.starts_with("The rates of ") {
        subject = &subject[..subject.rfind(" with ").expect("a list")];
    }
    let rows = of_subject(subject, all);
    if let Some(rest) = sentence.strip_prefix("One request takes ") {
        let level: Level<'_> = rows;
        check_time(split(rest, " on average").0, median(&level).mean_ns, sentence);
        return;
    }
    if sentence.starts_with("No scaling verdict: ") {
        let is_idle = |fact: &&&Fact| {
            let busy = fact.iops * fact.mean_ns / 1e9 / (fact.users * fact.depth) as f64;
            !(0.85..=1.15).contains(&busy)
        };
        assert!(rows.iter().any(|fact| is_idle(&fact)), "{sentence}");
        return;
    }
    let (from, rest) =
        split(sentence.strip_prefix("Going from ").unwrap_or_else(|| panic!("unknown: {sentence}")), " to ");
    let (to, rest) = split(rest, " brings ");
    let stays = " and leaves the average latency at ";
    let moves = if rest.contains(stays) { stays } else { " and changes the average latency from " };
    let (gain, rest) = split(rest, moves);
    let axis = axis_of(from);
    let levels = levels(axis, &rows, sentence);
    let last = levels.last().expect("levels");
    let value = last.0.trim_start_matches("depth ").split(' ').next().unwrap_or_default();
    assert_eq!(value, to, "the last level: {sentence}");
    let first = levels.iter().find(|(name, _)| name == from).unwrap_or_else(|| panic!("{from}: {sentence}"));
    let (a, b) = (median(&first.1), median(&last.1));
    let ratio = b.iops / a.iops;
    match gain.split(' ').collect::<Vec<_>>()[..] {
        [times, "times", ..] => {
            assert!((number(times) - ratio).abs() <= half_a_digit(number(times)), "{ratio}: {sentence}");
        }
        [percent, "%", "more", ..] => check_percent(percent, ratio - 1.0, sentence),
        [percent, "%", "fewer", ..] => check_percent(percent, 1.0 - ratio, sentence),
        ["no", "more", ..] => assert!((ratio - 1.0).abs() < 0.005, "{ratio}: {sentence}"),
        ["no", "change", ..] => assert_eq!(differ(&first.1, &last.1, |fact| fact.iops), Some(false), "{sentence}"),
        _ => panic!("unknown gain: {sentence}"),
    }
    let (means, p99s) = split(rest.trim_end_matches('.'), ", p99 from ");
    for (pair, of) in [(means, [a.mean_ns, b.mean_ns]), (p99s, [a.p99_ns, b.p99_ns])] {
        // The same time as printed stands once.
        let (one, other) = pair.split_once(" to ").unwrap_or((pair, pair));
        check_time(one, of[0], sentence);
        check_time(other, of[1], sentence);
    }
}

fn source_of(facts: &[Fact]) -> Source {
    let rows: String = facts.iter().zip(1..).map(|(fact, line)| csv_row(&fact.row(), "made", line)).collect();
    Source::read("made.csv", format!("{}{rows}", csv_head(ColumnNames::Units)).as_bytes()).expect("text in memory")
}

pub(crate) fn request() -> PageRequest {
    PageRequest {
        title: None,
        target_ns: None,
        profile: Some(analysis::report_card::profile("ssd-2026").expect("a profile")),
        made_by: "a test".to_owned(),
        made_at: "today".to_owned(),
    }
}

#[test]
fn every_sentence_of_generated_results_is_true_of_their_rows() {
    let (mut sentences, mut levels_drawn) = (0, 0);
    for seed in 0..40 {
        let facts = generated(seed);
        if facts.is_empty() {
            continue;
        }
        let page = page(&[source_of(&facts)], &request());
        let of_system = |system: &str| facts.iter().filter(|fact| fact.system == system).collect::<Vec<_>>();
        for sentence in page.sentences.iter().filter(|sentence| sentence.contains(" levels of ")) {
            let system = ["lab", "old", "new"]
                .into_iter()
                .find(|name| sentence.contains(&format!("levels of {name}")))
                .expect("a system");
            Claim { sentence, all: of_system(system) }.holds();
            sentences += 1;
        }
        for picture in page.pictures.iter().filter(|picture| picture.chart.name == "sweep") {
            let system = picture.title.split(" · ").next().unwrap_or_default();
            let all = of_system(system);
            let said: Vec<&str> =
                picture.data["sentences"].as_array().expect("a list").iter().filter_map(|one| one.as_str()).collect();
            levels_drawn += picture.data["levels"].as_array().expect("a list").len();
            assert!(!said.is_empty(), "{}", picture.title);
            for (at, sentence) in said.iter().enumerate() {
                sentences += 1;
                let is_cost = ["Going from ", "One request takes ", "No scaling verdict: "]
                    .iter()
                    .any(|start| sentence.starts_with(start));
                if is_cost {
                    check_cost(sentence, said[at - 1], &all);
                } else {
                    Claim { sentence, all: all.clone() }.holds();
                }
            }
        }
    }
    assert!(sentences > 300 && levels_drawn > 300, "{sentences} sentences, {levels_drawn} levels");
}

fn rate(iops: f64) -> String {
    format!("{iops:.3}")
}

#[test]
fn every_generated_row_is_in_a_picture_or_is_named() {
    for seed in 0..40 {
        let facts = generated(seed);
        let source = source_of(&facts);
        let page = page(&[source], &request());
        let sweeps = page.pictures.iter().filter(|picture| picture.chart.name == "sweep");
        let mut drawn: Vec<(String, String)> = Vec::new();
        for picture in sweeps {
            let system = picture.title.split(" · ").next().unwrap_or_default();
            for level in picture.data["levels"].as_array().expect("a list") {
                drawn.push((system.to_owned(), rate(level["iops"].as_f64().expect("a rate"))));
            }
        }
        let mut places: Vec<(&str, Level<'_>)> = Vec::new();
        for system in ["lab", "old", "new"] {
            let all: Vec<&Fact> = facts.iter().filter(|fact| fact.system == system).collect();
            if !all.is_empty() {
                places.extend(levels("place", &all, "").into_iter().map(|(_, level)| (system, level)));
            }
        }
        let missing = places
            .iter()
            .filter(|(system, level)| !drawn.contains(&((*system).to_owned(), rate(median(level).iops))))
            .count();
        let named: f64 = page
            .remarks
            .iter()
            .filter_map(|remark| remark.split_once(": ")?.1.split_once(" result")?.0.parse::<f64>().ok())
            .sum();
        let cut = page.remarks.iter().any(|remark| remark.contains(" sweeps are drawn, "));
        assert!(cut || missing as f64 <= named, "{missing} missing, {named} named, seed {seed}: {:?}", page.remarks);
    }
}
