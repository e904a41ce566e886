//! Descriptors that the program was started with, by their number: `plumb fio --stream fd:3 3>file`.

use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

/// A second handle of the descriptor with this number, for writing. Both share the file offset.
///
/// # Errors
/// If there is no such descriptor, or it is not open for writing.
pub fn for_writing(number: u16) -> io::Result<File> {
    // SAFETY: F_GETFD takes no pointer; any number is allowed, and fails with EBADF if it is not an open descriptor.
    if unsafe { libc::fcntl(i32::from(number), libc::F_GETFD) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, as was found above. Callers do so before the program opens its own files, so nothing closes
    // it before it is duplicated at the end of this function.
    let given = unsafe { BorrowedFd::borrow_raw(i32::from(number)) };
    let access = rustix::fs::fcntl_getfl(given)? & OFlags::RWMODE;
    if access == OFlags::RDONLY {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is open for reading only"));
    }
    Ok(File::from(given.try_clone_to_owned()?))
}

/// Keeps the descriptors that this program was started with, except the first three, from the programs that it starts.
pub fn keep_from_others() {
    let names = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers: Vec<i32> = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // SAFETY: it takes no pointer. The descriptor that read the directory is closed meanwhile, which is EBADF.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn what_was_opened_before_is_written_through_its_number() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines");
        let shell = File::create(&path).unwrap();
        let number = u16::try_from(shell.as_raw_fd()).unwrap();
        for_writing(number).unwrap().write_all(b"one\n").unwrap();
        for_writing(number).unwrap().write_all(b"two\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n", "at the shell's offset");
    }

    #[test]
    fn descriptors_are_kept_from_the_programs_that_follow() {
        let file = File::open("/dev/null").unwrap();
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
        keep_from_others();
        assert_eq!(rustix::io::fcntl_getfd(&file).unwrap(), rustix::io::FdFlags::CLOEXEC);
    }

    #[test]
    fn numbers_that_cannot_be_written_are_errors() {
        assert_eq!(for_writing(9_999).unwrap_err().raw_os_error(), Some(libc::EBADF));
        let reading = File::open("/dev/null").unwrap();
        let number = u16::try_from(reading.as_raw_fd()).unwrap();
        assert_eq!(for_writing(number).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
