//! The progress of all members on one screen: a line each, redrawn in place.

use super::carrier::Place;
use super::lead::View;
use crate::output::{Verbosity, print_error};
use cluster::{Beat, Leader, Stage, Standing};
use formats::printable;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::text;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// Members with a line. The others are counted in the last one.
const LINES: usize = 24;
/// Time between two drawings.
const INTERVAL: Duration = Duration::from_millis(250);

/// The screen; nothing if standard error is not a terminal.
pub(crate) struct Screen {
    lines: Option<(MultiProgress, Vec<ProgressBar>)>,
    names: Vec<String>,
    drawn: Option<Instant>,
    /// The part of a whole that the members do now.
    under_way: Option<Box<dyn Display>>,
}

impl Screen {
    pub(crate) fn new(places: &[Place], verbosity: Verbosity) -> Self {
        let lines = verbosity.shows_progress().then(|| {
            let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
            let line = |_| {
                let bar = all.add(ProgressBar::new(1));
                if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
                    bar.set_style(style);
                }
                bar
            };
            let bars = (0..=places.len().min(LINES)).map(line).collect();
            (all, bars)
        });
        Screen { lines, names: places.iter().map(Place::name).collect(), drawn: None, under_way: None }
    }

    /// Shows from now on which part of a whole the members do.
    pub(crate) fn head(&mut self, under_way: impl Display + 'static) {
        self.under_way = Some(Box::new(under_way));
    }
}

impl View for Screen {
    fn say(&mut self, rank: usize, text: &str) {
        let name = &self.names[rank];
        print_error(&format!("plumb: cluster: member {rank} ({name}): {}", printable::line(text)));
    }

    fn draw(&mut self, leader: &Leader) {
        let Some((_, bars)) = &self.lines else { return };
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < INTERVAL) {
            return;
        }
        self.drawn = Some(Instant::now());
        let (mut bytes, mut ios, mut at_work) = (0.0, 0.0, 0);
        for (rank, name) in self.names.iter().enumerate() {
            let rates = rates(leader, rank);
            at_work += usize::from(leader.standing(rank) == Standing::Running);
            let (of_bytes, of_ios) = rates.unwrap_or_default();
            (bytes, ios) = (bytes + of_bytes, ios + of_ios);
            if let Some(bar) = bars.get(rank).filter(|_| rank < LINES) {
                bar.set_message(format!("member {rank} ({name})  {}", state(leader, rank, rates)));
            }
        }
        if let Some(bar) = bars.last() {
            let all = self.names.len();
            let under_way = self.under_way.as_ref().map(|part| format!("{part}  ")).unwrap_or_default();
            let rates = format!("{}  {} IOPS", text::rate(bytes), text::number(ios));
            bar.set_message(format!("{under_way}{at_work} of {all} at work  {rates}"));
        }
    }

    fn clear(&mut self) {
        if let Some((all, _)) = &self.lines {
            // Errors are ignored: standard error may be closed.
            let _ = all.clear();
        }
    }
}

/// Bytes and I/Os per second between the last two beats of a member at work.
fn rates(leader: &Leader, rank: usize) -> Option<(f64, f64)> {
    let (Some(latest), Some(before)) = leader.latest_beats(rank) else { return None };
    let is_at_work = leader.standing(rank) == Standing::Running && before.stage == Stage::Running;
    let seconds = latest.at.saturating_sub(before.at).as_secs_f64();
    if !is_at_work || seconds <= 0.0 {
        return None;
    }
    let gain = |get: fn(&Beat) -> [u64; 3]| {
        let sum = |beat: &Beat| get(beat).iter().fold(0_u64, |sum, part| sum.saturating_add(*part));
        measure::float(sum(latest).saturating_sub(sum(before))) / seconds
    };
    Some((gain(|beat| beat.bytes), gain(|beat| beat.ios)))
}

fn state(leader: &Leader, rank: usize, rates: Option<(f64, f64)>) -> String {
    let share = || {
        let done = leader.latest_beats(rank).0.and_then(|beat| beat.done);
        done.map(|done| format!("  {}", text::percent(done))).unwrap_or_default()
    };
    match (leader.standing(rank), rates) {
        (Standing::Starting, _) => "starting".to_owned(),
        (Standing::Timing, _) => "measuring its clock".to_owned(),
        (Standing::Waiting, _) => "waiting for the others".to_owned(),
        (Standing::LayingOut, _) => format!("laying out files{}", share()),
        (Standing::Ready, _) => "ready".to_owned(),
        (Standing::Running, None) => format!("at work{}", share()),
        (Standing::Running, Some((bytes, ios))) => {
            format!("{}  {} IOPS{}", text::rate(bytes), text::number(ios), share())
        }
        (Standing::Finished | Standing::Resting, _) => "finished".to_owned(),
        (Standing::Gone, _) => "gone".to_owned(),
    }
}
