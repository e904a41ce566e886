//! Processes and threads: forking workers, signals, CPU affinity and priorities, resource usage, control groups, and
//! messages through MPI.

pub mod blocked_call;
pub mod bus_error;
pub mod cgroup;
pub mod io_group;
pub mod mpi;
pub mod placement;
pub mod process;
pub mod signals;
pub mod stand_in;
pub mod standard_output;
pub mod standing_thread;
pub mod usage;
