//! `plumb fio --client` and `--server`: fio's commands, port, texts and documents, on plumb's member protocol.
//!
//! `client` makes the tasks and reports, `view` shows a run while it goes on, `connect` reaches servers, `trigger` ends
//! a run and keeps its states, `server` is the other end. What is between them is `crate::network`; the crate `cluster`
//! decides what the members do when.

mod client;
mod connect;
mod server;
mod trigger;
mod view;

use fio::{EtaRequest, Invocation, OutputFormat, TerseVersion, TriggerRequest};

/// The first option that is of a run on one machine.
fn of_one_run(invocation: &Invocation) -> Option<&str> {
    let side = &invocation.side;
    let given = [
        ("result", side.result.is_some()),
        ("bandwidth-log", side.bandwidth_log.is_some()),
        ("layers", side.layers),
        ("until-regime", side.until_regime.is_some()),
    ];
    let given = given.iter().find(|(_, is_given)| *is_given).map(|(name, _)| *name);
    given.or_else(|| side.session.first()?.trim_start_matches('-').split('=').next())
}

/// The first option that only a client has a use for.
fn of_a_client(invocation: &Invocation) -> Option<&'static str> {
    let output = &invocation.output;
    let given = [
        ("output", output.file.is_some()),
        ("output-format", output.formats != [OutputFormat::NORMAL]),
        ("terse-version", output.terse_version != TerseVersion::default()),
        ("eta", invocation.eta != EtaRequest::default()),
        ("status-interval", invocation.side.status_interval.is_some()),
        ("trigger", invocation.trigger != TriggerRequest::default()),
    ];
    given.iter().find(|(_, is_given)| *is_given).map(|(name, _)| *name)
}

pub(crate) use client::run as run_client;
pub(crate) use server::serve;
