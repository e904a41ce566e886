//! What the tasks of all members have in common, whatever program they are of.

use super::carrier::Place;
use cluster::LeaderCommand;
use measure::Nanos;

/// Time between two signs of life of a member.
pub(crate) const BEAT: Nanos = Nanos::from_millis(500);
/// Directory of a member that works where it was started.
pub(crate) const HERE: &str = ".";

/// The tasks of members that make their plans from other words than fio's.
pub(crate) fn tasks_of_places(places: &[Place], directory: &str, command: &LeaderCommand) -> Vec<cluster::Task> {
    let hosts: Vec<String> = places.iter().map(Place::host).collect();
    let members = u32::try_from(places.len()).unwrap_or(u32::MAX);
    let task = |(rank, host): (u32, &String)| cluster::Task {
        rank,
        members,
        others_on_host: others_on(&hosts, host),
        directory: directory.to_owned(),
        prefix: format!("{host}.{rank}."),
        beat: BEAT,
        command: command.clone(),
        ..cluster::Task::default()
    };
    (0..members).zip(&hosts).map(task).collect()
}

/// The number of members on a host, without one.
pub(crate) fn others_on(hosts: &[String], host: &str) -> u32 {
    u32::try_from(hosts.iter().filter(|other| *other == host).count()).unwrap_or(u32::MAX) - 1
}
