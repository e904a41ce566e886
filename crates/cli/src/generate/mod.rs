//! `plumb --generate`: man pages, and completions for three shells.
//!
//! Owns the option and the files. `programs` has what there is to say, from the tables that parse; `man` and `shells`
//! write it.
//!
//! The completions are written here, not by clap_complete: it knows neither options like iozone's `-+n` and iostat's
//! `+f`, nor values behind `=` as fio's have, nor links that are programs.

mod man;
mod programs;
mod shells;

use crate::failure::Failure;
use crate::output::Output;
use std::path::{Path, PathBuf};

/// Options of plumb itself that write man pages and completions.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct GenerateArgs {
    /// Print a man page, or the completion for a shell
    #[arg(long, value_name = "WHAT", value_parser = ["man", "bash", "zsh", "fish"])]
    generate: Option<String>,
    /// The man page to print, like plumb-survey [default: plumb]
    #[arg(long, value_name = "NAME", requires = "generate", conflicts_with = "into")]
    page: Option<String>,
    /// Write all man pages, or the completion, under their usual names into this directory
    #[arg(long, value_name = "DIR", requires = "generate")]
    into: Option<PathBuf>,
    /// The words of a command line, whose last one a completion asks for
    #[arg(long, hide = true, num_args = 1.., allow_hyphen_values = true, conflicts_with = "generate")]
    complete: Vec<String>,
}

/// A file with its usual name.
struct NamedText {
    name: String,
    text: String,
}

/// Writes what was asked for.
pub(crate) fn run(args: &GenerateArgs, command: clap::Command) -> Result<u8, Failure> {
    if !args.complete.is_empty() {
        return Output::stdout().write(&shells::offers(&programs::all(command), &args.complete)).map(|()| 0);
    }
    let what = args.generate.as_deref().unwrap_or_default();
    let files = made(what, command);
    if let Some(directory) = &args.into {
        return write_all(directory, &files);
    }
    if what != "man" && args.page.is_some() {
        return Err(Failure::new(format!("--page is of man pages; the completion for {what} is one file")));
    }
    let page = args.page.as_deref().unwrap_or("plumb");
    let named = |file: &&NamedText| what != "man" || file.name.strip_suffix(man::SUFFIX) == Some(page);
    match files.iter().find(named) {
        Some(file) => Output::stdout().write(&file.text).map(|()| 0),
        None => {
            let names: Vec<&str> = files.iter().filter_map(|file| file.name.strip_suffix(man::SUFFIX)).collect();
            Err(Failure::new(format!("there is no page `{page}`; there are {}", names.join(", "))))
        }
    }
}

fn made(what: &str, command: clap::Command) -> Vec<NamedText> {
    let programs = programs::all(command);
    let one = |name: &str, text: String| vec![NamedText { name: name.to_owned(), text }];
    match what {
        "bash" => one("plumb", shells::script(what, &programs)),
        "zsh" => one("_plumb", shells::script(what, &programs)),
        "fish" => one("plumb.fish", shells::script(what, &programs)),
        _ => programs.iter().map(|program| man::page(program, &programs)).collect(),
    }
}

fn write_all(directory: &Path, files: &[NamedText]) -> Result<u8, Failure> {
    std::fs::create_dir_all(directory)
        .map_err(|error| Failure::at(directory, format!("cannot be created: {error}")))?;
    for file in files {
        Output::file(&directory.join(&file.name))?.write(&file.text)?;
    }
    Ok(0)
}
