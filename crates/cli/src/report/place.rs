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
    /// A vector drawing.
    Svg,
    /// A raster image.
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

/// True if the first or the last bytes of a file contain the mark of a report.
fn has_mark(file: &File) -> io::Result<bool> {
    let part = |mut file: &File, from: SeekFrom| {
        let mut bytes = Vec::new();
        file.seek(from)?;
        file.take(report::LOOKED_AT as u64).read_to_end(&mut bytes).map(|_| bytes)
    };
    let behind = file.metadata()?.len().saturating_sub(report::LOOKED_AT as u64);
    Ok(report::is_ours(&part(file, SeekFrom::Start(0))?, &part(file, SeekFrom::Start(behind))?))
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
