//! Outputs of every generation in every wrapping that logs, mails, pages and editors put around them: the same is read.

use formats::stream::{Event, Parser, Repeated};
use formats::sweep::measurements;
use std::path::Path;

const IOSTAT: &str = "\
Device            r/s     rkB/s   w/s     wkB/s  aqu-sz  %util
sda              1.50     12.00  0.00      0.00    0.01   0.10

";
const LOG: &str = "0, 1200, 0, 4096, 0\n1, 900, 1, 4096, 0\n2, 1000, 0, 4096, 0x2003\n";
const CSV: &str = "name,users,bs,MB,lat,min,max,std,iops\nrandread,8,8K,10.5,0.75,0.1,3.5,0.2,1345\n";

const JSON: &str = "\
{
  \"fio version\" : \"fio-3.33\",
  \"jobs\" : [
    {
      \"jobname\" : \"a\",
      \"error\" : 0,
      \"job options\" : { \"rw\" : \"randread\", \"bs\" : \"8k\" },
      \"read\" : { \"io_bytes\" : 8192, \"io_kbytes\" : 8, \"bw_bytes\" : 8192, \"iops\" : 1.5, \"runtime\" : 1000,
        \"total_ios\" : 1, \"lat_ns\" : { \"min\" : 5, \"max\" : 5, \"mean\" : 5.0, \"stddev\" : 0.0, \"N\" : 1 } }
    }
  ]
}
";

/// Name and text of one output of each kind and generation.
fn outputs() -> Vec<(String, String)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let terse = "3;fio-3.33;a;0;0;3872;3872000;484000;1;0;0;0.000000;0.000000;0;8;0.050744;0.430242;".to_owned()
        + &"1.000000%=0;".repeat(20)
        + "0;9;0.077424;0.458066;0;0;0.000000%;0.000000;0.000000;\n";
    let mut found: Vec<(String, String)> =
        [("iostat", IOSTAT), ("log", LOG), ("csv", CSV), ("JSON", JSON), ("terse", &terse)]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .into();
    for directory in ["seeds", "golden/fio-3.33", "golden/iozone-3.489"] {
        let directory = tests.join(directory);
        let entries = std::fs::read_dir(&directory).expect("kept outputs");
        let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        for path in files.iter().filter(|path| path.extension().is_some_and(|ending| ending != "numbers")) {
            let text = std::fs::read_to_string(path).expect("text");
            found.push((path.display().to_string(), text));
        }
    }
    found
}

/// A wrapping: its name, and what it makes of a text.
type Disguise = (&'static str, fn(&str) -> Vec<u8>);

fn each_line(text: &str, wrap: impl Fn(&str) -> String) -> Vec<u8> {
    text.lines().map(|line| wrap(line) + "\n").collect::<String>().into_bytes()
}

fn wide(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
}

const DISGUISES: &[Disguise] = &[
    ("indented", |text| each_line(text, |line| format!("    {line}"))),
    ("behind a tab", |text| each_line(text, |line| format!("\t{line}"))),
    ("quoted", |text| each_line(text, |line| format!("> {line}"))),
    ("quoted twice", |text| each_line(text, |line| format!("> > {line}"))),
    ("CRLF", |text| each_line(text, |line| format!("{line}\r"))),
    ("with a mark", |text| format!("\u{feff}{text}").into_bytes()),
    ("UTF-16 little", |text| wide(text, u16::to_le_bytes)),
    ("UTF-16 big", |text| wide(text, u16::to_be_bytes)),
    ("coloured", |text| each_line(text, |line| format!("\x1b[1;32m{line}\x1b[0m"))),
    ("stamped", |text| each_line(text, |line| format!("2026-01-02T03:04:05.678Z {line}"))),
    ("stamped in brackets", |text| each_line(text, |line| format!("[2026-01-02 03:04:05] {line}"))),
    ("in HTML", |text| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").into_bytes()),
    ("in two pieces of a mail", |text| [b"On Friday a colleague wrote:\n\n".as_slice(), text.as_bytes()].concat()),
];

#[test]
fn what_is_wrapped_is_read_as_what_is_not() {
    let mut wrong = Vec::new();
    for (name, text) in outputs() {
        let plain = rows(text.as_bytes());
        for (disguise, wrap) in DISGUISES {
            let found = rows(&wrap(&text));
            if found != plain {
                wrong.push(format!("{name}, {disguise}: {} rows, {} in plain text", found.len(), plain.len()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_stands_in_one_file_is_read_as_what_stands_alone() {
    let outputs = outputs();
    let alone: Vec<String> = outputs.iter().flat_map(|(_, text)| rows(text.as_bytes())).collect();
    let between = "\nand so we came to the next machine.\n\n";
    let together: String = outputs.iter().map(|(_, text)| format!("{text}{between}")).collect();
    let found = rows(together.as_bytes());
    let lost: Vec<&String> = alone.iter().filter(|row| !found.contains(row)).collect();
    assert!(lost.is_empty() && found.len() == alone.len(), "{} of {}, lost {lost:#?}", found.len(), alone.len());
}

/// Every measurement in a text, also those of runs that another output has, without the places where they stand.
fn rows(bytes: &[u8]) -> Vec<String> {
    let mut rows = Vec::new();
    let mut parser = Parser::new(|event| match event {
        Event::Reading(reading) | Event::Repeated(Repeated { reading, .. }) => {
            rows.extend(measurements(&reading, None).iter().map(|row| format!("{row:?}")));
        }
        Event::Damage(_) => {}
    });
    parser.feed(bytes);
    parser.finish();
    rows
}
