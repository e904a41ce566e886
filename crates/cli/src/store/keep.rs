//! The process that keeps a result in the store, which a command that has measured starts (`session::keep`).

use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use session::keep::Condition;
use std::io::Read;
use std::path::Path;
use store::{Document, Store};

/// The other process: opens the store, and reads its first pages. The command itself says what is wrong with them.
pub(super) fn opened(file: &Path) -> u8 {
    let _ = Store::to_read(file);
    0
}

/// The other process: keeps the result on standard input.
pub(super) fn from_input(file: &Path, condition: Condition) -> Result<u8, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(|error| input::unreadable(Path::new("-"), &error))?;
    if condition == Condition::UnlessOff && !is_keeping(file)? {
        return Ok(0);
    }
    let text = add(file, bytes)?;
    Output::stdout().write(&text).map(|()| 0)
}

/// False if `plumb store off` was said of a store.
fn is_keeping(file: &Path) -> Result<bool, Failure> {
    let store = Store::to_read(file)?;
    Ok(store.map_or(Ok(true), |store| store.is_keeping())?)
}

fn add(file: &Path, bytes: Vec<u8>) -> Result<String, Failure> {
    let document = Document::read(bytes)?;
    let is_first = !file.exists();
    let kept = Store::to_write(file)?.add(&document, &super::day(document.began_unix_ms))?;
    let mut text = format!("Kept: {}\n", kept.id);
    if is_first {
        text.push_str(&format!(
            "Results are kept in {} from now on, for plumb history and plumb trend; plumb store off ends that.\n",
            file.display()
        ));
    }
    Ok(formats::printable::lines(&text).into_owned())
}
