//! Faults that public reports found: each with the report that showed it, shortened.

use crate::damaged::report;
use formats::stream::{Event, Parser, Repeat, parse};
use formats::sweep::measurements;
use model::Measurement;
use model::reading::{Content, ReadJob, ReadRun, Reading};

fn rows(text: &str) -> Vec<Measurement> {
    parse(text.as_bytes()).0.iter().flat_map(|reading| measurements(reading, None)).collect()
}

fn damages(text: &str) -> Vec<String> {
    parse(text.as_bytes()).1.into_iter().map(|damage| format!("{}: {}", damage.line, damage.what)).collect()
}

fn runs(text: &str) -> Vec<ReadRun> {
    let run = |reading: Reading| if let Content::Run(run) = reading.found { Some(*run) } else { None };
    parse(text.as_bytes()).0.into_iter().filter_map(run).collect()
}

fn jobs(text: &str) -> Vec<ReadJob> {
    runs(text).into_iter().flat_map(|run| run.jobs).collect()
}

/// A line of version 3 with reads, writes and a disk.
fn terse() -> String {
    let percentiles = "1.000000%=12;".repeat(20);
    let direction = |bytes: &str| {
        format!(
            "{bytes};1000;250;1000;1;2;1.500000;0.500000;3;4;3.500000;0.500000;{percentiles}4;5;4.500000;0.500000;9;9;100.000000%;9.000000;0.000000;"
        )
    };
    let bins = "0.00%;".repeat(22);
    let tail =
        "1.500000%;2.500000%;7;0;3;100.0%;0.0%;0.0%;0.0%;0.0%;0.0%;0.0%;".to_owned() + bins.trim_end_matches(';');
    format!("3;fio-3.33;a;0;0;{}{}{tail};vda;1;2;3;4;5;6;7;0.50%\n", direction("1000"), direction("2000"))
}

#[test]
fn a_terse_line_is_whole_or_damaged_wherever_it_is_cut() {
    let whole = terse();
    assert_eq!((rows(&whole).len(), damages(&whole).len()), (2, 0));
    let tail = whole.find(";vda;").unwrap();
    for at in (0..whole.len() - 1).filter(|at| whole.is_char_boundary(*at)) {
        let (readings, damages) = parse(&whole.as_bytes()[..at]);
        if at < tail {
            assert!(readings.is_empty(), "cut at {at}: {readings:?}");
            // Nothing at all is found in the first letters.
            assert!(!damages.is_empty() || at <= "3;fio-".len(), "cut at {at}");
        } else {
            assert_eq!(readings.len() + damages.len(), 1, "cut at {at}");
        }
    }
    for (from, to) in [
        ("1.500000%;2.500000%", "263504;2.500000%"),
        (";100.0%;0.0%", ";100.0%;0.0"),
        ("3;fio-3.33;a;0;0;1000;", "3;fio-3.33;a;0;0;-5;"),
        (";7;0;3;", ";-7;0;3;"),
    ] {
        let text = whole.replacen(from, to, 1);
        assert_eq!((rows(&text).len(), damages(&text).len()), (0, 1), "{to}");
    }
    let second = whole.replacen("3;fio-3.33;a", "2;a", 1);
    let second = &second[..second.len() / 2];
    assert_eq!((rows(second).len(), damages(second).len()), (0, 1));
}

#[test]
fn a_job_that_could_not_be_started_is_a_row_with_its_error() {
    let start = "a: (g=0): rw=read, bs=4K-4K/4K-4K/4K-4K, ioengine=sync, iodepth=1\n\
                 b: (g=0): rw=randread, bs=4K-4K/4K-4K/4K-4K, ioengine=sync, iodepth=1\n\
                 fio-2.0.13\nStarting 2 processes\nb: Laying out IO file(s) (1 file(s) / 16MB)\n\
                 fio: pid=0, err=28/file:filesetup.c:240, func=write, error=No space left on device\n\n";
    let job = "a: (groupid=0, jobs=1): err= 0: pid=7: Fri Nov 20 10:28:55 2026\n  \
               read : io=4096.0KB, bw=4096.0KB/s, iops=1024 , runt=  1000msec\n\
                   lat (usec): min=1 , max=9 , avg= 2.00, stdev= 1.00\n     \
               issued    : total=r=1024/w=0/d=0, short=r=0/w=0/d=0\n\n";
    let groups = "Run status group 0 (all jobs):\n   \
                  READ: io=4096KB, aggrb=4096KB/s, minb=4096KB/s, maxb=4096KB/s, mint=1000msec, maxt=1000msec\n";
    let both = format!("{start}{job}{groups}");
    let found = rows(&both);
    assert_eq!(damages(&both), Vec::<String>::new());
    assert_eq!((found.len(), found[0].errno, found[1].errno), (2, None, Some(28.0)));
    assert_eq!((found[1].test.as_str(), found[1].iops), ("randread", None));
    // Its only job failed: fio prints the heading of the group, and nothing else.
    let alone =
        format!("{start}Run status group 0 (all jobs):\n").replace("Starting 2 processes", "Starting 1 process");
    let found = rows(&alone);
    assert_eq!((found.len(), found[0].errno, damages(&alone).len()), (1, Some(28.0), 0));
}

#[test]
fn a_killed_worker_is_marked_in_each_format() {
    let text = "a: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\n\
                fio-3.33\nStarting 2 processes\nfio: pid=43, got signal=9\n\n\
                a: (groupid=0, jobs=1): err= 0: pid=42: Fri Nov 27 07:47:01 2026\n  \
                read: IOPS=1024, BW=4096KiB/s (4194kB/s)(4096KiB/1000msec)\n\
                a: (groupid=0, jobs=1): err= 0: pid=43: Fri Nov 27 07:47:01 2026\n  \
                cpu          : usr=0.00%, sys=0.00%, ctx=0, majf=0, minf=0\n     \
                issued rwts: total=211626,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n\n\
                Run status group 0 (all jobs):\n   \
                READ: bw=4096KiB/s (4194kB/s), 4096KiB/s-4096KiB/s (4194kB/s-4194kB/s), io=4096KiB (4194kB), run=1000-1000msec\n";
    let signals = |text: &str| jobs(text).iter().map(|job| job.signal).collect::<Vec<_>>();
    assert_eq!((signals(text), rows(text).len()), (vec![None, Some(9.0)], 2));
    let job = |name: &str, user: &str| {
        format!(
            "{{\"jobname\": \"{name}\", \"error\": 0, \"usr_cpu\": {user}, \"sys_cpu\": {user}, \"ctx\": {user}, \"read\": {{\"io_bytes\": 4096, \"total_ios\": 1, \"iops\": 9.0}}}}"
        )
    };
    let json = |jobs: String| {
        format!("fio: pid=43, got signal=9\n{{\n\"fio version\": \"fio-3.33\", \"jobs\": [{jobs}]\n}}\n")
    };
    assert_eq!(signals(&json(job("a", "1.5") + "," + &job("b", "0.0"))), [None, Some(9.0)]);
    // Of which job it was cannot be seen: it is said.
    let unknown = json(job("a", "1.5") + "," + &job("b", "2.5"));
    assert_eq!(signals(&unknown), [None, None]);
    assert!(damages(&unknown)[0].contains("worker 43 was killed by signal 9"), "{:?}", damages(&unknown));
    let lines =
        format!("fio: pid=43, got signal=9\n{}", terse().replace("1.500000%;2.500000%;7", "0.000000%;0.000000%;0"));
    assert_eq!(signals(&lines), [Some(9.0)]);
}

#[test]
fn lines_of_two_reports_that_are_mixed_are_named() {
    let first = report();
    let second = first.replace("pid=", "pid=1").replace("test_for_sync", "other");
    let (start, block) = first.split_at(first.find("test_for_sync: (groupid").unwrap());
    let (block, groups) = block.split_at(block.find("Run status group").unwrap());
    let (other_start, other) = second.split_at(second.find("other: (groupid").unwrap());
    let (other, other_groups) = other.split_at(other.find("Run status group").unwrap());
    // Line by line.
    let mixed: String = block.lines().zip(other.lines()).flat_map(|(one, two)| [one, "\n", two, "\n"]).collect();
    let text = format!("{start}{mixed}{groups}");
    assert!(damages(&text).iter().any(|what| what.contains("lines of two reports are mixed")), "{:?}", damages(&text));
    // Block by block: the jobs are right, the groups are of none.
    let text = format!("{start}{block}{other}{groups}{other_groups}");
    assert!(damages(&text).iter().any(|what| what.contains("a second `Run status group`")), "{:?}", damages(&text));
    assert!(rows(&text).len() == 2 && runs(&text).iter().all(|run| run.groups.is_empty()));
    // The second one begins before the first one has its groups: each has its own.
    let text = format!("{start}{block}{other_start}{groups}{other}{other_groups}");
    let found = runs(&text);
    assert_eq!((found.len(), damages(&text).len()), (2, 0), "{:?}", damages(&text));
    assert!(found.iter().all(|run| run.jobs.len() == 1 && run.groups.len() == 1 && run.jobs[0].depth.is_some()));
    // Both are started before one has results.
    let text = format!("{start}{other_start}{block}{groups}{other}{other_groups}");
    let found = runs(&text);
    assert_eq!((found.len(), damages(&text).len()), (2, 0), "{:?}", damages(&text));
    assert!(found.iter().all(|run| run.jobs.len() == 1 && run.jobs[0].depth.is_some()));
}

#[test]
fn carriage_returns_alone_end_lines() {
    let text = report();
    assert!(parse(text.replace('\n', "\r").as_bytes()) == parse(text.as_bytes()));
    assert!(parse(text.trim_end().replace('\n', "\r").as_bytes()).0 == parse(text.as_bytes()).0);
}

#[test]
fn units_of_progress_block_sizes_and_nan_are_read() {
    let start = "a: (g=0): rw=randrw, bs=(R) 65.5kB-65.5kB, (W) 1.05MB-1.05MB, (T) 4096B-4096B, ioengine=psync, iodepth=1\n\
                 fio-3.33\nStarting 1 process\n\
                 Jobs: 1 (f=1): [m(1)][50.0%][r=186MiB/s,w=62.1MiB/s][r=47.6k,w=15.9k IOPS][eta 00m:05s]\n\
                 a: (groupid=0, jobs=1): err= 0: pid=42: Fri Nov 27 07:47:01 2026\n  \
                 read: IOPS=1024, BW=4096KiB/s (4194kB/s)(4096KiB/1000msec)\n    \
                 clat (usec): min=1, max=9, avg= nan, stdev=-nan\n";
    let found = runs(start);
    let (job, progress) = (&found[0].jobs[0], found[0].progress.clone().unwrap());
    assert_eq!(job.block_sizes[..2], [(65_500.0, 65_500.0), (1_050_000.0, 1_050_000.0)]);
    assert_eq!(
        (progress.bytes_per_second, progress.iops),
        (vec![186.0 * 1_048_576.0, 62.1 * 1_048_576.0], vec![47_600.0, 15_900.0])
    );
    let latency = job.directions[0].completion.as_ref().unwrap();
    assert_eq!((latency.min_ns, latency.max_ns, latency.mean_ns), (Some(1e3), Some(9e3), None));
    let said = damages(start);
    assert!(said.iter().any(|what| what.ends_with("the writes of the job `a` (randrw) are missing")), "{said:?}");
    assert!(!said.iter().any(|what| what.contains("damaged")), "{said:?}");
    let json = "{\n\"fio version\": \"fio-2.2\", \"jobs\": [{\"jobname\": \"a\", \"error\": 0, \"usr_cpu\": -nan,\n\
                \"read\": {\"io_bytes\": 4, \"total_ios\": 1, \"iops\": 9.0, \"bw_dev\": nan}}]\n}\n";
    assert_eq!((rows(json).len(), damages(json).len()), (1, 0), "{:?}", damages(json));
}

#[test]
fn a_sum_of_the_directions_is_of_the_same_run_in_each_format() {
    let direction = |name: &str, ios: u64| {
        format!(
            "\"{name}\": {{\"io_bytes\": {}, \"io_kbytes\": {}, \"total_ios\": {ios}, \"iops\": {ios}.0, \"runtime\": 1000}}",
            ios * 4096,
            ios * 4
        )
    };
    let json = format!(
        "{{\n\"fio version\": \"fio-3.33\", \"jobs\": [{{\"jobname\": \"a\", \"error\": 0, {}, {}, {}}}]\n}}\n",
        direction("read", 500),
        direction("write", 500),
        direction("mixed", 1000)
    );
    let text = "a: (groupid=0, jobs=1): err= 0: pid=42: Fri Nov 27 07:47:01 2026\n  \
                read: IOPS=500, BW=2000KiB/s (2048kB/s)(2000KiB/1000msec)\n  \
                write: IOPS=500, BW=2000KiB/s (2048kB/s)(2000KiB/1000msec); 0 zone resets\n  \
                mixed: IOPS=0, BW=0 (0)(0B/1000msec)\n     \
                issued rwts: total=500,500,0,0 short=0,0,0,0 dropped=0,0,0,0\n\n\
                Run status group 0 (all jobs):\n";
    assert_eq!(rows(&(json + text)).len(), 3);
    assert_eq!(rows(text)[2].iops, None, "fio prints 0");
}

#[test]
fn a_failed_run_in_several_formats_counts_once() {
    let json = "{\n\"fio version\": \"fio-3.33\", \"jobs\": [{\"jobname\": \"a\", \"error\": 28, \"read\": {\"io_bytes\": 0, \"total_ios\": 0}}]\n}\n";
    let line = terse()
        .replace("fio-3.33;a;0;0;1000;1000;250;1000", "fio-3.33;a;0;28;0;0;0;0")
        .replace("2000;1000;250;1000", "0;0;0;0");
    assert_eq!((rows(&line).len(), rows(json).len()), (1, 1));
    assert_eq!(rows(&(line.clone() + json)).len(), 1);
    assert_eq!(rows(&(line.clone() + &line)).len(), 2);
}

#[test]
fn a_terse_line_of_another_version_is_another_run() {
    let line = |version: &str, runtime: u32| {
        terse().replace("fio-3.33", version).replace(";1000;1;2;", &format!(";{runtime};1;2;"))
    };
    let repeats = |text: &str| {
        let mut found = Vec::new();
        let mut parser = Parser::new(|event| {
            if let Event::Repeated(repeated) = event {
                found.push(repeated.repeat);
            }
        });
        parser.feed(text.as_bytes());
        parser.finish();
        found
    };
    assert_eq!(repeats(&(line("fio-3.33", 1010) + &line("fio-3.33", 2010))), [Repeat::Interim]);
    assert_eq!(repeats(&(line("fio-2.0.13", 1010) + &line("fio-3.33", 2010))), []);
}

#[test]
fn documents_in_documents_and_lists_are_found() {
    let job = "{\"jobname\": \"a\", \"error\": 0, \"read\": {\"io_bytes\": 4096, \"io_kbytes\": 4, \"total_ios\": 1, \"iops\": 9.0}}";
    let json = format!("{{\"fio version\": \"fio-3.33\", \"jobs\": [{job}]}}");
    let text = format!("{{\n  \"x\": {{}},\n  \"stdout\": {}\n}}\n", serde_json::to_string(&report()).unwrap());
    let long: String = (0..2000).map(|at| format!("  \"fact_{at}\": \"value\",\n")).collect();
    for (what, text, count) in [
        ("an object", format!("{{\"result\": {json}}}\n"), 1),
        ("a list", format!("[{{\"fio\": {json}}}]\n"), 1),
        ("a list of two", format!("[{{\"fio\": {json}}}, {{\"fio\": {json}}}]\n"), 2),
        ("a list of lines", format!("[\n{json},\n{json}\n]\n"), 2),
        ("two on a line", format!("{json}{json}\n"), 2),
        ("behind many facts", format!("{{\n{long}  \"fio\": {json}\n}}\n"), 1),
        ("a single job", format!("{{\"uuid\": \"1\", \"fio\": {job}}}\n"), 1),
        ("a string", format!("{{\"stdout\": {}}}\n", serde_json::to_string(&json).unwrap()), 1),
        ("a text in a string", text, 1),
        ("another program's", "[{\"hello\": 1}]\n{\"a\": [1, 2]}\n".to_owned(), 0),
        ("behind words", format!("Result of the run{} {json}\n", ": ".repeat(200)), 1),
        ("a job file before it", format!("[global]\nrw=read\n[a]\n{json}\n"), 1),
    ] {
        assert_eq!((rows(&text).len(), damages(&text)), (count, Vec::new()), "{what}");
    }
    let cut = format!("[{{\"fio\": {json}}}, {{\"fio\": {}", &json[..json.len() / 2]);
    assert_eq!((rows(&cut).len(), damages(&cut).len()), (1, 1));
}
