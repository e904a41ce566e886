//! The trigger of `plumb fio --client`: the jobs end, their verify states come to the client, then commands run.

use crate::servers::{Server, client, document, place, shown};
use std::fs;
use std::path::Path;

/// Writes for a minute at a rate that a busy machine keeps, from the first block on.
const WRITES: &str =
    "[w]\nrw=write\nbs=4k\nsize=4m\nfilename=f\ntime_based\nruntime=60\nrate_iops=500\nverify=crc32c\ndo_verify=0\n";

/// Runs a client in a directory, in which the trigger's file is there from the start.
fn triggered(directory: &Path, words: &[&str]) -> (i32, String, String) {
    fs::write(directory.join("now"), "").unwrap();
    let mut client = client(directory, WRITES, &[words, &["--trigger-file=now", "--output-format=json"]].concat());
    shown(&client.output().unwrap())
}

fn states(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".state")).collect();
    names.sort();
    names
}

#[test]
fn states_are_at_the_client_before_a_command_and_limit_reads() {
    let (first, second, here) = (Server::start(&["--trust-clients"]), Server::start(&["--trust-clients"]), place());
    let listing = format!("--trigger-remote=ls {} >listed", here.path().display());
    let clients = [first.client(), second.client()];
    let job = [clients[0].as_str(), "x.fio", &clients[1], "x.fio"];
    let (status, text, error) = triggered(here.path(), &[&job[..], &[&listing, "--trigger=touch here"]].concat());
    assert_eq!(status, 0, "{error}");
    assert!(here.path().join("here").exists() && !here.path().join("now").exists());
    let kept = states(here.path());
    let names = clients.each_ref().map(|client| format!("{}-w-0-verify.state", client.trim_start_matches("--client=")));
    assert!(kept.len() == 2 && names.iter().all(|name| kept.contains(name)), "{kept:?}");
    for server in [&first, &second] {
        assert_eq!(states(server.place.path()), [""; 0], "the client has it");
        let listed = fs::read_to_string(server.place.path().join("listed")).unwrap();
        assert!(kept.iter().all(|name| listed.contains(name.as_str())), "{listed}");
    }
    let written = document(&text)["client_stats"][0]["write"]["total_ios"].as_u64().unwrap();
    assert!((1..20_000).contains(&written), "the trigger ended it: {written}");
    // Each server reads what it wrote. Without the state it would read all of the file.
    let reads = "[w]\nrw=read\nbs=4k\nsize=4m\nfilename=f\nverify=crc32c\nverify_state_load=1\n";
    let output = client(here.path(), reads, &[&job[..], &["--output-format=json"]].concat()).output().unwrap();
    let (status, later, error) = shown(&output);
    assert_eq!(status, 0, "{error}");
    for server in [0, 1] {
        let of = |text: &str, way: &str| document(text)["client_stats"][server][way]["total_ios"].as_u64();
        assert_eq!(of(&later, "read"), of(&text, "write").map(|ios| ios.min(1024)));
    }
}

#[test]
fn a_trigger_command_that_fails_is_named_with_its_server() {
    let (first, second, here) = (Server::start(&["--trust-clients"]), Server::start(&["--trust-clients"]), place());
    let (one, other) = (first.client(), second.client());
    let name = |client: &str| client.trim_start_matches("--client=").replace(',', ":");
    fs::write(first.place.path().join("cut"), "").unwrap();
    // As with a power cut, what is connected to the client is gone before the command has ended.
    let command = "--trigger-remote=test -e cut && kill -9 $PPID; sleep 0.2; touch ran; exit 3";
    let words = [one.as_str(), "x.fio", &other, "x.fio", command, "--trigger=exit 4"];
    let (status, text, error) = triggered(here.path(), &words);
    assert_eq!((status, document(&text)["client_stats"].as_array().unwrap().len()), (0, 3), "{error}");
    assert!(second.place.path().join("ran").exists(), "one that is gone does not end the other");
    for sentence in [
        format!("fio: client <{}>: after the trigger: trigger-remote=`", name(&other)),
        "exit status: 3".to_owned(),
        format!("fio: client <{}>: after the trigger: the server closed the connection", name(&one)),
        "fio: trigger=`exit 4` ended with exit status: 4".to_owned(),
    ] {
        assert!(error.contains(&sentence), "{sentence}: {error}");
    }
}

#[test]
fn an_untrusted_client_runs_no_trigger_command() {
    let (server, here) = (Server::start(&[]), place());
    let words = [server.client(), "x.fio".to_owned()];
    let words = words.each_ref().map(String::as_str);
    let (status, _, error) = triggered(here.path(), &[&words[..], &["--trigger-remote=touch ran"]].concat());
    assert!(
        status == 1 && error.contains("trigger-remote=touch ran runs a command") && error.contains("--secret-file"),
        "{error}"
    );
    assert!(!server.place.path().join("f").exists(), "nothing was begun");
    // A trigger without a command on the server is one of the client: it may.
    let (status, _, error) = triggered(here.path(), &[&words[..], &["--trigger=touch here"]].concat());
    assert!(
        status == 0 && here.path().join("here").exists() && states(here.path()) == ["127.0.0.1-w-0-verify.state"],
        "{error}"
    );
    fs::remove_file(here.path().join("here")).unwrap();
    let short = "[w]\nrw=write\nsize=64k\nfilename=f\nverify=crc32c\ndo_verify=0\n";
    let later = ["--trigger-timeout=50", "--trigger=touch here"];
    let (status, _, error) = shown(&client(here.path(), short, &[&words[..], &later].concat()).output().unwrap());
    assert!(status == 0 && !here.path().join("here").exists(), "{error}");
    assert_eq!(states(server.place.path()), ["local-w-0-verify.state"]);
}
