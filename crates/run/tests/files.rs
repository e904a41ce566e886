//! Real I/O on files through `execute`.

mod support;

use job::plan::{Isolation, Mix};
use measure::Direction;
use support::{job, run_one};

#[test]
fn a_read_job_makes_its_file_and_reads_all_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = job("reader", "psync");
    job.files.directories = vec![directory.path().to_owned()];
    let result = run_one(job);
    assert_eq!((result.directions.read.bytes, result.directions.read.ios), (1 << 20, 256));
    let content = std::fs::read(directory.path().join("reader.0.0")).unwrap();
    assert_eq!(content.len(), 1 << 20);
    assert!(content.chunks(512).all(|sector| sector.iter().any(|&byte| byte != 0)));
}
