//! The command line that says the same as the sections do.

use crate::sections::{Assignment, Section, SectionKind};
use crate::table;

/// One line that this parser and fio read to the same plan.
///
/// Globals stand unnamed in front. When sections come from several files, each of which starts without globals,
/// every job carries its globals itself.
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
    line.push('\n');
    line
}

/// The job's name: the last `name=` inside the section, or its title.
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

/// A word as a shell reads it back.
fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "_-+.,:/%=@^".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
