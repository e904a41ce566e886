//! Interim reports of a running test: `--status-interval`, and the file that requests one.

use measure::Nanos;
use std::path::PathBuf;

/// Interval at which the request file is polled.
const LOOK: Nanos = Nanos::from_millis(100);

/// Requests for interim reports: an interval, and a file. `run` handles SIGUSR1.
#[derive(Debug)]
pub(crate) struct Interim {
    every: Option<Nanos>,
    next: Nanos,
    request: PathBuf,
    next_look: Nanos,
}

impl Interim {
    /// Reports every `every`, and each time the file `request` exists; the file is then removed.
    pub(crate) fn new(every: Option<Nanos>, request: PathBuf) -> Interim {
        Interim { every, next: every.unwrap_or(Nanos::MAX), request, next_look: Nanos::ZERO }
    }

    /// True if a report is due `elapsed` after the start of the run.
    pub(crate) fn due(&mut self, elapsed: Nanos) -> bool {
        let by_time = elapsed >= self.next;
        if let (true, Some(every)) = (by_time, self.every) {
            // A late poll does not delay the next report: due times are multiples of the interval.
            let passed = elapsed.get() / every.get().max(1);
            self.next = Nanos((passed + 1).saturating_mul(every.get()));
        }
        let mut by_file = false;
        if elapsed >= self.next_look {
            self.next_look = elapsed.saturating_add(LOOK);
            // unlink(2) succeeds in one process only, so that of several runs at the same time exactly one reports.
            by_file = std::fs::remove_file(&self.request).is_ok();
        }
        by_time || by_file
    }
}

/// The path of the file that requests a report: `fio-dump-status` in the temporary directory.
pub(super) fn request_file() -> PathBuf {
    let directory = ["TMPDIR", "TEMP"].into_iter().find_map(std::env::var_os).filter(|name| !name.is_empty());
    PathBuf::from(directory.unwrap_or_else(|| "/tmp".into())).join("fio-dump-status")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_keep_to_their_beat_however_late_a_look_is() {
        let mut interim = Interim::new(Some(Nanos::from_secs(1)), "/nowhere".into());
        let looks = [500, 1010, 1500, 2400, 2900, 3000, 5500, 5900, 6000];
        let due: Vec<u64> = looks.into_iter().filter(|&ms| interim.due(Nanos::from_millis(ms))).collect();
        assert_eq!(due, [1010, 2400, 3000, 5500, 6000]);
    }

    #[test]
    fn the_file_asks_once_and_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("fio-dump-status");
        let mut interim = Interim::new(None, file.clone());
        assert!(!interim.due(Nanos::ZERO));
        std::fs::write(&file, "").unwrap();
        assert!(!interim.due(Nanos::from_millis(50)), "it is looked for ten times a second");
        assert!(interim.due(Nanos::from_millis(150)) && !file.exists());
        assert!(!interim.due(Nanos::from_millis(300)));
    }
}
