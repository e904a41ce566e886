//! Where a control group is, and that of a systemd unit.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use sys::files::mounts;

/// The file that makes a directory a control group.
const PROCESSES: &str = "cgroup.procs";

/// The directory of a control group.
pub(super) fn directory(group: &Path) -> Result<PathBuf, Failure> {
    let has_processes = |directory: &Path| directory.join(PROCESSES).exists();
    if has_processes(group) {
        return Ok(group.to_owned());
    }
    let name = group.strip_prefix("/").unwrap_or(group);
    let mut candidates = hierarchies(Path::new("/"))?.into_iter().map(|top| top.join(name));
    let missing = "there is no such control group; `cat /proc/PID/cgroup` shows the one of a process";
    candidates.find(|directory| has_processes(directory)).ok_or_else(|| Failure::at(group, missing))
}

/// The roots of all control groups below the root of a file system.
fn hierarchies(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mounts = mounts::read(root)?.into_iter().filter(|mount| mount.kind.starts_with("cgroup"));
    let below = |point: PathBuf| root.join(point.strip_prefix("/").unwrap_or(&point));
    Ok(mounts.map(|mount| below(mount.point)).collect())
}

/// The directory of the control group of a systemd unit. Without a suffix it is a service.
pub(super) fn of_unit(root: &Path, unit: &str) -> Result<PathBuf, Failure> {
    let failed = |why: &str| Failure::new(format!("why: unit {unit}: {why}"));
    if !root.join("run/systemd/system").is_dir() {
        return Err(failed("systemd does not run here; name the control group with --cgroup, or a process with --pid"));
    }
    let name = if unit.contains('.') { unit.to_owned() } else { format!("{unit}.service") };
    let mut found: Vec<PathBuf> = Vec::new();
    for top in hierarchies(root)? {
        found =
            below(&top, &name).into_iter().filter_map(|path| Some(path.strip_prefix(&top).ok()?.to_owned())).collect();
        if let [one] = &found[..] {
            return Ok(top.join(one));
        }
        if !found.is_empty() {
            break;
        }
    }
    if found.is_empty() {
        return Err(failed("it has no control group: it does not run, or there is no such unit (systemctl status)"));
    }
    let all: Vec<String> = found.iter().map(|path| path.display().to_string()).collect();
    Err(failed(&format!("there are several; name one with --cgroup: {}", measure::text::listed_up_to(&all, 4))))
}

/// All control groups with this name below a directory.
fn below(top: &Path, name: &str) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![top.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name() == *name && entry.path().join(PROCESSES).exists() {
                    found.push(entry.path());
                } else {
                    open.push(entry.path());
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with systemd and these groups.
    fn machine(groups: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let make = |path: &str| std::fs::create_dir_all(root.path().join(path)).unwrap();
        make("run/systemd/system");
        make("proc/self");
        let line = "30 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        std::fs::write(root.path().join("proc/self/mountinfo"), line).unwrap();
        for group in groups {
            make(&format!("sys/fs/cgroup/{group}"));
            std::fs::write(root.path().join("sys/fs/cgroup").join(group).join(PROCESSES), "").unwrap();
        }
        root
    }

    #[test]
    fn a_unit_has_the_control_group_of_its_name() {
        let groups = ["system.slice/a.service", "system.slice/db.slice/b@1.service", "user.slice/a.scope"];
        let root = machine(&groups);
        let of = |unit: &str| of_unit(root.path(), unit).unwrap();
        for (unit, group) in [("a", groups[0]), ("a.service", groups[0]), ("b@1", groups[1]), ("a.scope", groups[2])] {
            assert_eq!(of(unit), root.path().join("sys/fs/cgroup").join(group), "{unit}");
        }
        let missing = of_unit(root.path(), "c").unwrap_err();
        assert!(missing.message().contains("unit c: it has no control group"), "{missing:?}");
    }

    #[test]
    fn units_of_several_users_are_not_guessed() {
        let root = machine(&["user.slice/1/app.service", "user.slice/2/app.service"]);
        let refused = of_unit(root.path(), "app").unwrap_err();
        assert!(
            refused.message().contains("there are several") && refused.message().contains("--cgroup"),
            "{refused:?}"
        );
    }
}
