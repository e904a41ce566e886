//! Devices that hold data, met by every other command that could write to them: not a byte of them changes.

use super::devices::Device;
use super::guard::ext4;
use super::{Bench, Row, Shown, run_tool};

/// A command that would write to a device; `{device}` and `{record}` are its words' places.
pub(super) struct Case {
    pub(super) fault: &'static str,
    pub(super) words: &'static str,
    /// What it ends with; 0 where it only reads.
    pub(super) status: i32,
    pub(super) says: &'static str,
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { fault: "guard: iozone -f", words: "iozone -i 0 -i 1 -s 64 -r 4 -f {device}", status: 44, says: "ext4" },
    Case { fault: "guard: iozone -F", words: "iozone -i 0 -s 64 -r 4 -t 1 -F {device}", status: 44, says: "ext4" },
    Case { fault: "guard: survey, no consent", words: "survey --output r.json --tests write --users 1 --time 1 {device}", status: 1,
        says: "overwrite" },
    Case { fault: "guard: survey --overwrite", words: "survey --output r.json --tests write --users 1 --time 1 --overwrite x {device}", status: 1,
        says: "is not overwritten" },
    Case { fault: "guard: fio.sh -r", words: "fio.sh -f -s 1 -t readrand -u 1 -o results -r {device} -m 16", status: 0, says: "" },
    Case { fault: "guard: a record names it", words: "fio --name=a --read_iolog=record", status: 1, says: "ext4" },
    Case { fault: "guard: replay_redirect", words: "fio --name=a --read_iolog=other --replay_redirect={device}", status: 1, says: "ext4" },
    Case { fault: "guard: a report goes there", words: "report empty.json --output {device}", status: 1, says: "" },
    Case { fault: "guard: --result goes there", words: "fio --name=a --ioengine=null --size=4k --result={device}", status: 1, says: "exists and plumb did not make it" },
    Case { fault: "guard: a journal goes there", words: "fio --name=a --ioengine=sim --size=4k --sim_journal={device}", status: 1,
        says: "block device" },
    Case { fault: "guard: iozone -b goes there", words: "iozone -i 0 -s 64 -r 4 -f z -b {device}", status: 1, says: "block device" },
    Case { fault: "guard: iozone -t -b goes there", words: "iozone -i 0 -s 64 -r 4 -t 1 -b {device}", status: 1, says: "block device" },
    Case { fault: "guard: iozone --csv goes there", words: "iozone -i 0 -s 64 -r 4 -f z --csv={device}", status: 1, says: "block device" },
    Case { fault: "guard: a survey's result goes there", words: "survey --output {device} --size 16M --time 1 --tests randread --users 1 .",
        status: 1, says: "{device}" },
    Case { fault: "guard: parse goes there", words: "parse empty.json --output {device}", status: 1, says: "block device" },
    Case { fault: "guard: knee, no consent", words: "knee --output r.json --tests write --users 1 --time 1 {device}", status: 1,
        says: "overwrite" },
    Case { fault: "guard: knee --overwrite", words: "knee --output r.json --tests write --users 1 --time 1 --overwrite x {device}", status: 1,
        says: "is not overwritten" },
    Case { fault: "guard: knee --iozone", words: "knee --output r.json --iozone -i 0 -s 64 -r 4 -t 1 -F {device}", status: 44, says: "ext4" },
    Case { fault: "guard: versus", words: "versus --rounds 1 --rest 0 --b bs=8k -- --name=a --filename={device} --rw=write --size=1m", status: 3, says: "ext4" },
    Case { fault: "guard: model --run", words: "model --run {device} --size 16M --time 10ms", status: 0, says: "" },
    Case { fault: "guard: iozone --json goes there", words: "iozone -i 0 -s 64 -r 4 -f z --json={device}", status: 1, says: "exists and plumb did not make it" },
];

pub(crate) fn rows() -> Vec<Row> {
    let row = |case: &'static Case| {
        Row::new(case.fault, format!("an ext4, {}", case.words), move |bench| run(bench, case, None))
    };
    let mut rows: Vec<Row> = CASES.iter().map(row).collect();
    rows.push(over_a_file());
    rows.push(Row::new("guard: a loop device is made on it", "losetup over the device", |bench| {
        let device = Device::over(bench, 16 << 20, |_| Ok(()))?;
        let upper = run_tool("losetup", &["--find", "--show", &device.name()])?;
        let before = device.hash()?;
        let ran = bench.run(bench.fio(&format!("--name=a --filename={} --rw=write --size=1m", device.name())));
        run_tool("losetup", &["--detach", &upper])?;
        let mut shown = ran?.expect(1, &["is built on it"])?;
        unchanged(&device, &before)?;
        shown.kept = "not a byte changed (sha256)".into();
        Ok(shown)
    }));
    rows
}

/// Commands that are asked to put a result where a file of another user is.
const OVER: &[&str] = &[
    "parse given.csv --format csv --output thesis",
    "parse given.csv --format parquet --output thesis",
    "report given.csv --output thesis.html",
    "plot given.csv --output thesis.svg",
    "iozone -i 0 -s 64 -r 4 -f z --csv=thesis",
    "iozone -i 0 -s 64 -r 4 -f z --json=thesis",
    "iozone -i 0 -s 64 -r 4 -t 1 --csv=thesis",
    "fio --name=a --ioengine=null --size=4k --result=thesis",
    "survey --output thesis --size 16M --time 1 --warm-up 0 --tests randread --users 1 --buffered data",
];

fn over_a_file() -> Row {
    Row::new("guard: a file of another user", "results of every command go there", |bench| {
        let failed = |error: std::io::Error| error.to_string();
        std::fs::create_dir(bench.file("data")).map_err(failed)?;
        std::fs::write(bench.file("given.csv"), super::personalities::GIVEN).map_err(failed)?;
        let mut shown = None;
        for words in OVER {
            for name in ["thesis", "thesis.html", "thesis.svg"] {
                std::fs::write(bench.file(name), "years of work\n").map_err(failed)?;
            }
            let ended = bench.plumb(words).end();
            let message = &ended.stderr;
            let whole = |name: &str| std::fs::read(bench.file(name)).is_ok_and(|text| text == b"years of work\n");
            if !["thesis", "thesis.html", "thesis.svg"].into_iter().all(whole) {
                return Err(format!("the file is gone: {ended}"));
            }
            if ended.status != Some(1) || !message.contains("thesis") {
                return Err(ended.to_string());
            }
            shown = shown.or_else(|| message.lines().next().map(str::to_owned));
        }
        let kept = format!("the file, under {} commands", OVER.len());
        Ok(Shown { did: shown.unwrap_or_default(), status: "1".into(), kept })
    })
}

fn unchanged(device: &Device, before: &str) -> Result<(), String> {
    if device.hash()? == before { Ok(()) } else { Err("bytes of the device have changed".into()) }
}

/// Carries a case out next to a device that holds a file system; a link of the name `link` leads to it.
pub(super) fn run(bench: &Bench, case: &Case, link: Option<&str>) -> Result<Shown, String> {
    let device = Device::over(bench, 16 << 20, ext4)?;
    if let Some(link) = link {
        std::os::unix::fs::symlink(&device.path, bench.file(link)).map_err(|error| error.to_string())?;
    }
    let before = device.hash()?;
    let record =
        |file: &str| format!("fio version 2 iolog\n{file} add\n{file} open\n{file} write 0 4096\n{file} close\n");
    for (name, text) in [("record", record(&device.name())), ("other", record("x")), ("empty.json", "{}".to_owned())] {
        bench.write(name, text)?;
    }
    let ended = bench.plumb(&case.words.replace("{device}", &device.name())).end();
    let message = format!("{}{}", ended.stderr, ended.stdout);
    unchanged(&device, &before).map_err(|why| format!("{why}: {message}"))?;
    let says = case.says.replace("{device}", &device.name());
    if ended.status != Some(case.status) || !message.contains(&says) || message.contains("panicked") {
        return Err(ended.to_string());
    }
    let line = message.lines().find(|line| !case.says.is_empty() && line.contains(&says)).unwrap_or("it was only read");
    Ok(Shown { did: line.to_owned(), status: case.status.to_string(), kept: "not a byte changed (sha256)".into() })
}
