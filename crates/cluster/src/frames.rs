//! The lines of all members over one stream: frames between the leader and `plumb-mpi`, which carries them, and between
//! its processes.
//!
//! A frame has the number of a member, so that one stream serves all of them. Most hold a line of the member protocol
//! as it is; the others are notices between the leader and the relays.

use crate::message::LONGEST_LINE;
use measure::Nanos;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Bytes in front of each frame: number of the member, kind, length.
const HEAD: usize = 9;
const LINE: u8 = 0;
const NOTICE: u8 = 1;

/// A frame, with the member that it is of or for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Number of the member.
    pub rank: u32,
    /// Content.
    pub content: Content,
}

/// Content of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A line of the member protocol.
    Line(Vec<u8>),
    /// A notice.
    Notice(Notice),
}

/// A notice between the leader and the relays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// Of a relay, once: the name of its host.
    Host(String),
    /// To the leader, once: all members that there are.
    World {
        /// Name and number of the MPI library.
        library: String,
        /// The host of each member.
        hosts: Vec<String>,
    },
    /// Of a relay: its member has ended, with the reason.
    Ended(String),
    /// To a relay: kill the member.
    Kill,
    /// To all relays: the leader is alive; after this silence of it they end their members.
    Alive(Nanos),
    /// To all relays: the leader has ended. Members have this time to end in order.
    Over(Nanos),
}

/// A stream that does not hold frames.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Longer than any result.
    #[error("a frame of {0} bytes is longer than any result")]
    TooLong(u32),
    /// Neither a line nor a notice, or one that cannot be read.
    #[error("a frame that cannot be read: {0}")]
    Unreadable(String),
}

impl Frame {
    /// A line of the member protocol.
    pub fn line(rank: u32, line: Vec<u8>) -> Self {
        Frame { rank, content: Content::Line(line) }
    }

    /// A notice.
    pub fn notice(rank: u32, notice: Notice) -> Self {
        Frame { rank, content: Content::Notice(notice) }
    }

    /// The frame as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, content) = match &self.content {
            Content::Line(line) => (LINE, line.clone()),
            // Notices are plain data, which JSON can always hold.
            Content::Notice(notice) => (NOTICE, serde_json::to_vec(notice).unwrap_or_default()),
        };
        let mut bytes = Vec::with_capacity(HEAD + content.len());
        bytes.extend_from_slice(&self.rank.to_le_bytes());
        bytes.push(kind);
        bytes.extend_from_slice(&u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(&content);
        bytes
    }
}

/// Reads frames out of a stream that arrives in pieces.
#[derive(Debug, Default)]
pub struct Frames {
    arrived: Vec<u8>,
    /// Bytes of `arrived` that were read.
    read: usize,
}

impl Frames {
    /// Adds bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.arrived.drain(..std::mem::take(&mut self.read));
        self.arrived.extend_from_slice(bytes);
    }

    /// The next frame that is whole.
    ///
    /// # Errors
    /// The stream does not hold frames.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let arrived = &self.arrived[self.read..];
        let Some((head, rest)) = arrived.split_first_chunk::<HEAD>() else { return Ok(None) };
        let [r0, r1, r2, r3, kind, l0, l1, l2, l3] = *head;
        let (rank, length) = (u32::from_le_bytes([r0, r1, r2, r3]), u32::from_le_bytes([l0, l1, l2, l3]));
        if length as usize > LONGEST_LINE {
            return Err(FrameError::TooLong(length));
        }
        let Some(bytes) = rest.get(..length as usize) else { return Ok(None) };
        let content = match kind {
            LINE => Content::Line(bytes.to_vec()),
            NOTICE => Content::Notice(
                serde_json::from_slice(bytes).map_err(|error| FrameError::Unreadable(error.to_string()))?,
            ),
            other => return Err(FrameError::Unreadable(format!("its kind is {other}"))),
        };
        self.read += HEAD + length as usize;
        Ok(Some(Frame { rank, content }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames() -> Vec<Frame> {
        vec![
            Frame::line(0, b"{\"ready\":null}\n".to_vec()),
            Frame::notice(7, Notice::Host("node7".to_owned())),
            Frame::notice(0, Notice::World { library: "MPI".to_owned(), hosts: vec!["a".to_owned(), "b".to_owned()] }),
            Frame::line(u32::MAX, Vec::new()),
            Frame::notice(3, Notice::Ended("it was ended by signal 9".to_owned())),
            Frame::notice(3, Notice::Kill),
            Frame::notice(0, Notice::Alive(Nanos::from_secs(60))),
            Frame::notice(0, Notice::Over(Nanos::MILLISECOND)),
        ]
    }

    proptest! {
        #[test]
        fn frames_are_read_back_from_any_pieces(pieces in prop::collection::vec(1usize..40, 1..200)) {
            let sent: Vec<u8> = frames().iter().flat_map(Frame::to_bytes).collect();
            let (mut reader, mut found, mut rest) = (Frames::default(), Vec::new(), sent.as_slice());
            for piece in pieces.iter().chain([&usize::MAX]) {
                let (now, later) = rest.split_at((*piece).min(rest.len()));
                reader.push(now);
                rest = later;
                while let Some(frame) = reader.next_frame().unwrap() {
                    found.push(frame);
                }
            }
            prop_assert_eq!(found, frames());
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut reader = Frames::default();
            reader.push(&bytes);
            while let Ok(Some(_)) = reader.next_frame() {}
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_before_it_arrives() {
        let mut reader = Frames::default();
        reader.push(&[0, 0, 0, 0, 0, 255, 255, 255, 255]);
        assert_eq!(reader.next_frame(), Err(FrameError::TooLong(u32::MAX)));
        let mut reader = Frames::default();
        reader.push(&[0, 0, 0, 0, 9, 0, 0, 0, 0]);
        assert!(matches!(reader.next_frame(), Err(FrameError::Unreadable(_))));
    }
}
