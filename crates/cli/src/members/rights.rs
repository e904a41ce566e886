//! The rights of a member's leader.

use crate::failure::Failure;

/// Rights of a leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rights {
    /// The leader has started it by a shell of the same user.
    Leader,
    /// It has joined a leader.
    Joined(Trust),
    /// A server has started it for a client.
    Served {
        /// The client's address, with which names of files begin.
        client: String,
        /// Rights of the client.
        trust: Trust,
    },
}

/// Rights of a client, or of the leader that a member has joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// All that the user may do.
    Full,
    /// All that `--untrusted` lets a job file do, and these paths.
    Untrusted {
        /// Absolute paths.
        allowed: Vec<String>,
    },
}

impl Rights {
    /// Refuses the tasks of `plumb cluster` that come to a server.
    pub(crate) fn check_cluster(&self) -> Result<(), Failure> {
        match self {
            Rights::Leader | Rights::Joined(_) => Ok(()),
            Rights::Served { .. } => Err(Failure::new("a server of fio runs the jobs of fio --client only")),
        }
    }

    /// Refuses the tasks of `plumb cluster` whose words are not those of fio, unless the leader is trusted.
    pub(crate) fn check_trusted(&self) -> Result<(), Failure> {
        self.check_cluster()?;
        match self.limits() {
            None => Ok(()),
            Some(_) => Err(Failure::new(
                "this member does not trust its leader, and does nothing but jobs of fio for it; --secret-file FILE at both ends, or --trust-leader at the member, lifts that",
            )),
        }
    }

    /// True if a result may be written here once the leader is gone.
    pub(crate) fn keep_results(&self) -> bool {
        !matches!(self, Rights::Served { .. })
    }

    /// Exit status if the leader is gone without a word.
    pub(crate) fn status_without_leader(&self) -> u8 {
        u8::from(matches!(self, Rights::Joined(_)))
    }

    /// The address of the client; nothing if there is none.
    pub(crate) fn client(&self) -> &str {
        match self {
            Rights::Leader | Rights::Joined(_) => "",
            Rights::Served { client, .. } => client,
        }
    }

    /// The paths that an untrusted client or leader may use; `None` for one that is trusted.
    pub(crate) fn limits(&self) -> Option<&[String]> {
        match self {
            Rights::Served { trust: Trust::Untrusted { allowed }, .. }
            | Rights::Joined(Trust::Untrusted { allowed }) => Some(allowed),
            Rights::Leader | Rights::Joined(_) | Rights::Served { .. } => None,
        }
    }
}
