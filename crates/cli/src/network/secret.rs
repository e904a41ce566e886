//! Connections with a secret: Noise (NNpsk0 with X25519, ChaCha20-Poly1305 and SHA-256) by the crate `snow`. Both ends
//! prove that they have the secret, and all that follows is encrypted and in order.

use crate::failure::Failure;
use sha2::{Digest, Sha256};
use snow::{Builder, HandshakeState, StatelessTransportState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// Bytes of a message of the handshake: a key, and the proof that it was encrypted with the secret.
const HANDSHAKE: usize = 32 + TAG;
/// Bytes by which an encrypted message is longer.
const TAG: usize = 16;
/// Longest message in bytes, encrypted: Noise's.
const LONGEST: usize = 65_535;
/// Least length of a secret in bytes: one that can be guessed protects nothing, because guesses can be tried on a
/// recording.
const LEAST: usize = 32;
/// The variable of the environment that names the file with the secret.
const SECRET_FILE: &str = "PLUMB_SECRET_FILE";
/// Longest file with a secret.
const LONGEST_FILE: u64 = 1 << 16;

/// Purpose of a connection, which both ends must mean: what one of them says is of no use in a connection of the other
/// kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A client leads a server.
    Client,
    /// A member joins a leader.
    Join,
    /// A writer sends its acknowledgements to a witness.
    Witness,
}

impl Purpose {
    fn prologue(self) -> &'static [u8] {
        match self {
            Purpose::Client => b"plumb fio --client",
            Purpose::Join => b"plumb cluster --join",
            Purpose::Witness => b"plumb durable --witness",
        }
    }
}

/// The secret of both ends.
pub(crate) struct Secret([u8; 32]);

impl Secret {
    /// The secret in this file, or in the one that the environment names (`PLUMB_SECRET_FILE`).
    pub(crate) fn given(file: Option<&Path>) -> Result<Option<Self>, Failure> {
        let from_environment = || std::env::var_os(SECRET_FILE).filter(|path| !path.is_empty()).map(PathBuf::from);
        file.map(Path::to_owned).or_else(from_environment).map(|path| Secret::read(&path)).transpose()
    }

    /// Reads the secret of a file, without white space at its ends.
    fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = sys::files::read_limited::read(path, LONGEST_FILE).map_err(|error| Failure::at(path, error))?;
        let text = bytes.trim_ascii();
        if text.len() < LEAST {
            let how = "make one with: openssl rand -hex 32";
            return Err(Failure::at(path, format!("a secret needs at least {LEAST} characters; {how}")));
        }
        Ok(Secret(Sha256::digest(text).into()))
    }

    /// Begins as the end that connects: sends the first message.
    pub(crate) fn begin(&self, purpose: Purpose, to: &mut impl Write) -> io::Result<Handshake> {
        let mut state = self.builder(purpose)?.build_initiator().map_err(wrong)?;
        send_handshake(&mut state, to)?;
        Ok(Handshake(state))
    }

    /// Answers as the end that listens. An error is another secret at the other end.
    pub(crate) fn answer(&self, purpose: Purpose, stream: &mut (impl Read + Write)) -> io::Result<Protection> {
        let mut state = self.builder(purpose)?.build_responder().map_err(wrong)?;
        receive_handshake(&mut state, stream)?;
        send_handshake(&mut state, stream)?;
        Protection::of(state)
    }

    fn builder(&self, purpose: Purpose) -> io::Result<Builder<'_>> {
        let builder = Builder::new(PATTERN.parse().map_err(wrong)?);
        builder.prologue(purpose.prologue()).and_then(|builder| builder.psk(0, &self.0)).map_err(wrong)
    }
}

/// A handshake of which the end that connects has sent its part.
pub(crate) struct Handshake(HandshakeState);

impl Handshake {
    /// Reads the answer of the end that listens.
    pub(crate) fn finish(mut self, from: &mut impl Read) -> io::Result<Protection> {
        receive_handshake(&mut self.0, from)?;
        Protection::of(self.0)
    }
}

/// The keys of a connection.
#[derive(Clone)]
pub(crate) struct Protection(Arc<StatelessTransportState>);

impl Protection {
    fn of(state: HandshakeState) -> io::Result<Self> {
        state.into_stateless_transport_mode().map(|state| Protection(Arc::new(state))).map_err(wrong)
    }

    /// Decrypts the other end's messages.
    pub(crate) fn opened<R: Read>(&self, inner: R) -> Decrypter<R> {
        Decrypter { inner, keys: self.clone(), number: 0, plain: Vec::new(), at: 0 }
    }

    /// Encrypts messages to the other end.
    pub(crate) fn sealed<W: Write>(&self, inner: W) -> Encrypter<W> {
        Encrypter { inner, keys: self.clone(), number: 0 }
    }
}

/// Decrypts what it reads.
pub(crate) struct Decrypter<R> {
    inner: R,
    keys: Protection,
    /// Number of the next message: one that is missing, doubled or out of order cannot be decrypted.
    number: u64,
    plain: Vec<u8>,
    at: usize,
}

impl<R: Read> Read for Decrypter<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.at == self.plain.len() {
            let mut length = [0; 2];
            match self.inner.read(&mut length[..1])? {
                0 => return Ok(0),
                _ => self.inner.read_exact(&mut length[1..])?,
            }
            let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
            self.inner.read_exact(&mut message)?;
            self.plain.resize(message.len(), 0);
            let count = self.keys.0.read_message(self.number, &message, &mut self.plain).map_err(wrong)?;
            self.plain.truncate(count);
            (self.at, self.number) = (0, self.number + 1);
        }
        let count = bytes.len().min(self.plain.len() - self.at);
        bytes[..count].copy_from_slice(&self.plain[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

pub(crate) struct Encrypter<W> {
    inner: W,
    keys: Protection,
    number: u64,
}

impl<W: Write> Write for Encrypter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = &bytes[..bytes.len().min(LONGEST - TAG)];
        let mut message = vec![0; 2 + part.len() + TAG];
        let count = self.keys.0.write_message(self.number, part, &mut message[2..]).map_err(wrong)?;
        let length = u16::try_from(count).map_err(io::Error::other)?;
        message[..2].copy_from_slice(&length.to_be_bytes());
        self.inner.write_all(&message[..2 + count])?;
        self.number += 1;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn send_handshake(state: &mut HandshakeState, to: &mut impl Write) -> io::Result<()> {
    let mut message = [0; 2 + HANDSHAKE];
    let count = state.write_message(&[], &mut message[2..]).map_err(wrong)?;
    let length = u16::try_from(count).map_err(io::Error::other)?;
    message[..2].copy_from_slice(&length.to_be_bytes());
    to.write_all(&message)
}

fn receive_handshake(state: &mut HandshakeState, from: &mut impl Read) -> io::Result<()> {
    let mut message = [0; 2 + HANDSHAKE];
    from.read_exact(&mut message)?;
    if usize::from(u16::from_be_bytes([message[0], message[1]])) != HANDSHAKE {
        return Err(wrong("it is not a handshake"));
    }
    state.read_message(&message[2..], &mut [0; HANDSHAKE]).map_err(wrong).map(|_| ())
}

fn wrong(error: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn secret(byte: u8) -> Secret {
        Secret([byte; 32])
    }

    /// The keys of both ends, and the streams.
    fn met(client: &Secret, server: u8) -> (io::Result<Protection>, io::Result<Protection>, UnixStream, UnixStream) {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let half = client.begin(Purpose::Client, &mut here).unwrap();
        let server = secret(server).answer(Purpose::Client, &mut there);
        if server.is_err() {
            there.shutdown(std::net::Shutdown::Both).unwrap();
        }
        (half.finish(&mut here), server, here, there)
    }

    #[test]
    fn what_is_sent_arrives_in_both_directions_however_long_it_is() {
        let (client, server, here, there) = met(&secret(1), 1);
        let (client, server) = (client.unwrap(), server.unwrap());
        let long: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        let sent = long.clone();
        let (mut to_server, mut to_client) =
            (client.sealed(here.try_clone().unwrap()), server.sealed(there.try_clone().unwrap()));
        let writer = std::thread::spawn(move || to_server.write_all(&sent).unwrap());
        let mut found = vec![0; long.len()];
        server.opened(&there).read_exact(&mut found).unwrap();
        writer.join().unwrap();
        assert!(found == long);
        to_client.write_all(b"yes\n").unwrap();
        let mut answer = [0; 4];
        client.opened(&here).read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"yes\n");
    }

    #[test]
    fn another_secret_opens_nothing() {
        let (client, server, ..) = met(&secret(1), 2);
        assert!(client.is_err() && server.is_err());
    }

    #[test]
    fn the_secret_of_one_kind_of_connection_opens_none_of_the_other() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let _half = secret(1).begin(Purpose::Client, &mut here).unwrap();
        assert!(secret(1).answer(Purpose::Join, &mut there).is_err());
    }

    #[test]
    fn a_message_that_is_repeated_changed_or_cut_is_an_error() {
        let (client, server, ..) = met(&secret(1), 1);
        let (client, server) = (client.unwrap(), server.unwrap());
        let mut wire = Vec::new();
        client.sealed(&mut wire).write_all(b"orders").unwrap();
        let read = |wire: &[u8]| {
            let mut plain = Vec::new();
            server.opened(wire).read_to_end(&mut plain).map(|_| plain)
        };
        assert_eq!(read(&wire).unwrap(), b"orders");
        assert!(read(&[wire.clone(), wire.clone()].concat()).is_err(), "repeated");
        assert!(read(&wire[..wire.len() - 1]).is_err(), "cut");
        let mut changed = wire.clone();
        changed[4] ^= 1;
        assert!(read(&changed).is_err(), "changed");
        // A recording is of no use for another connection.
        let (_, other, ..) = met(&secret(1), 1);
        assert!(other.unwrap().opened(&wire[..]).read(&mut [0; 8]).is_err(), "replayed");
    }

    #[test]
    fn a_secret_that_can_be_guessed_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("s");
        for (text, expected) in [("secret", false), ("0123456789abcdef0123456789abcdef\n", true), ("   \n", false)] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(Secret::read(&path).is_ok(), expected, "{text}");
        }
    }
}
