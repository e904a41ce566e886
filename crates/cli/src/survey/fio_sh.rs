//! `plumb fio.sh`: fio.sh's options, workload and files (a job file and fio's text for each run).

use super::{SurveyOrder, conduct, outline, table};
use crate::failure::Failure;
use crate::output::{Output, print_error};
use formats::fio::text as fio_text;
use formats::{View, printable};
use session::keep::KeepPolicy;
use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Read};
use std::path::Path;
use survey::{FinishedTest, FioShOptions, SurveyTest, TestKind, short_size};

/// Examples, below the usage.
pub(crate) const EXAMPLES: &str = "\
Examples:
  plumb fio.sh -w /data -t readrand -s 10 -m 1000 -f
  plumb fio.sh -w /data -o results -f && plumb parse results/*.out
";

/// Runs the command line of fio.sh, given without the program's name.
pub(crate) fn run(words: &[OsString]) -> Result<u8, Failure> {
    let (options, overwrite) = read(words)?;
    let mut out = Output::stdout();
    if options.help {
        return out.write(&format!("{}\n{EXAMPLES}", survey::fio_sh_usage())).map(|()| 0);
    }
    for remark in &options.remarks {
        print_error(&format!("plumb: {remark}"));
    }
    let FioShOptions { mut request, force, recreate, .. } = options;
    request.overwrite = overwrite;
    let on_devices = request.size.is_none() || request.targets.iter().all(|path| path.starts_with("/dev"));
    if let Some(missing) = request.targets.iter().find(|path| !on_devices && !path.is_dir()) {
        return Err(Failure::at(missing, "is not a directory; create it, or name another one with -w"));
    }
    if !force {
        out.write(&printable::lines(&outline(request.clone())?))?;
        if !agreed(&mut out)? {
            return Err(Failure::new("nothing was done; -f asks no questions"));
        }
    }
    let directory = request.output_dir.clone().unwrap_or_default();
    let order = SurveyOrder { recreate, output: None, keeping: KeepPolicy::Asked, ..SurveyOrder::new(request) };
    let mut rows: Vec<FinishedTest> = Vec::new();
    let status = conduct(order, &mut |row, plan, words| {
        write_run(&directory, row, plan, words)?;
        rows.push(row.clone());
        Ok(())
    });
    if !rows.is_empty() {
        write_text(&directory.join("fio_summary.out"), &table::render(&rows, None))?;
    }
    status
}

/// Splits the words into fio.sh's options and `--overwrite` consents, for which fio.sh has no option.
fn read(words: &[OsString]) -> Result<(FioShOptions, Vec<String>), Failure> {
    let words = crate::input::words(words)?;
    let (overwrite, letters): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| word.starts_with(OVERWRITE));
    let overwrite = overwrite.iter().map(|word| word[OVERWRITE.len()..].to_owned()).collect();
    Ok((FioShOptions::parse(&letters)?, overwrite))
}

const OVERWRITE: &str = "--overwrite=";

/// Maximum number of bytes read as an answer.
const LONGEST_ANSWER: u64 = 1024;

fn agreed(out: &mut Output) -> Result<bool, Failure> {
    out.write("\nproceed? [y/N] ")?;
    let mut answer = String::new();
    // A line without end, such as from /dev/zero, counts as "no".
    let read = std::io::stdin().lock().take(LONGEST_ANSWER).read_line(&mut answer);
    if !std::io::stdin().is_terminal() {
        out.write("\n")?;
    }
    Ok(read.is_ok() && ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}

/// File name of a run without extension: `readrand_u08_kb0008`.
fn stem(test: &SurveyTest) -> String {
    let users = test.users;
    match test.kind {
        TestKind::Mixed => format!("randrw_u{users:02}"),
        TestKind::RandomRead => format!("readrand_u{users:02}_kb{:04}", test.block >> 10),
        kind => format!("{}_u{users:02}_kb{:04}", kind.word(), test.block >> 10),
    }
}

/// Writes a job file that runs with any fio, and the result as fio would print it.
fn write_run(
    directory: &Path,
    row: &FinishedTest,
    plan: &plan::Plan,
    words: &[(String, String)],
) -> Result<(), Failure> {
    let stem = stem(&row.test);
    write_text(&directory.join(format!("{stem}.job")), &job_file(&row.test, plan, words))?;
    let view = View::in_zone(jiff::tz::TimeZone::system());
    let text = format!("{}{}\n{}", fio_text::job_lines(plan), fio::VERSION, fio_text::write(&row.result, &view));
    write_text(&directory.join(format!("{stem}.out")), &text)
}

fn job_file(test: &SurveyTest, plan: &plan::Plan, words: &[(String, String)]) -> String {
    let size = short_size(u64::from(test.block));
    let mut text = format!("; {size} {}, users: {}\n", test.kind.title(), test.users);
    for (index, job) in plan.jobs.iter().enumerate() {
        let names: Vec<String> =
            job.files.names.iter().map(|path| path.display().to_string().replace(':', "\\:")).collect();
        text.push_str(&format!("[job{}]\nfilename={}\n", index + 1, names.join(":")));
        words.iter().for_each(|(name, value)| text.push_str(&format!("{name}={value}\n")));
    }
    text
}

fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    Output::made(path)?.write(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_the_names_that_fio_sh_gives_them() {
        let test = SurveyTest::at;
        for (test, name) in [
            (test(TestKind::RandomRead, 8 << 10, 8), "readrand_u08_kb0008"),
            (test(TestKind::SequentialRead, 1 << 20, 64), "read_u64_kb1024"),
            (test(TestKind::LogWrite, 1 << 10, 1), "write_u01_kb0001"),
            (test(TestKind::Mixed, 8 << 10, 16), "randrw_u16"),
        ] {
            assert_eq!(stem(&test), name);
        }
    }
}
