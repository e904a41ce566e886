//! Options about what happens on errors.

use super::row::{Context, Outcome, rows};
use crate::error::Complaint;
use crate::options::draft::Draft;
use plan::ContinueOnError;
use plan::option::Kind;

const CLASSES: Kind = Kind::Word(&[
    ("none", "stop at the first error"),
    ("read", "continue after read errors"),
    ("write", "continue after write errors"),
    ("io", "continue after read and write errors"),
    ("verify", "continue after verification errors"),
    ("all", "continue after all errors"),
    ("0", "same as none"),
    ("1", "same as all"),
]);

rows! {
    "continue_on_error": CLASSES, "none" => Word(job.limits.continue_on_error, |word| continued(word));
        "Types of I/O errors after which the job continues";
    "ignore_error": TEXT => Text(fn ignore);
        "Errors to ignore in reads, writes and verification: EIO:5,ENOSPC,EILSEQ";
    "error_dump": BOOL, "1" => Switch(job.limits.error_dump); "Print each error, including ignored ones";
    "stuck_after": SECONDS, "30s" => Time(job.limits.stuck_after, |time| (!time.is_zero()).then_some(time));
        "Report I/Os that have not completed after this time, with file and offset; 0 for never";
}

fn continued(word: &str) -> ContinueOnError {
    let is = |words: &[&str]| words.contains(&word);
    ContinueOnError {
        read: is(&["read", "io", "all", "1"]),
        write: is(&["write", "io", "all", "1"]),
        verify: is(&["verify", "all", "1"]),
    }
}

/// Takes up to three lists of errors, by name or number: for reads, writes and verification. An empty one leaves what
/// was given before.
fn ignore(draft: &mut Draft, text: &str, _: &Context<'_>) -> Outcome {
    let ignored = &mut draft.job.limits.ignored;
    let mut parts = text.split(',');
    for list in [&mut ignored.read, &mut ignored.write, &mut ignored.verify] {
        let words = parts.next().unwrap_or("").split(':').map(str::trim).filter(|word| !word.is_empty());
        let errors = words.map(one_error).collect::<Result<Vec<i32>, Complaint>>()?;
        if !errors.is_empty() {
            *list = errors;
        }
    }
    match parts.next() {
        None => Ok(()),
        Some(_) => Err(Complaint::new(
            "has more than three lists",
            "write it like EIO,ENOSPC,EILSEQ: reads, writes, verification",
        )),
    }
}

fn one_error(word: &str) -> Result<i32, Complaint> {
    let number = word.parse().ok().filter(|number| *number > 0);
    number.or_else(|| errno(word)).ok_or_else(|| {
        Complaint::new(format!("names an unknown error `{word}`"), "write it like EIO:ENOSPC or by number, 5:28")
    })
}

/// Returns the number of the error with this name, such as `EIO`.
fn errno(name: &str) -> Option<i32> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::values::UnitBase;
    use plan::IgnoredErrors;

    #[test]
    fn errors_are_lists_by_direction_of_names_and_numbers() {
        let context = Context { cpus: 4, unit_base: UnitBase::Binary, read: &|_| None };
        let ignored = |texts: &[&str]| {
            let mut draft = Draft::default();
            texts.iter().try_for_each(|text| ignore(&mut draft, text, &context))?;
            Ok::<IgnoredErrors, Complaint>(draft.job.limits.ignored)
        };
        let expected = IgnoredErrors { read: vec![5], write: vec![28, 122], verify: vec![84] };
        assert_eq!(ignored(&["EIO,ENOSPC:122,EILSEQ"]).unwrap(), expected);
        assert_eq!(ignored(&[",28:122,EILSEQ", "EIO"]).unwrap(), expected, "each list is replaced for itself");
        assert_eq!(ignored(&[",25", ",26"]).unwrap(), IgnoredErrors { write: vec![26], ..IgnoredErrors::default() });
        for wrong in ["EFOO", "1,2,3,4", "0", "-5"] {
            assert!(ignored(&[wrong]).is_err(), "{wrong}");
        }
    }
}
