//! `--trigger-file`, `--trigger-timeout`, `--trigger`: end a run on an external condition, and run a command.

use fio::TriggerRequest;
use measure::Nanos;
use std::io;
use std::process::{Child, Command};

/// Interval at which the trigger file is polled.
const PERIOD: Nanos = Nanos::from_millis(100);

#[derive(Debug)]
pub(crate) struct Trigger<'run> {
    request: &'run TriggerRequest,
    next_look: Nanos,
}

impl<'run> Trigger<'run> {
    /// Creates a trigger; without file and timeout it never fires.
    pub(crate) fn new(request: &'run TriggerRequest) -> Self {
        Trigger { request, next_look: Nanos::ZERO }
    }

    /// True if the trigger fires `elapsed` after the start of the run. The trigger file is removed.
    pub(crate) fn is_pulled(&mut self, elapsed: Nanos) -> bool {
        if self.request.timeout.is_some_and(|timeout| elapsed >= timeout) {
            return true;
        }
        let Some(file) = self.request.file.as_ref().filter(|_| elapsed >= self.next_look) else { return false };
        self.next_look = elapsed.saturating_add(PERIOD);
        file.exists() && std::fs::remove_file(file).is_ok()
    }

    /// Runs the trigger command. Returns a message if it failed.
    pub(crate) fn fire(&self) -> Option<String> {
        self.start().and_then(CommandProcess::wait)
    }

    /// Starts the trigger command, if there is one.
    pub(crate) fn start(&self) -> Option<CommandProcess> {
        let command = self.request.command.as_ref()?;
        Some(CommandProcess { command: command.clone(), child: Command::new("/bin/sh").arg("-c").arg(command).spawn() })
    }
}

pub(crate) struct CommandProcess {
    command: String,
    child: io::Result<Child>,
}

impl CommandProcess {
    /// Waits for its end. Returns a message if it failed.
    pub(crate) fn wait(self) -> Option<String> {
        let command = self.command;
        match self.child.and_then(|mut child| child.wait()) {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("trigger=`{command}` ended with {status}")),
            Err(error) => Some(format!("trigger=`{command}` could not be run: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trigger_is_pulled_by_time_or_by_a_file_that_it_removes() {
        let timed = TriggerRequest { timeout: Some(Nanos::from_secs(2)), ..TriggerRequest::default() };
        let mut trigger = Trigger::new(&timed);
        assert!(!trigger.is_pulled(Nanos::SECOND) && trigger.is_pulled(Nanos::from_secs(2)));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("now");
        let by_file = TriggerRequest { file: Some(path.clone()), ..TriggerRequest::default() };
        let mut trigger = Trigger::new(&by_file);
        assert!(!trigger.is_pulled(Nanos::ZERO));
        std::fs::write(&path, "").unwrap();
        assert!(!trigger.is_pulled(Nanos::from_millis(50)), "it does not look each time");
        assert!(trigger.is_pulled(Nanos::from_millis(150)) && !path.exists());
    }
}
