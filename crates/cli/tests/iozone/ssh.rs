//! A cluster over ssh: our own sshd on 127.0.0.1, with keys made for the test, and plumb at both ends.

use crate::context::{PLUMB, plumb};
use house::{Place, Process, Run, Transcript, names, wait_for};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A server that ends with the test.
pub(crate) struct Server {
    directory: Place,
    /// Ends when dropped.
    _sshd: Process,
}

/// A new pair of keys; returns the public half.
fn key(directory: &Place, name: &str) -> String {
    Run::new("ssh-keygen", directory).words(["-q", "-t", "ed25519", "-N", "", "-f", name]).succeeds();
    directory.read(format!("{name}.pub"))
}

/// A port on which no process listens.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("it is bound").port()
}

impl Server {
    pub(crate) fn start() -> Server {
        let directory = Place::below(std::env::temp_dir());
        let host_key = key(&directory, "host");
        directory.write("authorized", key(&directory, "user"));
        key(&directory, "unknown");
        // Without this directory of the system sshd does not start as root.
        fs::create_dir_all("/run/sshd").expect("a directory (needs root)");
        let port = free_port();
        let shown = |name: &str| directory.word(name);
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
             UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nUseDNS no\n",
            shown("host"),
            shown("authorized")
        );
        directory.write("sshd_config", config);
        let (kind, rest) = host_key.split_once(' ').expect("kind, key, name");
        directory.write("known", format!("[127.0.0.1]:{port} {kind} {rest}"));
        let host = |name: &str, port: u16, key: &str| {
            format!(
                "Host {name}\nHostName 127.0.0.1\nPort {port}\nIdentityFile {}\nIdentitiesOnly yes\n\
                 UserKnownHostsFile {}\nStrictHostKeyChecking yes\nBatchMode yes\nConnectTimeout 10\nLogLevel ERROR\n",
                shown(key),
                shown("known")
            )
        };
        let hosts =
            host("near far", port, "user") + &host("closed", free_port(), "user") + &host("shut", port, "unknown");
        directory.write("ssh_config", hosts);
        let log = fs::File::create(directory.file("log")).expect("a file");
        let sshd = Run::new("/usr/sbin/sshd", &directory).words("-D -e -f").words([directory.file("sshd_config")]);
        let sshd = sshd.errors_to(log).start();
        wait_for("sshd, whose log is in the directory", || TcpStream::connect(("127.0.0.1", port)).ok());
        Server { directory, _sshd: sshd }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory.file(name)
    }

    /// The remote shell that reaches it by the names `near` and `far`.
    pub(crate) fn shell(&self) -> String {
        format!("ssh -F {}", self.at("ssh_config").display())
    }

    /// Runs the leader; a member is the name of a host and of a directory, which is made where it begins with `m`.
    fn lead(&self, members: [(&str, &str); 2], words: &str) -> Transcript {
        let mut hosts = String::from("# host directory plumb\n");
        for (host, directory) in members {
            if directory.starts_with('m') {
                fs::create_dir_all(self.at(directory)).expect("a directory");
            }
            hosts += &format!("{host} {} {PLUMB}\n", self.at(directory).display());
        }
        self.directory.write("hosts", hosts);
        plumb(&self.directory, "iozone -+m hosts -t 2").words(words).env("RSH", self.shell()).end()
    }
}

#[test]
fn members_are_led_over_ssh() {
    let server = Server::start();
    let run = server.lead([("near", "m1"), ("far", "m2")], "-T -i 0 -i 1 -i 2 -s 256 -r 4 -+n -w -Q -+T -+z -C");
    let said = run.exits(0).stdout;
    for line in ["initial writers", "readers", "random readers", "random writers"] {
        assert!(said.lines().any(|found| found.contains("Children see") && found.contains(line)), "{line}: {said}");
    }
    assert!(said.contains("Test cleanup:") && said.ends_with("iozone test complete.\n"), "{said}");
    let amounts = super::numbers(&said, "Child[");
    assert_eq!(amounts.len(), 8, "{said}");
    assert!(amounts.contains(&256.0), "the first of each test moves all of its file: {said}");
    // Each file on the machine of its child, and nothing else but what was asked for.
    for (directory, child) in [("m1", 0), ("m2", 1)] {
        let expected = ["randrol", "randwol", "rol", "wol"].map(|name| format!("Child_{child}_{name}.dat"));
        let others = [format!("Child_{child}.log"), format!("Iozone_histogram_child_{child}.txt")];
        let mut expected: Vec<String> = expected.into_iter().chain(others).collect();
        expected.push(format!("iozone.DUMMY.{child}"));
        expected.sort();
        assert_eq!(names(&server.at(directory)), expected);
        let size = fs::metadata(server.at(directory).join(format!("iozone.DUMMY.{child}"))).expect("kept by -w").len();
        assert_eq!(size, 256 << 10);
    }
}

#[test]
fn a_member_that_cannot_do_its_part_ends_all_and_is_named() {
    let server = Server::start();
    for (members, culprit, why) in [
        ([("near", "m1"), ("far", "none")], "far", "No such file or directory"),
        ([("closed", "m1"), ("near", "m2")], "closed", "it ended with status 255"),
        ([("near", "m1"), ("shut", "m2")], "shut", "it ended with status 255"),
    ] {
        let begun = Instant::now();
        let run = server.lead(members, "-i 0 -i 1 -s 256 -r 4").exits(1);
        let said = &run.stderr;
        let named = said.lines().find(|line| line.starts_with(&format!("plumb: iozone: {culprit} (")));
        assert!(named.is_some_and(|line| line.contains(why)), "{members:?}: {said}");
        assert!(!run.stdout.contains("iozone test complete"), "{members:?}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{members:?}: {:?}", begun.elapsed());
        for (_, directory) in members.iter().filter(|(_, directory)| directory.starts_with('m')) {
            assert!(
                names(&server.at(directory)).is_empty(),
                "{members:?}: {directory} has {:?}",
                names(&server.at(directory))
            );
        }
    }
}
