//! The places of members that join a leader: which number a new one gets, and why one is refused.

use thiserror::Error;

/// The places, by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    /// Address of the member that has the place.
    taken: Vec<Option<String>>,
}

/// The reason why a member is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unplaced {
    /// No place is free.
    #[error("all {0} members of this run are there already")]
    Full(usize),
    /// Another member has this number.
    #[error("member {rank} is there already, from {from}; give each member a --rank, or none of them")]
    Taken {
        /// The number.
        rank: u32,
        /// Address of the other one.
        from: String,
    },
    /// The number is too large.
    #[error("--rank {rank}: this leader has {members} members, with numbers from 0")]
    NoSuchRank {
        /// The number.
        rank: u32,
        /// Number of members.
        members: usize,
    },
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
    pub fn place(&mut self, wanted: Option<u32>, from: &str) -> Result<usize, Unplaced> {
        let members = self.taken.len();
        if self.taken.iter().all(Option::is_some) {
            return Err(Unplaced::Full(members));
        }
        let first_free = self.taken.iter().position(Option::is_none).unwrap_or_default();
        let number = wanted.map_or(first_free, |rank| rank as usize);
        match (self.taken.get_mut(number), wanted) {
            (Some(place @ None), _) => {
                *place = Some(from.to_owned());
                Ok(number)
            }
            (Some(Some(other)), Some(rank)) => Err(Unplaced::Taken { rank, from: other.clone() }),
            (None, Some(rank)) => Err(Unplaced::NoSuchRank { rank, members }),
            (_, None) => Err(Unplaced::Full(members)),
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

    #[test]
    fn a_member_gets_the_number_it_asks_for_or_the_first_free_one() {
        let mut roster = Roster::new(3);
        assert_eq!(roster.place(Some(1), "b"), Ok(1));
        assert_eq!(roster.place(None, "a"), Ok(0));
        assert_eq!(roster.place(Some(1), "d"), Err(Unplaced::Taken { rank: 1, from: "b".to_owned() }));
        assert_eq!(roster.place(Some(3), "d"), Err(Unplaced::NoSuchRank { rank: 3, members: 3 }));
        assert_eq!(roster.place(None, "c"), Ok(2));
        assert_eq!(roster.place(None, "d"), Err(Unplaced::Full(3)));
        assert_eq!(roster.place(Some(1), "d"), Err(Unplaced::Full(3)));
        assert_eq!((roster.free(1), roster.free(1), roster.free(9)), (Some("b".to_owned()), None, None));
        assert_eq!((roster.place(None, "d"), roster.from(1)), (Ok(1), Some("d")));
    }
}
