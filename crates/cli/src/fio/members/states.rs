//! The states of verify jobs on a server: a client with a trigger keeps them, so they are written aside until it has
//! fired or the jobs have ended, and a job with `verify_state_load` reads those that the client has sent.

use crate::failure::Failure;
use crate::network::log_folders::LogFolder;
use cluster::{Answer, ClientTask, VerifyState};
use plan::Plan;
use std::path::{Path, PathBuf};

/// Largest state in bytes: far more than the deepest job writes.
pub(crate) const LARGEST_STATE: u64 = 16 << 20;

/// Directories of states, as long as a member needs them.
#[derive(Debug, Default)]
pub(super) struct States {
    folder: Option<LogFolder>,
    /// The directory of those that jobs write.
    kept: Option<PathBuf>,
}

impl States {
    /// Lets the jobs of a plan read the states that a client has sent, and write theirs aside if it has a trigger.
    pub(super) fn aside(plan: &mut Plan, client: &ClientTask) -> Result<Self, Failure> {
        let mut states = States::default();
        for job in &mut plan.jobs {
            let is_kept = client.trigger.is_some() && job.keeps_state();
            let loads = job.verify.as_ref().is_some_and(|verify| verify.state_load) && !client.states.is_empty();
            if !is_kept && !loads {
                continue;
            }
            let into = LogFolder::below(&mut states.folder, if is_kept { "kept" } else { "read" })?;
            for state in client.states.iter().filter(|_| loads) {
                let path = into.join(file_name(state)?);
                sys::files::output_file::write(&path, &state.bytes).map_err(|error| Failure::at(&path, error))?;
            }
            if is_kept {
                states.kept = Some(into.clone());
            }
            job.record.states_in = Some(into);
        }
        Ok(states)
    }

    /// Sends what the jobs have written if the trigger has fired. Otherwise, and if the client is gone, it is where it
    /// would be without a trigger.
    pub(super) fn hand_over(
        &self,
        is_triggered: bool,
        say: &mut dyn FnMut(Answer) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let mut names: Vec<String> = std::fs::read_dir(kept)?
            .filter_map(|entry| entry.ok().map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect();
        names.sort();
        for name in names {
            let path = kept.join(&name);
            let bytes =
                sys::files::read_limited::read(&path, LARGEST_STATE).map_err(|error| Failure::at(&path, error))?;
            let state = VerifyState { name: name.clone(), bytes };
            if is_triggered && say(Answer::State(state.clone())).is_ok() {
                continue;
            }
            if let Err(error) = sys::files::output_file::write(Path::new(&name), &state.bytes) {
                let text =
                    format!("{name}: {error}: how far the writes came is not kept (verify_state_save=0 does not try)");
                say(Answer::Finding(text))?;
            }
        }
        Ok(())
    }
}

/// The name of a state's file, which is in no directory.
fn file_name(state: &VerifyState) -> Result<&str, Failure> {
    match is_name(&state.name) {
        true => Ok(&state.name),
        false => {
            Err(Failure::new(format!("the client sent a verify state `{}`, which is not the name of one", state.name)))
        }
    }
}

/// True for `local-NAME-N-verify.state` without a directory.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with("local-") && name.ends_with("-verify.state") && !name.contains(['/', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_names_another_directory_is_none() {
        for (name, expected) in [
            ("local-w-0-verify.state", true),
            ("local-mnt.a-12-verify.state", true),
            ("local-../../w-0-verify.state", false),
            ("/etc/local-w-0-verify.state", false),
            ("local-w-0-verify.state.sh", false),
            ("x", false),
        ] {
            assert_eq!(is_name(name), expected, "{name}");
        }
    }
}
