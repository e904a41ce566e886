//! What the files hold that deduplication is to find, and what the original's hold.

use super::{PLUMB, Place, scratch};
use house::Run;
use std::path::Path;

/// Bytes of a record.
const RECORD: usize = 16 << 10;
/// The number of pieces of a record that are distinguished.
const PIECE: usize = RECORD / 64;

/// The files that a run keeps.
fn written(program: &[&str], words: &str, place: &Path, names: &[&str]) -> Vec<Vec<u8>> {
    std::fs::create_dir_all(place).expect("as made just before");
    Run::new(program[0], place).words(&program[1..]).words(words).succeeds();
    names.iter().map(|name| std::fs::read(place.join(name)).expect("kept by -w")).collect()
}

/// Which pieces of two records are alike: `=` they are, `.` they are not, `0` both are zeros.
fn alike(first: &[u8], second: &[u8]) -> String {
    let pieces = first.chunks(PIECE).zip(second.chunks(PIECE));
    pieces
        .map(|(first, second)| match first == second {
            true if first.iter().all(|&byte| byte == 0) => '0',
            true => '=',
            false => '.',
        })
        .collect()
}

fn shape(program: &[&str], options: &str, place: &Path) -> [String; 3] {
    let words = format!("{options} -t 2 -i 0 -s 256 -r 16 -w -+n");
    let files = written(program, &words, place, &["iozone.DUMMY.0", "iozone.DUMMY.1"]);
    let record = |file: usize, number: usize| &files[file][number * RECORD..(number + 1) * RECORD];
    [alike(record(0, 0), record(1, 0)), alike(record(0, 5), record(0, 9)), alike(record(0, 2), record(1, 7))]
}

pub(super) fn as_much_is_there_twice_as_in_the_files_of_the_original() {
    let cases =
        ["-+w 0", "-+w 50", "-+w 100", "-+w 100 -+y 50", "-+w 50 -+y 40 -+C 30", "-+w 50 -+M", "-+w 0 -+y 50 -+C 9"];
    // The original rests for seconds between its tests: all at once.
    std::thread::scope(|scope| {
        for (index, options) in cases.into_iter().enumerate() {
            scope.spawn(move || {
                let place = Place(scratch(&format!("data-{index}")));
                let theirs = shape(&["iozone"], options, &place.0.join("theirs"));
                let ours = shape(&[PLUMB, "iozone"], options, &place.0.join("ours"));
                assert_eq!(theirs, ours, "{options}");
            });
        }
    });
}

pub(super) fn as_many_words_are_zero_as_in_the_file_of_the_original() {
    let place = Place(scratch("data-zeros"));
    let zeros = |program: &[&str], directory: &str| {
        let words = "-+w 50 -+M -+a 40 -i 0 -s 256 -r 16 -w -+n";
        let file = written(program, words, &place.0.join(directory), &["iozone.tmp"]).remove(0);
        file.chunks(4).filter(|word| *word == [0; 4]).count()
    };
    let (theirs, ours) = (zeros(&["iozone"], "theirs"), zeros(&[PLUMB, "iozone"], "ours"));
    let all = 64 << 10;
    assert!(theirs.abs_diff(all * 40 / 100) < all / 100, "{theirs} of {all}");
    assert!(ours.abs_diff(all * 40 / 100) < all / 100, "{ours} of {all}");
}

pub(super) fn seeds_and_skews_give_other_data() {
    let place = Place(scratch("data-seeds"));
    for (name, program) in [("theirs", vec!["iozone"]), ("ours", vec![PLUMB, "iozone"])] {
        let of = |options: &str| {
            let directory = place.0.join(name).join(options.replace(' ', ""));
            written(&program, &format!("-+w 50 {options} -i 0 -s 64 -w -+n"), &directory, &["iozone.tmp"]).remove(0)
        };
        let plain = of("");
        assert_eq!(plain, of("-+n"), "{name}: the same in every run");
        assert_ne!(plain, of("-+S 7"), "{name}");
        assert_ne!(plain, of("-+W 7"), "{name}");
    }
}

/// Why -+Q does nothing.
pub(super) fn the_granule_of_deduplication_changes_nothing_in_the_original() {
    let place = Place(scratch("data-granule"));
    let of = |granule: &str| {
        let words = format!("-+w 50 -+y 40 -+C 30 {granule} -i 0 -s 256 -r 16 -w -+n");
        written(&["iozone"], &words, &place.0.join(granule.replace(' ', "")), &["iozone.tmp"]).remove(0)
    };
    let plain = of("");
    assert_eq!([of("-+Q 2"), of("-+Q 8")], [plain.clone(), plain]);
}
