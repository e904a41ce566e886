//! The mark by which plumb recognizes the files it wrote: only those are ever overwritten.

use crc::{CRC_32_ISO_HDLC, Crc};

/// Text of every mark.
const WORDS: &str = "made by plumb";
/// The mark is within this many bytes from the start or the end of a file.
pub const LOOKED_AT: usize = 4096;
/// Bytes of the signature of a PNG file and its first chunk, which has a fixed length.
const PNG_HEAD: usize = 8 + 25;

/// The mark as a comment for HTML and SVG.
pub(crate) fn comment(program: &str) -> String {
    format!("<!-- {WORDS}: {} -->", program.replace("--", "-"))
}

/// Adds the mark to an SVG document.
pub fn mark_svg(svg: &str, program: &str) -> String {
    let head = svg.find('>').map_or(0, |at| at + 1);
    format!("{}{}{}\n", &svg[..head], comment(program), &svg[head..])
}

/// Adds the mark to a PNG file, as a text chunk after the first chunk, with the page of a report, from 1.
pub fn mark_png(png: &[u8], program: &str, page: usize) -> Vec<u8> {
    let text = format!("tEXtSoftware\0{WORDS}: {program}{}", page_words(page));
    let length = u32::try_from(text.len() - 4).unwrap_or(0);
    let (head, rest) = png.split_at(PNG_HEAD.min(png.len()));
    let checksum = Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(text.as_bytes());
    [head, &length.to_be_bytes(), text.as_bytes(), &checksum.to_be_bytes(), rest].concat()
}

/// Adds the mark to a PDF file, as a comment after its end, because its table has offsets from the start.
pub fn mark_pdf(pdf: &[u8], program: &str) -> Vec<u8> {
    let text: String = program.chars().filter(char::is_ascii_graphic).collect();
    [pdf, format!("\n% {WORDS}: {text}\n").as_bytes()].concat()
}

/// The end of the mark of a page.
fn page_words(page: usize) -> String {
    format!(", page {page}.")
}

/// The page of a report that a PNG file of plumb is, by its first [`LOOKED_AT`] bytes; `None` without one in its mark.
pub fn page_of_png(head: &[u8]) -> Option<usize> {
    let mark = head.windows(WORDS.len()).position(|part| part == WORDS.as_bytes()).filter(|_| is_ours(head, &[]))?;
    let text = String::from_utf8_lossy(&head[mark..]);
    let digits = text.split_once(", page ")?.1.split_once('.')?.0;
    digits.parse().ok()
}

/// True if a file was written by plumb, given its first and its last [`LOOKED_AT`] bytes.
pub fn is_ours(head: &[u8], tail: &[u8]) -> bool {
    let starts = |with: &[u8]| head.starts_with(with);
    let looks = starts(b"<!doctype html>") || starts(b"<svg ") || starts(b"\x89PNG");
    let says = |part: &[u8]| part.windows(WORDS.len()).any(|part| part == WORDS.as_bytes());
    (looks && says(&head[..head.len().min(LOOKED_AT)])) || (starts(b"%PDF-") && says(tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_says_which_page_it_is() {
        let blank = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 25 + 40]].concat();
        for page in [1, 2, 23] {
            let png = mark_png(&blank, "plumb 0.1.0", page);
            assert!(is_ours(&png, b""));
            assert_eq!(page_of_png(&png), Some(page));
        }
        assert_eq!(page_of_png(&blank), None);
        assert_eq!(
            page_of_png(&[&blank[..], b"made by plumb: plumb 0.1.0"].concat()),
            None,
            "as earlier versions marked pages"
        );
        assert_eq!(page_of_png(b"made by plumb, page 2."), None, "a text about plumb is not a page");
    }

    #[test]
    fn only_what_carries_the_mark_is_ours() {
        let svg = mark_svg("<svg width=\"1\"><g/></svg>", "plumb 0.1.0");
        assert_eq!(svg, "<svg width=\"1\"><!-- made by plumb: plumb 0.1.0 --><g/></svg>\n");
        assert!(is_ours(svg.as_bytes(), b""));
        assert!(!is_ours(b"<svg width=\"1\"><g/></svg>", b""));
        assert!(!is_ours(b"how plots are made by plumb\n", b""), "a text about plumb is not plumb's");
        let pdf = mark_pdf(b"%PDF-1.7\n%%EOF", "plumb 0.1.0");
        assert!(is_ours(&pdf, &pdf[9..]));
        assert!(!is_ours(b"%PDF-1.7\n(made by plumb)", b"%%EOF"), "what is inside of a document is not a mark");
    }
}
