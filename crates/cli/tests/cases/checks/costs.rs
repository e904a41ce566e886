//! `plumb check` over reports whose rates do not follow from their counts, and `plumb model` over its own sweeps.

use super::fio;
use super::setups::Rig;
use crate::context::{self, place, plumb};

pub(super) fn a_printed_rate_is_checked_against_its_counts_in_all_forms() {
    let place = place();
    let sim = |format: &str| {
        let words = "--name=a --ioengine=sim --rw=randread --bs=4k --size=64m --iodepth=4";
        context::fio(&place, words).words([format!("--output-format={format}")]).end().stdout
    };
    let table = include_str!("sweeps/data_colorado.csv").lines().take(2).map(|line| format!("{line}\n"));
    let table: String = table.collect();
    let iops = sim("json").lines().find(|line| line.contains("\"iops\" : ")).expect("a rate").to_owned();
    for (report, from, to, broken) in [
        (sim("normal"), "BW=", "BW=9".to_owned(), "io = bw × runtime"),
        (sim("normal"), "IOPS=", "IOPS=5".to_owned(), "= iops × "),
        (sim("json"), iops.as_str(), "\"iops\" : 12.5,".to_owned(), "= iops × "),
        (table, "1.163,", "2.326,".to_owned(), "io = iops × bs × runtime"),
    ] {
        assert!(report.contains(from), "{report}");
        place.write("report", &report);
        let clean = plumb(&place, "check --strict report").end();
        assert!(!clean.stdout.contains("contradiction"), "{clean}");
        place.write("report", report.replacen(from, &to, 1));
        let message = plumb(&place, "check --strict report").exits(4).stdout;
        let line =
            message.lines().find(|line| line.contains(": contradiction: ")).unwrap_or_else(|| panic!("{message}"));
        assert!(line.contains(broken) && line.ends_with("[NOT A STORAGE RESULT]"), "{line}");
        plumb(&place, "explain report").end().prints("BROKEN");
        if report.starts_with('{') {
            let run = plumb(&place, "report -o page.html report").end();
            assert!(place.read("page.html").contains("the printed numbers are not of one run"), "{run}");
        }
    }
}

pub(super) fn a_block_size_sweep_of_a_device_is_fitted_with_its_errors() {
    let rig = Rig::new();
    let place = place();
    let words = format!("model --size 64M --time 30ms --run {} --output costs", rig.device());
    // Where other programs take the processors, the device is not faster than the cache, and a mixture of both has no
    // fit.
    let sweep = || {
        let message = plumb(&place, &words).exits(0).stdout;
        (message, plumb(&place, "model costs/mixture.json").end().stdout)
    };
    let fits = |(_, mixture): &(String, String)| mixture.contains("from cold to cached");
    let mut sweeps = std::iter::repeat_with(sweep).take(3);
    let (message, mixture_again) = sweeps.find(fits).expect("one of three sweeps has a mixture");
    println!("{message}");
    let part = |title: &str| -> Vec<String> {
        let lines = message.lines().skip_while(|line| !line.starts_with(title));
        lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let rows = |part: &[String]| {
        let is_row = |line: &&String| line.split_whitespace().next().is_some_and(|word| word.parse::<u64>().is_ok());
        part.iter().filter(is_row).count()
    };
    let (device, memory, mixture, users) =
        (part("Device:"), part("Memory:"), part("From cold to cached:"), part("Users:"));
    // 512 bytes to 16 MiB.
    assert_eq!([&device, &memory, &users].map(|part| rows(part)), [16, 16, 7], "{message}");
    // A run of 30 ms may end before it reads the file a second time; on a busy machine most do, and are left out.
    assert!((1..=16).contains(&rows(&mixture)), "{message}");
    for (part, words) in [
        (&device, ["access time", "transfer rate", "requests up to", "mean error"]),
        (&memory, ["system call", "copy rate", "±", "mean error"]),
        (&mixture, ["device rate", "copy rate", "cached from", "mean error"]),
        (&users, ["contention", "coherency", "peak", "mean error"]),
    ] {
        words.iter().for_each(|word| assert!(part.iter().any(|line| line.contains(word)), "{word}: {message}"));
    }
    // What was kept fits to the same numbers.
    let again = plumb(&place, "model costs/device.json").exits(0).stdout;
    let access = |text: &str| text.lines().find(|line| line.contains("access time")).map(str::to_owned);
    assert_eq!(access(&again), access(&message), "{again}");
    assert!(mixture_again.contains("cached from"), "{mixture_again}");
}

pub(super) fn what_jobs_and_device_say_of_the_same_stands_side_by_side() {
    let rig = Rig::new();
    let place = place();
    let words = "--name=a --rw=randread --bs=16k --direct=1 --ioengine=libaio --iodepth=4 --size=64m --loops=4";
    let run = fio(&format!("{words} --filename={}", rig.device())).words("--output-format=json-full");
    place.write("run.json", run.end().stdout);
    let message = plumb(&place, "explain run.json").end().stdout;
    let row = |column: &str| -> (f64, f64) {
        let line =
            message.lines().find(|line| line.ends_with(&format!("  {column}"))).unwrap_or_else(|| panic!("{message}"));
        let words: Vec<&str> = line.split_whitespace().rev().skip(1).collect();
        let number = |at: usize| words[at].replace(',', "").parse().expect("a number");
        (number(1), number(0))
    };
    assert_eq!(row("rareq-sz"), (16.0, 16.0), "{message}");
    let (jobs, device) = row("r/s");
    // The device is watched a little longer than the jobs run.
    assert!(device <= jobs * 1.01 && device > jobs * 0.5, "{message}");
}

pub(super) fn a_sweep_that_cannot_be_measured_names_why() {
    let place = place();
    for (words, why) in [
        ("model --run /nowhere", "/nowhere"),
        ("model --run /dev/null", "/dev/null"),
        ("model --run . --time soon", "500ms"),
        ("model --run . a.json", "--run"),
        ("model --strict a.json", "--run"),
        ("model", "FILES"),
    ] {
        plumb(&place, words).fails().complains(why);
    }
    place.write("empty", fio("--name=a --ioengine=null --rw=read --size=1m").end().stdout);
    plumb(&place, "model empty").fails().complains("no model can be fitted");
}
