//! The user's choices on the screen (order, pause, interval, device in focus), and the effect of each key.

use super::sampling::Machine;
use model::DeviceActivity;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::Duration;

/// The order of the devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SortKey {
    #[default]
    Utilisation,
    Iops,
    Throughput,
    Queue,
    Await,
    Name,
}

/// Each order: its title, and the value that is compared. The sort key goes from row to row, and from the last to the
/// first.
type SortKeyRow = (SortKey, &'static str, fn(&DeviceActivity) -> f64);
const ORDERS: [SortKeyRow; 6] = [
    (SortKey::Utilisation, "util", |device| device.utilisation_percent),
    (SortKey::Iops, "IOPS", |device| device.together.per_second),
    (SortKey::Throughput, "throughput", |device| device.together.sectors_per_second),
    (SortKey::Queue, "queue", |device| device.queue),
    (SortKey::Await, "await", |device| device.together.await_ms.unwrap_or(0.0)),
    (SortKey::Name, "name", |_| 0.0),
];

impl SortKey {
    fn row(self) -> &'static SortKeyRow {
        ORDERS.iter().find(|(order, ..)| *order == self).unwrap_or(&ORDERS[0])
    }

    pub(super) fn title(self) -> &'static str {
        self.row().1
    }

    fn next(self) -> Self {
        let at = ORDERS.iter().position(|(order, ..)| *order == self).unwrap_or(0);
        ORDERS[(at + 1) % ORDERS.len()].0
    }

    /// Sorts the devices in this order; equal ones by name.
    pub(super) fn arrange(self, machine: &Machine) -> Vec<&str> {
        let key = self.row().2;
        let weight = |name: &str| machine.devices.get(name).and_then(|track| track.now()).map_or(0.0, key);
        let mut names: Vec<&str> = machine.devices.keys().map(String::as_str).collect();
        names.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        names
    }
}

/// The action of the loop after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Stay,
    Save,
    Quit,
}

/// The state of the screen.
#[derive(Debug)]
pub(super) struct State {
    pub(super) order: SortKey,
    pub(super) paused: bool,
    pub(super) help: bool,
    pub(super) interval: Duration,
    /// The device in focus; the first one if none was chosen.
    pub(super) focus: Option<String>,
    /// The last event, for the bottom line.
    pub(super) message: Option<String>,
}

/// The minimum and maximum interval that keys can set.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(60));

impl State {
    pub(super) fn new(interval: Duration) -> Self {
        State { order: SortKey::default(), paused: false, help: false, interval, focus: None, message: None }
    }

    pub(super) fn focused<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        let chosen = self.focus.as_deref().and_then(|focus| names.iter().find(|name| **name == focus));
        chosen.or(names.first()).copied()
    }

    pub(super) fn press(&mut self, key: KeyEvent, machine: &Machine) -> Then {
        self.message = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Then::Quit } else { Then::Stay };
        }
        match key.code {
            KeyCode::Esc if self.help => self.help = false,
            KeyCode::Char('q') | KeyCode::Esc => return Then::Quit,
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Char('w') => return Then::Save,
            KeyCode::Char('+') => self.interval = (self.interval * 2).min(INTERVALS.1),
            KeyCode::Char('-') => self.interval = (self.interval / 2).max(INTERVALS.0),
            KeyCode::Up | KeyCode::Char('k') => self.step(machine, -1),
            KeyCode::Down | KeyCode::Char('j') => self.step(machine, 1),
            _ => {}
        }
        Then::Stay
    }

    fn step(&mut self, machine: &Machine, by: isize) {
        let names = self.order.arrange(machine);
        let at = self.focused(&names).and_then(|focus| names.iter().position(|name| *name == focus)).unwrap_or(0);
        let to = at.saturating_add_signed(by).min(names.len().saturating_sub(1));
        self.focus = names.get(to).map(|&name| name.to_owned());
    }
}
