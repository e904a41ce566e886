//! Tests that need a separate process: they send signals to it, or count the allocations of all its threads.

use std::process::Command;

/// Environment variable, set in the process that runs the body.
const MARK: &str = "PLUMB_TEST_PROCESS";

/// Runs `body` in a new process of the same test binary, as its only test. `test` is the full name of the calling test.
///
/// # Panics
/// The body panics in that process; the message contains its output.
pub fn in_own_process(test: &str, body: impl FnOnce()) {
    if std::env::var_os(MARK).is_some() {
        return body();
    }
    let program = std::env::current_exe().expect("a running program has a path");
    let words = ["--exact", test, "--nocapture", "--test-threads=1"];
    let output = Command::new(program).args(words).env(MARK, "1").output().expect("the test binary starts");
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{test} in its own process: {}\n{text}", output.status);
    assert!(text.contains("1 passed"), "no test is called {test}:\n{text}");
}
