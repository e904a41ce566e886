//! The readers of iozone's output that people have: those that Debian ships are run, the others are read as they read.

use super::iozone;
use crate::context::place;
use house::{Place, Run};
use std::path::{Path, PathBuf};

/// A script that comes with Debian's iozone3, unpacked by tools/oracles.
fn script(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/iozone-examples").join(name);
    assert!(path.exists(), "{} is missing; run `make oracles`", path.display());
    path
}

/// A matrix of ours in a file, and its rows.
fn matrix(place: &Place) -> Vec<Vec<u64>> {
    let rows = iozone("-a -n 64 -g 128", place).stdout();
    place.write("iozone.out", &rows);
    let rows =
        rows.lines().filter(|line| line.starts_with("     ") && line.trim().starts_with(|c: char| c.is_ascii_digit()));
    rows.map(|line| line.split_whitespace().map(|word| word.parse().expect("whole numbers alone")).collect()).collect()
}

#[test]
fn the_scripts_that_debian_ships_find_every_number() {
    let place = place();
    let rows = matrix(&place);
    // Eleven pairs of 64 and 128 kB; iozone2csv, autotest and the like want 15 whole numbers in each.
    assert_eq!(rows.len(), 11);
    assert!(rows.iter().all(|row| row.len() == 15), "{rows:?}");
    for (column, test) in [(2, "write"), (6, "randread"), (14, "freread")] {
        Run::new("sh", &place).words([script("gengnuplot.sh")]).words(["iozone.out", test]).succeeds();
        let found = place.read(format!("{test}/iozone_gen_out.gnuplot"));
        let lines: Vec<String> =
            found.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect();
        let expected: Vec<String> = rows.iter().map(|row| format!("{} {} {}", row[0], row[1], row[column])).collect();
        assert_eq!(lines, expected, "{test}");
    }
    // Without gnuplot it draws nothing, but its data are there.
    Run::new("perl", &place).words([script("report.pl")]).words("iozone.out").end();
    let found = place.read("report_iozone/iozone.dat");
    let found: Vec<Vec<u64>> = found
        .lines()
        .filter(|line| line.trim().starts_with(|letter: char| letter.is_ascii_digit()))
        .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        .collect();
    assert_eq!(found, rows);
}

#[test]
fn throughput_is_found_by_phrases_as_wrappers_look_for_them() {
    let place = place();
    let said = iozone("-t 2 -s 256 -i 0 -i 1", &place).stdout();
    // After squeezing blanks: word 5 is the number of children, the next ones the test's name, the last but one the
    // value.
    let mut names = Vec::new();
    for line in said.lines().filter(|line| line.contains("Children see throughput for")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[4], "2", "{line}");
        assert!(words[words.len() - 2].parse::<f64>().is_ok_and(|value| value > 0.0), "{line}");
        names.push(words[5..].iter().take_while(|word| **word != "=").copied().collect::<Vec<_>>().join(" "));
    }
    assert_eq!(names, ["initial writers", "rewriters", "readers", "re-readers"]);
    // `{Min,Max,Avg} throughput per process\s*=\s*v`, four of each.
    for which in ["Min", "Max", "Avg"] {
        let phrase = format!("{which} throughput per process");
        let lines = said.lines().filter(|line| line.trim_start().starts_with(&phrase));
        let values = lines.filter_map(|line| line.split('=').nth(1)?.split_whitespace().next()?.parse::<f64>().ok());
        assert_eq!(values.count(), 4, "{said}");
    }
    assert!(said.lines().any(|line| line == "iozone test complete."));
    // Phoronix: the write and read columns of the row of a single run.
    let said = iozone("-s 256 -r 4 -i 0 -i 1", &place).stdout();
    let between =
        said.split("reclen").nth(1).and_then(|rest| rest.split("iozone test complete.").next()).expect("a table");
    let row: Vec<&str> =
        between.lines().filter(|line| line.trim().starts_with("256")).flat_map(str::split_whitespace).collect();
    assert_eq!(row.len(), 6, "{said}");
    assert!(row[2..].iter().all(|value| value.parse::<u64>().is_ok_and(|value| value > 0)), "{row:?}");
}
