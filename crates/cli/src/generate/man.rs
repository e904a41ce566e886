//! Man pages. clap_mangen writes the synopsis, description and options of clap's commands; the rest is written here.

use super::NamedText;
use super::programs::{Origin, Program};
use clap_mangen::Man;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use plan::{Placing, WrittenOption};
use roff::{Inline, Roff, bold, italic, roman};

/// The end of a page's file name.
pub(super) const SUFFIX: &str = ".1";

/// An apostrophe that is not made a quotation mark, as the crate roff declares it before each of its texts.
const APOSTROPHES: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

pub(super) fn page(program: &Program, all: &[Program]) -> NamedText {
    let mut roff = Roff::new();
    let version = concat!("plumb ", env!("CARGO_PKG_VERSION"));
    let title = program.page().to_uppercase();
    roff.control("TH", [title.as_str(), "1", date().as_str(), version, "User Commands"]);
    // Words like `N-N[,N-N]` do not break, so lines are not stretched to the right margin.
    roff.control("ad", ["l"]);
    heading(&mut roff, "Name");
    roff.text([roman(format!("{} - {}", program.page(), program.about))]);
    let mut text = roff.render();
    match &program.origin {
        Origin::Native(command) => text += &native(command, program),
        Origin::Table { synopsis, examples, documents } => {
            text += &of_table(program, synopsis, examples, documents);
        }
    }
    text += &see_also(program, all);
    NamedText { name: program.page() + SUFFIX, text: tidied(&text) }
}

/// The source in the style that mandoc wants: no empty line, no trailing blank, no line of running text above 80 bytes,
/// breaks only between lines; and what roff writes about apostrophes once.
fn tidied(source: &str) -> String {
    let (mut text, mut running, mut breaks) = (String::new(), true, false);
    for line in source.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        if line == ".br" || line.starts_with(".ie ") || line.starts_with(".el ") {
            breaks |= line == ".br";
            continue;
        }
        if std::mem::take(&mut breaks) && !line.starts_with(".SH") {
            text += ".br\n";
        }
        running = (running || line == ".fi") && line != ".nf";
        if !running || line.starts_with('.') {
            text += line;
            text.push('\n');
            continue;
        }
        for part in textwrap::wrap(line, textwrap::Options::new(78).break_words(false)) {
            // A dot at the start of a line would be a macro.
            let guard = if part.starts_with(['.', '\'']) { r"\&" } else { "" };
            text += &format!("{guard}{part}\n");
        }
    }
    format!("{APOSTROPHES}{text}")
}

/// The date of a page: that of the source, which packagers give, or today.
fn date() -> String {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let moment = given.and_then(|seconds| Timestamp::from_second(seconds).ok()).unwrap_or_else(Timestamp::now);
    moment.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d").to_string()
}

fn heading(roff: &mut Roff, title: &str) {
    roff.control("SH", [title.to_uppercase().as_str()]);
}

/// The sections of a command of clap.
fn native(command: &clap::Command, program: &Program) -> String {
    let man = Man::new(command.clone());
    let mut written = Vec::new();
    // Writing into memory cannot fail.
    let _ = man.render_synopsis_section(&mut written);
    let _ = man.render_description_section(&mut written);
    let _ = man.render_options_section(&mut written);
    let mut text = String::from_utf8_lossy(&written).into_owned();
    let mut roff = Roff::new();
    if !program.commands.is_empty() {
        heading(&mut roff, "Commands");
        for (name, about) in &program.commands {
            roff.control("TP", []);
            roff.text([bold(name.as_str())]);
            roff.text([roman(format!("{about}; {}-{name}(1)", program.page()))]);
        }
    }
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    after_help(&mut roff, &after.map(ToString::to_string).unwrap_or_default());
    text += &roff.render();
    text
}

/// The text below the options of a help: examples, the exit status, and notes. Columns are kept.
fn after_help(roff: &mut Roff, text: &str) {
    let mut blocks: Vec<(&str, Vec<String>)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let titled = [("Examples:", "Examples"), ("Example:", "Examples"), ("Exit status:", "Exit status")];
        let title = titled.into_iter().find_map(|(start, title)| Some((title, line.strip_prefix(start)?)));
        let indented = line.starts_with(' ');
        match (title, blocks.last_mut()) {
            (Some((title, rest)), _) => blocks.push((title, vec![rest.trim().to_owned()])),
            (None, Some((_, lines))) if indented || blocks_go_on(lines) => lines.push(line.to_owned()),
            (None, _) => blocks.push(("Notes", vec![line.to_owned()])),
        }
    }
    for (title, lines) in &blocks {
        heading(roff, title);
        verbatim(roff, lines.iter().filter(|line| !line.is_empty()));
    }
}

/// True if a line without indentation still belongs to a block: its lines are not indented either.
fn blocks_go_on(lines: &[String]) -> bool {
    lines.last().is_some_and(|line| !line.is_empty() && !line.starts_with(' '))
}

fn verbatim<'a>(roff: &mut Roff, lines: impl Iterator<Item = &'a String>) {
    roff.control("nf", []);
    for line in lines {
        roff.text([roman(line.as_str())]);
    }
    roff.control("fi", []);
}

/// The sections of a program with a table of options.
fn of_table(program: &Program, synopsis: &[&str], examples: &str, documents: &[&str]) -> String {
    let mut roff = Roff::new();
    heading(&mut roff, "Synopsis");
    let link = program.link().unwrap_or_default();
    for name in [program.words.as_str(), link] {
        for form in synopsis {
            roff.text([bold(name), roman(format!(" {form}"))]);
            roff.control("br", []);
        }
    }
    heading(&mut roff, "Description");
    let about = format!("{}. A symbolic link to plumb that is called {link} is this program.", program.about);
    roff.text([roman(about)]);
    let mut last = "";
    for option in &program.options {
        if option.heading != last {
            heading(&mut roff, &option.heading);
            last = &option.heading;
        }
        describe(&mut roff, option);
    }
    heading(&mut roff, "Examples");
    let examples: Vec<String> = examples.lines().map(str::to_owned).collect();
    verbatim(&mut roff, examples.iter());
    heading(&mut roff, "Notes");
    roff.text([roman(format!("What differs from {link}: {}", documents.join(", ")))]);
    roff.render()
}

/// One option with its value, effect, words and facts.
fn describe(roff: &mut Roff, option: &WrittenOption) {
    roff.control("TP", []);
    let mut head: Vec<Inline> = Vec::new();
    for spelling in &option.spellings {
        if !head.is_empty() {
            head.push(roman(", "));
        }
        head.push(bold(spelling.as_str()));
    }
    let placeholder = option.value.placeholder.as_str();
    let (before, after) = match option.value.placing {
        Placing::Nowhere => ("", ""),
        Placing::Next => (" ", ""),
        Placing::Joined | Placing::OnlyJoined => ("=", ""),
        Placing::JoinedOrAbsent => ("[=", "]"),
        Placing::NextOrAbsent => (" [", "]"),
    };
    if option.value.placing != Placing::Nowhere {
        head.extend([roman(before), italic(placeholder), roman(after)]);
    }
    roff.text(head);
    roff.text([roman(option.help.as_str())]);
    for fact in &option.facts {
        roff.control("br", []);
        roff.text([roman(fact.as_str())]);
    }
    let (explained, bare): (Vec<_>, Vec<_>) = option.value.words.iter().partition(|(_, help)| !help.is_empty());
    if !bare.is_empty() {
        roff.control("br", []);
        let bare: Vec<&str> = bare.iter().map(|(word, _)| word.as_str()).collect();
        roff.text([roman(format!("Values: {}", bare.join(", ")))]);
    }
    if !explained.is_empty() {
        roff.control("RS", []);
        for (word, help) in explained {
            roff.control("TP", []);
            roff.text([bold(word.as_str())]);
            roff.text([roman(help.as_str())]);
        }
        roff.control("RE", []);
    }
}

/// The pages next to this one: of the command above, and of those below.
fn see_also(program: &Program, all: &[Program]) -> String {
    let above = program.words.rsplit_once(' ').map(|(above, _)| above.to_owned());
    let is_near = |other: &&Program| {
        let parent = other.words.rsplit_once(' ').map(|(above, _)| above);
        Some(&other.words) == above.as_ref() || parent == Some(program.words.as_str())
    };
    let near: Vec<String> = all.iter().filter(is_near).map(|other| format!("{}(1)", other.page())).collect();
    let mut roff = Roff::new();
    heading(&mut roff, "See also");
    roff.text([roman(near.join(", "))]);
    roff.render()
}
