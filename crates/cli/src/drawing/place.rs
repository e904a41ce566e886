//! Destination of a report: never an existing file that plumb did not create.

use crate::failure::Failure;
use crate::features::Feature;
use crate::safe_files::{self, AtomicFile, Durability};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// File format, by the file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Html,
    Svg,
    Png,
    Pdf,
}

impl Form {
    /// Returns the format for the file name's extension.
    pub(super) fn of(path: &Path) -> Result<Form, Failure> {
        let end = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
        match end.as_deref() {
            Some("html" | "htm") => Ok(Form::Html),
            Some("svg") => Ok(Form::Svg),
            Some("png") => Ok(Form::Png),
            Some("pdf") => Feature::Pdf.require(&path.display().to_string()).map(|()| Form::Pdf),
            _ => Err(Failure::new(format!(
                "{}: the extension selects the format; use .html, .svg, .png or .pdf",
                path.display()
            ))),
        }
    }
}

/// Checks that a report may be written here: there is no file, or it is empty, or it contains the mark of a report.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    safe_files::check_if(path, has_mark)
}

/// The file of a page of this report: `NAME.png`, then `NAME-2.png` and so on.
pub(super) fn of_page(path: &Path, number: usize) -> PathBuf {
    let name = |path: &Path| {
        let mut name = path.file_stem()?.to_owned();
        name.push(format!("-{number}"));
        Some(name)
    };
    match (number, name(path), path.extension()) {
        (2.., Some(name), Some(end)) => path.with_file_name(name).with_added_extension(end),
        _ => path.to_owned(),
    }
}

/// Removes the pages of an earlier, longer report after the last page of this one, and returns what is to be said about
/// files of such names that stay: nothing about the image of another report, which has another page number in its mark.
pub(super) fn remove_pages_after(path: &Path, last: usize) -> Vec<Failure> {
    let there = |number| Some((number, of_page(path, number))).filter(|(_, file)| file.symlink_metadata().is_ok());
    let later = (last + 1..).map_while(there);
    let stays = |(number, file): (usize, PathBuf)| {
        let read = || head_of(&File::open(&file)?);
        let is_file = file.symlink_metadata().is_ok_and(|kind| kind.is_file());
        let why = match is_file.then(read) {
            Some(Ok(head)) if report::page_of_png(&head) == Some(number) => {
                return std::fs::remove_file(&file).err().map(|error| {
                    Failure::at(&file, format!("the page of an earlier report cannot be removed: {error}"))
                });
            }
            Some(Ok(head)) if report::page_of_png(&head).is_some() => return None,
            Some(Err(error)) => format!("it cannot be read ({error})"),
            Some(Ok(head)) if report::is_ours(&head, &[]) => "an earlier version of plumb made it".to_owned(),
            _ => "plumb did not make it".to_owned(),
        };
        Some(Failure::at(
            &file,
            format!("it has the name of a page of this report, but is not one, so it stays: {why}"),
        ))
    };
    later.filter_map(stays).collect()
}

/// True if the first or the last bytes of a file contain the mark of a report.
fn has_mark(file: &File) -> io::Result<bool> {
    let behind = file.metadata()?.len().saturating_sub(report::LOOKED_AT as u64);
    Ok(report::is_ours(&head_of(file)?, &part(file, behind)?))
}

/// The first bytes of a file, in which the mark of an image is.
fn head_of(file: &File) -> io::Result<Vec<u8>> {
    part(file, 0)
}

fn part(mut file: &File, from: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(report::LOOKED_AT as u64).read_to_end(&mut bytes).map(|_| bytes)
}

/// Writes a report with an atomic rename, so that readers never see an incomplete one.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    check(path)?;
    // Resolve symbolic links first: the rename must replace the file and not the link.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    AtomicFile::at(&target)?.write(bytes, Durability::Unsynced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_plumb_made_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r.svg");
        let ours = report::mark_svg("<svg a=\"1\"></svg>", "plumb 0.1.0");
        assert!(write(&path, ours.as_bytes()).is_ok(), "nothing is there");
        assert!(write(&path, ours.as_bytes()).is_ok(), "a drawing of ours");
        std::fs::write(&path, "<svg a=\"1\">mine</svg>").unwrap();
        let failure = format!("{:?}", write(&path, ours.as_bytes()).unwrap_err());
        assert!(failure.contains("plumb did not make it"), "{failure}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "<svg a=\"1\">mine</svg>");
        assert!(check(directory.path()).is_err(), "a directory");
        assert!(check(Path::new("/dev/null")).is_err(), "a rename would replace the device");
    }

    #[test]
    fn only_pages_of_an_earlier_longer_report_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("all.png");
        let blank = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 25 + 40]].concat();
        let put = |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes).unwrap();
        let page = |number| report::mark_png(&blank, "plumb 0.1.0", number);
        for number in 1..=5 {
            put(of_page(&path, number).file_name().unwrap().to_str().unwrap(), &page(number));
        }
        // The first page of a report of that name, what an earlier plumb made, and a photograph; behind a gap, nothing
        // is looked for.
        put("all-6.png", &page(1));
        put("all-7.png", &[&blank[..], b"made by plumb: plumb 0.1.0"].concat());
        put("all-8.png", &blank);
        std::fs::create_dir(directory.path().join("all-9.png")).unwrap();
        put("all-11.png", &page(11));
        let said: Vec<String> =
            remove_pages_after(&path, 2).iter().map(|failure| failure.message().to_owned()).collect();
        let mut left: Vec<String> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["all-11.png", "all-2.png", "all-6.png", "all-7.png", "all-8.png", "all-9.png", "all.png"]);
        let why = ["all-7.png: it has the name", "all-8.png: it has the name", "all-9.png: it has the name"];
        assert!(said.len() == 3 && said.iter().zip(why).all(|(said, why)| said.contains(why)), "{said:?}");
        assert!(said[0].contains("an earlier version of plumb made it"), "{said:?}");
        assert!(said[1..].iter().all(|said| said.ends_with("plumb did not make it")), "{said:?}");
    }

    #[test]
    fn the_end_of_the_name_says_what_is_written() {
        for (name, form) in [
            ("a.html", Form::Html),
            ("a.HTM", Form::Html),
            ("a.svg", Form::Svg),
            ("a.b.png", Form::Png),
            ("a.pdf", Form::Pdf),
        ] {
            assert_eq!(Form::of(Path::new(name)).unwrap(), form, "{name}");
        }
        for name in ["a.ps", "a", "a.jpg", ".html"] {
            assert!(Form::of(Path::new(name)).is_err(), "{name}");
        }
    }
}
