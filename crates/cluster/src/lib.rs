//! Runs of many machines as pure functions: the protocol between leader and members, the leader as a state machine,
//! clocks, the merge of results with its rates, and the checks that only a cluster has.
//!
//! Reads no clock and does no I/O: `cli` starts members, carries the lines and prints.

#![forbid(unsafe_code)]

mod address;
mod checks;
mod clock;
mod frames;
mod greeting;
mod hosts;
mod leader;
#[cfg(test)]
mod leader_tests;
mod member_result;
mod merge;
mod message;
mod rates;
#[cfg(test)]
mod sample_members;
mod stragglers;
mod summary;

pub use address::{Address, AddressError, DEFAULT_PORT, LEADER_PORT, client_address, leader_address, server_address};
pub use checks::{CHECKS, Check, findings};
pub use clock::ClockEstimate;
pub use frames::{Content, Frame, FrameError, Frames, Notice};
pub use greeting::{
    Admission, Foreign, Joining, Opening, Protection, Refusal, Role, Roster, admission, joining, opening, refusal,
    writing,
};
pub use hosts::{Host, HostsError, hosts, hosts_file, shift_to_other_hosts};
pub use leader::{Action, Event, Leader, OnLoss, Outcome, Rounds, SAID_NOTHING, Settings, Standing};
pub use member_result::{Loss, MemberResult, Repetition, Sample, ending, kept};
pub use merge::{merged, over_all, remarks};
pub use message::{
    Answer, Beat, ClientTask, ClusterError, Facts, Instruction, IozoneTask, IozoneWork, LONGEST_LINE, LeaderCommand,
    Link, Live, MemberEnd, MemberInterval, PROTOCOL, ServerTrigger, Sharing, Stage, SurveyTask, Task, VerifyState,
    answer, instruction, line,
};
pub use rates::{CommonWindow, DirectionRates, rates};
pub use stragglers::{Reason, Straggler, median, stragglers};
pub use summary::{
    MemberSummary, RepeatedRates, Spread, StartSkew, Summary, latency, name_neighbours, repeated, summary, together,
};
