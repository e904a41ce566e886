//! `plumb cluster --lead N`: waits until N members have joined, and refuses by name what is none of them.

use super::tcp::{JOIN_WITHIN, TcpArgs};
use crate::failure::Failure;
use crate::members::carrier::{Arrival, Arrivals, Carrier, Connection, Mailbox, Place, Reply};
use crate::members::now;
use crate::network::greeting::{GREETING, Greetings, InGreeting, proven};
use crate::network::secret::{Protection as Keys, Purpose, Secret};
use crate::network::socket::{Listener, Socket};
use crate::output::{Verbosity, print_error};
use cluster::{Admission, Answer, Facts, Joining, Roster};
use formats::printable;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval at which the members that are there are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// Length of the longest name of a host.
const LONGEST_NAME: usize = 64;

/// State that all connections share.
struct Door {
    members: usize,
    secret: Option<Secret>,
    greetings: Greetings,
    arrivals: Sender<Arrival>,
    hall: Mutex<Hall>,
    verbosity: Verbosity,
}

/// The members that are there.
struct Hall {
    roster: Roster,
    connections: BTreeMap<usize, (Connection, Instant)>,
    /// Reasons why others were refused, by their addresses.
    refused: BTreeMap<String, String>,
}

/// The member of this process, if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnMember<'a> {
    /// It is member 0, in this directory or in the current one.
    First(Option<&'a str>),
    None,
}

/// Waits for the members; their places, and the way to them. Their greetings are in `arrivals` again at the end.
pub(super) fn gather(
    args: &TcpArgs,
    own: OwnMember<'_>,
    arrivals: &Arrivals,
    verbosity: Verbosity,
) -> Result<(Vec<Place>, Carrier), Failure> {
    let members = args.lead.map_or(0, |count| count as usize);
    let (listener, name) = Listener::anywhere(args.listen.as_deref().unwrap_or_default(), "cluster: --listen")?;
    verbosity.remark(&format!("plumb: cluster: waiting for members on {name}"));
    let door = Arc::new(Door {
        members,
        secret: Secret::given(args.secret_file.as_deref())?,
        greetings: Greetings::default(),
        arrivals: arrivals.sender.clone(),
        hall: Mutex::new(Hall { roster: Roster::new(members), connections: BTreeMap::new(), refused: BTreeMap::new() }),
        verbosity,
    });
    if let OwnMember::First(directory) = own {
        let mut hall = door.hall();
        let rank = hall.roster.place(Some(0), "here").unwrap_or_default();
        let connection = Connection::here(directory, arrivals.mailbox(rank))?;
        hall.connections.insert(rank, (connection, Instant::now()));
    }
    let accepting = Arc::clone(&door);
    std::thread::Builder::new().spawn(move || accepting.accept(&listener))?;
    let within = args.join_within.unwrap_or(JOIN_WITHIN).as_duration();
    let found = door.wait(&arrivals.receiver, within)?;
    for (&rank, facts) in &found {
        let reply = Reply::Answer(Box::new(Answer::Hello(Box::new(facts.clone()))));
        // The receiver is in the caller.
        let _ = arrivals.sender.send(Arrival { rank, at: now(), reply });
    }
    let mut hall = door.hall();
    let connections = std::mem::take(&mut hall.connections);
    let from = |rank: usize| hall.roster.from(rank).unwrap_or_default().to_owned();
    let places = found.iter().map(|(&rank, facts)| Place::Host(host_name(&facts.host, &from(rank)))).collect();
    Ok((places, Carrier::Joined(connections.into_values().map(|(connection, _)| connection).collect())))
}

/// The name of a member's host, which becomes a part of names of files.
fn host_name(given: &str, address: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name: String = given.chars().filter(|&letter| is_plain(letter)).take(LONGEST_NAME).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { address.replace(|letter| !is_plain(letter), "-") } else { name.to_owned() }
}

impl Door {
    fn hall(&self) -> MutexGuard<'_, Hall> {
        self.hall.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes connections as long as this process lives: a member too many is refused by name. Those that wait for their
    /// turn wait in the kernel.
    fn accept(self: &Arc<Self>, listener: &Listener) {
        loop {
            while !self.greetings.have_room() {
                std::thread::sleep(Duration::from_millis(1));
            }
            let Ok((socket, address)) = listener.accept() else {
                // It is gone already, or descriptors are short for a moment.
                std::thread::sleep(LOOK);
                continue;
            };
            let door = Arc::clone(self);
            let greeted = std::thread::Builder::new().spawn(move || door.meet(socket, &address));
            if let Err(error) = greeted {
                print_error(&format!("plumb: cluster: {error}"));
            }
        }
    }

    /// Learns who has connected, and takes it as a member.
    fn meet(&self, mut socket: Socket, address: &str) {
        let admit = |socket: &mut Socket, joining: Joining, _greeting: Option<InGreeting<'_>>| {
            self.admit(socket, address, &joining)
        };
        let Some(why) = self.greetings.meet(&mut socket, cluster::joining, admit) else { return };
        print_error(&format!("plumb: cluster: {address} is refused: {}", printable::line(&why)));
        self.hall().refused.insert(address.to_owned(), why);
    }

    /// Takes a member; the error is the reason why not.
    fn admit(&self, socket: &mut Socket, address: &str, joining: &Joining) -> Result<(), String> {
        let keys = proven(joining, self.secret.as_ref(), Purpose::Join, socket)?;
        let mut hall = self.hall();
        let rank = hall.roster.place(joining.rank, address).map_err(|error| error.to_string())?;
        match self.connect(socket, keys.as_ref(), rank) {
            Ok(connection) => {
                hall.connections.insert(rank, (connection, Instant::now()));
                Ok(())
            }
            Err(failure) => {
                hall.roster.free(rank);
                Err(failure.message().to_owned())
            }
        }
    }

    /// Answers a member that it is one, and listens to it.
    fn connect(&self, socket: &Socket, keys: Option<&Keys>, rank: usize) -> Result<Connection, Failure> {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let admission = Admission { rank: number(rank), members: number(self.members) };
        let (reader, writer) = (socket.try_clone()?, socket.try_clone()?);
        let (reader, mut writer): (Box<dyn Read + Send>, Box<dyn Write + Send>) = match keys {
            None => (Box::new(reader), Box::new(writer)),
            Some(keys) => (Box::new(keys.opened(reader)), Box::new(keys.sealed(writer))),
        };
        writer.write_all(admission.line().as_bytes())?;
        Connection::over(
            reader,
            writer,
            socket.try_clone()?,
            "its connection ended",
            Mailbox::new(rank, &self.arrivals),
        )
    }

    /// Waits until all members have greeted.
    fn wait(&self, arrivals: &Receiver<Arrival>, within: Duration) -> Result<BTreeMap<usize, Facts>, Failure> {
        let begun = Instant::now();
        let mut found: BTreeMap<usize, Facts> = BTreeMap::new();
        while found.len() < self.members {
            let left = within.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(self.too_few(&found, within));
            }
            match arrivals.recv_timeout(left.min(LOOK)) {
                Ok(Arrival { rank, reply: Reply::Answer(answer), .. }) => {
                    if let Answer::Hello(facts) = *answer {
                        let from = self.hall().roster.from(rank).unwrap_or_default().to_owned();
                        found.insert(rank, *facts);
                        let host = host_name(&found[&rank].host, &from);
                        self.verbosity.remark(&format!(
                            "plumb: cluster: member {rank} ({host}, {from}) joined: {} of {}",
                            found.len(),
                            self.members
                        ));
                    }
                }
                Ok(Arrival { rank, reply: Reply::End(why), .. }) => {
                    found.remove(&rank);
                    self.lose(rank, &why.unwrap_or_else(|| "its connection ended".to_owned()))?;
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            self.drop_the_mute(&found);
        }
        Ok(found)
    }

    /// Frees the place of a member that has gone.
    fn lose(&self, rank: usize, why: &str) -> Result<(), Failure> {
        let mut hall = self.hall();
        let Some((mut connection, _)) = hall.connections.remove(&rank) else { return Ok(()) };
        if connection.is_here() {
            return Err(Failure::new(format!("cluster: member {rank} (here): {}", connection.ending())));
        }
        let from = hall.roster.free(rank).unwrap_or_default();
        print_error(&format!("plumb: cluster: member {rank} ({from}) has gone: {why}; waiting for another one"));
        Ok(())
    }

    /// Ends the connections of those that were taken and have not greeted as members do.
    fn drop_the_mute(&self, found: &BTreeMap<usize, Facts>) {
        let mut hall = self.hall();
        for (rank, (connection, since)) in &mut hall.connections {
            if !found.contains_key(rank) && since.elapsed() > GREETING {
                connection.kill();
            }
        }
    }

    fn too_few(&self, found: &BTreeMap<usize, Facts>, within: Duration) -> Failure {
        let hall = self.hall();
        let missing: Vec<String> =
            (0..self.members).filter(|rank| !found.contains_key(rank)).take(8).map(|rank| rank.to_string()).collect();
        let refused: Vec<String> = hall.refused.iter().map(|(address, why)| format!("{address}: {why}")).collect();
        let refused = if refused.is_empty() { String::new() } else { format!("; refused were {}", refused.join("; ")) };
        Failure::new(printable::line(&format!(
            "cluster: {} of {} members joined within {within:?}, missing: {}{refused}; nothing was begun (--join-within)",
            found.len(),
            self.members,
            missing.join(", ")
        ))
        .to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_host_leads_nowhere_else() {
        for (given, expected) in [
            ("node1", "node1"),
            ("../../etc/x", "etcx"),
            ("a/b\u{1b}[31m", "ab31m"),
            ("", "10.0.0.7"),
            ("...", "10.0.0.7"),
        ] {
            assert_eq!(host_name(given, "10.0.0.7"), expected, "{given}");
        }
        assert_eq!(host_name("", "fe80::1"), "fe80--1");
        assert_eq!(host_name(&"a".repeat(500), "").len(), LONGEST_NAME);
    }
}
