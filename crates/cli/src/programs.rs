//! The programs whose work members do: all that `plumb cluster` and its members can carry out.

use crate::members::program::Program;
use crate::{fio, iozone, survey};

/// In the order of the help.
pub(crate) const PROGRAMS: &[&dyn Program] =
    &[&fio::Jobs, &iozone::Throughput, &survey::Surveys::Whole, &survey::Surveys::Knee];
