//! What words may refer to outside themselves: the environment, files, and a few facts about the machine.

use crate::bounded;
use std::io;
use std::path::Path;

/// The longest job file.
const LONGEST: u64 = 64 << 20;

/// Files as the parser sees them, so that tests need none.
pub trait Files {
    /// The content of a file; `-` is standard input.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The first bytes of a file, `most` or as many as there are; `-` is standard input.
    ///
    /// # Errors
    /// When it cannot be read.
    fn head(&self, path: &Path, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = self.read(path)?;
        bytes.truncate(most);
        Ok(bytes)
    }

    /// Whether this exists and is not a regular file: a job of this name works on it.
    fn is_special(&self, path: &Path) -> bool;
}

/// The files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFiles;

impl Files for RealFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == Path::new("-") {
            return bounded::read_from(io::stdin().lock(), LONGEST);
        }
        bounded::read(path, LONGEST)
    }

    fn head(&self, path: &Path, most: usize) -> io::Result<Vec<u8>> {
        if path == Path::new("-") {
            return bounded::head(io::stdin().lock(), most as u64);
        }
        bounded::head(std::fs::File::open(path)?, most as u64)
    }

    fn is_special(&self, path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
    }
}

/// Everything outside the words that they may refer to.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// A variable of the environment, for `${NAME}`.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// Job files and files named in values.
    pub files: &'a dyn Files,
    /// Bytes of a page, for `$pagesize`.
    pub page_size: u64,
    /// Memory in MiB, for `$mb_memory`.
    pub memory_mib: u64,
    /// Number of CPUs, for `$ncpus` and CPU lists.
    pub cpus: u32,
}

impl Surroundings<'_> {
    /// `${NAME}` replaced by the environment; a name that is not set by nothing.
    pub(crate) fn with_environment(&self, text: &str) -> String {
        let mut result = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            result.push_str(before);
            let Some((name, tail)) = after.split_once('}') else {
                result.push_str("${");
                rest = after;
                continue;
            };
            result.push_str(&(self.environment)(name).unwrap_or_default());
            rest = tail;
        }
        result.push_str(rest);
        result
    }

    /// `$pagesize`, `$mb_memory` and `$ncpus` replaced, and the sum they stand in worked out.
    pub(crate) fn with_keywords(&self, text: &str) -> String {
        let facts = [("$pagesize", self.page_size), ("$mb_memory", self.memory_mib), ("$ncpus", u64::from(self.cpus))];
        let mut result = text.to_owned();
        for (keyword, value) in facts {
            result = result.replace(keyword, &value.to_string());
        }
        if result == text {
            return result;
        }
        let plain = |unit: &str| unit.is_empty().then_some(1);
        crate::values::evaluate(&result, &plain).map_or(result, |value| value.to_string())
    }
}
