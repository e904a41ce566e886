//! External facts that job files may refer to: the environment, files, and a few facts about the machine.

use std::io;
use std::path::Path;
use sys::files::read_limited;

/// Maximum size of a job file, in bytes.
const LONGEST: u64 = 64 << 20;

/// File access of the parser; tests replace it.
pub trait Files {
    /// Reads a whole file; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Reads the first `most` bytes of a file, or fewer if it is shorter; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be read.
    fn head(&self, path: &Path, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = self.read(path)?;
        bytes.truncate(most);
        Ok(bytes)
    }

    /// True if the path exists and is not a regular file. A job with this name does its I/O there.
    fn is_special(&self, path: &Path) -> bool;
}

/// The files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFiles;

impl Files for RealFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == Path::new("-") {
            return read_limited::read_from(io::stdin().lock(), LONGEST);
        }
        read_limited::read(path, LONGEST)
    }

    fn head(&self, path: &Path, most: usize) -> io::Result<Vec<u8>> {
        if path == Path::new("-") {
            return read_limited::head(io::stdin().lock(), most as u64);
        }
        read_limited::head(std::fs::File::open(path)?, most as u64)
    }

    fn is_special(&self, path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
    }
}

/// The environment, files and machine facts that values may refer to.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Returns a variable of the environment, for `${NAME}`.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// Job files and files named in values.
    pub files: &'a dyn Files,
    /// Page size in bytes, for `$pagesize`.
    pub page_size: u64,
    /// Memory in MiB, for `$mb_memory`.
    pub memory_mib: u64,
    /// Number of CPUs, for `$ncpus` and CPU lists.
    pub cpus: u32,
}

impl Surroundings<'_> {
    /// Replaces `${NAME}` by the variable of the environment; an unset one becomes the empty string.
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

    /// Replaces `$pagesize`, `$mb_memory` and `$ncpus`, then evaluates the arithmetic around them.
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
        crate::options::values::evaluate(&result, &plain).map_or(result, |value| value.to_string())
    }
}
