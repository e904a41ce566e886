//! Connections between machines that no shell and no MPI carries: sockets, the secret that protects them, what a connection begins with, a member whose input and
//! output is one, and the logs that such a member keeps until they are sent.
//!
//! `plumb fio --client` and `--server` use it, and `plumb cluster --lead` and `--join`. Who may do what is decided there.

pub(crate) mod greeting;
pub(crate) mod log_folders;
pub(crate) mod secret;
pub(crate) mod served_process;
pub(crate) mod socket;
