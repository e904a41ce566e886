//! The beginning that all pages of commands have in common.

use report::page::Page;

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
