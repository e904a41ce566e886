//! Addresses of servers as fio writes them: `host`, `host,port`, `ip:`, `ip6:`, `sock:PATH`; and those of leaders:
//! `host:port`, `[::1]:port`.

use thiserror::Error;

/// Port of servers unless one is given: fio's.
pub const DEFAULT_PORT: u16 = 8765;
/// Port of a leader that members join, unless one is given.
pub const LEADER_PORT: u16 = 8766;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host, by name or by its IPv4 or IPv6 address, and a port.
    Host {
        /// Name or address.
        host: String,
        /// The port.
        port: u16,
    },
    /// A socket in the file system.
    Socket(String),
}

impl Address {
    /// The address with its port, as messages show it: `node1:8765`, `[::1]:8765`, `sock:/run/fio`.
    pub fn name(&self) -> String {
        match self {
            Address::Host { host, port } if host.contains(':') => format!("[{host}]:{port}"),
            Address::Host { host, port } => format!("{host}:{port}"),
            Address::Socket(path) => format!("sock:{path}"),
        }
    }

    /// The host as it was given, or the path of a socket.
    pub fn host(&self) -> &str {
        match self {
            Address::Host { host, .. } => host,
            Address::Socket(path) => path,
        }
    }

    /// The port; 0 for a socket in the file system, as in fio.
    pub fn port(&self) -> u16 {
        match self {
            Address::Host { port, .. } => *port,
            Address::Socket(_) => 0,
        }
    }
}

/// A text that is not an address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddressError {
    /// Not a port.
    #[error("`{0}` is not a port; give 1 to 65535")]
    Port(String),
    /// Only a port, without the comma.
    #[error("`{0}` is a number; a port without an address is written ,{0}")]
    OnlyPort(String),
    /// Nothing where the address of a leader is needed.
    #[error("there is no address; write it like node1, node1:8766 or [::1]:8766")]
    NoLeader,
    /// A socket without a path.
    #[error("sock: needs a path")]
    NoPath,
}

/// The address on which a server listens; all IPv4 addresses of the machine unless one is given.
///
/// # Errors
/// The text is not an address.
pub fn server_address(text: Option<&str>) -> Result<Address, AddressError> {
    match text {
        None | Some("") => Ok(Address::Host { host: "0.0.0.0".to_owned(), port: DEFAULT_PORT }),
        Some(text) => address(text, "0.0.0.0", "::"),
    }
}

/// The address of the server of a client; on this machine if no host is given.
///
/// # Errors
/// The text is not an address.
pub fn client_address(text: &str) -> Result<Address, AddressError> {
    address(text, "127.0.0.1", "::1")
}

/// The address of a leader: `host`, `host:port`, `:port`, `[::1]:port`. Without a host it is `any`, if there is one.
///
/// # Errors
/// The text is not an address.
pub fn leader_address(text: &str, any: Option<&str>) -> Result<Address, AddressError> {
    let text = text.trim();
    let (host, port) = match (text.strip_prefix('[').and_then(|rest| rest.split_once(']')), text.rsplit_once(':')) {
        (Some((host, "")), _) => (host, None),
        (Some((host, rest)), _) => {
            (host, Some(rest.strip_prefix(':').ok_or_else(|| AddressError::Port(rest.to_owned()))?))
        }
        // An IPv6 address without brackets has no port.
        (None, Some((host, _))) if host.contains(':') => (text, None),
        (None, Some((host, port))) => (host, Some(port)),
        (None, None) => (text, None),
    };
    let port = match port {
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(|| AddressError::Port(port.to_owned()))?,
        None => LEADER_PORT,
    };
    match (host, any) {
        ("", None) => Err(AddressError::NoLeader),
        ("", Some(any)) => Ok(Address::Host { host: any.to_owned(), port }),
        (host, _) => Ok(Address::Host { host: host.to_owned(), port }),
    }
}

fn address(text: &str, any: &str, any6: &str) -> Result<Address, AddressError> {
    let text = text.trim();
    if let Some(path) = text.strip_prefix("sock:") {
        return if path.is_empty() { Err(AddressError::NoPath) } else { Ok(Address::Socket(path.to_owned())) };
    }
    let (rest, any) = match (text.strip_prefix("ip6:"), text.strip_prefix("ip4:").or_else(|| text.strip_prefix("ip:")))
    {
        (Some(rest), _) => (rest, any6),
        (None, Some(rest)) => (rest, any),
        (None, None) => (text, any),
    };
    let (host, port) = match rest.split_once(',') {
        Some((host, port)) => (host, Some(port)),
        None => (rest, None),
    };
    let port = match port {
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(|| AddressError::Port(port.to_owned()))?,
        None if !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_digit()) => {
            return Err(AddressError::OnlyPort(host.to_owned()));
        }
        None => DEFAULT_PORT,
    };
    let host = match host.trim_start_matches('[').trim_end_matches(']') {
        "" => any,
        host => host,
    };
    Ok(Address::Host { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(host: &str, port: u16) -> Address {
        Address::Host { host: host.to_owned(), port }
    }

    #[test]
    fn addresses_are_read_as_fio_writes_them() {
        for (text, expected) in [
            ("node1", Ok(host("node1", 8765))),
            ("10.0.0.7,8766", Ok(host("10.0.0.7", 8766))),
            ("ip:10.0.0.7,8766", Ok(host("10.0.0.7", 8766))),
            ("ip6:::1,9", Ok(host("::1", 9))),
            ("ip6:fe80::1", Ok(host("fe80::1", 8765))),
            ("sock:/run/fio", Ok(Address::Socket("/run/fio".to_owned()))),
            ("sock:", Err(AddressError::NoPath)),
            ("node1,", Err(AddressError::Port(String::new()))),
            ("node1,70000", Err(AddressError::Port("70000".to_owned()))),
            ("node1,0", Err(AddressError::Port("0".to_owned()))),
            ("", Ok(host("127.0.0.1", 8765))),
            (",8766", Ok(host("127.0.0.1", 8766))),
            ("ip:", Ok(host("127.0.0.1", 8765))),
            ("ip:,8766", Ok(host("127.0.0.1", 8766))),
            ("ip4:,8766", Ok(host("127.0.0.1", 8766))),
            ("ip6:", Ok(host("::1", 8765))),
            ("ip6:,8766", Ok(host("::1", 8766))),
            (",", Err(AddressError::Port(String::new()))),
            ("9000", Err(AddressError::OnlyPort("9000".to_owned()))),
        ] {
            assert_eq!(client_address(text), expected, "{text}");
        }
    }

    #[test]
    fn a_server_without_an_address_listens_on_all_of_them() {
        for (text, expected) in [
            (None, host("0.0.0.0", 8765)),
            (Some(",9000"), host("0.0.0.0", 9000)),
            (Some("ip6:,9000"), host("::", 9000)),
            (Some("ip6:"), host("::", 8765)),
            (Some("127.0.0.1"), host("127.0.0.1", 8765)),
        ] {
            assert_eq!(server_address(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn addresses_of_leaders_are_read_as_in_a_url() {
        for (text, expected) in [
            ("plumb-0.plumb", Ok(host("plumb-0.plumb", 8766))),
            ("10.0.0.7:9", Ok(host("10.0.0.7", 9))),
            ("[::1]:9", Ok(host("::1", 9))),
            ("[::1]", Ok(host("::1", 8766))),
            ("::1", Ok(host("::1", 8766))),
            (":9", Err(AddressError::NoLeader)),
            ("", Err(AddressError::NoLeader)),
            ("a:", Err(AddressError::Port(String::new()))),
            ("a:70000", Err(AddressError::Port("70000".to_owned()))),
            ("[::1]9", Err(AddressError::Port("9".to_owned()))),
        ] {
            assert_eq!(leader_address(text, None), expected, "{text}");
        }
        assert_eq!(leader_address(":9", Some("::")), Ok(host("::", 9)));
    }

    #[test]
    fn names_show_the_port() {
        assert_eq!(host("::1", 9).name(), "[::1]:9");
        assert_eq!(host("a", 9).name(), "a:9");
        assert_eq!(
            (Address::Socket("/s".to_owned()).name(), Address::Socket("/s".to_owned()).port()),
            ("sock:/s".to_owned(), 0)
        );
    }
}
