//! `plumb watch` on a real terminal: it shows, obeys keys, and leaves the terminal as it was, also after a signal.

use std::process::Command;
use std::time::{Duration, Instant};

/// A terminal of 80 × 24 in a separate tmux server.
struct Terminal(String);

impl Terminal {
    fn running(command: &str) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let terminal = Terminal(format!("plumb-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed)));
        let script = format!(
            "stty -a | grep -c ' icanon'; {command}; echo status=$?; stty -a | tr ' ' '\\n' | grep -c '^icanon'; sleep 60"
        );
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", &script]);
        terminal
    }

    fn tmux(&self, words: &[&str]) -> String {
        let outcome = Command::new("tmux").args(["-L", &self.0]).args(words).output().expect("tmux: make oracles");
        assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
        String::from_utf8_lossy(&outcome.stdout).into_owned()
    }

    fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen shows the text.
    fn wait_for(&self, text: &str) -> String {
        let began = Instant::now();
        loop {
            let shown = self.shown();
            if shown.contains(text) {
                return shown;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{text:?} never came:\n{shown}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// The usual screen, with a cursor, and lines that are edited before they are read.
    fn check_restored(&self, status: &str) {
        let shown = self.wait_for(&format!("status={status}"));
        let after = self.wait_for(&format!("status={status}\n1"));
        assert!(!after.contains("plumb watch"), "{shown}");
        assert_eq!(self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]).trim(), "0 1");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.0, "kill-server"]).status();
    }
}

pub(super) fn the_screen_obeys_keys_and_restores_the_terminal() {
    let terminal = Terminal::running(&format!("{} watch --interval 0.3", super::PLUMB));
    let shown = terminal.wait_for("CPU  user");
    for word in ["plumb watch", "Device", "await", "Process", "q quit"] {
        assert!(shown.contains(word), "{word:?} is missing:\n{shown}");
    }
    terminal.press("?");
    terminal.wait_for("this help, and away with it");
    terminal.press("Escape");
    terminal.press("p");
    terminal.wait_for("PAUSED");
    terminal.press("q");
    terminal.check_restored("0");
}

pub(super) fn a_signal_ends_the_screen_and_leaves_the_terminal_as_it_was() {
    let terminal = Terminal::running(&format!("sh -c 'echo $$ > /dev/null; exec {} watch'", super::PLUMB));
    terminal.wait_for("q quit");
    let pane = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let outcome = Command::new("pkill").args(["-TERM", "-P", pane.trim(), "plumb"]).status().expect("pkill");
    assert!(outcome.success(), "no plumb under the terminal's shell");
    terminal.check_restored("143");
}

/// Closes the terminal under `plumb watch`; it must be gone soon, and must not burn the processor until then.
fn check_gone_with_its_terminal(start: &str) {
    let terminal = Terminal::running(&format!("{start} {} watch", super::PLUMB));
    terminal.wait_for("q quit");
    let pane = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let found = Command::new("pgrep").args(["-P", pane.trim(), "plumb"]).output().expect("pgrep");
    let pid = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    assert!(!pid.is_empty(), "no plumb under the terminal's shell");
    // The process that is looked at is this very one, not another that got its number.
    let started = || std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?.split(' ').nth(21).map(str::to_owned);
    let before = started();
    drop(terminal);
    let closed = Instant::now();
    while before.is_some() && started() == before {
        if closed.elapsed() > Duration::from_secs(3) {
            let _ = Command::new("kill").args(["-KILL", &pid]).status();
            panic!("plumb watch lives on without its terminal ({start:?})");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(super) fn the_screen_ends_with_its_terminal() {
    check_gone_with_its_terminal("");
}

pub(super) fn the_screen_ends_with_its_terminal_where_sighup_is_ignored() {
    check_gone_with_its_terminal("trap '' HUP;");
}

pub(super) fn a_signal_ends_the_screen_in_the_middle_of_a_keys_sequence() {
    let terminal = Terminal::running(&format!("{} watch", super::PLUMB));
    terminal.wait_for("q quit");
    terminal.tmux(&["send-keys", "-H", "1b", "5b"]);
    std::thread::sleep(Duration::from_millis(300));
    let pane = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let outcome = Command::new("pkill").args(["-TERM", "-P", pane.trim(), "plumb"]).status().expect("pkill");
    assert!(outcome.success(), "no plumb under the terminal's shell");
    terminal.check_restored("143");
}

pub(super) fn without_a_terminal_another_way_is_named() {
    let outcome = Command::new(super::PLUMB).arg("watch").output().expect("plumb runs");
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!((outcome.status.code(), outcome.stdout.len()), (Some(1), 0));
    assert!(said.contains("needs a terminal") && said.contains("plumb iostat"), "{said}");
    let outcome = Command::new(super::PLUMB).args(["watch", "nosuch"]).output().expect("plumb runs");
    assert!(String::from_utf8_lossy(&outcome.stderr).contains("nosuch: there is no such block device"));
}
