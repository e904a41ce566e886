//! Our table beside the real fio's. Debian's fio must be installed; without it these tests fail.

use crate::abilities::invoke;
use job::Action;
use std::collections::BTreeSet;
use std::process::Command;

fn fio(arguments: &[&str]) -> String {
    let output = Command::new("fio").args(arguments).output();
    let output = output.expect("the real fio is installed (apt-get install fio)");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn ours(argument: &str) -> String {
    match invoke(&[argument], &[]).expect("help").action {
        Action::CmdHelp(text) => text,
        other => panic!("no help: {other:?}"),
    }
}

/// The names in the first column.
fn names(text: &str) -> BTreeSet<String> {
    let column = text.lines().filter_map(|line| line.split_once(':'));
    column.map(|(name, _)| name.trim().to_owned()).collect()
}

/// What stands after `key:` in the help of one option.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once(": "));
    pairs.filter(|(found, _)| found.trim() == key).map(|(_, value)| value.trim()).next()
}

#[test]
fn every_option_of_fio_is_in_our_table() {
    let known = names(&ours("--cmdhelp=all"));
    // An alias here, an option of its own there.
    let missing: Vec<String> =
        names(&fio(&["--cmdhelp=all"])).into_iter().filter(|name| !known.contains(name)).collect();
    assert_eq!(missing, ["allrandrepeat", "log_max_value", "log_unix_epoch"]);
}

#[test]
fn aliases_and_defaults_are_those_of_fio() {
    let mut differing = Vec::new();
    for name in names(&fio(&["--cmdhelp=all"])) {
        let theirs = fio(&[&format!("--cmdhelp={name}")]);
        let ours = ours(&format!("--cmdhelp={name}"));
        let alias = field(&theirs, "alias");
        if alias.is_some() && !ours.lines().any(|line| line.trim() == format!("alias: {}", alias.unwrap_or(""))) {
            differing.push(format!("{name}: alias {alias:?}"));
        }
        let (their_default, our_default) = (field(&theirs, "default"), field(&ours, "default"));
        if their_default != our_default {
            differing.push(format!("{name}: {their_default:?}, ours {our_default:?}"));
        }
    }
    let expected = [
        // 3.42 made it one with randrepeat.
        r#"allrandrepeat: Some("0"), ours Some("1")"#,
        // The same number, written shorter.
        r#"hugepage-size: Some("2097152"), ours Some("2m")"#,
        // 3.42 made it a word.
        r#"log_max_value: Some("0"), ours Some("avg")"#,
        // We name what fio does without.
        r#"unit_base: Some("no default"), ours Some("0")"#,
    ];
    assert_eq!(differing, expected);
}

#[test]
fn fio_reads_what_showcmd_writes() {
    let text = "[global]\nbs=8k\nioengine=null\nsize=1m\n[a]\nrw=randread\nnorandommap\n[b]\nstonewall\nbs=4k,16k\n";
    let shown = match invoke(&["--showcmd", "f"], &[("f", text)]).expect("shown").action {
        Action::ShowCmd(text) => text,
        other => panic!("not shown: {other:?}"),
    };
    let words: Vec<&str> = shown.split_whitespace().skip(1).collect();
    let output = Command::new("fio").args(&words).arg("--output-format=normal").output().expect("fio is installed");
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}");
    assert!(report.contains("a: (g=0): rw=randread, bs=(R) 8192B-8192B"), "{report}");
    assert!(report.contains("b: (g=1): rw=read, bs=(R) 4096B-4096B, (W) 16.0KiB-16.0KiB"), "{report}");
}
