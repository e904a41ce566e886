//! After a measurement: its result goes into the store. Nothing here fails a command: the result was printed and saved.

use super::place::{self, KeepArgs, Keeping, Place};
use crate::failure::Failure;
use crate::input;
use model::RunResult;
use std::path::Path;
use store::{Document, Host, Store};

/// Keeps the result in a file. Returns the lines to print; a failure is one line on standard error.
pub(crate) fn keep_file(path: &Path, args: &KeepArgs, keeping: Keeping) -> String {
    let read = || {
        sys::files::read_limited::read_text(path, input::LARGEST)
            .map(String::into_bytes)
            .map_err(|error| input::unreadable(path, &error))
    };
    keep(read, args, keeping)
}

/// Keeps a result. Returns the lines to print; a failure is one line on standard error.
pub(crate) fn keep_result(result: &RunResult, args: &KeepArgs, keeping: Keeping) -> String {
    keep(|| Ok(formats::native::write(result)?.into_bytes()), args, keeping)
}

fn keep(read: impl FnOnce() -> Result<Vec<u8>, Failure>, args: &KeepArgs, keeping: Keeping) -> String {
    let kept = match place::of_command(args, keeping) {
        Place::Nowhere => return String::new(),
        Place::Named(file) => read().and_then(|bytes| add(&file, bytes).map(Some)),
        Place::Usual(file) => match is_keeping(&file) {
            Ok(true) => read().and_then(|bytes| add(&file, bytes).map(Some)),
            Ok(false) => Ok(None),
            Err(failure) => Err(failure),
        },
    };
    match kept {
        Ok(text) => text.unwrap_or_default(),
        Err(failure) => {
            Failure::new(format!("the result is not in the store: {}", failure.message())).print();
            String::new()
        }
    }
}

/// False if `plumb store off` was said of a store.
fn is_keeping(file: &Path) -> Result<bool, Failure> {
    let store = Store::to_read(file)?;
    Ok(store.map_or(Ok(true), |store| store.is_keeping())?)
}

fn add(file: &Path, bytes: Vec<u8>) -> Result<String, Failure> {
    let document = Document::read(bytes)?;
    let host = Host::read(Path::new("/"), &document, std::env::current_dir().ok().as_deref());
    let is_first = !file.exists();
    let kept = Store::to_write(file)?.add(&document, &host, &super::day(document.began_unix_ms))?;
    let mut text = format!("Kept: {}\n", kept.id);
    if is_first {
        text.push_str(&format!(
            "Results are kept in {} from now on, for plumb history and plumb trend; plumb store off ends that.\n",
            file.display()
        ));
    }
    Ok(formats::printable::lines(&text).into_owned())
}
