//! `plumb fio --client` and `--server`: fio's commands, port, texts and documents, on plumb's member protocol.
//!
//! `client` makes the tasks and reports, `face` shows a run while it goes on, `connect` reaches servers, `server` is the other end, `socket` is
//! what is between them, `secret` protects it. The crate `cluster` decides what the members do when.

mod client;
mod connect;
mod face;
mod secret;
mod server;
mod socket;

pub(crate) use client::run as run_client;
pub(crate) use server::serve;
