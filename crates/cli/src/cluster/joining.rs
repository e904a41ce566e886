//! `plumb cluster --join`: a member that connects to its leader, with patience, and what that leader may do here.

use super::tcp::{JOIN_WITHIN, TcpArgs};
use crate::failure::Failure;
use crate::members::lead;
use crate::network::allowed_paths;
use crate::network::joining::{Caller, admitted};
use crate::network::secret::{Purpose, Secret};
use crate::network::served_process::ServedProcess;
use crate::output::Verbosity;
use cluster::Admission;
use rustix::process::Signal;

/// Joins a leader, and is its member until the end.
pub(super) fn join(args: &TcpArgs, directory: Option<&str>, verbosity: Verbosity) -> Result<u8, Failure> {
    let address = args.leader()?.ok_or_else(|| Failure::new("cluster: --join needs the address of a leader"))?;
    let secret = Secret::given(args.secret_file.as_deref())?;
    let words = args.member_words(secret.as_ref(), verbosity)?;
    if let Some(directory) = directory {
        std::env::set_current_dir(directory).map_err(|error| Failure::at(std::path::Path::new(directory), error))?;
    }
    let signals = lead::signals()?;
    let within = args.join_within.unwrap_or(JOIN_WITHIN);
    let caller = Caller { purpose: Purpose::Join, rank: args.rank, secret: secret.as_ref() };
    let Some(joined) = admitted(&address, &caller, within, &|| signals.caught().is_some())? else {
        return Ok(crate::failure::signal_status(signals.caught().unwrap_or_default()));
    };
    let Admission { rank, members } = joined.admission;
    verbosity.remark(&format!("plumb: cluster: member {rank} of {members}, led from {}", address.name()));
    let process = ServedProcess::start(&words, joined.socket, joined.encrypted)?;
    let mut seen = 0;
    let status = process.wait(|process| {
        if signals.count() > seen {
            process.signal(if seen == 0 { Signal::TERM } else { Signal::KILL });
            seen += 1;
        }
    });
    Ok(match status.and_then(|status| status.code()) {
        Some(0) => 0,
        _ => 1,
    })
}

impl TcpArgs {
    /// The words of the process that is the member, with the rights of its leader.
    fn member_words(&self, secret: Option<&Secret>, verbosity: Verbosity) -> Result<Vec<String>, Failure> {
        let mut words = vec!["--joined".to_owned()];
        if secret.is_none() && !self.trust_leader {
            let allowed = allowed_paths(self.allow.iter().cloned())?;
            let paths = if allowed.is_empty() { String::new() } else { format!(" and {}", allowed.join(", ")) };
            verbosity.remark(&format!(
                "plumb: cluster: without a secret the leader may do what --untrusted lets a job file do, with files in this directory{paths} (docs/safety.md)"
            ));
            words.push("--untrusted".to_owned());
            words.extend(allowed.iter().map(|path| format!("--allow={path}")));
        } else if !self.allow.is_empty() {
            return Err(Failure::new(
                "cluster: --allow has no effect: with a secret or --trust-leader all is allowed that its user may",
            ));
        }
        Ok(words)
    }
}
