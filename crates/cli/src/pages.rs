//! What all pages of commands have in common: their beginning, and the form of those to send to others.

use crate::failure::Failure;
use report::page::Page;
use std::path::Path;

/// The program that makes pages.
pub(crate) const MADE_BY: &str = concat!("plumb ", env!("CARGO_PKG_VERSION"));

/// This moment, for a page.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A page with a title, made now by this program.
pub(crate) fn begun(title: String) -> Page {
    Page { title, made_by: MADE_BY.to_owned(), made_at: now(), ..Page::default() }
}

/// Refuses a page of an answer that is neither HTML nor PDF, before anything is measured.
pub(crate) fn check_to_mail(path: &Path) -> Result<(), Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    if !matches!(extension, Some("html" | "pdf")) {
        return Err(Failure::at(path, "the page of an answer is .html or .pdf"));
    }
    crate::drawing::check_output(path)
}
