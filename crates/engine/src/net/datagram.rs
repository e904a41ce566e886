//! The two messages with which the ends of a UDP connection signal that it opens and closes. They have fio's wire
//! format, so either end may be fio.

/// A message about the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The sender is ready.
    Open,
    /// The sender sends no more data.
    Close,
}

const OPEN: [u8; 8] = *b"link\0\0\0\x98";
const CLOSE: [u8; 8] = *b"knil\x89\0\0\0";

impl Word {
    /// Decodes a datagram; `None` for data.
    #[inline]
    pub(super) fn of(message: &[u8]) -> Option<Word> {
        match message.first_chunk::<8>() {
            Some(bytes) if message.len() == 8 && *bytes == OPEN => Some(Word::Open),
            Some(bytes) if message.len() == 8 && *bytes == CLOSE => Some(Word::Close),
            _ => None,
        }
    }

    /// Encodes the message.
    pub(super) fn bytes(self) -> [u8; 8] {
        match self {
            Word::Open => OPEN,
            Word::Close => CLOSE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_eight_bytes_alone_and_data_is_not_a_word() {
        for word in [Word::Open, Word::Close] {
            assert_eq!(Word::of(&word.bytes()), Some(word));
            assert_eq!(Word::of(&[&word.bytes()[..], b"x"].concat()), None);
        }
        assert_eq!(Word::of(b"link"), None);
        assert_eq!(Word::of(&[0; 4096]), None);
    }
}
