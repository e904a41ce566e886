//! The two sentences at the end: where the time goes, and what would help. Each follows from sums of parts.

use super::answer::Answer;
use measure::text;
use observe::{Part, Reach};
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

/// A sentence for where the time goes, one for a faster disk, and one for more depth, as far as that is known.
pub(super) fn sentences(answer: &Answer) -> Vec<String> {
    let mut sentences = of_parts(answer);
    sentences.extend(answer.disks.iter().filter_map(|disk| Some(disk.gain?.sentence())));
    sentences
}

fn of_parts(answer: &Answer) -> Vec<String> {
    let sum = answer.summary.parts.sum();
    if sum.is_zero() {
        return vec![nothing(answer)];
    }
    let share = |part: Part| answer.summary.parts[part].as_f64() / sum.as_f64();
    let largest = answer.summary.parts.largest();
    let of_what = if answer.is_device { "the device's I/Os" } else { "its I/Os" };
    let mut first = format!("{} of the time of {of_what} is {}", text::percent(share(largest)), words(largest));
    if largest == Part::Throttle {
        let limits: Vec<String> =
            answer.seen.limits.iter().map(|one| layers::limited(&layers::limit(one)).text).collect();
        first += &format!(": {}", text::listed_up_to(&limits, 3));
    }
    let little = answer.summary.in_calls.filter(|busy| *busy < LITTLE && is_all_seen(answer));
    if let Some(busy) = little {
        let shown = text::percent(busy);
        let second = format!("A call is in progress for {shown} of the time: a faster disk would not help.");
        return vec![first + ".", second];
    }
    // Times of threads that run at once sum to more than the recording: of that no part is small.
    let of_recording = sum.as_f64() / answer.seen.cost.time.as_f64().max(1.0);
    let whole = (missed(answer) == 0).then_some(of_recording);
    vec![first + ".", help(&share, whole)]
}

/// Number of I/Os and events that are in no sum.
fn missed(answer: &Answer) -> u64 {
    let seen = &answer.seen;
    let counted = seen.outside + seen.not_followed + seen.unknown + seen.open_calls + seen.unclear;
    counted + seen.cost.lost + u64::from(answer.is_full)
}

/// True if all waits for storage are in calls that were recorded.
fn is_all_seen(answer: &Answer) -> bool {
    missed(answer) == 0 && answer.seen.ios.iter().all(|io| io.reach == Reach::Call)
}

fn nothing(answer: &Answer) -> String {
    let time = text::span(answer.seen.cost.time.as_f64() / 1e9);
    match is_all_seen(answer) {
        true => format!("No I/O in {time}: a faster disk would not help."),
        false => format!("No I/O in {time} was followed to its end."),
    }
}

/// The sentence about a faster device. `whole` is the time of all I/Os over that of the recording, if none was missed.
fn help(share: &dyn Fn(Part) -> f64, whole: Option<f64>) -> String {
    let device = share(Part::Device) + share(Part::Flush);
    let unknown: f64 = UNKNOWN.into_iter().map(share).sum();
    let half = text::percent(device / 2.0);
    if whole.is_some_and(|whole| (device + unknown) * whole < LITTLE) {
        return format!("The device has {} of it: a faster disk would not help.", text::percent(device));
    }
    let by_itself = format!("A device twice as fast would take {half} off that time");
    if unknown < LITTLE {
        return by_itself + ".";
    }
    let unknown = text::percent(unknown);
    format!("{by_itself} by itself; how much of the other waits ({unknown}) it would take is not known.")
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
        help(&|part| parts.iter().filter(|(name, _)| *name == part).map(|(_, share)| share).sum(), whole)
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
}
