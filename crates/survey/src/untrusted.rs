//! Restrictions of `--untrusted` on survey files.
//!
//! Arguments on the command line are trusted. As with job files, only the text is checked: access through symbolic
//! links inside the directory is left to the kernel's permission checks.

use crate::error::SurveyError;
use crate::request::SurveyRequest;
use fio::untrusted::{leads_outside, objection};
use plan::EngineSpec;
use std::path::Path;

impl SurveyRequest {
    /// Checks that an untrusted file may request these settings.
    ///
    /// # Errors
    /// The setting that is refused, with an alternative.
    pub fn check_untrusted(&self, engines: &[EngineSpec]) -> Result<(), SurveyError> {
        if let Some(identity) = self.overwrite.first() {
            return Err(SurveyError::Untrusted(format!(
                "overwrite = {identity:?} lifts the guard of devices; give --overwrite on the command line if \
                 you want it"
            )));
        }
        let places = self.targets.iter().map(|path| ("targets", path));
        let places = places.chain(self.output.iter().map(|path| ("output", path)));
        for (key, path) in places.chain(self.output_dir.iter().map(|path| ("output-dir", path))) {
            check_path(key, path)?;
        }
        let axes = self.vary.iter().flat_map(|axis| axis.values.iter().map(|value| (axis.name.as_str(), value)));
        let own = self.own.values().flat_map(|test| test.options.iter().map(|(name, value)| (name.as_str(), value)));
        for (option, value) in axes.chain(own).chain(self.engine.iter().map(|name| ("ioengine", name))) {
            if let Some(why) = objection(option, value, engines) {
                return Err(SurveyError::Untrusted(format!(
                    "{option} = {value:?} {why}; leave it out, or give it on the command line if you want it"
                )));
            }
        }
        Ok(())
    }
}

fn check_path(key: &str, path: &Path) -> Result<(), SurveyError> {
    let shown = path.display().to_string();
    if !leads_outside(&shown) {
        return Ok(());
    }
    Err(SurveyError::Untrusted(format!(
        "{key} = {shown:?} leads out of this directory; name a place in it or below it"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Capabilities, Submission, Work};

    const fn refused(name: &'static str, why: &'static str) -> EngineSpec {
        let capabilities = Capabilities::new(Submission::Synchronous, Work::Data);
        EngineSpec { name, help: "", capabilities: Capabilities { untrusted: Some(why), ..capabilities }, options: &[] }
    }

    const ENGINES: &[EngineSpec] = &[refused("exec", "runs a command"), refused("net", "connects to other hosts")];

    #[test]
    fn an_untrusted_survey_stays_in_its_directory_and_runs_nothing() {
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
            let request = SurveyRequest::from_toml(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let message = request.check_untrusted(ENGINES).expect_err(text).to_string();
            assert!(message.starts_with("--untrusted: "), "{text}: {message}");
        }
        // These options are not available in any survey.
        for option in ["ioscheduler = \"none\"", "write_consent = \"16777216\"", "cgroup = \"a,b\""] {
            assert!(SurveyRequest::from_toml(&format!("[vary]\n{option}")).is_err(), "{option}");
            assert!(
                SurveyRequest::from_toml(&format!("[test.a]\nrw = \"read\"\noptions = {{ {option} }}")).is_err(),
                "{option}"
            );
        }
        let harmless = "targets = [\"data\"]\nengine = \"libaio\"\noutput = \"r.json\"\n[vary]\niodepth = [1, 4]\n";
        assert!(SurveyRequest::from_toml(harmless).unwrap().check_untrusted(ENGINES).is_ok());
    }
}
