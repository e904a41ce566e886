//! The trigger of `plumb fio --client`: the jobs end, their verify states come to the client, then commands run.

use crate::context::place;
use crate::servers::{Server, client};
use house::{Place, Transcript, wait_for};
use serde_json::Value;
use std::fs;
use std::time::Duration;

/// Writes for a minute at a rate that a busy machine keeps, from the first block on.
const WRITES: &str =
    "[w]\nrw=write\nbs=4k\nsize=4m\nfilename=f\ntime_based\nruntime=60\nrate_iops=500\nverify=crc32c\ndo_verify=0\n";

/// Runs a client in a directory, in which the trigger's file is there from the start.
fn triggered(directory: &Place, words: &[&str]) -> Transcript {
    directory.write("now", "");
    client(directory, WRITES, &[words, &["--trigger-file=now", "--output-format=json"]].concat()).end()
}

fn states(directory: &Place) -> Vec<String> {
    directory.names().into_iter().filter(|name| name.ends_with(".state")).collect()
}

#[test]
fn states_are_at_the_client_before_a_command_and_limit_reads() {
    let (first, second, here) = (Server::start(&["--trust-clients"]), Server::start(&["--trust-clients"]), place());
    let listing = format!("--trigger-remote=ls {} >listed", here.path().display());
    let clients = [first.client(), second.client()];
    let job = [clients[0].as_str(), "x.fio", &clients[1], "x.fio"];
    let trigger = ["--trigger-file=now", "--output-format=json", "--trigger=touch here", &listing];
    let run = client(&here, WRITES, &[&job[..], &trigger].concat()).start();
    // A server that has not begun has no state.
    wait_for("both write", || [&first, &second].iter().all(|server| server.place.has("f")).then_some(()));
    std::thread::sleep(Duration::from_millis(500));
    here.write("now", "");
    let written_by_both = run.end().exits(0).json();
    assert!(here.has("here") && !here.has("now"));
    let kept = states(&here);
    let names = clients.each_ref().map(|client| format!("{}-w-0-verify.state", client.trim_start_matches("--client=")));
    assert!(kept.len() == 2 && names.iter().all(|name| kept.contains(name)), "{kept:?}");
    for server in [&first, &second] {
        assert_eq!(states(&server.place), [""; 0], "the client has it");
        let listed = server.place.read("listed");
        assert!(kept.iter().all(|name| listed.contains(name.as_str())), "{listed}");
    }
    let written = written_by_both["client_stats"][0]["write"]["total_ios"].as_u64().unwrap();
    assert!((1..20_000).contains(&written), "the trigger ended it: {written}");
    // Each server reads what it wrote. Without the state it would read all of the file.
    let reads = "[w]\nrw=read\nbs=4k\nsize=4m\nfilename=f\nverify=crc32c\nverify_state_load=1\n";
    let later = client(&here, reads, &[&job[..], &["--output-format=json"]].concat()).json();
    for server in [0, 1] {
        let of = |result: &Value, way: &str| result["client_stats"][server][way]["total_ios"].as_u64();
        assert_eq!(of(&later, "read"), of(&written_by_both, "write").map(|ios| ios.min(1024)));
    }
}

#[test]
fn a_trigger_command_that_fails_is_named_with_its_server() {
    let (first, second, here) = (Server::start(&["--trust-clients"]), Server::start(&["--trust-clients"]), place());
    let (one, other) = (first.client(), second.client());
    let name = |client: &str| client.trim_start_matches("--client=").replace(',', ":");
    first.place.write("cut", "");
    // As with a power cut, what is connected to the client is gone before the command has ended.
    let command = "--trigger-remote=test -e cut && kill -9 $PPID; sleep 0.2; touch ran; exit 3";
    let words = [one.as_str(), "x.fio", &other, "x.fio", command, "--trigger=exit 4"];
    let mut run = triggered(&here, &words).exits(0);
    assert_eq!(run.json()["client_stats"].as_array().unwrap().len(), 3, "{run}");
    assert!(second.place.has("ran"), "one that is gone does not end the other");
    for sentence in [
        format!("fio: client <{}>: after the trigger: trigger-remote=`", name(&other)),
        "exit status: 3".to_owned(),
        format!("fio: client <{}>: after the trigger: the server closed the connection", name(&one)),
        "fio: trigger=`exit 4` ended with exit status: 4".to_owned(),
    ] {
        run = run.complains(&sentence);
    }
}

#[test]
fn an_untrusted_client_runs_no_trigger_command() {
    let (server, here) = (Server::start(&[]), place());
    let words = [server.client(), "x.fio".to_owned()];
    let words = words.each_ref().map(String::as_str);
    let refused = triggered(&here, &[&words[..], &["--trigger-remote=touch ran"]].concat()).exits(1);
    refused.complains("trigger-remote=touch ran runs a command").complains("--secret-file");
    assert!(!server.place.has("f"), "nothing was begun");
    // A trigger without a command on the server is one of the client: it may.
    triggered(&here, &[&words[..], &["--trigger=touch here"]].concat()).exits(0);
    assert!(here.has("here"));
    assert_eq!(states(&here), ["127.0.0.1-w-0-verify.state"]);
    fs::remove_file(here.file("here")).unwrap();
    let short = "[w]\nrw=write\nsize=64k\nfilename=f\nverify=crc32c\ndo_verify=0\n";
    let later = ["--trigger-timeout=50", "--trigger=touch here"];
    client(&here, short, &[&words[..], &later].concat()).exits(0);
    assert!(!here.has("here"));
    assert_eq!(states(&server.place), ["local-w-0-verify.state"]);
}
