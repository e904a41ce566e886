//! The options of `--lead` and `--join`: members that connect to their leader by TCP.

use crate::failure::Failure;
use cluster::Address;
use measure::Nanos;
use std::path::PathBuf;

/// Time that members have to join.
pub(super) const JOIN_WITHIN: Nanos = Nanos::from_secs(300);
/// Largest number of members.
const MOST_MEMBERS: i64 = 4096;

/// Options of leaders that members join, and of these members.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub(super) struct TcpArgs {
    /// Lead this number of members, which join with --join
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_MEMBERS), conflicts_with_all = ["local", "hosts", "hosts_file", "mpi", "program"])]
    pub(super) lead: Option<u32>,
    /// Address on which --lead waits: HOST:PORT or :PORT [default: all addresses, port 8766]
    #[arg(long, value_name = "ADDRESS", requires = "lead")]
    pub(super) listen: Option<String>,
    /// Join the leader at HOST or HOST:PORT as a member. With --lead, too, --rank 0 leads and is a member, and the
    /// others join it
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["local", "hosts", "hosts_file", "mpi", "program"])]
    join: Option<String>,
    /// Number of this member, from 0 [default: in the order in which they join]
    #[arg(long, value_name = "N", requires = "join", value_parser = clap::value_parser!(u32).range(0..MOST_MEMBERS))]
    pub(super) rank: Option<u32>,
    /// How long a leader waits for members, and a member for its leader [default: 5m]
    #[arg(long, value_name = "TIME", value_parser = crate::members::time)]
    pub(super) join_within: Option<Nanos>,
    /// Secret of leader and members: both ends prove it and encrypt their messages [default: PLUMB_SECRET_FILE]
    #[arg(long, value_name = "FILE")]
    pub(super) secret_file: Option<PathBuf>,
    /// Directory or device that a leader without a secret may use
    #[arg(long, value_name = "PATH", requires = "join", conflicts_with = "trust_leader")]
    pub(super) allow: Vec<PathBuf>,
    /// Let a leader without a secret do all that the user of this member may do
    #[arg(long, requires = "join")]
    pub(super) trust_leader: bool,
}

/// The part of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Other carriers.
    None,
    /// It leads members that join.
    Leads,
    /// It leads, and starts member 0 here.
    LeadsHere,
    /// It joins.
    Joins,
}

impl TcpArgs {
    /// The part of this process.
    pub(super) fn part(&self) -> Result<Part, Failure> {
        let needs_one = [("--join-within", self.join_within.is_some()), ("--secret-file", self.secret_file.is_some())];
        match (self.lead, &self.join, self.rank) {
            (None, None, _) => match needs_one.iter().find(|(_, is_given)| *is_given) {
                Some((option, _)) => Err(Failure::new(format!("cluster: {option} is for --lead and --join"))),
                None => Ok(Part::None),
            },
            (Some(_), None, _) => Ok(Part::Leads),
            (None, Some(_), _) => Ok(Part::Joins),
            (Some(members), Some(_), Some(rank)) if rank >= members => {
                Err(Failure::new(format!("cluster: --rank {rank}: with --lead {members} it is 0 to {}", members - 1)))
            }
            (Some(_), Some(_), Some(0)) => Ok(Part::LeadsHere),
            (Some(_), Some(_), Some(_)) => Ok(Part::Joins),
            (Some(_), Some(_), None) => Err(Failure::new(
                "cluster: --lead and --join together need --rank N: 0 leads and is a member, the others join it",
            )),
        }
    }

    /// Refuses what the command of pods has already.
    pub(super) fn check_pods(&self) -> Result<(), Failure> {
        let given = [
            ("--listen", self.listen.is_some()),
            ("--join-within", self.join_within.is_some()),
            ("--secret-file", self.secret_file.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                Err(Failure::new(format!("cluster manifest: {option} is in the manifest already; edit it there")))
            }
            None => Ok(()),
        }
    }

    /// The leader of this member.
    pub(super) fn leader(&self) -> Result<Option<Address>, Failure> {
        let wrong = |error: cluster::AddressError| Failure::new(format!("cluster: --join: {error}"));
        self.join.as_deref().map(|text| cluster::leader_address(text, None).map_err(wrong)).transpose()
    }
}
