//! The answer of `plumb fidelity` as text and as JSON.

use super::{Compared, Named, kind, reasons};
use crate::failure::Failure;
use crate::{streams, width};
use analysis::fidelity::{Answer, Distance, Found, Row, Unknown};
use measure::Nanos;
use measure::text::{aligned, grouped, number, percent, time};
use serde_json::{Value, json};

/// Name of the format that `--columns` describes.
pub(super) const COLUMNS: &str = "columns";

/// Text for people.
pub(super) fn text(compared: &Compared, is_quiet: bool) -> String {
    let columns = width::of_stdout();
    let mut text = width::for_people(&sentence(compared), "  ", columns);
    if is_quiet {
        return text;
    }
    let head = ["", "distance", "floor", "score", ""].map(str::to_owned);
    let rows = compared.found.rows.iter().map(|row| line(row, compared));
    let lines: Vec<[String; 5]> = std::iter::once(head).chain(rows).collect();
    text += &format!("\n{}\n", aligned(&lines, &[0, 4]));
    let [first, second] = &compared.sides;
    let both = |name: &str, of: fn(&Named) -> Option<String>| {
        let shown = |side| of(side).unwrap_or_else(|| "n/a".to_owned());
        [name.to_owned(), shown(first), shown(second)]
    };
    let sides = [
        ["", "original", "replay"].map(str::to_owned),
        both("I/Os", |side| Some(grouped(measure::float(side.facts.extent.ios)))),
        both("time", |side| Some(time(side.facts.extent.last.as_f64()))),
        both("p50", |side| side.outcome[0].map(time)),
        both("p99", |side| side.outcome[1].map(time)),
        both("in flight", |side| side.outcome[2].map(number)),
    ];
    text += &aligned(&sides, &[0]);
    text.push('\n');
    for (name, side) in [("original", first), ("replay", second)] {
        text += &width::for_people(&format!("{name}: {}: {}", side.path.display(), kind(side)), "  ", columns);
    }
    if let (Some(a), Some(b)) = (first.level, second.level)
        && a != b
    {
        text += "! one is of system calls, the other of a device: the kernel merges and splits between them\n";
    }
    text
}

/// `faithful to 91 %; weakest: bursts at 720 ms`
fn sentence(compared: &Compared) -> String {
    let weakest = compared.found.weakest.map(|weakest| format!("; weakest: {}", weakest_named(compared, weakest)));
    let weakest = weakest.unwrap_or_default();
    match compared.found.answer {
        Answer::Faithful(score) => format!("faithful to {}{weakest}{}", percent(score), hidden(compared)),
        Answer::Unlike(score) => format!("unlike: faithful to {}{weakest}{}", percent(score), hidden(compared)),
        Answer::CannotTell(_) => format!("cannot tell: {}", reasons(compared)),
    }
}

/// The part that a coarse clock hides.
fn hidden(compared: &Compared) -> &'static str {
    let is_hidden = |row: &Row| matches!(row.found, Err(Unknown::CoarseClock(_)));
    if compared.found.rows.iter().any(is_hidden) { "; arrivals: cannot tell" } else { "" }
}

fn weakest_named(compared: &Compared, weakest: Distance) -> String {
    let row = compared.found.rows.iter().find(|row| row.distance == weakest);
    let window = row.and_then(|row| row.found.ok()?.worst_window);
    match window {
        Some(window) => format!("{} at {}", weakest.name(), time(window.as_f64())),
        None => weakest.name().to_owned(),
    }
}

/// A row of the table: numbers, or why there are none.
fn line(row: &Row, compared: &Compared) -> [String; 5] {
    let name = row.distance.name().to_owned();
    match row.found {
        Ok(found) => {
            let Found { distance, floor, score, worst_window } = found;
            let about = match worst_window {
                Some(window) if score < 1.0 => format!("most at {}", time(window.as_f64())),
                _ if !row.counts => "does not count without --timed".to_owned(),
                _ => String::new(),
            };
            [name, number(distance), number(floor), percent(score), about]
        }
        Err(unknown) => [name, "n/a".to_owned(), String::new(), String::new(), reason(unknown, row.distance, compared)],
    }
}

fn reason(unknown: Unknown, distance: Distance, compared: &Compared) -> String {
    match unknown {
        Unknown::CoarseClock(Nanos::MAX) => "cannot tell: all moments are equal".to_owned(),
        Unknown::CoarseClock(tick) => format!("cannot tell: the clock has steps of {}", time(tick.as_f64())),
        Unknown::NotRecorded => match distance {
            Distance::InFlight => "latencies are not recorded".to_owned(),
            Distance::Order => "threads or latencies are not recorded".to_owned(),
            _ => "offsets are not recorded".to_owned(),
        },
        Unknown::NoReplay if distance == Distance::KeptTime && !compared.is_timed => {
            "of a replay at the moments of the original: --timed".to_owned()
        }
        Unknown::NoReplay => "these are not the I/Os of the original".to_owned(),
        Unknown::TooFew => "the trace is too short".to_owned(),
    }
}

/// The document.
pub(super) fn document(compared: &Compared) -> Result<String, Failure> {
    let (answer, score) = match &compared.found.answer {
        Answer::Faithful(score) => ("faithful", Some(*score)),
        Answer::Unlike(score) => ("unlike", Some(*score)),
        Answer::CannotTell(_) => ("cannot tell", None),
    };
    let distances = compared.found.rows.iter().map(|row| match row.found {
        Ok(found) => json!({
            "name": row.distance.name(),
            "distance": found.distance,
            "floor": found.floor,
            "score": found.score,
            "counts": row.counts,
            "worst_window_ns": found.worst_window.map(Nanos::get),
        }),
        Err(unknown) => json!({
            "name": row.distance.name(),
            "unknown": reason(unknown, row.distance, compared),
            "counts": row.counts,
        }),
    });
    let distances: Vec<Value> = distances.collect();
    let sides = compared.sides.iter().map(|side| {
        json!({
            "file": side.path.display().to_string(),
            "format": side.format,
            "level": side.level.map(model::Level::name),
            "ios": side.facts.extent.ios,
            "time_ns": side.facts.extent.last.get(),
            "coarse_tick_ns": side.facts.coarse_tick.map(Nanos::get),
            "lost_events": side.facts.lost,
            "p50_ns": side.outcome[0],
            "p99_ns": side.outcome[1],
            "in_flight": side.outcome[2],
        })
    });
    let sides: Vec<Value> = sides.collect();
    streams::document(
        "fidelity",
        json!({
            "answer": answer,
            "score": score,
            "weakest": compared.found.weakest.map(Distance::name),
            "sentence": sentence(compared),
            "distances": distances,
            "original": sides.first(),
            "replay": sides.get(1),
            "paired_ios": compared.pairs.map(|pairs| pairs.paired),
        }),
    )
}
