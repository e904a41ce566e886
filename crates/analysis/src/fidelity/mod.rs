//! How faithful one load is to another: distances between two traces, each next to its floor, and the least score.
//!
//! The floor is the same distance between the odd and the even twentieths of the original: one half of a load is not the
//! other. Pure functions of streams of I/Os; reading is in `formats`.

mod counts;
mod locality;
mod pairs;

pub use counts::{Counts, Extent, Halved, Ruler};
use counts::{largest_difference, total_variation};
use measure::Nanos;
pub use pairs::{Pairs, Side, pairs};

/// Fewer I/Os have no answer.
pub const FEWEST_IOS: u64 = 10_000;
/// Share of lost events above which the answer is missing.
pub const MOST_LOST: f64 = 0.001;
/// A lower score is that of another load.
pub const FAITHFUL: f64 = 0.8;

/// A distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// Operations and sizes: total variation.
    Mix,
    /// Lengths of runs of sequential I/Os: total variation.
    Runs,
    /// Hit ratios of caches of eight sizes: mean difference.
    Locality,
    /// Gaps between begins: Kolmogorov and Smirnov's largest difference.
    Gaps,
    /// Dispersion of the counts in windows of five lengths: mean of the differences on a scale of powers of 16.
    Bursts,
    /// Number in flight: total variation.
    InFlight,
    /// I/Os that were not begun within 1 ms of their moment.
    KeptTime,
    /// I/Os that do not follow the end of the same I/O of their thread.
    Order,
}

impl Distance {
    /// Its name in texts and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Distance::Mix => "mix",
            Distance::Runs => "runs",
            Distance::Locality => "locality",
            Distance::Gaps => "gaps",
            Distance::Bursts => "bursts",
            Distance::InFlight => "in flight",
            Distance::KeptTime => "kept time",
            Distance::Order => "order",
        }
    }
}

/// A distance with its floor and score, or why it is not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which.
    pub distance: Distance,
    /// Distance, floor and score, from 0 to 1.
    pub found: Result<Found, Unknown>,
    /// It counts for the answer.
    pub counts: bool,
}

/// A distance that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Between original and replay.
    pub distance: f64,
    /// Between the halves of the original.
    pub floor: f64,
    /// 1 if the distance is not above the floor.
    pub score: f64,
    /// Of bursts: the window with the largest distance.
    pub worst_window: Option<Nanos>,
}

/// Why a distance is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The clock of a side has a tick of this length; endless if it stands still.
    CoarseClock(Nanos),
    /// A side has no offsets, no latencies or no threads.
    NotRecorded,
    /// It is of a replay at the moments of the original, and this is none.
    NoReplay,
    /// There are too few windows or I/Os for it.
    TooFew,
}

/// Facts of a side, next to its counts.
#[derive(Clone, Copy, Debug)]
pub struct SideFacts {
    /// The first look.
    pub extent: Extent,
    /// The tick of a coarse clock.
    pub coarse_tick: Option<Nanos>,
    /// Share of events that the recorder lost.
    pub lost: f64,
}

/// Two sides: the original and its replay.
pub struct Sides<'counts> {
    /// Facts of each.
    pub facts: [SideFacts; 2],
    /// Counts of the original.
    pub original: &'counts Halved,
    /// Counts of the replay.
    pub replay: &'counts Counts,
    /// The I/Os as pairs, if both have threads and ends or the replay is said to be one.
    pub pairs: Option<Pairs>,
    /// It is said that the replay plays the I/Os of the original at their moments.
    pub is_replay: bool,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The least score, at least [`FAITHFUL`].
    Faithful(f64),
    /// The least score, below it.
    Unlike(f64),
    /// There is none, with the reasons.
    CannotTell(Vec<NoAnswer>),
}

/// A reason for no answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoAnswer {
    /// A side has so few I/Os.
    FewIos(Side, u64),
    /// The recorder of a side lost this share of its events.
    LostEvents(Side, f64),
    /// The replay is said to be one, and has this share of the I/Os of the original in their order.
    NoReplay(f64),
    /// No distance is known.
    NoDistance,
}

/// Distances and answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Fidelity {
    /// In the order of [`Distance`].
    pub rows: Vec<Row>,
    /// From the least score of those that count.
    pub answer: Answer,
    /// The distance with that score.
    pub weakest: Option<Distance>,
}

/// Compares two sides.
pub fn fidelity(sides: &Sides<'_>) -> Fidelity {
    let rows = rows(sides);
    let scored = rows.iter().filter(|row| row.counts).filter_map(|row| Some((row.distance, row.found.ok()?.score)));
    let least = scored.min_by(|a, b| a.1.total_cmp(&b.1));
    let mut reasons = Vec::new();
    for (side, facts) in [Side::Original, Side::Replay].into_iter().zip(&sides.facts) {
        if facts.extent.ios < FEWEST_IOS {
            reasons.push(NoAnswer::FewIos(side, facts.extent.ios));
        }
        if facts.lost > MOST_LOST {
            reasons.push(NoAnswer::LostEvents(side, facts.lost));
        }
    }
    if let Some(pairs) = sides.pairs.filter(|pairs| sides.is_replay && !pairs.are_of_a_replay()) {
        reasons.push(NoAnswer::NoReplay(measure::float(pairs.paired) / measure::float(pairs.ios.max(1))));
    }
    let answer = match least {
        _ if !reasons.is_empty() => Answer::CannotTell(reasons),
        None => Answer::CannotTell(vec![NoAnswer::NoDistance]),
        Some((_, score)) if score >= FAITHFUL => Answer::Faithful(score),
        Some((_, score)) => Answer::Unlike(score),
    };
    let weakest = least.filter(|(_, score)| *score < 1.0).map(|(distance, _)| distance);
    Fidelity { rows, answer, weakest }
}

fn rows(sides: &Sides<'_>) -> Vec<Row> {
    let Sides { original, replay, .. } = sides;
    let [odd, even] = &original.halves;
    let whole = &original.all;
    let tick = sides.facts.iter().filter_map(|facts| facts.coarse_tick).max();
    let timed = |found| tick.map_or(found, |tick| Err(Unknown::CoarseClock(tick)));
    let scored = |distance: Option<f64>, floor: Option<f64>| {
        // A floor that is not known is none: the score is the strictest.
        distance.map(|distance| Found::of(distance, floor.unwrap_or(0.0))).ok_or(Unknown::NotRecorded)
    };
    let both = |of: fn(&Counts, &Counts) -> Option<f64>| scored(of(whole, replay), of(odd, even));
    let cached = |a: &Counts, b: &Counts| locality::distance(&whole.locality, &a.locality, &b.locality);
    let row = |distance, found| Row { distance, found, counts: true };
    let mut rows = vec![
        row(Distance::Mix, both(Counts::mix_distance)),
        row(Distance::Runs, both(Counts::run_distance)),
        row(Distance::Locality, scored(cached(whole, replay), cached(odd, even))),
        row(Distance::Gaps, timed(both(|a, b| largest_difference(&a.gaps, &b.gaps)))),
        row(Distance::Bursts, bursts(sides, tick)),
        row(Distance::InFlight, timed(both(|a, b| total_variation(&a.depths, &b.depths)))),
    ];
    let [kept, order] = sides.pairs.map(|pairs| pairs.shares()).unwrap_or_default();
    let of_pairs = |share: f64| match sides.pairs {
        Some(pairs) if pairs.are_of_a_replay() => timed(Ok(Found::of(1.0 - share, 0.0))),
        _ => Err(Unknown::NoReplay),
    };
    let has_order = sides.facts.iter().all(|facts| facts.extent.has_ends && facts.extent.has_threads);
    let kept = if sides.is_replay { of_pairs(kept) } else { Err(Unknown::NoReplay) };
    let order = if has_order { of_pairs(order) } else { Err(Unknown::NotRecorded) };
    // Without a replay the order of many in flight is chance.
    rows.push(Row { distance: Distance::KeptTime, found: kept, counts: sides.is_replay });
    rows.push(Row { distance: Distance::Order, found: order, counts: sides.is_replay });
    rows
}

/// The mean over the windows that are longer than the tick.
fn bursts(sides: &Sides<'_>, tick: Option<Nanos>) -> Result<Found, Unknown> {
    let [odd, even] = &sides.original.halves;
    let distances = sides.original.all.burst_distances(sides.replay);
    let floors = odd.burst_distances(even);
    let windows = sides.original.windows();
    let known: Vec<_> = (0..windows.len())
        .filter(|at| tick.is_none_or(|tick| windows[*at] >= tick))
        .filter_map(|at| Some((windows[at], distances[at]?, floors[at].unwrap_or(0.0))))
        .collect();
    let Some(worst) = known.iter().max_by(|a, b| (a.1 - a.2).total_cmp(&(b.1 - b.2))) else {
        return Err(tick.map_or(Unknown::TooFew, Unknown::CoarseClock));
    };
    let count = measure::float(known.len() as u64);
    let mean = |of: fn(&(Nanos, f64, f64)) -> f64| known.iter().map(of).sum::<f64>() / count;
    Ok(Found { worst_window: Some(worst.0), ..Found::of(mean(|row| row.1), mean(|row| row.2)) })
}

impl Found {
    fn of(distance: f64, floor: f64) -> Self {
        let room = 1.0 - floor;
        let above = (distance - floor).max(0.0);
        let score = if room > 0.0 { (1.0 - above / room).clamp(0.0, 1.0) } else { 1.0 };
        Found { distance, floor, score, worst_window: None }
    }
}

#[cfg(test)]
mod tests;
