//! Files and devices: their names, sizes, layout and opening.

mod guard;
mod layout;
mod lock;
mod open;
mod regions;
mod zone_file;

pub(crate) use guard::Guard;
pub(crate) use layout::{announce_own, is_laid_out, lay_out, unlink};
pub(crate) use lock::FileLocks;
pub(crate) use open::{OpenFiles, order};
pub(crate) use regions::{
    FileKind, NOT_PLANNED, PlannedFile, clone_index, kind_and_size, largest_block, plan_files, total_bytes, zone_device,
};
pub(crate) use zone_file::check as check_zone_files;
