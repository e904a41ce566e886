//! The table of iostat's options: the parser, the usage and the man page are made of its rows.

use super::request::{Flag, UserSpace};
use plan::{Placing, WrittenOption, WrittenValue};
use std::fmt::Write;
use std::path::PathBuf;

/// An option of the command line.
pub(super) struct Row {
    /// How it is written. One that ends with `=` has its value behind it.
    pub(super) spelling: &'static str,
    /// Placeholder of its value; empty if it has none, in brackets if it may be left out.
    pub(super) value: &'static str,
    /// Line of help.
    pub(super) help: &'static str,
    /// Effect.
    pub(super) does: Does,
}

/// The effect of an option.
#[derive(Clone, Copy)]
pub(super) enum Does {
    /// Sets these flags.
    Set(&'static [Flag]),
    /// Selects partitions.
    Partitions,
    /// Selects the format of the output.
    Format,
    /// Starts a group of devices.
    Group,
    /// Selects the type of links whose names are shown.
    Links,
    /// Names the directory of devices in user space.
    UserSpace(fn(PathBuf) -> UserSpace),
    /// Sets the number of decimals.
    Decimals,
    /// Names the root of the files that are read.
    Root,
    /// Prints the version.
    Version,
    /// Prints the usage.
    Help,
}

const fn flags(spelling: &'static str, set: &'static [Flag], help: &'static str) -> Row {
    Row { spelling, value: "", help, does: Does::Set(set) }
}

const fn valued(spelling: &'static str, value: &'static str, does: Does, help: &'static str) -> Row {
    Row { spelling, value, help, does }
}

/// All options, in the order of the usage. Those of one letter without a value may be grouped.
pub(super) const ROWS: &[Row] = &[
    flags("-c", &[Flag::Cpu], "processors"),
    flags("-d", &[Flag::Devices], "devices"),
    flags("-x", &[Flag::Extended], "extended columns"),
    flags("-s", &[Flag::Short], "narrow columns, with -x too"),
    flags("-k", &[Flag::Kilobytes], "kilobytes, the default"),
    flags("-m", &[Flag::Megabytes], "megabytes"),
    flags("-G", &[Flag::Gigabytes], "gigabytes"),
    flags("-h", &[Flag::Human, Flag::Pretty], "--human --pretty"),
    flags("-N", &[Flag::MapperNames], "names of device-mapper devices"),
    valued("-j", "TYPE", Does::Links, "names of the links in /dev/disk/by-TYPE: ID, LABEL, PATH, UUID, ..."),
    valued("-p", "[DEVICE,...]", Does::Partitions, "partitions too; -p ALL the unused as well"),
    valued("-g", "NAME", Does::Group, "a group of the devices that follow, with its sum"),
    flags("-H", &[Flag::SumsOnly], "the sums of groups only"),
    valued("-f", "DIR", Does::UserSpace(UserSpace::Alone), "devices in user space: DIR/diskstats and DIR/block"),
    valued("+f", "DIR", Does::UserSpace(UserSpace::Added), "the same in addition to those of the kernel"),
    flags("-t", &[Flag::Time], "the time of each report"),
    flags("-U", &[Flag::Time, Flag::EpochSeconds], "the same in seconds since the epoch"),
    flags("-y", &[Flag::SkipFirst], "no report since boot"),
    flags("-z", &[Flag::BusyOnly], "only devices at work"),
    valued("-o", "JSON", Does::Format, "print JSON"),
    flags("--human", &[Flag::Human], "sizes with a unit that fits"),
    flags("--pretty", &[Flag::Pretty], "the device in the last column"),
    flags("--compact", &[Flag::Compact], "all columns of a device in one line"),
    valued("--dec=", "0|1|2", Does::Decimals, "number of decimals"),
    flags("--compat=9", &[Flag::OldColumns], "the columns of sysstat 9: avgrq-sz, avgqu-sz, svctm"),
    flags("--compat=12.8", &[Flag::NewLook], "the colours of sysstat 12.8; -y leaves one empty line"),
    valued(
        "--root=",
        "DIR",
        Does::Root,
        "read DIR/proc and DIR/sys; or replay DIR/0, DIR/1, ... (also PLUMB_ROOT=DIR)",
    ),
    valued("-V", "", Does::Version, "the version"),
    valued("--help", "", Does::Help, "this text"),
];

/// The row of a word of the command line, with the value behind its `=`.
pub(super) fn find(word: &str) -> Option<(&'static Row, &str)> {
    ROWS.iter().find_map(|row| {
        let value = word.strip_prefix(row.spelling)?;
        (row.spelling.ends_with('=') || value.is_empty()).then_some((row, value))
    })
}

/// The row of a letter in a group of letters.
pub(super) fn find_letter(letter: char) -> Option<&'static Row> {
    ROWS.iter().find(|row| {
        let mut letters = row.spelling.chars();
        letters.next() == Some('-') && letters.next() == Some(letter) && letters.next().is_none()
    })
}

/// The text of `--help`: every option with its value and one line of help.
pub fn usage() -> String {
    let mut text = String::from("Usage: iostat [options] [interval [count]]\n");
    for row in ROWS {
        let space = if row.value.is_empty() || row.spelling.ends_with('=') { "" } else { " " };
        let _ = writeln!(text, "  {:<16} {}", format!("{}{space}{}", row.spelling, row.value), row.help);
    }
    text + "  DEVICE... | ALL  these devices only; unused ones as well\n\n\
            Examples:\n  iostat -dx 2\n  iostat -xy -o JSON 1 10 sda\n"
}

/// All options for man pages and completions.
pub fn written_options() -> Vec<WrittenOption> {
    let written = |row: &Row| {
        let placing = match row.value.chars().next() {
            None => Placing::Nowhere,
            Some('[') => Placing::NextOrAbsent,
            Some(_) if row.spelling.ends_with('=') => Placing::OnlyJoined,
            Some(_) => Placing::Next,
        };
        let words: &[(&str, &str)] = match row.does {
            Does::Format => &[("JSON", "")],
            Does::Decimals => &[("0", ""), ("1", ""), ("2", "")],
            Does::Links => &[("ID", ""), ("LABEL", ""), ("PATH", ""), ("UUID", "")],
            _ => &[],
        };
        let value = WrittenValue::new(placing, row.value.trim_matches(['[', ']'])).of_words(words.iter().copied());
        WrittenOption::new("Options", row.spelling.trim_end_matches('='), value, row.help)
    };
    ROWS.iter().map(written).collect()
}
