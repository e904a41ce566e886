//! An axis of a sweep: a fio option and its values.

use crate::error::SurveyError;
use crate::parse_values;
use fio::untrusted;

/// An option and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// `bs`, `users`, `size`, or the name of a job option.
    pub name: String,
    /// Values in the order in which they are measured.
    pub values: Vec<String>,
}

/// Options (by main name) that the survey itself controls; set otherwise, a test would differ from its row.
const OURS: &[&str] = &[
    "allow_file_create",
    "allow_mounted_write",
    "create_only",
    "description",
    "directory",
    "exec_postrun",
    "exec_prerun",
    "exitall",
    "file_service_type",
    "filename",
    "filename_format",
    "filesize",
    "fill_device",
    "group_reporting",
    "io_size",
    "loops",
    "name",
    "new_group",
    "nrfiles",
    "number_ios",
    "offset",
    "offset_increment",
    "opendir",
    "ramp_size",
    "ramp_time",
    "read_iolog",
    "replay_redirect",
    "runtime",
    "rw",
    "startdelay",
    "stonewall",
    "thread",
    "time_based",
    "trim_percentage",
    "unlink",
    "wait_for",
    "write_iolog",
];

impl Axis {
    /// Parses an axis, for example `iodepth=1,2,4..64`.
    ///
    /// # Errors
    /// The text is invalid; the message says how, and gives a valid example.
    pub fn parse(text: &str) -> Result<Axis, SurveyError> {
        let (name, values) = text.split_once('=').ok_or_else(|| {
            SurveyError(format!("`{text}` names no values; write it like bs=512..16m or iodepth=1,2,4..64"))
        })?;
        Axis::new(name, values)
    }

    /// Creates an axis from an option name and a list of values.
    ///
    /// # Errors
    /// The name or a value is invalid; the message gives a valid example.
    pub fn new(name: &str, values: &str) -> Result<Axis, SurveyError> {
        let name = match name.trim().to_ascii_lowercase().as_str() {
            "bs" | "blocksize" => "bs".to_owned(),
            "users" | "numjobs" => "users".to_owned(),
            other => other.to_owned(),
        };
        may_be_named(&name)?;
        let values = match name.as_str() {
            "bs" => spelled(parse_values::block_sizes(values)?),
            "users" => spelled(parse_values::user_counts(values)?),
            "size" => {
                let sizes: Result<Vec<u64>, SurveyError> =
                    parse_values::values(values)?.iter().map(|value| parse_values::size(value)).collect();
                sizes?.into_iter().map(parse_values::short_size).collect()
            }
            _ => parse_values::values(values)?,
        };
        values.iter().try_for_each(|value| may_be_set(&name, value))?;
        Ok(Axis { name, values })
    }
}

/// Checks that a survey may set this option to this value.
///
/// # Errors
/// The option is controlled by the survey, unknown, or has an invalid value; the message gives the alternative.
pub(crate) fn may_be_set(name: &str, value: &str) -> Result<(), SurveyError> {
    may_be_named(name)?;
    match untrusted::outside_effect(name, value) {
        Some(how) => Err(SurveyError(format!(
            "`{name}={value}` cannot be swept: it {how}, and a survey touches nothing but its target; leave it out, or \
             give it to plumb fio"
        ))),
        None => Ok(()),
    }
}

fn may_be_named(name: &str) -> Result<(), SurveyError> {
    if name.is_empty() || !name.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"_-".contains(&letter)) {
        return Err(SurveyError(format!("`{name}` is not an option; write it like bs=512..16m or iodepth=1,2,4..64")));
    }
    let main = untrusted::main_name(name);
    if OURS.contains(&main) || main.ends_with("_log") || main.starts_with("verify") {
        return Err(SurveyError(format!(
            "`{name}` cannot be swept: the survey sets it itself; any other option that plumb fio --cmdhelp=all \
             lists can, and so can bs, users and size"
        )));
    }
    Ok(())
}

fn spelled(numbers: Vec<u32>) -> Vec<String> {
    numbers.into_iter().map(|number| parse_values::short_size(u64::from(number))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_a_name_and_its_values() {
        let axis = Axis::parse("bs=512..2k").unwrap();
        assert_eq!((axis.name.as_str(), axis.values.as_slice()), ("bs", &["512".into(), "1k".into(), "2k".into()][..]));
        assert_eq!(Axis::parse("NumJobs=1,2").unwrap().name, "users");
        assert_eq!(Axis::parse("size=16M..64M").unwrap().values, ["16M", "32M", "64M"]);
        assert_eq!(Axis::parse("random_distribution=zipf:1.2").unwrap().values, ["zipf:1.2"]);
    }

    #[test]
    fn what_the_survey_sets_itself_is_not_an_axis() {
        for text in ["rw=write", "filename=/dev/sda", "runtime=1", "bw_log=x", "bs", "=1", "a b=1", "bs=x", "users=0"] {
            assert!(Axis::parse(text).is_err(), "{text}");
        }
        for name in OURS {
            assert_eq!(untrusted::main_name(name), *name, "an alias would be looked for in vain");
        }
        for alias in ["wait_for_previous=1", "fill_fs=1", "readwrite=write"] {
            assert!(Axis::parse(alias).unwrap_err().to_string().contains("sets it itself"), "{alias}");
        }
    }

    #[test]
    fn what_reaches_beyond_the_target_is_not_an_axis() {
        for (text, says) in [
            ("iomem=mmapshared:userfile", "names files"),
            ("mem=malloc,mmap:userfile", "names files"),
            ("sim_journal=userfile", "names files"),
            ("merge_blktrace_file=userfile", "names files"),
            ("donorname=userfile", "names files"),
            ("program=/bin/true", "runs a command"),
            ("cgroup=a,b", "changes the machine"),
            ("cgroup_weight=100,200", "changes the machine"),
            ("ioscheduler=none", "changes the machine"),
            ("uid=0", "who does the I/O"),
            ("write_consent=16777216", "the guard of devices"),
            ("unlink_each_loop=1", "removes files"),
        ] {
            let printed = Axis::parse(text).unwrap_err().to_string();
            let name = text.split('=').next().unwrap();
            assert!(printed.contains(says) && printed.contains(name), "{text}: {printed}");
        }
        for text in ["iomem=malloc,mmap", "ioengine=psync,libaio", "cpus_allowed=0,1", "nice=1,2"] {
            assert!(Axis::parse(text).is_ok(), "{text}");
        }
    }
}
