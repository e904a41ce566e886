//! `plumb watch` on a real terminal: it shows, obeys keys, and leaves the terminal as it was, also after a signal.

use crate::context::{PLUMB, place, plumb};
use house::{Run, Transcript, wait_for};
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

    /// A command of tmux (`make oracles` installs it) to its server.
    fn command(&self, words: &[&str]) -> Transcript {
        Run::new("tmux", &std::env::temp_dir()).words(["-L", &self.0]).words(words).end()
    }

    fn tmux(&self, words: &[&str]) -> String {
        self.command(words).exits(0).stdout
    }

    /// Sends plumb a signal, which runs under the terminal's shell.
    fn signal_plumb(&self) {
        let pane = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        Run::new("pkill", &std::env::temp_dir()).words(["-TERM", "-P", pane.trim(), "plumb"]).succeeds();
    }

    fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen shows the text.
    fn wait_for(&self, text: &str) -> String {
        wait_for(&format!("{text:?} on the screen"), || Some(self.shown()).filter(|shown| shown.contains(text)))
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
        self.command(&["kill-server"]);
    }
}

pub(super) fn the_screen_obeys_keys_and_restores_the_terminal() {
    let terminal = Terminal::running(&format!("{} watch --interval 0.3", PLUMB));
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
    let terminal = Terminal::running(&format!("sh -c 'echo $$ > /dev/null; exec {} watch'", PLUMB));
    terminal.wait_for("q quit");
    terminal.signal_plumb();
    terminal.check_restored("143");
}

/// Closes the terminal under `plumb watch`; it must be gone soon, and must not burn the processor until then.
fn check_gone_with_its_terminal(start: &str) {
    let terminal = Terminal::running(&format!("{start} {} watch", PLUMB));
    terminal.wait_for("q quit");
    let pane = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let found = Run::new("pgrep", &std::env::temp_dir()).words(["-P", pane.trim(), "plumb"]).stdout();
    let pid: u32 = found.trim().parse().expect("one plumb under the terminal's shell");
    // The process that is looked at is this very one, not another that got its number.
    let started = || std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?.split(' ').nth(21).map(str::to_owned);
    let before = started();
    drop(terminal);
    let closed = Instant::now();
    while before.is_some() && started() == before {
        if closed.elapsed() > Duration::from_secs(10) {
            house::signal(pid, rustix::process::Signal::KILL);
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
    let terminal = Terminal::running(&format!("{} watch", PLUMB));
    terminal.wait_for("q quit");
    terminal.tmux(&["send-keys", "-H", "1b", "5b"]);
    std::thread::sleep(Duration::from_millis(300));
    terminal.signal_plumb();
    terminal.check_restored("143");
}

pub(super) fn without_a_terminal_another_way_is_named() {
    let run = plumb(place(), "watch").exits(1).complains("needs a terminal").complains("plumb iostat");
    assert_eq!(run.stdout, "");
    plumb(place(), "watch nosuch").end().complains("nosuch: there is no such block device");
}
