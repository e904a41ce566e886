//! Another program at work on the same device.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A program that reads from a device, until it is dropped.
#[derive(Debug)]
pub struct Neighbour(Child);

impl Neighbour {
    /// Starts `command` and waits until the block device `name` has finished a read.
    ///
    /// # Panics
    /// If it does not start, or ends before that.
    pub fn start(mut command: Command, name: &str) -> Self {
        let reads = || {
            let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("a block device");
            stat.split_whitespace().next().and_then(|reads| reads.parse::<u64>().ok()).expect("a counter")
        };
        let before = reads();
        let mut child = command.stdout(Stdio::null()).spawn().expect("it is there");
        while reads() == before {
            assert_eq!(child.try_wait().expect("our own child"), None, "{command:?} ended");
            std::thread::sleep(Duration::from_millis(20));
        }
        Neighbour(child)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}
