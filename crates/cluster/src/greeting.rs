//! The first line on a connection, to a server or to a leader, and the answer to it: what shows a real fio at the other
//! end, or another version of plumb.
//!
//! After it the lines are those of the member protocol, which begin with the member's greeting.

use crate::message::{ClusterError, PROTOCOL};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The first line of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// Number of the protocol.
    pub protocol: u32,
    /// Program and version.
    pub program: String,
    /// How the lines that follow are protected.
    #[serde(default)]
    pub protection: Protection,
}

/// The first line of a member that joins a leader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joining {
    /// Number of the protocol.
    pub protocol: u32,
    /// Program and version.
    pub program: String,
    /// How the lines that follow are protected.
    #[serde(default)]
    pub protection: Protection,
    /// The number that it is to have; `None` for any.
    #[serde(default)]
    pub rank: Option<u32>,
    /// Purpose for which it joins.
    #[serde(default)]
    pub role: Role,
}

/// Purpose for which a program joins another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// To do what its leader says.
    #[default]
    Member,
    /// To have its acknowledgements kept: a writer of `plumb durable`.
    Writer,
}

/// The answer of a leader to a member that it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// Number of the member.
    pub rank: u32,
    /// Number of members.
    pub members: u32,
}

/// How the lines of a connection are protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// Not at all.
    #[default]
    None,
    /// By a handshake with the secret of both ends, and keys from it.
    Secret,
}

/// The answer of a server that does not serve this client, or of a leader that does not take this member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Number of the server's protocol.
    pub protocol: u32,
    /// Program and version at this end.
    pub program: String,
    /// The reason, for people.
    pub why: String,
}

/// Another program at the other end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Foreign {
    /// fio's own protocol.
    #[error(
        "a real fio (its protocol, version {version}), not plumb; the two cannot run one job. Put plumb's `fio` first in PATH there"
    )]
    Fio {
        /// Version of fio's protocol, with which its messages begin.
        version: u16,
    },
    /// Something else.
    #[error("not plumb: its first bytes are {0}")]
    Other(String),
}

#[derive(Deserialize, Serialize)]
struct JoiningLine {
    member: Joining,
}

#[derive(Deserialize, Serialize)]
struct AdmissionLine {
    admitted: Admission,
}

#[derive(Deserialize, Serialize)]
struct OpeningLine {
    client: Opening,
}

#[derive(Deserialize, Serialize)]
struct RefusalLine {
    refused: Refusal,
}

/// Reads the first line of a client.
///
/// # Errors
/// Another program or version.
pub fn opening(line: &[u8]) -> Result<Opening, ClusterError> {
    let wrong = |_| ClusterError(format!("the client is {}", Foreign::of(line)));
    let OpeningLine { client } = serde_json::from_slice(line).map_err(wrong)?;
    let Opening { protocol, program, .. } = &client;
    if *protocol != PROTOCOL {
        return Err(ClusterError(format!(
            "the client is {program} with protocol {protocol}, and this server has protocol {PROTOCOL}; use one \
             version of plumb at both ends"
        )));
    }
    Ok(client)
}

/// Reads the first line of a member that joins.
///
/// # Errors
/// Another program or version.
pub fn joining(line: &[u8]) -> Result<Joining, ClusterError> {
    greeted(line, Role::Member, "leader", "the leader of plumb cluster --lead")
}

/// Reads the first line of a writer that wants a witness.
///
/// # Errors
/// Another program or version.
pub fn writing(line: &[u8]) -> Result<Joining, ClusterError> {
    greeted(line, Role::Writer, "witness", "the witness of plumb durable --serve")
}

fn greeted(line: &[u8], role: Role, here: &str, whole: &str) -> Result<Joining, ClusterError> {
    if serde_json::from_slice::<OpeningLine>(line).is_ok() {
        return Err(ClusterError(format!("it is a client of plumb fio --server, and this is {whole}")));
    }
    let wrong = |_| ClusterError(format!("it is {}", Foreign::of(line)));
    let JoiningLine { member } = serde_json::from_slice(line).map_err(wrong)?;
    let Joining { protocol, program, .. } = &member;
    if *protocol != PROTOCOL {
        return Err(ClusterError(format!(
            "it is {program} with protocol {protocol}, and this {here} has protocol {PROTOCOL}; use one version of \
             plumb on all machines"
        )));
    }
    match (member.role, role) {
        (Role::Member, Role::Writer) => {
            Err(ClusterError(format!("it is a member of plumb cluster, and this is {whole}")))
        }
        (Role::Writer, Role::Member) => {
            Err(ClusterError(format!("it is a writer of plumb durable, and this is {whole}")))
        }
        _ => Ok(member),
    }
}

/// Reads the answer of a leader; `None` if it is not an admission.
pub fn admission(line: &[u8]) -> Option<Admission> {
    serde_json::from_slice(line).ok().map(|AdmissionLine { admitted }| admitted)
}

/// Reads the answer of a server or leader; `None` if it is not a refusal.
pub fn refusal(line: &[u8]) -> Option<Refusal> {
    serde_json::from_slice(line).ok().map(|RefusalLine { refused }| refused)
}

impl Opening {
    /// The line, with its end.
    pub fn line(self) -> String {
        crate::message::line(&OpeningLine { client: self }).unwrap_or_default()
    }
}

impl Joining {
    /// The line, with its end.
    pub fn line(self) -> String {
        crate::message::line(&JoiningLine { member: self }).unwrap_or_default()
    }
}

impl Admission {
    /// The line, with its end.
    pub fn line(self) -> String {
        crate::message::line(&AdmissionLine { admitted: self }).unwrap_or_default()
    }
}

impl Refusal {
    /// The line, with its end.
    pub fn line(self) -> String {
        crate::message::line(&RefusalLine { refused: self }).unwrap_or_default()
    }
}

impl Foreign {
    /// The program whose first bytes these are. fio's messages begin with the version of its protocol and a small
    /// number, the kind of message, each in two bytes, the lower one first.
    pub fn of(bytes: &[u8]) -> Self {
        if let [low, high, kind, 0, ..] = *bytes
            && kind < 128
            && (1..4096).contains(&u16::from_le_bytes([low, high]))
        {
            return Foreign::Fio { version: u16::from_le_bytes([low, high]) };
        }
        let shown: String =
            bytes.iter().take(24).flat_map(|byte| std::ascii::escape_default(*byte)).map(char::from).collect();
        Foreign::Other(format!("`{shown}`"))
    }
}

/// The places, by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    /// Address of the member that has the place.
    taken: Vec<Option<String>>,
}

impl Roster {
    /// Places for this number of members.
    pub fn new(members: usize) -> Self {
        Roster { taken: vec![None; members] }
    }

    /// Gives a member a place: the one that it asks for, or the first that is free.
    ///
    /// # Errors
    /// There is none for it.
    pub fn place(&mut self, wanted: Option<u32>, from: &str) -> Result<usize, ClusterError> {
        let members = self.taken.len();
        let Some(first_free) = self.taken.iter().position(Option::is_none) else {
            return Err(ClusterError(format!("all {members} members of this run are there already")));
        };
        let number = wanted.map_or(first_free, |rank| rank as usize);
        match self.taken.get_mut(number) {
            Some(place @ None) => {
                *place = Some(from.to_owned());
                Ok(number)
            }
            Some(Some(other)) => Err(ClusterError(format!(
                "member {number} is there already, from {other}; give each member a --rank, or none of them"
            ))),
            None => {
                Err(ClusterError(format!("--rank {number}: this leader has {members} members, with numbers from 0")))
            }
        }
    }

    /// Frees the place of a member that has gone; its address.
    pub fn free(&mut self, number: usize) -> Option<String> {
        self.taken.get_mut(number).and_then(Option::take)
    }

    /// Address of the member that has this place.
    pub fn from(&self, number: usize) -> Option<&str> {
        self.taken.get(number)?.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_opening_and_a_refusal_are_read_back() {
        let sent = Opening { protocol: PROTOCOL, program: "plumb 0.1.0".to_owned(), protection: Protection::Secret };
        assert_eq!(opening(sent.clone().line().as_bytes()), Ok(sent));
        let refused = Refusal { protocol: 9, program: "plumb 9".to_owned(), why: "busy".to_owned() };
        assert_eq!(refusal(refused.clone().line().as_bytes()), Some(refused));
        assert_eq!(refusal(b"{\"hello\":{}}"), None);
    }

    #[test]
    fn a_real_fio_is_named_with_the_version_of_its_protocol() {
        // The first bytes of a client of Debian's fio 3.33, and of what its server answers to a line of plumb.
        for bytes in [&[0x61, 0, 0x0a, 0, 0, 0, 0, 0][..], &[0x61, 0, 0x05, 0, 0, 0, 0, 0, 0x4f]] {
            let error = opening(bytes).unwrap_err().to_string();
            assert!(error.contains("a real fio (its protocol, version 97)"), "{error}");
        }
    }

    #[test]
    fn another_program_and_another_version_are_named() {
        let error = opening(b"GET / HTTP/1.1\r\n").unwrap_err().to_string();
        assert!(error.contains("not plumb") && error.contains("GET / HTTP"), "{error}");
        let newer = opening(br#"{"client":{"protocol":77,"program":"plumb 9.9","more":1}}"#).unwrap_err().to_string();
        assert!(
            newer.contains("plumb 9.9 with protocol 77") && newer.contains(&format!("protocol {PROTOCOL}")),
            "{newer}"
        );
    }

    #[test]
    fn a_member_that_joins_is_read_back_and_others_are_named() {
        let sent =
            Joining { protocol: PROTOCOL, program: "plumb 0.1.0".to_owned(), rank: Some(3), ..Joining::default() };
        assert_eq!(joining(sent.clone().line().as_bytes()), Ok(sent.clone()));
        let admitted = Admission { rank: 3, members: 4 };
        assert_eq!(admission(admitted.line().as_bytes()), Some(admitted));
        assert_eq!(admission(Refusal::default().line().as_bytes()), None);
        assert!(
            joining(Opening::default().line().as_bytes()).unwrap_err().0.starts_with("it is a client of plumb fio")
        );
        let newer = joining(br#"{"member":{"protocol":77,"program":"plumb 9.9","more":1}}"#).unwrap_err().to_string();
        assert!(
            newer.contains("plumb 9.9 with protocol 77") && newer.contains(&format!("protocol {PROTOCOL}")),
            "{newer}"
        );
        assert!(joining(b"GET / HTTP/1.1\r\n").unwrap_err().to_string().contains("not plumb"));
        let writer = Joining { role: Role::Writer, ..sent.clone() };
        assert_eq!(writing(writer.clone().line().as_bytes()), Ok(writer.clone()));
        assert!(joining(writer.line().as_bytes()).unwrap_err().0.starts_with("it is a writer of plumb durable"));
        assert!(writing(sent.line().as_bytes()).unwrap_err().0.starts_with("it is a member of plumb cluster"));
        let old = br#"{"member":{"protocol":PROTOCOL,"program":"plumb 0.1.0"}}"#;
        let old = String::from_utf8_lossy(old).replace("PROTOCOL,", &format!("{PROTOCOL},"));
        assert_eq!(joining(old.as_bytes()).map(|found| found.role), Ok(Role::Member));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_readers_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (opening(&bytes), refusal(&bytes), joining(&bytes), admission(&bytes));
        }
    }
}

#[cfg(test)]
mod roster_tests {
    use super::*;

    #[test]
    fn a_member_gets_the_number_it_asks_for_or_the_first_free_one() {
        let mut roster = Roster::new(3);
        assert_eq!(roster.place(Some(1), "b"), Ok(1));
        assert_eq!(roster.place(None, "a"), Ok(0));
        assert!(roster.place(Some(1), "d").unwrap_err().0.starts_with("member 1 is there already, from b;"));
        assert!(roster.place(Some(3), "d").unwrap_err().0.starts_with("--rank 3: this leader has 3 members"));
        assert_eq!(roster.place(None, "c"), Ok(2));
        assert!(roster.place(None, "d").unwrap_err().0.starts_with("all 3 members"));
        assert!(roster.place(Some(1), "d").unwrap_err().0.starts_with("all 3 members"));
        assert_eq!((roster.free(1), roster.free(1), roster.free(9)), (Some("b".to_owned()), None, None));
        assert_eq!((roster.place(None, "d"), roster.from(1)), (Ok(1), Some("d")));
    }
}
