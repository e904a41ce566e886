//! The completion for fish: a line for each option of each program.

use super::programs::{Content, Program};
use plan::{Placing, WrittenOption};
use std::fmt::Write;

/// The script, to be sourced.
pub(super) fn script(programs: &[Program]) -> String {
    let mut text = concat!("# Completion of plumb ", env!("CARGO_PKG_VERSION"), " for fish 3 or newer.\n").to_owned();
    text.push_str("# For this shell alone: plumb --generate fish | source\n\n");
    text.push_str(&program_function(programs));
    text.push_str("complete -c plumb -f\n");
    for program in programs {
        let condition = format!("complete -c plumb -n {}", quoted(&format!("__plumb_in {}", quoted(&program.words))));
        if program.operands != Content::Free {
            let _ = writeln!(text, "{condition} -F");
        }
        for (name, about) in &program.commands {
            let _ = writeln!(text, "{condition} -f -a {} -d {}", quoted(name), quoted(about));
        }
        for option in &program.options {
            let _ = writeln!(text, "{condition} {}", described(option));
        }
    }
    let links: Vec<&str> = programs.iter().filter_map(Program::link).collect();
    let _ = write!(
        text,
        "\n# Links to plumb are completed as plumb does; the programs that they are named after are left alone.\n\
         for link in {}\n    set -l path (command -v $link); and string match -q '*/plumb' (realpath $path)\n    \
         and complete -c $link -f -w \"plumb $link\"\nend\n",
        links.join(" ")
    );
    text
}

/// The functions that know which program a command line calls.
fn program_function(programs: &[Program]) -> String {
    let known: Vec<String> = programs.iter().skip(1).map(|program| quoted(&program.words)).collect();
    format!(
        "function __plumb_program\n    \
         set -l words (commandline -opc)\n    \
         set -l program plumb\n    \
         for word in $words[2..-1]\n        \
         if contains -- \"$program $word\" {}\n            \
         set program \"$program $word\"\n        end\n    end\n    \
         echo $program\nend\n\n\
         function __plumb_in\n    test (__plumb_program) = \"$argv[1]\"\nend\n\n",
        known.join(" ")
    )
}

/// An option with all its spellings.
fn described(option: &WrittenOption) -> String {
    let mut text = String::new();
    for spelling in &option.spellings {
        let letters = spelling.trim_start_matches('-');
        let _ = match spelling.strip_prefix('-') {
            Some(rest) if rest.starts_with('-') => write!(text, "-l {} ", quoted(letters)),
            Some(rest) if rest.chars().count() == 1 => write!(text, "-s {} ", quoted(letters)),
            Some(_) => write!(text, "-o {} ", quoted(letters)),
            None => write!(text, "-f -a {} ", quoted(letters)),
        };
    }
    let is_word = option.spellings.iter().any(|spelling| !spelling.starts_with('-'));
    let needed = !matches!(option.value.placing, Placing::Nowhere | Placing::JoinedOrAbsent | Placing::NextOrAbsent);
    if needed && !is_word {
        text += &value(option);
    }
    text + "-d " + &quoted(&option.help)
}

fn value(option: &WrittenOption) -> String {
    let words: Vec<&str> = option.value.words.iter().map(|(word, _)| word.as_str()).collect();
    match Content::named(&option.value.placeholder) {
        _ if !words.is_empty() => format!("-x -a {} ", quoted(&words.join(" "))),
        Content::Free => "-x ".to_owned(),
        Content::File => "-r -F ".to_owned(),
        Content::Directory => "-x -a '(__fish_complete_directories)' ".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}
