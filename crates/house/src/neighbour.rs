//! Another program at work on the same device.

use crate::{Process, Run, wait_for};
use rustix::process::Signal;

/// A program that reads from a device or writes to it, until it is dropped.
#[derive(Debug)]
pub struct Neighbour(Option<Process>);

impl Neighbour {
    /// Starts it and waits until the block device `name` has finished an I/O.
    ///
    /// # Panics
    /// If it does not start, or ends before that.
    pub fn start(run: Run, name: &str) -> Self {
        let ios = || {
            let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("a block device");
            let counter = |text: &str| text.parse::<u64>().expect("a counter");
            // Reads and writes that completed.
            stat.split_whitespace().map(counter).step_by(4).take(2).sum::<u64>()
        };
        let before = ios();
        let mut process = run.start();
        wait_for("an I/O of the neighbour", || {
            assert!(!process.has_ended(), "the neighbour has ended");
            (ios() > before).then_some(())
        });
        Neighbour(Some(process))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        // In order, so that nothing of it stays.
        if let Some(mut process) = self.0.take().filter(|_| !std::thread::panicking()) {
            if !process.has_ended() {
                process.signal(Signal::TERM);
            }
            process.end();
        }
    }
}
