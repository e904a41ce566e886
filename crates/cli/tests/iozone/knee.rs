//! `plumb knee`: it stops by itself, names a number, and leaves a result that others read.

use crate::context::{place, plumb};
use house::Place;

/// The result as `plumb parse` and `plumb report` see it: this number of levels.
fn is_read(file: &str, levels: usize, says: &str, place: &Place) {
    let parsed = plumb(place, format!("parse --format csv {file}")).succeeds();
    assert_eq!(parsed.stdout.lines().count(), 1 + levels, "{parsed}");
    plumb(place, format!("report {file} -o {file}.html")).succeeds();
    let page = place.read(format!("{file}.html"));
    assert!(page.contains(says), "no sentence");
}

#[test]
fn the_knee_of_memory_is_named_or_that_there_is_none_yet() {
    let place = Place::below("/dev/shm");
    let words = "knee --tests randread --block-sizes 4k,64k --time 1s --size 16M --buffered --accept backing,cache,client-cpu -o k.json .";
    let said = plumb(&place, words).stdout();
    let result = place.json("k.json");
    let tests = result["tests"].as_array().expect("tests");
    let most_users = |block: u64| {
        let of_block = tests.iter().filter(|test| test["block_bytes"] == block);
        of_block.filter_map(|test| test["users"].as_u64()).max().expect("levels")
    };
    let sentences = result["sentences"].as_array().expect("sentences");
    assert_eq!(sentences.len(), 3, "one for each block size, and the best of all: {sentences:?}");
    for (sentence, (block, name)) in sentences.iter().zip([(4096, "4k random reads"), (65_536, "64k random reads")]) {
        let sentence = sentence.as_str().unwrap_or_default();
        // While other programs run, each further user takes a share from them, up to the last level of 256.
        let has_knee = sentence.contains("stops growing at");
        assert!(sentence.starts_with(name) && (has_knee || most_users(block) == 256), "{sentence}");
        assert!(
            said.replace('\n', " ").contains(if has_knee { "stops growing at" } else { "still growing" }),
            "{said}"
        );
    }
    // The page has no --accept.
    is_read("k.json", tests.len(), "no answer: the numbers are not of the storage", &place);
}

#[test]
fn children_of_iozone_are_raised_until_the_limit_or_the_knee() {
    let place = place();
    let said = plumb(&place, "knee -o i.json --iozone -i 0 -+n -r 4k -r 64k -s 256 -t 2").stdout();
    let rows: Vec<Vec<&str>> = said
        .lines()
        .filter(|line| line.contains("initial writers") && line.starts_with(' '))
        .map(|line| line.split_whitespace().take(2).collect())
        .collect();
    assert_eq!(rows, [["1", "4"], ["2", "4"], ["1", "64"], ["2", "64"]], "{said}");
    assert_eq!(said.matches("still growing").count(), 2, "two levels prove nothing: {said}");
    is_read("i.json", 4, "still growing", &place);
    assert_eq!(place.names(), ["i.json", "i.json.html"]);
}

#[test]
fn words_that_are_no_sweep_are_refused() {
    let place = place();
    for (words, why) in [
        ("knee --iozone -a", "-a is a matrix"),
        ("knee --iozone -N -s 64", "-N is not of throughput tests"),
        ("knee --iozone -s 64 -s 128", "one -s"),
        ("knee --iozone -f x", "-F names a file for each child"),
        ("knee --iozone -+E -i 0", "disable any test that writes"),
        ("knee --iozone -+E -i 1", "You must use -f or -F"),
        ("knee --users 4,2 .", "the levels must rise"),
        ("knee", "required"),
        ("knee --most 9999 .", "9999"),
    ] {
        plumb(&place, words).exits(1).complains(why);
    }
}
