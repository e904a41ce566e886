//! Results of jobs → the levels of sweeps over users or over depth, for the scalability law.

use super::{busiest, pattern};
use analysis::Load;
use analysis::costs::{UserPoint, depth_of};
use model::{JobResult, RunResult};

/// Levels that differ in one load only.
pub(super) struct LevelSweep {
    pattern: String,
    block_bytes: u32,
    pub(super) load: Load,
    /// The value of the other load, which all levels share.
    other: u32,
    pub(super) points: Vec<UserPoint>,
}

impl LevelSweep {
    /// For example `randread of 4096 B by depth, 4 users`.
    pub(super) fn title(&self) -> String {
        let size = if self.block_bytes > 0 { format!(" of {} B", self.block_bytes) } else { String::new() };
        let other = match self.load {
            _ if self.other == 1 => String::new(),
            Load::Users => format!(", {}", Load::Depth.counted(self.other)),
            Load::Depth => format!(", {}", Load::Users.counted(self.other)),
        };
        format!("{}{size} by {}{other}", self.pattern, self.load.plural())
    }
}

/// Access pattern, smallest and largest block: equal in all levels of a sweep.
type Nature = (String, (u32, u32));

/// One job at its place.
struct Level {
    nature: Nature,
    users: u32,
    depth: u32,
    iops: f64,
}

/// The sweeps over users, each at one depth, then those over depth, each with one number of users.
pub(super) fn sweeps(results: &[RunResult]) -> Vec<LevelSweep> {
    let levels: Vec<Level> = results.iter().flat_map(RunResult::reported_jobs).filter_map(|job| level(&job)).collect();
    let mut found: Vec<(Nature, LevelSweep)> = Vec::new();
    for load in [Load::Users, Load::Depth] {
        for level in &levels {
            let (value, other) = match load {
                Load::Users => (level.users, level.depth),
                Load::Depth => (level.depth, level.users),
            };
            let point = UserPoint { users: f64::from(value), iops: level.iops };
            let alike = |sweep: &&mut (Nature, LevelSweep)| {
                sweep.0 == level.nature && sweep.1.load == load && sweep.1.other == other
            };
            match found.iter_mut().find(alike) {
                Some((_, sweep)) => sweep.points.push(point),
                None => {
                    let (pattern, (_, block_bytes)) = level.nature.clone();
                    let sweep = LevelSweep { pattern, block_bytes, load, other, points: vec![point] };
                    found.push((level.nature.clone(), sweep));
                }
            }
        }
    }
    let mut sweeps: Vec<LevelSweep> = found.into_iter().map(|(_, sweep)| sweep).collect();
    for sweep in &mut sweeps {
        sweep.points.sort_by(|a, b| a.users.total_cmp(&b.users));
    }
    sweeps
}

fn level(job: &JobResult) -> Option<Level> {
    let iops: f64 = job.directions.iter().filter_map(|(_, found)| found.iops()).sum();
    let nature = (pattern(job), job.echo.block_sizes[busiest(job)]);
    (iops > 0.0).then(|| Level { nature, users: job.workers.max(1), depth: depth_of(job), iops })
}
