//! Members behind `plumb-mpi`: the frames of all of them go through standard input, which is a socket of the relay on
//! rank 0.

use super::carrier::{Arrival, Place, Reply};
use super::now;
use crate::failure::Failure;
use crate::output::print_error;
use cluster::{Content, Frame, Frames, Instruction, Notice};
use measure::Nanos;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Time between two signs of life of the leader.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);
/// The relay's program.
const RELAY: &str = "plumb-mpi";
/// Reason of all ends that no relay has given.
const GONE: &str = "MPI has ended";

/// Replaces this process by the relay, which starts this program again as a member, and on rank 0 as the leader.
pub(crate) fn become_relay(library: &str) -> Result<u8, Failure> {
    let here = std::env::current_exe()?;
    // In a directory of programs there is plumb alone.
    let installed = here.parent().and_then(|directory| Some(directory.parent()?.join("lib/plumb").join(RELAY)));
    let relay = [Some(here.with_file_name(RELAY)), installed].into_iter().flatten().find(|path| path.exists());
    let Some(relay) = relay else {
        return Err(Failure::new(format!(
            "cluster: --mpi: there is no {RELAY} next to {}, nor in lib/plumb; make release and the packages have it, the static program and the wheel do not",
            here.display()
        )));
    };
    let mut command = Command::new(&relay);
    command.arg("--program").arg(&here);
    if !library.is_empty() {
        command.arg("--library").arg(library);
    }
    // `plumb cluster` comes first: no option of plumb may be in front of a command.
    let words = std::env::args_os().skip(2);
    let error = command.arg("--").args(words.collect::<Vec<OsString>>()).exec();
    Err(Failure::at(&relay, error))
}

/// A member, behind the one stream to the relay.
#[derive(Clone)]
pub(crate) struct RelayedMember {
    rank: u32,
    frames: Sender<Frame>,
}

/// The members that MPI has started.
pub(crate) struct World {
    pub(crate) relayed: RelayedMember,
    /// Name and number of the MPI library.
    pub(crate) library: String,
    pub(crate) places: Vec<Place>,
}

/// Waits for the list of members. `None` if there is none: this is not rank 0.
pub(crate) fn world(arrivals: &Sender<Arrival>, silence: Nanos) -> Result<Option<World>, Failure> {
    let (worlds, found) = channel();
    let (frames, to_write) = channel();
    let stream = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let arrivals = arrivals.clone();
    std::thread::Builder::new().spawn(move || listen(&arrivals, &worlds))?;
    let Ok((library, hosts)) = found.recv() else { return Ok(None) };
    std::thread::Builder::new().spawn(move || write(stream, &to_write, silence))?;
    let places = hosts.into_iter().map(Place::Host).collect();
    Ok(Some(World { relayed: RelayedMember { rank: 0, frames }, library, places }))
}

impl RelayedMember {
    /// The member with this number.
    pub(crate) fn of(&self, rank: usize) -> Self {
        RelayedMember { rank: u32::try_from(rank).unwrap_or(u32::MAX), frames: self.frames.clone() }
    }

    /// Sends a message to the member. One that cannot be sent is not an error here: its end follows.
    pub(crate) fn send(&self, instruction: &Instruction) {
        if let Ok(line) = cluster::line(instruction) {
            let _ = self.frames.send(Frame::line(self.rank, line.into_bytes()));
        }
    }

    /// Has the member and its workers killed.
    pub(crate) fn kill(&self) {
        let _ = self.frames.send(Frame::notice(self.rank, Notice::Kill));
    }
}

/// Writes frames until there are no more, and signs of life between them. The relay reads on whatever its members do.
fn write(mut stream: File, frames: &Receiver<Frame>, silence: Nanos) {
    let mut due = Instant::now();
    loop {
        if Instant::now() >= due {
            due = Instant::now() + SIGN_OF_LIFE;
            if stream.write_all(&Frame::notice(0, Notice::Alive(silence)).to_bytes()).is_err() {
                return;
            }
        }
        match frames.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(frame) if stream.write_all(&frame.to_bytes()).is_err() => return,
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Forwards the messages of all members until the relay is gone, with the time of their arrival.
fn listen(arrivals: &Sender<Arrival>, worlds: &Sender<(String, Vec<String>)>) {
    let (mut frames, mut members) = (Frames::default(), 0);
    let mut stdin = std::io::stdin().lock();
    let mut bytes = vec![0; 1 << 16];
    let why = loop {
        match stdin.read(&mut bytes) {
            Ok(0) => break GONE.to_owned(),
            Ok(count) => frames.push(&bytes[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => break error.to_string(),
        }
        let at = now();
        let failed = loop {
            let Frame { rank, content } = match frames.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => break None,
                Err(error) => break Some(error.to_string()),
            };
            let reply = match content {
                Content::Line(line) => match cluster::answer(&String::from_utf8_lossy(&line)) {
                    Ok(Some(answer)) => Reply::Answer(Box::new(answer)),
                    Ok(None) => continue,
                    Err(error) => Reply::End(Some(error.to_string())),
                },
                Content::Notice(Notice::Ended(why)) => Reply::End(Some(why)),
                Content::Notice(Notice::World { library, hosts }) => {
                    members = hosts.len();
                    if worlds.send((library, hosts)).is_err() {
                        return;
                    }
                    continue;
                }
                Content::Notice(_) => continue,
            };
            if arrivals.send(Arrival { rank: rank as usize, at, reply }).is_err() {
                return;
            }
        };
        if let Some(why) = failed {
            break why;
        }
    };
    if members > 0 {
        print_error(&format!(
            "plumb: cluster: {why}; each member that has measured keeps its result in its directory: plumb cluster merge plumb-cluster-member-*.json"
        ));
    }
    for rank in 0..members {
        // The receiver may have been dropped already.
        let _ = arrivals.send(Arrival { rank, at: now(), reply: Reply::End(Some(why.clone())) });
    }
}
