//! Options about what happens on errors.

use super::row::{Row, Set, put, works};
use crate::errno;
use crate::error::Complaint;
use plan::option::{Kind, TimeUnit};
use plan::{ContinueOnError, IgnoredErrors};

const CLASSES: Kind = Kind::Word(&[
    ("none", "end at the first error"),
    ("read", "go on after failed reads"),
    ("write", "go on after failed writes"),
    ("io", "go on after both"),
    ("verify", "go on after failed checks"),
    ("all", "go on after all of these"),
    ("0", "same as none"),
    ("1", "same as all"),
]);

pub(super) const ROWS: &[Row] = &[
    works(
        "continue_on_error",
        CLASSES,
        Set::Word(|draft, word, _| {
            let is = |words: &[&str]| words.contains(&word);
            draft.job.limits.continue_on_error = ContinueOnError {
                read: is(&["read", "io", "all", "1"]),
                write: is(&["write", "io", "all", "1"]),
                verify: is(&["verify", "all", "1"]),
            };
            Ok(())
        }),
        "Which I/O errors do not end the job",
    )
    .default("none"),
    works(
        "ignore_error",
        Kind::Text,
        put!(Text, job.limits.ignored, |text| ignored(text)?),
        "Which errors of reads, writes and checks are forgiven: EIO:5,ENOSPC,EILSEQ",
    ),
    works("error_dump", Kind::Bool, put!(Switch, job.limits.error_dump), "Tell of each error, also of forgiven ones")
        .default("1"),
    works(
        "stuck_after",
        Kind::Time(TimeUnit::Seconds),
        put!(Time, job.limits.stuck_after, |time| (!time.is_zero()).then_some(time)),
        "Tell of an I/O that has not come back for so long, with its file and offset; 0 never",
    )
    .default("30s"),
];

/// Parses up to three lists of errors, by name or number: for reads, writes and verification.
fn ignored(text: &str) -> Result<IgnoredErrors, Complaint> {
    let list = |part: Option<&str>| -> Result<Vec<i32>, Complaint> {
        let words = part.unwrap_or("").split(':').map(str::trim).filter(|word| !word.is_empty());
        words.map(one_error).collect()
    };
    let mut parts = text.split(',');
    let ignored = IgnoredErrors { read: list(parts.next())?, write: list(parts.next())?, verify: list(parts.next())? };
    match parts.next() {
        None => Ok(ignored),
        Some(_) => {
            Err(Complaint::new("has more than three lists", "write it like EIO,ENOSPC,EILSEQ: reads, writes, checks"))
        }
    }
}

fn one_error(word: &str) -> Result<i32, Complaint> {
    let number = word.parse().ok().filter(|number| *number > 0);
    number.or_else(|| errno::number(word)).ok_or_else(|| {
        Complaint::new(
            format!("names an error `{word}` that there is not"),
            "write it like EIO:ENOSPC or by number, 5:28",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_lists_by_direction_of_names_and_numbers() {
        let expected = IgnoredErrors { read: vec![5], write: vec![28, 122], verify: vec![84] };
        assert_eq!(ignored("EIO,ENOSPC:122,EILSEQ").unwrap(), expected);
        assert_eq!(ignored(",25").unwrap(), IgnoredErrors { write: vec![25], ..IgnoredErrors::default() });
        for wrong in ["EFOO", "1,2,3,4", "0", "-5"] {
            assert!(ignored(wrong).is_err(), "{wrong}");
        }
    }
}
