//! Embedded files: scripts, style and typefaces, which the build has compressed to less than half of their size.

#[cfg(feature = "draw")]
use flate2::read::{DeflateDecoder, GzDecoder};
#[cfg(feature = "draw")]
use std::io::Read;
#[cfg(feature = "draw")]
use std::sync::LazyLock;

/// An embedded file. It is inflated when it is used.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "draw"), expect(dead_code, reason = "only drawing reads it"))]
pub(crate) struct Packed(pub(crate) &'static [u8]);

/// The embedded file of this name, as `build.rs` has compressed it.
macro_rules! packed {
    ($name:literal) => {
        crate::packed::Packed(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".deflated")))
    };
}
pub(crate) use packed;

#[cfg(feature = "draw")]
impl Packed {
    /// The contents of the file.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(3 * self.0.len());
        DeflateDecoder::new(self.0).read_to_end(&mut bytes).expect("build.rs compressed it");
        bytes
    }

    /// The contents of a script or style.
    pub(crate) fn text(self) -> String {
        String::from_utf8(self.bytes()).expect("scripts are text")
    }
}

/// ECharts, in the version fetched by `make charts`, which compresses it to a third of its 1.1 MB.
#[cfg(feature = "draw")]
pub(crate) static ECHARTS: LazyLock<String> = LazyLock::new(|| {
    let mut script = String::new();
    let mut compressed = GzDecoder::new(&include_bytes!("../vendor/echarts.min.js.gz")[..]);
    compressed.read_to_string(&mut script).expect("`make charts` compressed it");
    script
});

#[cfg(all(test, feature = "draw"))]
mod tests {
    use super::*;

    #[test]
    fn an_embedded_file_is_its_source() {
        let sweep = packed!("sweep.js");
        assert_eq!(sweep.text(), include_str!("../charts/sweep.js"));
        assert!(sweep.0.len() * 3 < sweep.text().len(), "{} bytes", sweep.0.len());
        assert_eq!(packed!("DejaVuSans.ttf").bytes(), include_bytes!("../vendor/fonts/DejaVuSans.ttf"));
        assert!(ECHARTS.contains("echarts"));
    }
}
