//! How plumb's own commands run a Plan whose latencies they print: with progress, and with a calibration unless it is not wanted.

use measure::Nanos;
use run::{Calibrating, RunOptions};
use std::sync::atomic::{AtomicBool, Ordering};

/// The choice of runs without a calibration.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct CalibrationArgs {
    /// Do not measure plumb's own share of latencies before each run (less than 100 ms)
    #[arg(long)]
    no_calibrate: bool,
}

/// True after [`CalibrationArgs::apply`] with `--no-calibrate`.
static SKIPPED: AtomicBool = AtomicBool::new(false);

impl CalibrationArgs {
    /// True with `--no-calibrate`.
    pub const fn is_skipped(&self) -> bool {
        self.no_calibrate
    }

    /// Applies it to all runs of this process.
    pub fn apply(&self) {
        SKIPPED.store(self.no_calibrate, Ordering::Relaxed);
    }
}

/// The options of a run.
pub fn options() -> RunOptions {
    RunOptions {
        progress_interval: Some(Nanos::from_millis(250)),
        calibration: if SKIPPED.load(Ordering::Relaxed) { Calibrating::Skipped } else { Calibrating::Brief },
        ..RunOptions::default()
    }
}
