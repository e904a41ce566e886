//! All programs and commands with their options, from the tables that parse: clap's, fio's, iozone's, iostat's and
//! fio.sh's.

use clap::builder::ValueHint;
use plan::{Placing, WrittenOption, WrittenValue};

/// A command, or a program that plumb replaces.
pub(super) struct Program {
    pub(super) words: String,
    /// One line on what it does.
    pub(super) about: String,
    pub(super) options: Vec<WrittenOption>,
    /// The words that can follow: its commands, each with one line.
    pub(super) commands: Vec<(String, String)>,
    /// The kind of its other words.
    pub(super) operands: Content,
    /// Where its man page comes from.
    pub(super) origin: Origin,
}

/// The declaration of a program.
pub(super) enum Origin {
    Native(Box<clap::Command>),
    /// A table: the lines of its synopsis, and its examples.
    Table {
        synopsis: &'static [&'static str],
        examples: &'static str,
        /// Where the difference to the program that is replaced is described.
        documents: &'static [&'static str],
    },
}

/// The content of a word, as far as a shell can complete it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing that a shell knows.
    Free,
    File,
    Directory,
}

impl Content {
    /// The content that a placeholder names.
    pub(super) fn named(placeholder: &str) -> Self {
        let names = |parts: &[&str]| parts.iter().any(|part| placeholder.contains(part));
        if names(&["DIR", "directory"]) {
            Content::Directory
        } else if names(&["FILE", "PATH", "RESULT", "DEVICE", "STEM", "TARGET", "SIDE"]) {
            Content::File
        } else {
            Content::Free
        }
    }
}

impl Program {
    /// The name of its man page: `plumb-store-add`.
    pub(super) fn page(&self) -> String {
        self.words.replace(' ', "-")
    }

    /// The name of the link by which it can be called.
    pub(super) fn link(&self) -> Option<&str> {
        matches!(self.origin, Origin::Table { .. }).then(|| self.words.trim_start_matches("plumb "))
    }
}

/// All programs, plumb itself first.
pub(super) fn all(mut command: clap::Command) -> Vec<Program> {
    command.build();
    let mut found = Vec::new();
    gather(&command, "plumb".to_owned(), &mut found);
    found
}

fn gather(command: &clap::Command, words: String, found: &mut Vec<Program>) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    if let Some(program) = replaced(&words, &about) {
        found.push(program);
        return;
    }
    let shown = || command.get_subcommands().filter(|each| !each.is_hide_set() && each.get_name() != "help");
    let line = |each: &clap::Command| each.get_about().map(ToString::to_string).unwrap_or_default();
    let first = command.get_positionals().find(|arg| !arg.is_hide_set());
    found.push(Program {
        words: words.clone(),
        about,
        options: command
            .get_arguments()
            .filter(|arg| !arg.is_positional() && !arg.is_hide_set())
            .map(written)
            .collect(),
        commands: shown().map(|each| (each.get_name().to_owned(), line(each))).collect(),
        operands: first.map_or(Content::Free, content),
        origin: Origin::Native(Box::new(command.clone())),
    });
    for each in shown() {
        gather(each, format!("{words} {}", each.get_name()), found);
    }
}

/// The programs whose words clap does not parse.
fn replaced(words: &str, about: &str) -> Option<Program> {
    let (options, synopsis, examples, documents): (_, &[&str], _, &[&str]) = match words {
        "plumb fio" => (
            fio::written_options(engine::ENGINES, &formats::output_formats()),
            &[
                "[options] [job options] [job files]",
                "--client=HOST job files [--client=HOST job files ...]",
                "--server[=ADDRESS] [--allow=PATH]",
            ],
            "plumb fio job.fio\nplumb fio --name=a --rw=randread --size=1g --direct=1\nplumb fio --cmdhelp=all",
            &["docs/fio.md", "docs/fio-differences.md", "docs/fio-server.md"],
        ),
        "plumb iozone" => (
            iozone::written_options(),
            &["[options]"],
            "plumb iozone -a\nplumb iozone -i 0 -i 1 -i 2 -r 4k -s 1g -t 2 -I -F /m1/f /m2/f",
            &["docs/iozone.md"],
        ),
        "plumb iostat" => (
            monitor::iostat::written_options(),
            &["[options] [DEVICE... | ALL] [interval [count]]"],
            "plumb iostat -dx 2\nplumb iostat -xy -o JSON 1 10 sda",
            &["docs/iostat.md"],
        ),
        "plumb fio.sh" => (
            survey::fio_sh_written_options(),
            &["[options]"],
            "plumb fio.sh -w /data -t readrand -s 10 -m 1000 -f\nplumb fio.sh -w /data -o results -f",
            &["docs/survey.md"],
        ),
        _ => return None,
    };
    Some(Program {
        words: words.to_owned(),
        about: about.to_owned(),
        options,
        commands: Vec::new(),
        operands: Content::File,
        origin: Origin::Table { synopsis, examples, documents },
    })
}

/// An option of clap as it is written.
fn written(arg: &clap::Arg) -> WrittenOption {
    let short = arg.get_short().map(|letter| format!("-{letter}"));
    let long = arg.get_long().map(|name| format!("--{name}"));
    let aliases = arg.get_visible_aliases().unwrap_or_default();
    let aliases = aliases.into_iter().map(|name| format!("--{name}"));
    WrittenOption {
        heading: "Options".to_owned(),
        spellings: long.into_iter().chain(aliases).chain(short).collect(),
        value: value(arg),
        help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        facts: Vec::new(),
    }
}

fn value(arg: &clap::Arg) -> WrittenValue {
    let range = arg.get_num_args().unwrap_or_default();
    if !arg.get_action().takes_values() || !range.takes_values() {
        return WrittenValue::default();
    }
    let placing = match (arg.is_require_equals_set(), range.min_values()) {
        (true, 0) => Placing::JoinedOrAbsent,
        (true, _) => Placing::OnlyJoined,
        (false, 0) => Placing::NextOrAbsent,
        (false, _) => Placing::Next,
    };
    // The content is kept in the placeholder: paths are known by their type, too.
    let placeholder = placeholder(arg);
    let is_path = matches!(arg.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath);
    let placeholder = match Content::named(&placeholder) {
        Content::Free if is_path => "PATH".to_owned(),
        _ => placeholder,
    };
    let words = arg.get_possible_values().into_iter().filter(|word| !word.is_hide_set());
    let words =
        words.map(|word| (word.get_name().to_owned(), word.get_help().map(ToString::to_string).unwrap_or_default()));
    WrittenValue { placing, placeholder, words: words.collect() }
}

fn placeholder(arg: &clap::Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn content(arg: &clap::Arg) -> Content {
    match (Content::named(&placeholder(arg)), arg.get_value_hint()) {
        (Content::Free, ValueHint::AnyPath | ValueHint::FilePath) => Content::File,
        (named, _) => named,
    }
}
