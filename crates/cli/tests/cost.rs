//! Costs of whole runs of the program, as the kernel counted them.

use crate::context::PLUMB;
use house::{Run, Tmpfs};

/// Seconds of CPU time and MiB of memory of one run of the program.
pub(crate) fn cost(words: &[&str]) -> (f64, f64) {
    let counted = "import resource,subprocess,sys\n\
        status=subprocess.call(sys.argv[1:],stdout=subprocess.DEVNULL)\n\
        used=resource.getrusage(resource.RUSAGE_CHILDREN)\n\
        print(used.ru_utime+used.ru_stime,used.ru_maxrss/1024)\n\
        sys.exit(status)";
    let said = Run::new("python3", &std::env::temp_dir()).words(["-c", counted, PLUMB]).words(words).stdout();
    let mut numbers = said.split_whitespace().map(|number| number.parse::<f64>().expect("a number"));
    (numbers.next().expect("seconds"), numbers.next().expect("memory"))
}

/// CPU time to lay out and read this number of files of one block.
fn of_files(files: u32) -> f64 {
    let disk = Tmpfs::new(256 << 20).expect("a file system in memory");
    let (count, size) = (format!("--nrfiles={files}"), format!("--size={}k", 4 * files));
    let (place, output) = (format!("--directory={}", disk.path().display()), disk.path().join("output"));
    let output = format!("--output={}", output.display());
    cost(&["fio", "--name=many", "--rw=randread", "--bs=4k", "--openfiles=100", &count, &size, &place, &output]).0
}

/// At most twice as much per file: what grows with the square of their number would take six times as much.
#[test]
fn a_file_among_many_costs_what_it_costs_among_few() {
    let tries: Vec<(f64, f64)> = (0..3).map(|_| (of_files(4_000), of_files(24_000))).collect();
    assert!(tries.iter().any(|(few, many)| *many < 12.0 * few), "seconds with 4,000 and 24,000 files: {tries:?}");
}
