//! Lists of hosts: `node[1-8],a,b:4`, or a file with one a line. `HOST:N` has N members.

use std::collections::BTreeMap;
use thiserror::Error;

/// Largest number of members of a run.
pub(crate) const MOST_MEMBERS: usize = 4096;

/// A host with members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name, as the remote shell takes it.
    pub name: String,
    /// Number of members on it.
    pub members: u32,
}

/// A mistake in a list of hosts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostsError {
    /// Not a name, or not a range.
    #[error("`{0}` is not a host; write names like node1, node[1-8] or node1:4, separated by commas")]
    NotAHost(String),
    /// The list is empty.
    #[error("no host is named")]
    Empty,
    /// More members than one leader can lead.
    #[error("there are more than {MOST_MEMBERS} members")]
    TooMany,
}

/// Reads a list.
///
/// ```
/// let hosts = cluster::hosts("node[09-11],a:2").unwrap();
/// let names: Vec<_> = hosts.iter().map(|host| (host.name.as_str(), host.members)).collect();
/// assert_eq!(names, [("node09", 1), ("node10", 1), ("node11", 1), ("a", 2)]);
/// ```
///
/// # Errors
/// A word is not a host, or there are too many.
pub fn hosts(text: &str) -> Result<Vec<Host>, HostsError> {
    let mut found = Vec::new();
    for word in split_outside_brackets(text) {
        add(word.trim(), &mut found)?;
    }
    checked(found)
}

/// Reads a file: one host or list of them a line, with comments after `#`.
///
/// # Errors
/// As [`hosts`].
pub fn hosts_file(text: &str) -> Result<Vec<Host>, HostsError> {
    let mut found = Vec::new();
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    for line in lines.filter(|line| !line.is_empty()) {
        for word in split_outside_brackets(line) {
            add(word.trim(), &mut found)?;
        }
    }
    checked(found)
}

fn checked(found: Vec<Host>) -> Result<Vec<Host>, HostsError> {
    let members = found.iter().map(|host| host.members as usize).fold(0, usize::saturating_add);
    match members {
        0 => Err(HostsError::Empty),
        members if members > MOST_MEMBERS => Err(HostsError::TooMany),
        _ => Ok(found),
    }
}

/// The words of a list; commas in brackets belong to a word.
fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut is_inside = false;
    text.split(|letter| {
        match letter {
            '[' => is_inside = true,
            ']' => is_inside = false,
            _ => {}
        }
        letter == ',' && !is_inside
    })
    .collect()
}

fn add(word: &str, found: &mut Vec<Host>) -> Result<(), HostsError> {
    let wrong = || HostsError::NotAHost(word.to_owned());
    // `[::1]` is an address and not a range, so a count follows the last bracket.
    let after_brackets = word.rfind(']').map_or(0, |at| at + 1);
    let (name, members) = match word[after_brackets..].split_once(':') {
        Some((_, count)) if !count.contains(':') => {
            let count: u32 = count.parse().map_err(|_| wrong())?;
            (&word[..word.len() - count_length(word)], count)
        }
        _ => (word, 1),
    };
    let is_plain = |name: &str| {
        !name.is_empty()
            && !name.starts_with('-')
            && !name.contains(|letter: char| letter.is_whitespace() || letter.is_control())
    };
    if !is_plain(name) || members == 0 {
        return Err(wrong());
    }
    for name in expanded(name).ok_or_else(wrong)? {
        if found.len() >= MOST_MEMBERS {
            return Err(HostsError::TooMany);
        }
        found.push(Host { name, members });
    }
    Ok(())
}

/// Length of `:4` at the end.
fn count_length(word: &str) -> usize {
    word.rfind(':').map_or(0, |at| word.len() - at)
}

/// The names of a word with a range in brackets; `None` for what is not a range.
fn expanded(name: &str) -> Option<Vec<String>> {
    let Some((before, rest)) = name.split_once('[') else {
        return (!name.contains(']')).then(|| vec![name.to_owned()]);
    };
    let (inside, after) = rest.split_once(']')?;
    if inside.contains(':') {
        return Some(vec![name.to_owned()]);
    }
    if after.contains(['[', ']']) {
        return None;
    }
    let mut names = Vec::new();
    for part in inside.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(first) || !is_number(last) {
            return None;
        }
        let (from, until): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if until < from || (until - from) as usize >= MOST_MEMBERS {
            return None;
        }
        names.extend((from..=until).map(|number| format!("{before}{number:0width$}{after}", width = first.len())));
    }
    Some(names)
}

/// The least shift by which every member meets another host; `None` if there is none. `hosts` is the host of each
/// member.
pub fn shift_to_other_hosts(hosts: &[String]) -> Option<u32> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    hosts.iter().for_each(|host| *counts.entry(host).or_default() += 1);
    let count = hosts.len();
    let moves_all = |shift: &usize| (0..count).all(|rank| hosts[rank] != hosts[(rank + shift) % count]);
    (1..count).find(moves_all).and_then(|shift| u32::try_from(shift).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_are_read_as_they_are_written() {
        let shown = |found: Vec<Host>| {
            found.into_iter().map(|host| format!("{}×{}", host.name, host.members)).collect::<Vec<_>>().join(" ")
        };
        for (text, expected) in [
            ("a", "a×1"),
            ("a,b:4", "a×1 b×4"),
            ("node[1-3]", "node1×1 node2×1 node3×1"),
            ("node[08-10].rack:2", "node08.rack×2 node09.rack×2 node10.rack×2"),
            ("n[1,3-4,9]", "n1×1 n3×1 n4×1 n9×1"),
            ("user@host", "user@host×1"),
            ("[::1]:3,[fe80::2]", "[::1]×3 [fe80::2]×1"),
        ] {
            assert_eq!(shown(hosts(text).unwrap()), expected, "{text}");
        }
        assert_eq!(shown(hosts_file("# all\nnode[1-2] # two\n\n b:3\n").unwrap()), "node1×1 node2×1 b×3");
    }

    #[test]
    fn a_word_that_is_not_a_host_is_refused_by_name() {
        for text in [
            "",
            ",",
            "a,,b",
            "a:0",
            "a:x",
            "n[3-1]",
            "n[1-]",
            "n[a]",
            "n[1-2",
            "n]",
            "n[1][2]",
            "a b",
            "-oProxyCommand=x",
            "n[1-99999999]",
        ] {
            assert!(hosts(text).is_err(), "{text}: {:?}", hosts(text));
        }
        assert_eq!(hosts("a:4097"), Err(HostsError::TooMany));
        assert_eq!(hosts_file("# nothing\n"), Err(HostsError::Empty));
    }

    #[test]
    fn a_shift_moves_every_member_to_another_host_or_there_is_none() {
        let shift = |text: &str| shift_to_other_hosts(&text.chars().map(String::from).collect::<Vec<_>>());
        for (hosts, expected) in [
            ("ab", Some(1)),
            ("aabb", Some(2)),
            ("abab", Some(1)),
            ("aaabbb", Some(3)),
            ("aab", None),
            ("a", None),
            ("", None),
        ] {
            assert_eq!(shift(hosts), expected, "{hosts}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_the_reader_or_gives_too_many_members(text in "[a-c0-9:,\\[\\]\\- ]{0,30}") {
            if let Ok(found) = hosts(&text) {
                prop_assert!(found.iter().map(|host| host.members as usize).sum::<usize>() <= MOST_MEMBERS);
            }
        }
    }
}
