//! Survey files of strangers: what they may not ask for under `--untrusted`.
//!
//! Words on the command line are the user's own. Looks at words only, as with job files: what a link inside the directory
//! leads to is left to the kernel's permissions.

use crate::wishes::Wishes;
use job::untrusted::{leads_outside, objection};
use std::path::Path;

impl Wishes {
    /// Whether a stranger may wish all this.
    ///
    /// # Errors
    /// What is refused, and what to do about it.
    pub fn check_untrusted(&self) -> Result<(), String> {
        if let Some(identity) = self.overwrite.first() {
            return Err(format!(
                "--untrusted: overwrite = {identity:?} lifts the guard of devices; give --overwrite on the command line if \
                 you want it"
            ));
        }
        let places = self.targets.iter().map(|path| ("targets", path));
        let places = places.chain(self.output.iter().map(|path| ("output", path)));
        for (key, path) in places.chain(self.output_dir.iter().map(|path| ("output-dir", path))) {
            check_path(key, path)?;
        }
        let axes = self.vary.iter().flat_map(|axis| axis.values.iter().map(|value| (axis.name.as_str(), value)));
        let own = self.own.values().flat_map(|test| test.options.iter().map(|(name, value)| (name.as_str(), value)));
        for (option, value) in axes.chain(own).chain(self.engine.iter().map(|name| ("ioengine", name))) {
            if let Some(why) = objection(option, value) {
                return Err(format!(
                    "--untrusted: {option} = {value:?} {why}; leave it out, or give it on the command line if you want it"
                ));
            }
        }
        Ok(())
    }
}

fn check_path(key: &str, path: &Path) -> Result<(), String> {
    let shown = path.display().to_string();
    if !leads_outside(&shown) {
        return Ok(());
    }
    Err(format!("--untrusted: {key} = {shown:?} leads out of this directory; name a place in it or below it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strangers_survey_stays_in_its_directory_and_runs_nothing() {
        for text in [
            "targets = [\"/dev/sda\"]",
            "targets = [\"here\", \"../there\"]",
            "output = \"/etc/cron.d/x\"",
            "output-dir = \"sub/../..\"",
            "overwrite = [\"SERIAL\"]",
            "engine = \"exec\"",
            "engine = \"net\"",
            "[vary]\nioengine = \"psync,exec\"",
            "[vary]\nbuffer_pattern = \"'/etc/shadow'\"",
            "[test.a]\nrw = \"read\"\noptions = { ioengine = \"exec\" }",
            "[test.a]\nrw = \"read\"\noptions = { buffer_pattern = \"'/etc/shadow'\" }",
        ] {
            let wishes = Wishes::from_toml(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let told = wishes.check_untrusted().expect_err(text);
            assert!(told.starts_with("--untrusted: "), "{text}: {told}");
        }
        // Nobody's survey may have these.
        for option in ["ioscheduler = \"none\"", "write_consent = \"16777216\"", "cgroup = \"a,b\""] {
            assert!(Wishes::from_toml(&format!("[vary]\n{option}")).is_err(), "{option}");
            assert!(
                Wishes::from_toml(&format!("[test.a]\nrw = \"read\"\noptions = {{ {option} }}")).is_err(),
                "{option}"
            );
        }
        let harmless = "targets = [\"data\"]\nengine = \"libaio\"\noutput = \"r.json\"\n[vary]\niodepth = [1, 4]\n";
        assert_eq!(Wishes::from_toml(harmless).unwrap().check_untrusted(), Ok(()));
    }
}
