//! A file system without files, for tests of parsed options.

use fio::Files;
use std::io;
use std::path::Path;

pub(crate) struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn is_special(&self, _: &Path) -> bool {
        false
    }
}
