//! Help text of iozone's command line, generated from the table of options.

use crate::settings::{Does, SECTIONS, SettingRow};
use plan::{Placing, WrittenOption, WrittenValue};
use std::fmt::Write;

const HEAD: &str = "\
iozone: help mode

    Usage: iozone [options]        sizes: a number of kB, or with k, m, g
";

const TAIL: &str = "
  Tests: 0 write/rewrite, 1 read/re-read, 2 random read/write, 3 backward read, 4 the same record again, 5 strides,
         6 fwrite, 7 fread, 8 mix (with -t), 9 pwrite, 10 pread

  More children until throughput stops growing: plumb knee --iozone ...

  Example: iozone -i 0 -i 1 -i 2 -r 4k -s 1g -t 2 -I -F /m1/f /m2/f

  Percentiles and remarks go to standard error if that is a terminal, or with PLUMB_REMARKS=always.
  docs/iozone.md lists what differs from iozone.
";

/// Returns the text of `-h`: every option with its value and one line of help; for a rejected option, the reason.
pub fn help() -> String {
    let mut text = HEAD.to_owned();
    for (title, rows) in SECTIONS {
        let _ = write!(text, "\n  {title}\n");
        for row in rows.iter().filter(|row| !row.help.is_empty()) {
            let written = format!("-{} {}", row.name, row.value);
            let _ = writeln!(text, "    {:<21} {}", written.trim_end(), explained(row));
        }
    }
    text + TAIL
}

/// All options for man pages and completions, under the headings of the help.
pub fn written_options() -> Vec<WrittenOption> {
    let written = |(title, row): (&str, &SettingRow)| {
        let is_own = row.name.starts_with('-');
        let placing = match row.value.chars().next() {
            None => Placing::Nowhere,
            Some('[') => Placing::JoinedOrAbsent,
            Some(_) if is_own => Placing::Joined,
            Some(_) => Placing::Next,
        };
        let value = WrittenValue::new(placing, row.value.trim_matches(['[', ']', '=']));
        let mut option = WrittenOption::new(title, format!("-{}", row.name), value, row.help);
        if let Does::Refused(reason) = row.does {
            option.facts.push(format!("Refused: {reason}"));
        }
        option
    };
    let rows = SECTIONS.iter().flat_map(|(title, rows)| rows.iter().map(move |row| (*title, row)));
    rows.filter(|(_, row)| !row.help.is_empty()).map(written).collect()
}

fn explained(row: &SettingRow) -> String {
    match row.does {
        Does::Refused(reason) => format!("{}: {reason}", row.help),
        _ => row.help.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_one_line_and_one_row() {
        let text = help();
        let mut names: Vec<&str> = SECTIONS.iter().flat_map(|(_, rows)| *rows).map(|row| row.name).collect();
        assert!(names.len() > 90, "{}", names.len());
        for name in &names {
            let lines = text.lines().filter(|line| line.split_whitespace().next() == Some(&format!("-{name}"))).count();
            assert_eq!(lines, usize::from(*name != "-member"), "-{name}");
        }
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "a name stands twice");
    }
}
