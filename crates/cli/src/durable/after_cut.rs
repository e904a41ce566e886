//! What is there after a cut, compared with the acknowledgements.

use super::DurableArgs;
use super::records::{Base, Left};
use super::shown::{self, Verdict};
use super::writer::{boot, file_system};
use crate::failure::Failure;
use crate::input;
use analysis::durability::{Acknowledgements, Answer, Cut, Kept, answer, kept};
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// Reads back, judges and shows it.
pub(super) fn judge(args: &DurableArgs, file: &Path) -> Result<u8, Failure> {
    let mut out = args.written.open()?;
    let acks = Acknowledgements::read(BufReader::new(input::open(file)?)).map_err(|error| Failure::at(file, error))?;
    let Some(acks) = acks else {
        return Err(Failure::at(file, "holds no acknowledgements; give the file of plumb durable --serve"));
    };
    let target = args.target.clone().unwrap_or_else(|| PathBuf::from(&acks.started.target));
    let cut = match (boot()? == acks.started.boot, args.storage_only) {
        (false, _) => Cut::Rebooted,
        (true, true) => Cut::StorageOnly,
        (true, false) => Cut::None,
    };
    let verdict = match elsewhere(&acks, &target)? {
        Some(why) => Verdict { kept: Vec::new(), answer: Answer::CannotTell(why), acks, target },
        None => {
            let kept = if cut == Cut::None { Vec::new() } else { read(&acks, &target)? };
            Verdict { answer: answer(&acks, cut, &kept), kept, acks, target }
        }
    };
    out.write_painted(&shown::shown(&verdict, args)?, &shown::ANSWERS)?;
    Ok(match verdict.answer {
        Answer::Yes => 0,
        Answer::No => 1,
        Answer::CannotTell(_) => 2,
    })
}

/// Reason why the target may be another one than that of the writer; `None` if it is the same.
fn elsewhere(acks: &Acknowledgements, target: &Path) -> Result<Option<String>, Failure> {
    let shown = target.display();
    let started = &acks.started;
    match (Base::of(target, started.run)?, &started.identity, started.file_system) {
        (Base::Device(_), Some(word), _) => {
            let words = survey::own_words(target)?;
            let wrong =
                || format!("{shown} is another device ({}); name the one that was written", words.why_not(word));
            Ok((!words.fits(word)).then(wrong))
        }
        (Base::Folder(folder), _, Some(number)) if !folder.exists() && file_system(target)? != number => {
            Ok(Some(format!("{shown} is on another file system than the one that was written; mount that, or name it")))
        }
        (Base::Folder(_), None, Some(_)) => Ok(None),
        _ => Ok(Some(format!("{shown} is not what was written: {}", started.target))),
    }
}

fn read(acks: &Acknowledgements, target: &Path) -> Result<Vec<Kept>, Failure> {
    let mut left = Left::new(Base::of(target, acks.started.run)?, acks.started.record)?;
    let one = |way| kept(acks, way, &mut left).map_err(|error| Failure::at(target, error));
    acks.started.ways.iter().copied().map(one).collect()
}
