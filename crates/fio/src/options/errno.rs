//! The kernel's errors by name, for options that name them.

/// Returns the number of the error with this name, such as `EIO`.
pub(crate) fn number(name: &str) -> Option<i32> {
    ERRORS.iter().find(|error| error.1 == name).map(|error| error.0)
}

/// Errors of I/O and file operations, with the generic Linux numbers (errno(3)); a few architectures use others.
const ERRORS: &[(i32, &str)] = &[
    (1, "EPERM"),
    (2, "ENOENT"),
    (4, "EINTR"),
    (5, "EIO"),
    (6, "ENXIO"),
    (7, "E2BIG"),
    (9, "EBADF"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (15, "ENOTBLK"),
    (16, "EBUSY"),
    (17, "EEXIST"),
    (18, "EXDEV"),
    (19, "ENODEV"),
    (20, "ENOTDIR"),
    (21, "EISDIR"),
    (22, "EINVAL"),
    (23, "ENFILE"),
    (24, "EMFILE"),
    (25, "ENOTTY"),
    (26, "ETXTBSY"),
    (27, "EFBIG"),
    (28, "ENOSPC"),
    (29, "ESPIPE"),
    (30, "EROFS"),
    (32, "EPIPE"),
    (34, "ERANGE"),
    (61, "ENODATA"),
    (62, "ETIME"),
    (71, "EPROTO"),
    (74, "EBADMSG"),
    (75, "EOVERFLOW"),
    (84, "EILSEQ"),
    (95, "EOPNOTSUPP"),
    (110, "ETIMEDOUT"),
    (116, "ESTALE"),
    (121, "EREMOTEIO"),
    (122, "EDQUOT"),
    (125, "ECANCELED"),
];
