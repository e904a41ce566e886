//! `plumb cluster --spread`: members of one file have parts that do not overlap and cover it, or each has all of it.

use crate::context::{place, plumb};
use house::{Place, Run};
use serde_json::Value;
use std::fs;

fn run(place: &Place, words: &str) -> Run {
    plumb(place, "cluster").words(words)
}

fn checks(document: &Value) -> Vec<&str> {
    document["cluster"]["notes"].as_array().unwrap().iter().map(|note| note["check"].as_str().unwrap()).collect()
}

#[test]
fn regions_cover_the_file_whatever_is_not_divisible() {
    let place = place();
    let file = place.path().join("f");
    // 10 blocks of 4 KiB and half a block after an offset of one block, for three members: 3, 3 and 4 of them.
    let job = "--name=w --filename=f --bs=4k --offset=4k --size=42k --allow_file_create=1";
    let words =
        format!("--local 3 --spread region --json fio {job} --rw=randwrite --buffer_pattern=0x1${{PLUMB_RANK}}");
    let found = run(&place, &words).json();
    let bytes: Vec<u64> =
        found["cluster"]["each"].as_array().unwrap().iter().map(|member| member["bytes"].as_u64().unwrap()).collect();
    assert_eq!(bytes, [3 << 12, 3 << 12, 4 << 12]);
    assert!(!checks(&found).contains(&"same file"), "{:?}", checks(&found));
    let blocks: Vec<u8> = fs::read(&file)
        .unwrap()
        .chunks(4096)
        .map(|block| {
            assert!(block.iter().all(|byte| *byte == block[0]), "a block of two members");
            block[0]
        })
        .collect();
    assert_eq!(blocks, [0, 0x10, 0x10, 0x10, 0x11, 0x11, 0x11, 0x12, 0x12, 0x12, 0x12, 0]);
    // Reads of the whole file, which is there: 46 KiB are 11 blocks and a half.
    let words = "--local 2 --spread region --json fio --name=r --filename=f --bs=4k --rw=read";
    let found = run(&place, words).json();
    assert_eq!(found["cluster"]["rates"][0]["ios"], 11, "{}", found["cluster"]["rates"]);
}

#[test]
fn without_regions_each_member_has_all_of_it_with_a_remark() {
    let place = place();
    place.write("f", vec![0; 64 << 10]);
    let file = place.path().join("f");
    for option in ["--spread all ", ""] {
        let words = format!(
            "--local 2 {option}--json fio --name=w --filename={} --bs=4k --size=64k --rw=write",
            file.display()
        );
        let found = run(&place, &words).json();
        assert_eq!(found["cluster"]["rates"][0]["bytes"], 128 << 10);
        assert!(checks(&found).contains(&"same file"), "{:?}", checks(&found));
    }
}

#[test]
fn a_job_that_cannot_be_shared_is_refused_by_name() {
    let place = place();
    place.write("short", "");
    let job = "--name=a --size=64k --rw=write";
    for (options, words, says) in [
        ("--spread region", job.to_owned(), "does not name one file"),
        ("--spread all", job.to_owned(), "does not name one file"),
        ("--spread region", format!("{job} --filename=f:g"), "does not name one file"),
        ("--spread all", format!("{job} --filename=f.${{PLUMB_RANK}}"), "files of different names"),
        ("--spread region", format!("{job} --filename=f --offset_increment=4k"), "offset_increment"),
        ("--spread region", format!("{job} --filename=f --fill_device=1"), "fills a device"),
        ("--spread region", format!("{job} --filename=f --unlink=1"), "removes the file"),
        ("--spread region", format!("{job} --filename=f --file_append=1"), "appends"),
        (
            "--spread region",
            "--name=a --ioengine=filecreate --filename=f --size=4k".to_owned(),
            "does not read or write the data",
        ),
        (
            "--spread region",
            "--name=a --filename=f --rw=write --size=4k".to_owned(),
            "less than a block of 4096 for each of 2 members",
        ),
        ("--spread region", "--name=a --filename=short --rw=read --size=64k".to_owned(), "write it first"),
        ("--spread parts", job.to_owned(), "give region or all"),
    ] {
        run(&place, &format!("--local 2 {options} fio {words}")).fails().complains(says);
    }
}

#[test]
fn members_that_lay_out_one_file_keep_writes_of_others() {
    let place = place();
    for (name, mode) in [("w", "write"), ("m", "rw --rwmixwrite=99")] {
        let job = format!(
            "--name={name} --filename={name} --bs=4k --size=256k --offset=${{PLUMB_RANK}}m --rw={mode} --buffer_pattern=0x1${{PLUMB_RANK}}"
        );
        run(&place, &format!("--local 3 fio {job}")).succeeds();
        let content = place.bytes(name);
        for rank in 0..3_u8 {
            let part = &content[usize::from(rank) << 20..][..256 << 10];
            let blocks = part.chunks(4096).filter(|block| block.iter().all(|byte| *byte == 0x10 + rank)).count();
            assert!(blocks == 64 || mode != "write" && blocks > 32, "{mode}: member {rank}: {blocks}");
        }
    }
}
