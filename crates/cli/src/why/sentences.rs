//! The sentences at the end: where the time goes, and what would help.

use super::answer::Answer;
use super::gains::{self, Times};
use measure::text;
use observe::{PARTS, Part, Reach};
use session::layers;

/// A share of time that is worth nothing.
const LITTLE: f64 = 0.1;

/// Parts that a faster disk may shorten, but by an unknown amount.
const UNKNOWN: [Part; 8] = [
    Part::FileSystem,
    Part::Journal,
    Part::DirtyLimit,
    Part::Tags,
    Part::Scheduler,
    Part::Stack,
    Part::Wait,
    Part::NotSeen,
];

/// Sentences about what would help, at most.
const MOST: usize = 3;

/// A sentence for where the time goes, and what would help, the largest gain first. A faster disk is always among it.
pub(super) fn sentences(answer: &Answer) -> Vec<String> {
    let sum = answer.summary.parts.sum();
    if sum.is_zero() {
        return vec![nothing(answer)];
    }
    let share = |part: Part| answer.summary.parts[part].as_f64() / sum.as_f64();
    let little = answer.summary.in_calls.filter(|busy| *busy < LITTLE && is_all_seen(answer));
    if let Some(busy) = little {
        let shown = text::percent(busy);
        let second = format!("A call is in progress for {shown} of the time: a faster disk would not help.");
        return vec![where_it_goes(answer, &share), second];
    }
    // Times of threads that run at once sum to more than the recording: of that no part is small.
    let of_recording = sum.as_f64() / answer.recorded.seen.cost.time.as_f64().max(1.0);
    let device = answer.gains.iter().find(|gain| gain.name == gains::DEVICE);
    let asked = Faster {
        whole: (missed(answer) == 0).then_some(of_recording),
        is_queue: device.is_some_and(|gain| gain.is_with_queue),
        times: device.and_then(|gain| gain.times),
    };
    let others = answer.gains.iter().filter(|gain| gain.name != gains::DEVICE && gain.is_worth_it());
    let mut helps: Vec<(f64, String)> =
        others.filter_map(|gain| Some((gain.times?.middle, gain.why.clone()))).collect();
    helps.sort_by(|one, other| other.0.total_cmp(&one.0));
    helps.truncate(MOST - 1);
    helps.push((asked.times.map_or(1.0, |times| times.middle), help(&share, &asked)));
    helps.sort_by(|one, other| other.0.total_cmp(&one.0));
    std::iter::once(where_it_goes(answer, &share)).chain(helps.into_iter().map(|(_, says)| says)).collect()
}

fn where_it_goes(answer: &Answer, share: &dyn Fn(Part) -> f64) -> String {
    let largest = answer.summary.parts.largest();
    let of_what = if answer.recorded.is_device { "the device's I/Os" } else { "its I/Os" };
    let mut first = format!("{} of the time of {of_what} is {}", text::percent(share(largest)), words(largest));
    if largest == Part::Throttle {
        let limits: Vec<String> =
            answer.recorded.seen.limits.iter().map(|one| layers::limited(&layers::limit(one)).text).collect();
        first += &format!(": {}", text::listed_up_to(&limits, 3));
    }
    first + "."
}

/// Number of I/Os and events that are in no sum.
fn missed(answer: &Answer) -> u64 {
    let seen = &answer.recorded.seen;
    let counted = seen.outside + seen.not_followed + seen.unknown + seen.open_calls + seen.unclear;
    counted + seen.cost.lost + u64::from(answer.recorded.is_full)
}

/// True if all waits for storage are in calls that were recorded.
fn is_all_seen(answer: &Answer) -> bool {
    missed(answer) == 0 && answer.recorded.seen.ios.iter().all(|io| io.reach == Reach::Call)
}

fn nothing(answer: &Answer) -> String {
    let time = text::span(answer.recorded.seen.cost.time.as_f64() / 1e9);
    match is_all_seen(answer) {
        true => format!("No I/O in {time}: a faster disk would not help."),
        false => format!("No I/O in {time} was followed to its end."),
    }
}

/// Facts about a faster device.
#[derive(Default)]
struct Faster {
    /// The time of all I/Os over that of the recording, if none was missed.
    whole: Option<f64>,
    /// True if the queue before the device shrinks with its time.
    is_queue: bool,
    times: Option<Times>,
}

/// The sentence about a faster device.
fn help(share: &dyn Fn(Part) -> f64, asked: &Faster) -> String {
    let shrinks = |part: &Part| gains::shrinks(*part, asked.is_queue);
    let device: f64 = PARTS.into_iter().filter(shrinks).map(share).sum();
    let unknown: f64 = UNKNOWN.into_iter().filter(|part| !shrinks(part)).map(share).sum();
    let half = text::percent(device / 2.0);
    if asked.whole.is_some_and(|whole| (device + unknown) * whole < LITTLE) {
        return format!("The device has {} of it: a faster disk would not help.", text::percent(device));
    }
    let worth = asked.times.filter(Times::is_worth_it);
    let rate = worth.map(|times| format!(" and give {} as many per second", times.shown())).unwrap_or_default();
    let by_itself = format!("A device twice as fast would take {half} off that time");
    if unknown < LITTLE {
        return format!("{by_itself}{rate}.");
    }
    let unknown = text::percent(unknown);
    format!("{by_itself}{rate} by itself; how much of the other waits ({unknown}) it would take is not known.")
}

/// A part in a sentence.
fn words(part: Part) -> &'static str {
    match part {
        Part::Cache => "memory: the page cache answers",
        Part::FileSystem => "the file system: the thread runs in the call",
        Part::Wait => "waiting for a lock, or for something else than a device",
        Part::Journal => "waiting for commits of the file system's journal",
        Part::DirtyLimit => "waiting because too much of the page cache is dirty",
        Part::Throttle => "spent held back by a limit",
        Part::Tags => "waiting for a request of the device",
        Part::Scheduler => "in the I/O scheduler",
        Part::Stack => "in dm or md",
        Part::Device => "in the device",
        Part::Flush => "in flushes of the device's cache",
        Part::WakingUp => "waiting for a processor",
        Part::CopyAndReturn => "copying and returning",
        Part::NotSeen => "not seen",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parts: &[(Part, f64)]) -> String {
        among(parts, Some(1.0))
    }

    fn among(parts: &[(Part, f64)], whole: Option<f64>) -> String {
        help(
            &|part| parts.iter().filter(|(name, _)| *name == part).map(|(_, share)| share).sum(),
            &Faster { whole, ..Faster::default() },
        )
    }

    #[test]
    fn a_thread_that_waits_among_many_that_do_not_is_not_overlooked() {
        // Of 33 threads that are in I/O all the time, one waits for the device.
        let parts = [(Part::Device, 0.03), (Part::Cache, 0.97)];
        let expected = "A device twice as fast would take 1.5 % off that time.";
        assert_eq!((among(&parts, Some(33.0)).as_str(), among(&parts, None).as_str()), (expected, expected));
        assert!(of(&parts).ends_with("a faster disk would not help."));
    }

    #[test]
    fn a_faster_device_shortens_the_device_alone() {
        assert_eq!(
            of(&[(Part::Device, 0.8), (Part::CopyAndReturn, 0.2)]),
            "A device twice as fast would take 40 % off that time."
        );
        assert_eq!(
            of(&[(Part::Device, 0.02), (Part::Throttle, 0.98)]),
            "The device has 2 % of it: a faster disk would not help."
        );
        let journal = of(&[(Part::Device, 0.2), (Part::Journal, 0.8)]);
        assert!(journal.contains("10 % off that time by itself") && journal.contains("(80 %)"), "{journal}");
    }

    #[test]
    fn the_largest_gains_come_first_and_a_faster_disk_is_among_them() {
        use crate::why::gains::{Gain, tests::read, tests::recorded};
        let reads = (0..1000).map(|number| read(number * 100, &[(Part::Device, 20), (Part::Wait, 80)])).collect();
        let mut answer = Answer::of(recorded(reads));
        let gain = |name, middle: f64, low| Gain {
            name,
            times: Some(Times { middle, within: Some([low, middle + 1.0]) }),
            why: format!("{name}."),
            is_with_queue: false,
        };
        let faster = answer.gains.swap_remove(0);
        let all = [("a", 3.0, 2.0), ("b", 1.05, 1.02), ("c", 5.0, 4.0), ("d", 9.0, 1.0), ("e", 2.0, 1.5)];
        answer.gains = all.into_iter().map(|(name, middle, low)| gain(name, middle, low)).chain([faster]).collect();
        let found = sentences(&answer);
        let device = "A device twice as fast would take 10 % off that time and give 1.11 times (1.11 to 1.11) as many per \
                      second by itself; how much of the other waits (80 %) it would take is not known.";
        assert_eq!(found[1..], ["c.", "a.", device], "{found:?}");
    }
}
