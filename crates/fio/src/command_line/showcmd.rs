//! `--showcmd`: the command line that is equivalent to the sections.

use crate::options::table;
use crate::sections::{Assignment, Section, SectionKind};

/// Returns one line that this parser and fio parse to the same plan.
///
/// Global options come first, before any `--name`. If the sections come from several files, each file starts without
/// globals, so every job repeats its own.
pub(crate) fn show(sections: &[Section]) -> String {
    let mut line = String::from("fio");
    let one_scope = sections.iter().all(|section| section.scope == 0);
    let mut inherited: Vec<&Assignment> = Vec::new();
    let mut scope = 0;
    for (index, section) in sections.iter().enumerate() {
        if section.scope != scope {
            inherited.clear();
            scope = section.scope;
        }
        match section.kind {
            SectionKind::Global if !one_scope => inherited.extend(own_options(section)),
            SectionKind::Global => {
                if index > 0 {
                    line.push_str(" --name=global");
                }
                own_options(section).for_each(|given| option(&mut line, given));
            }
            SectionKind::Job => {
                line.push_str(&format!(" --name={}", quoted(&name(section))));
                inherited.iter().for_each(|given| option(&mut line, given));
                if section.implied_stonewall {
                    line.push_str(" --stonewall");
                }
                own_options(section).for_each(|given| option(&mut line, given));
            }
        }
    }
    // A blank behind each word, as in fio.
    line.push_str(" \n");
    line
}

/// Returns the job's name: the last `name=` of the section, or its title.
fn name(section: &Section) -> String {
    let given = section.assignments.iter().rev().find(|given| given.name == "name");
    given.and_then(|given| given.value.clone()).unwrap_or_else(|| section.title.clone())
}

fn own_options(section: &Section) -> impl Iterator<Item = &Assignment> {
    section.assignments.iter().filter(|given| given.name != "name")
}

fn option(line: &mut String, given: &Assignment) {
    let name = table::find(&given.name).map_or(given.name.as_str(), |row| row.spec.name);
    line.push_str(" --");
    line.push_str(name);
    if let Some(value) = &given.value {
        line.push('=');
        line.push_str(&quoted(value));
    }
}

/// Quotes a word for a shell. Control characters are escaped, so the output cannot send commands to the terminal.
fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "_-+.,:/%=@^".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    match text.chars().all(is_visible) {
        true => format!("'{}'", text.replace('\'', r"'\''")),
        false => format!("$'{}'", text.chars().map(escaped).collect::<String>()),
    }
}

/// True for characters that can be shown as they are. Other Unicode characters may be invisible or change the direction
/// of the text that follows.
fn is_visible(letter: char) -> bool {
    matches!(letter, ' '..='~') || letter.is_alphanumeric()
}

/// A character between `$'` and `'`: as itself, or as its UTF-8 bytes in octal. Always three digits, so that a digit
/// that follows is not taken as part of the escape.
fn escaped(letter: char) -> String {
    match letter {
        '\'' | '\\' => format!("\\{letter}"),
        _ if is_visible(letter) => letter.into(),
        _ => letter.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\{byte:03o}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_for_a_shell_and_safe_for_a_terminal() {
        for (text, expected) in [
            ("4k", "4k"),
            ("", "''"),
            ("größe", "größe"),
            ("it's", r"'it'\''s'"),
            ("a\x1b[31m", r"$'a\033[31m'"),
            ("it's\u{7}7\\", r"$'it\'s\0077\\'"),
            ("a\u{202e}b", r"$'a\342\200\256b'"),
        ] {
            assert_eq!(quoted(text), expected, "{text:?}");
            let echo = format!("printf %s {}", quoted(text));
            let said = std::process::Command::new("bash").args(["-c", &echo]).output().expect("bash runs");
            assert_eq!(said.stdout, text.as_bytes(), "{text:?}");
        }
    }
}
