//! What a command line of iostat asks for.

use crate::listing::DeviceFiles;
use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

/// The settings of a valid command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The options without a value.
    pub(super) flags: BTreeSet<Flag>,
    /// `--dec`.
    pub decimals: Option<usize>,
    /// The source of the list of devices.
    pub listing: Listing,
    /// Names, in the order given.
    pub names: Vec<Name>,
    /// `-f` and `+f`.
    pub(super) user_space: Option<UserSpace>,
    /// `--root`.
    pub root: Option<PathBuf>,
    /// Seconds between reports.
    pub interval: Option<NonZeroU64>,
    /// The number of reports; `None` for endless.
    pub count: Option<u64>,
}

impl Request {
    /// True if the option was given, or is implied by another one.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// True if a device is named, in a group or not.
    pub(super) fn names_devices(&self) -> bool {
        self.names.iter().any(|name| matches!(name, Name::Device(_) | Name::WithPartitions(_)))
    }

    /// True if partitions are listed, too.
    pub(super) fn lists_partitions(&self) -> bool {
        matches!(self.listing, Listing::UsedPartitions | Listing::Partitions)
    }

    /// The number of groups.
    pub(super) fn groups(&self) -> usize {
        self.names.iter().filter(|name| matches!(name, Name::Group(_))).count()
    }

    /// The type of the links whose names are shown: the last `-j`.
    pub(super) fn links(&self) -> Option<&str> {
        self.names.iter().rev().find_map(|name| match name {
            Name::Links(kind) => Some(kind.as_str()),
            Name::Device(_) | Name::WithPartitions(_) | Name::Group(_) => None,
        })
    }

    /// The files of the devices under `root`, of which a recording has all.
    pub(super) fn device_files(&self, root: &Path) -> Vec<DeviceFiles> {
        let kernel = DeviceFiles::Kernel(root.to_owned());
        let in_user_space = |path: &Path| {
            // A path that is relative does not start at the root.
            DeviceFiles::UserSpace(path.strip_prefix("/").map_or_else(|_| path.to_owned(), |path| root.join(path)))
        };
        match &self.user_space {
            None => vec![kernel],
            Some(UserSpace::Alone(path)) => vec![in_user_space(path)],
            Some(UserSpace::Added(path)) => vec![kernel, in_user_space(path)],
        }
    }
}

/// An option without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    /// `-c`: report processors.
    Cpu,
    /// `-d`: report devices.
    Devices,
    /// `-x`.
    Extended,
    /// `-s`.
    Short,
    /// `-t`: the time of each report.
    Time,
    /// `-y`: no report since boot.
    SkipFirst,
    /// `-z`: only devices with activity.
    BusyOnly,
    /// `-N`.
    MapperNames,
    /// `-H`: only the sums of groups.
    SumsOnly,
    /// `-k`.
    Kilobytes,
    /// `-m`.
    Megabytes,
    /// `-G`.
    Gigabytes,
    /// `-U`: the time of each report in seconds since the epoch.
    EpochSeconds,
    /// `--human`.
    Human,
    /// `--pretty`.
    Pretty,
    /// `--compact`.
    Compact,
    /// `-o JSON`.
    Json,
    /// `--compat=9`.
    OldColumns,
    /// `--compat=12.8`: the colours and empty lines of sysstat 12.8.
    NewLook,
}

/// The devices to report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    /// The named devices; without names, the whole devices that have done I/O.
    #[default]
    Named,
    /// `ALL`: every whole device.
    Whole,
    /// `-p` alone: also partitions, if they have done I/O.
    UsedPartitions,
    /// `-p ALL`: also partitions.
    Partitions,
}

/// The directory with the files of devices in user space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UserSpace {
    /// `-f`: read instead of the kernel's files.
    Alone(PathBuf),
    /// `+f`: read in addition to them.
    Added(PathBuf),
}

/// A name on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// A device or partition.
    Device(String),
    /// `-p DEVICE`.
    WithPartitions(String),
    /// `-g NAME`: a group of the devices that follow.
    Group(String),
    /// `-j TYPE`, in lower case: the names that follow may be links in /dev/disk/by-TYPE.
    Links(String),
}
