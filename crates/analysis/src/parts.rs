//! The parts of the time of I/Os that were recorded (`--layers`, `plumb why`), in words: one text wherever they are.

use measure::{Nanos, float, text};
use model::{GroupLimit, IoGroup, Layers, SomeIos};

/// Fewest I/Os of which 1 of 100 is one.
const SLOWEST_OF: u64 = 100;

/// The part with the most time of several sums by part; `None` without time.
pub(crate) fn largest_of<'a>(parts: impl Iterator<Item = &'a (String, Nanos)>) -> Option<(&'a str, Nanos)> {
    let mut sums: Vec<(&str, Nanos)> = Vec::new();
    for (part, time) in parts {
        match sums.iter_mut().find(|(known, _)| known == part) {
            Some((_, sum)) => *sum += *time,
            None => sums.push((part, *time)),
        }
    }
    sums.into_iter().max_by_key(|(_, time)| *time).filter(|(_, time)| !time.is_zero())
}

/// The largest part of usual I/Os, and of the slowest 1 of 100, each with its share of their time.
pub fn largest(layers: &Layers) -> [Option<String>; 2] {
    let of = |some: fn(&IoGroup) -> &SomeIos| {
        let all = layers.groups.iter().map(some);
        let (part, time) = largest_of(all.clone().flat_map(|ios| &ios.parts.0))?;
        let sum: Nanos = all.map(|ios| ios.time).sum();
        Some(format!("{part} {}", text::percent(time.as_f64() / sum.as_f64().max(1.0))))
    };
    [of(|group| &group.middle), of(|group| &group.slowest).filter(|_| layers.ios >= SLOWEST_OF)]
}

/// The same in a line: `device 92 %; the slowest 1 of 100: throttle 87 %`.
pub fn brief(layers: &Layers) -> String {
    let [usual, slowest] = largest(layers);
    let Some(usual) = usual else { return layers.remarks.first().cloned().unwrap_or_else(|| "no I/O".to_owned()) };
    let slowest = slowest.map(|slowest| format!("; the slowest 1 of 100: {slowest}")).unwrap_or_default();
    let lost = match layers.cost.lost {
        0 => String::new(),
        lost => format!("; {} lost", text::counted(lost, "event")),
    };
    usual + &slowest + &lost
}

/// The name of what a group does, for one or many.
pub fn noun(group: &IoGroup, count: u64) -> String {
    let plain = match group.is_of_block_layer() && group.is_of_syncs() {
        true => "flush or discard".to_owned(),
        false => format!("{}{}", group.direction, text::plural(count)),
    };
    let calls: Vec<&str> = group.calls.iter().map(|call| call.name.as_str()).filter(|name| !name.is_empty()).collect();
    match group.is_of_block_layer() && !calls.is_empty() {
        true => format!("{plain} by {}", text::listed(&calls)),
        false => plain,
    }
}

/// A limit with its group, device and rates: `control group /a, device 8:0, 300 reads per second`.
pub fn limit(limit: &GroupLimit) -> String {
    let rates = [
        (limit.reads_per_second, "reads"),
        (limit.writes_per_second, "writes"),
        (limit.bytes_read_per_second, "bytes read"),
        (limit.bytes_written_per_second, "bytes written"),
    ];
    let rate =
        |(rate, what): &(Option<u64>, &str)| Some(format!("{} {what} per second", text::grouped(float((*rate)?))));
    let rates: Vec<String> = rates.iter().filter_map(rate).collect();
    format!("control group {}, device {}, {}", limit.group, limit.device, text::listed(&rates))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Named, RecordingCost};

    fn ios(count: u64, parts: &[(&str, u64)]) -> SomeIos {
        let parts: Vec<(String, Nanos)> = parts.iter().map(|(name, time)| ((*name).to_owned(), Nanos(*time))).collect();
        let time = parts.iter().map(|(_, time)| *time).sum();
        SomeIos { count, time, parts: Named(parts), ..SomeIos::default() }
    }

    #[test]
    fn the_largest_part_is_that_of_all_groups_together() {
        let read = IoGroup { middle: ios(50, &[("tags", 40), ("device", 60)]), ..IoGroup::default() };
        let write = IoGroup { middle: ios(50, &[("tags", 90), ("device", 10)]), ..IoGroup::default() };
        let mut layers = Layers { ios: 99, groups: vec![read, write], ..Layers::default() };
        assert_eq!(brief(&layers), "tags 65 %");
        layers.groups[1].slowest = ios(10, &[("waking up", 300), ("device", 100)]);
        (layers.ios, layers.cost) = (1000, RecordingCost { lost: 2, ..RecordingCost::default() });
        assert_eq!(brief(&layers), "tags 65 %; the slowest 1 of 100: waking up 75 %; 2 events lost");
        let failed = Layers { remarks: vec!["not recorded: gone".to_owned()], ..Layers::default() };
        assert_eq!((largest(&failed), &*brief(&failed)), ([None, None], "not recorded: gone"));
    }

    #[test]
    fn a_limit_has_its_group_and_rate() {
        let one = GroupLimit {
            group: "/a".to_owned(),
            device: "8:0".to_owned(),
            reads_per_second: Some(1500),
            ..GroupLimit::default()
        };
        assert_eq!(limit(&one), "control group /a, device 8:0, 1,500 reads per second");
    }
}
