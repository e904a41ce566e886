//! NUMA nodes: their CPUs, and memory policies.

use crate::SysError;
use crate::machine::text::word;
use crate::processes::placement;
use std::io;
use std::path::Path;

/// NUMA memory policy of a thread (set_mempolicy(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The kernel's default.
    Default,
    /// From one node if it has free memory.
    Preferred,
    /// From some nodes only.
    Bind,
    /// From some nodes in turn.
    Interleave,
    /// From the node of the current CPU.
    Local,
}

/// Returns the CPUs of these nodes in ascending order.
///
/// # Errors
/// If a node does not exist.
pub fn cpus(root: &Path, nodes: &[u32]) -> Result<Vec<u32>, SysError> {
    let mut cpus = Vec::new();
    for node in nodes {
        let path = root.join(format!("sys/devices/system/node/node{node}/cpulist"));
        let text = word(&path)
            .ok_or_else(|| SysError::impossible(format!("NUMA node {node}: there is no {}", path.display())))?;
        cpus.extend(text.trim().split(',').filter_map(span).flatten());
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// Parses `3` or `0-5`.
fn span(part: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
}

/// Binds the calling thread to the CPUs of these nodes.
///
/// # Errors
/// If a node does not exist, or has no CPU that this process may use.
pub fn run_on(root: &Path, nodes: &[u32]) -> Result<(), SysError> {
    placement::set_affinity(&cpus(root, nodes)?)
}

/// Sets the memory policy of the calling thread; `nodes` are below 64.
///
/// # Errors
/// EINVAL for nodes that do not exist, ENOSYS in a kernel without NUMA.
pub fn take_memory(policy: Policy, nodes: &[u32]) -> Result<(), SysError> {
    let mode: libc::c_int = match policy {
        Policy::Default => 0,
        Policy::Preferred => 1,
        Policy::Bind => 2,
        Policy::Interleave => 3,
        Policy::Local => 4,
    };
    let mask: u64 = nodes.iter().filter(|&&node| node < 64).map(|node| 1u64 << node).sum();
    let (pointer, bits) = if nodes.is_empty() { (std::ptr::null(), 0) } else { (&raw const mask, 65usize) };
    // SAFETY: the kernel reads 64 bits at the pointer (one less than `maxnode`), or nothing if it is null; the mask
    // outlives the call.
    match unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, pointer, bits) } {
        0 => Ok(()),
        _ => Err(SysError::call("set_mempolicy", io::Error::last_os_error())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_of_nodes_are_read_from_their_lists() {
        let root = tempfile::tempdir().unwrap();
        for (node, list) in [(0, "0-2,8\n"), (2, "4\n")] {
            let folder = root.path().join(format!("sys/devices/system/node/node{node}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("cpulist"), list).unwrap();
        }
        assert_eq!(cpus(root.path(), &[2, 0]).unwrap(), [0, 1, 2, 4, 8]);
        let missing = cpus(root.path(), &[1]).unwrap_err().to_string();
        assert!(missing.contains("NUMA node 1"), "{missing}");
    }

    #[test]
    fn a_thread_takes_memory_as_asked_where_there_are_nodes() {
        std::thread::spawn(|| {
            match take_memory(Policy::Local, &[]) {
                Ok(()) => {
                    take_memory(Policy::Bind, &[0]).unwrap();
                    assert_eq!(take_memory(Policy::Bind, &[63]).unwrap_err().errno(), Some(libc::EINVAL));
                    take_memory(Policy::Default, &[]).unwrap();
                }
                // A sandbox may forbid the call.
                Err(error) => assert!(matches!(error.errno(), Some(libc::ENOSYS | libc::EPERM)), "{error}"),
            }
        })
        .join()
        .unwrap();
    }
}
