//! A question: a profile, and how it is asked; its job files.

use super::shown;
use crate::failure::Failure;
use measure::text;
use std::fmt::Write;
use survey::Profile;

/// A profile with its name, and how it is asked.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) name: String,
    pub(super) profile: Profile,
    /// Number of units that was asked for.
    pub(super) units: Option<u32>,
    /// Seconds of a test.
    pub(super) time: u64,
    pub(super) rounds: u32,
    pub(super) added: Vec<(String, String)>,
}

impl Question {
    /// Seconds of a test with the part that is not counted.
    pub(super) fn seconds(&self) -> u64 {
        self.time + self.warm_up()
    }

    /// Number of runs: each test in each round.
    pub(super) fn runs(&self) -> u64 {
        u64::from(self.rounds) * self.profile.tests.len() as u64
    }

    /// Seconds of a test that are not counted.
    pub(super) const fn warm_up(&self) -> u64 {
        self.time.div_ceil(10)
    }

    /// Number of units that the limits and jobs are for.
    pub(super) fn units(&self) -> u32 {
        self.units.unwrap_or(1)
    }

    /// True if the answer is a number of units.
    pub(super) const fn is_searched(&self) -> bool {
        self.profile.most.is_some() && self.units.is_none()
    }

    /// The job file of a test.
    pub(super) fn job_file(&self, test: usize) -> Result<String, Failure> {
        Ok(self.common() + &self.profile.tests[test].jobs_for(self.units())?)
    }

    /// A job file of all tests, one after another, with the question, limits and sources as comments.
    pub(super) fn job_files(&self) -> Result<String, Failure> {
        let mut text = format!("# {}\n# {}\n", self.profile.question, self.profile.load);
        text += &self.common();
        for (at, test) in self.profile.tests.iter().enumerate() {
            let _ = writeln!(text, "\n# Test {}: {}", at + 1, test.name);
            for rule in &test.rules {
                let limit = shown::limit(&rule.rule(self.units())?);
                let strength = if rule.advice { "should be" } else { "must be" };
                let _ = writeln!(text, "# {} {strength} {limit}. {} ({})", rule.number, rule.source, rule.date);
            }
            let jobs = test.jobs_for(self.units())?;
            text += &if at == 0 { jobs } else { after_the_others(&jobs) };
        }
        Ok(text)
    }

    /// The section of a job file for the options that the command sets.
    pub(super) fn common(&self) -> String {
        format!("[global]\ntime_based\nruntime={}\nramp_time={}\n", self.time, self.warm_up())
    }

    /// The number of units in words, if limits are for units: ` for 8 vCPUs`.
    pub(super) fn scale(&self) -> String {
        if self.profile.unit.is_none() { String::new() } else { format!(" for {}", self.counted(self.units())) }
    }

    /// A number of units in words: `1 vCPU`, `8 vCPUs`.
    pub(super) fn counted(&self, units: u32) -> String {
        text::counted(u64::from(units), self.profile.unit.as_deref().unwrap_or("unit"))
    }
}

/// The sections of a test that waits for the jobs before it.
fn after_the_others(jobs: &str) -> String {
    match jobs.trim_start().split_once('\n') {
        Some((first, rest)) => format!("{first}\nstonewall\nnew_group\n{rest}"),
        None => jobs.to_owned(),
    }
}
