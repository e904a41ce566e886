//! The options that few use: locks of records, many buffers, reads elsewhere, advice for mapped files, data for
//! deduplication, diagnosis of every byte.

use crate::settings::Settings;
use job::plan::{Habits, Listed, MapAdvice, PlacedBytes, PlacedCheck, Strays};

/// Memory that records go through with -m.
const AREA: usize = 16 << 20;

/// What few ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rare {
    /// The bytes of each record are locked while it moves.
    record_locks: bool,
    /// Each record has memory of its own.
    many_buffers: bool,
    /// Reads elsewhere between the records of test 1.
    strays: bool,
    /// Before test 0 a page is written by a call, whatever else writes.
    pub(crate) touches: bool,
    /// What the kernel is told of mapped files.
    pub(crate) map_advice: Option<MapAdvice>,
    /// Every byte follows from its place, and is looked at.
    pub(crate) diagnoses: bool,
    /// Writers of the sequential mix cut the file first.
    pub(crate) empties: bool,
    /// Percent of the data that other files have, too.
    pub(crate) duplicates: Option<u32>,
    /// Percent of that which all records have.
    interior: u32,
    /// Percent of the interior that only the records of one file have.
    within: u32,
    /// The files that share data are of one set.
    set: i64,
    /// Added to the number of a child.
    skew: i64,
    /// No zeros at the end of records.
    dense: bool,
    /// Percent of words that are zero, in dense data.
    zero_percent: i64,
}

/// What a letter without a value means.
pub(crate) fn flag(settings: &mut Settings, letter: char) {
    match letter {
        'K' => settings.rare.strays = true,
        'm' => settings.rare.many_buffers = true,
        'Z' => settings.rare.touches = true,
        _ => {}
    }
}

/// What it says of itself.
pub(crate) fn splash(letter: char) -> Option<&'static str> {
    Some(match letter {
        'K' => "Disrupted read patterns selected.",
        'm' => "Multi_buffer. Work area 16777216 bytes",
        'Z' => "Enable mmap & file I/O mixing.",
        _ => return None,
    })
}

/// A percentage; what is none is 0.
fn percent(asked: i64) -> u32 {
    u32::try_from(asked).ok().filter(|percent| *percent <= 100).unwrap_or(0)
}

/// What a plus option means, and what it says of itself.
pub(crate) fn plus(settings: &mut Settings, letter: char, asked: i64) -> Option<String> {
    let rare = &mut settings.rare;
    match letter {
        'l' | 'L' => {
            rare.record_locks = true;
            settings.shared_file |= letter == 'L';
            let shared = if letter == 'L' { ", shared file" } else { "" };
            return Some(format!(">>> Record locking{shared} mode enabled. <<<"));
        }
        'F' => {
            rare.empties = true;
            return None;
        }
        'A' => {
            rare.map_advice = match asked {
                0 => Some(MapAdvice::Normal),
                1 => Some(MapAdvice::Random),
                2 => Some(MapAdvice::Sequential),
                3 => Some(MapAdvice::DontNeed),
                4 => Some(MapAdvice::WillNeed),
                _ => None,
            };
            return Some(format!("Madvise enabled: {asked}"));
        }
        'd' => {
            rare.diagnoses = true;
            let first = ">>> I/O Diagnostic mode enabled. <<<";
            return Some(format!("{first}\n\tPerformance measurements are invalid in this mode."));
        }
        _ => {}
    }
    data(settings, letter, asked)
}

/// The same of those about data.
fn data(settings: &mut Settings, letter: char, asked: i64) -> Option<String> {
    let rare = &mut settings.rare;
    let text = match letter {
        'w' => {
            rare.duplicates = Some(percent(asked));
            format!("Dedup activated {} percent.", percent(asked))
        }
        'y' => {
            rare.interior = percent(asked);
            format!("Dedup within & across {} percent.", percent(asked))
        }
        'C' => {
            rare.within = percent(asked);
            format!("Dedup within {} percent.", percent(asked))
        }
        'S' => {
            rare.set = asked;
            format!("Dedup manual seed {asked} .")
        }
        'W' => {
            rare.skew = asked;
            format!("Dedup chid_skew {asked} .")
        }
        'M' => {
            rare.dense = true;
            settings.splash.push("\tDedup+compress enabled\n ".to_owned());
            return None;
        }
        'a' => {
            rare.zero_percent = asked.min(100);
            settings.splash.push(format!("\tZero Percent {}\n ", asked.min(100)));
            return None;
        }
        _ => return None,
    };
    Some(text)
}

/// What a record's bytes are, where that follows from their place. Children have files of their own.
pub(crate) fn placed(rare: &Rare, record: u32, child: u32) -> Option<PlacedBytes> {
    let child = i64::from(child).wrapping_add(rare.skew).cast_unsigned();
    let Some(duplicates) = rare.duplicates else {
        let plan = PlacedBytes { own: child, record, ..PlacedBytes::default() };
        return rare.diagnoses.then_some(plan);
    };
    // The interior stands for itself; of the rest half is zeros, and of its data as much is shared as was asked for.
    let share = |of: u64, percent: u32| of * u64::from(percent) / 100;
    let asked = share(u64::from(record), duplicates);
    let interior = share(asked, rare.interior);
    let within = share(interior, rare.within);
    let whole_words = |bytes: u64| u32::try_from(bytes / 8 * 8).unwrap_or(record);
    let half = (u64::from(record) - interior) / 2;
    Some(PlacedBytes {
        own: (rare.set.cast_unsigned() << 32).wrapping_add(child).wrapping_add(1),
        set: rare.set.cast_unsigned(),
        record,
        everywhere: whole_words(interior - within),
        within: whole_words(within),
        across: whole_words(if rare.dense { asked - interior } else { (asked - interior) / 2 }),
        zeros: if rare.dense { 0 } else { whole_words(half) },
        zero_words_percent: if rare.dense { u8::try_from(rare.zero_percent).unwrap_or(0) } else { 0 },
        check: PlacedCheck::None,
    })
}

/// What is done beside each record of a test.
pub(crate) fn habits(rare: &Rare, test: u8, list: Option<&[Listed]>, stray_bytes: u32) -> Option<Box<Habits>> {
    let stdio = matches!(test, 6 | 7);
    let habits = Habits {
        locks: rare.record_locks && !stdio,
        area_bytes: if rare.many_buffers { AREA } else { 0 },
        strays: (rare.strays && test == 1).then_some(Strays { every: 100, count: 2, bytes: stray_bytes }),
        computes: list.is_some_and(|list| list.iter().any(|listed| !listed.compute.is_zero())),
    };
    (habits != Habits::default()).then(|| Box::new(habits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(duplicates: u32, interior: u32, within: u32) -> PlacedBytes {
        let rare = Rare { duplicates: Some(duplicates), interior, within, ..Rare::default() };
        placed(&rare, 16384, 0).unwrap()
    }

    fn parts(plan: PlacedBytes) -> [u32; 4] {
        [plan.everywhere, plan.within, plan.across, plan.zeros]
    }

    /// As iozone 3.489 was seen to lay out its records.
    #[test]
    fn a_record_has_the_parts_of_the_original() {
        assert_eq!(parts(of(0, 0, 0)), [0, 0, 0, 8192]);
        assert_eq!(parts(of(50, 0, 0)), [0, 0, 4096, 8192]);
        assert_eq!(parts(of(100, 50, 0)), [8192, 0, 4096, 4096]);
        assert_eq!(parts(of(50, 40, 30)), [2288, 976, 2456, 6552]);
        assert_eq!(parts(of(0, 50, 50)), [0, 0, 0, 8192], "there is no interior of nothing");
        let dense = Rare { duplicates: Some(50), dense: true, ..Rare::default() };
        assert_eq!(parts(placed(&dense, 16384, 0).unwrap()), [0, 0, 8192, 0]);
    }

    #[test]
    fn nothing_is_placed_where_nobody_asked_for_it() {
        assert_eq!(placed(&Rare::default(), 4096, 0), None);
        assert_eq!(placed(&Rare { interior: 30, dense: true, zero_percent: 9, ..Rare::default() }, 4096, 0), None);
        assert_eq!(habits(&Rare::default(), 1, None, 1), None);
    }
}
