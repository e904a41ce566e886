//! Names of devices: the device that a word of the command line names, and the name that is shown.

use super::IostatError;
use super::request::{Flag, Name, Request};
use crate::listing::{self, DeviceFiles};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The names of all devices at one moment, under one root.
pub(super) struct Names<'a> {
    root: &'a Path,
    /// Device-mapper names by kernel name; empty without `-N`.
    mapper: BTreeMap<String, String>,
    /// The first link in alphabetical order, by kernel name; empty without `-j`.
    links: BTreeMap<String, String>,
}

impl<'a> Names<'a> {
    pub(super) fn read(root: &'a Path, request: &Request) -> Self {
        let mapper = if request.has(Flag::MapperNames) { listing::mapper_names(root) } else { BTreeMap::new() };
        let mut names = Names { root, mapper, links: BTreeMap::new() };
        if let Some(kind) = request.links() {
            let directory = directory_of_links(root, kind);
            let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
            let mut links: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
            links.sort_unstable_by(|one, other| other.cmp(one));
            // The first in alphabetical order is inserted last, and replaces the others.
            names.links =
                links.into_iter().filter_map(|link| Some((names.below_dev(&directory.join(&link))?, link))).collect();
        }
        names
    }

    /// The name that is shown for a device.
    pub(super) fn shown<'n>(&'n self, kernel: &'n str) -> &'n str {
        self.links.get(kernel).or_else(|| self.mapper.get(kernel)).map_or(kernel, String::as_str)
    }

    /// The name by which a device that was named by `given` is sorted.
    pub(super) fn sorted_as<'n>(&self, given: &'n str, kernel: &'n str) -> &'n str {
        if self.mapper.get(kernel).is_some_and(|name| name == given) { given } else { kernel }
    }

    /// The kernel's name of a device that the user named by name, path, link or mapper name. `links` is the type of
    /// links whose names are tried first.
    pub(super) fn kernel(&self, given: &str, links: Option<&str>) -> String {
        let linked = links.and_then(|kind| self.below_dev(&directory_of_links(self.root, kind).join(given)));
        if let Some(kernel) = linked {
            return kernel;
        }
        let short = given.strip_prefix("/dev/").unwrap_or(given);
        if let Some((kernel, _)) = self.mapper.iter().find(|(_, name)| name.as_str() == short) {
            return kernel.clone();
        }
        let inside = self.below_dev(&self.root.join("dev").join(short));
        let elsewhere = || given.starts_with('/').then(|| self.below_dev(Path::new(given))).flatten();
        inside.or_else(elsewhere).unwrap_or_else(|| short.to_owned())
    }

    /// The name below /dev of the file that a path leads to.
    fn below_dev(&self, path: &Path) -> Option<String> {
        let dev = self.root.join("dev").canonicalize().ok()?;
        let name = path.canonicalize().ok()?.strip_prefix(dev).ok()?.to_str()?.to_owned();
        Some(name).filter(|name| !name.is_empty())
    }
}

/// The directory of the links of a type: `id` → /dev/disk/by-id.
pub(super) fn directory_of_links(root: &Path, kind: &str) -> PathBuf {
    root.join("dev/disk").join(format!("by-{kind}"))
}

impl Request {
    /// Checks that the directories that the command line names exist under `root`.
    ///
    /// # Errors
    /// The first one that does not.
    pub fn check(&self, root: &Path) -> Result<(), IostatError> {
        for files in self.device_files(root) {
            let DeviceFiles::UserSpace(path) = files else { continue };
            if !path.is_dir() {
                let path = path.display();
                return Err(IostatError::CommandLine(format!("-f {path}: no such directory")));
            }
        }
        for name in &self.names {
            let Name::Links(kind) = name else { continue };
            if !directory_of_links(root, kind).is_dir() {
                return Err(IostatError::CommandLine(format!(
                    "-j {kind}: Invalid type of persistent device name: there is no /dev/disk/by-{kind}; {}",
                    types_of_links(root)
                )));
            }
        }
        Ok(())
    }
}

/// The types that `-j` can be given on this machine.
fn types_of_links(root: &Path) -> String {
    let entries = std::fs::read_dir(root.join("dev/disk")).into_iter().flatten().flatten();
    let kind = |entry: std::fs::DirEntry| Some(entry.file_name().to_str()?.strip_prefix("by-")?.to_uppercase());
    let mut kinds: Vec<String> = entries.filter_map(kind).collect();
    kinds.sort();
    if kinds.is_empty() { "/dev/disk has no links".to_owned() } else { format!("there are {}", kinds.join(", ")) }
}
