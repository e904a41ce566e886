//! Which command runs, and what help, version and mistakes look like.

use assert_cmd::Command;
use std::path::Path;

fn plumb() -> Command {
    Command::new(env!("CARGO_BIN_EXE_plumb"))
}

/// The binary under another name, by a link in `directory`.
fn called(directory: &Path, name: &str) -> Command {
    let link = directory.join(name);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_plumb"), &link).unwrap();
    Command::new(link)
}

/// Status, standard output and standard error of a command.
fn outcome(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_link_named_fio_is_fio() {
    let directory = tempfile::tempdir().unwrap();
    let (status, linked, _) = outcome(called(directory.path(), "fio").arg("--version"));
    assert_eq!(status, Some(0));
    assert_eq!(linked, format!("fio-3.42-plumb-{}\n", env!("CARGO_PKG_VERSION")));
    let (_, worded, _) = outcome(plumb().args(["fio", "--version"]));
    assert_eq!(linked, worded);
}

#[test]
fn iozone_without_words_points_to_its_help_by_either_name() {
    let directory = tempfile::tempdir().unwrap();
    for mut command in [called(directory.path(), "iozone"), plumb().arg("iozone").to_owned_command()] {
        let (status, shown, error) = outcome(&mut command);
        assert_eq!((status, error.as_str()), (Some(255), ""));
        assert!(shown.contains("iozone -h"), "{shown}");
    }
}

/// `Command`'s builder methods lend; a list wants the command itself.
trait ToOwnedCommand {
    fn to_owned_command(&mut self) -> Command;
}

impl ToOwnedCommand for Command {
    fn to_owned_command(&mut self) -> Command {
        std::mem::replace(self, Command::new("false"))
    }
}

#[test]
fn version_names_the_program() {
    let (status, shown, error) = outcome(plumb().arg("--version"));
    assert_eq!((status, error.as_str()), (Some(0), ""));
    let otlp = if cfg!(feature = "otlp") { '+' } else { '-' };
    let features = format!("features: +report +pdf +parquet +workbook +live +store {otlp}otlp");
    assert_eq!(shown, format!("plumb {}\n{features}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_native_help_has_examples() {
    for words in [&["--help"][..], &["survey", "--help"]] {
        let (status, shown, error) = outcome(plumb().args(words));
        assert_eq!((status, error.as_str()), (Some(0), ""), "{words:?}");
        assert!(shown.contains("Examples:\n  plumb survey"), "{words:?}\n{shown}");
    }
}

#[test]
fn no_words_show_the_help_and_fail() {
    let (status, shown, error) = outcome(&mut plumb());
    assert_eq!((status, shown.as_str()), (Some(1), ""));
    assert!(error.contains("Usage: plumb"), "{error}");
}

#[test]
fn mistakes_end_with_status_one_and_a_hint() {
    for (words, hint) in [
        (&["surwey", "."][..], "survey"),
        (&["survey"], "PATH|DEVICE"),
        (&["survey", "--size", "4q", "."], "write it like 512M or 16G"),
        (&["survey", "--time", "0", "."], "write it like 10s or 2m"),
        (&["survey", "--qick", "."], "--quick"),
    ] {
        let (status, shown, error) = outcome(plumb().args(words));
        assert_eq!((status, shown.as_str()), (Some(1), ""), "{words:?}");
        assert!(error.contains(hint), "{words:?}\n{error}");
    }
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let shell = format!("{} --help | true; exit ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_plumb"));
    let (_, _, error) = outcome(Command::new("bash").args(["-c", &shell]));
    assert_eq!(error, "");
}
