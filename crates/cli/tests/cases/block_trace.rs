//! Parts of `plumb why` against the kernel's own block trace, which blktrace reads: of each request the time from D
//! (given to the driver) to C (complete).

use crate::context::{PLUMB, place, plumb};
use formats::columnar::{Cells, TableReader};
use house::{Cases, LoopDevice, Run};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Reads of the job, each of another block.
const READS: usize = 400;
/// Difference of a request that both saw: each writes its record in its own turn.
const MOST_NS: i64 = 1_000;
/// Percentage of requests within it. An interrupt may come between the two records.
const WITHIN_PERCENT: usize = 98;

pub(super) fn groups() -> Vec<Cases> {
    let test = || device_part().map_err(|error| error.to_string());
    vec![Cases::new("block_trace", 1).case("its_times_from_d_to_c_are_the_device_part", test)]
}

/// The kernel's block trace of a device, printed by tracefs: debugfs, from which blktrace reads it, is closed in
/// containers and on locked machines. It is the only user of this buffer.
struct BlockTrace {
    mount: tempfile::TempDir,
    device: PathBuf,
}

impl BlockTrace {
    fn of(name: &str) -> io::Result<Self> {
        let mount = tempfile::tempdir()?;
        Run::new("mount", mount.path()).words("-t tracefs tracefs").words([mount.path()]).succeeds();
        let trace = BlockTrace { mount, device: Path::new("/sys/block").join(name).join("trace") };
        for (file, value) in
            [("current_tracer", "blk"), ("trace_options", "blk_classic"), ("buffer_size_kb", "1024"), ("trace", "")]
        {
            fs::write(trace.mount.path().join(file), value)?;
        }
        fs::write(trace.device.join("enable"), "1")?;
        Ok(trace)
    }

    /// Time from D to C of the requests, by their first sector.
    fn times(&self) -> io::Result<HashMap<i64, i64>> {
        let text = fs::read_to_string(self.mount.path().join("trace"))?;
        let (mut given, mut times) = (HashMap::new(), HashMap::new());
        for line in text.lines() {
            // `7,0    0   674.077126616 30510  D  RS 122176 + 8 [plumb]`
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, _, time, _, action, _, sector, "+", ..] = words[..] else { continue };
            let time = time.split_once('.').and_then(|(seconds, rest)| {
                Some(seconds.parse::<i64>().ok()? * 1_000_000_000 + rest.parse::<i64>().ok()?)
            });
            let (Some(time), Ok(sector)) = (time, sector.parse::<i64>()) else { continue };
            match (action, given.get(&sector)) {
                ("D", _) => drop(given.insert(sector, time)),
                ("C", Some(begun)) => drop(times.insert(sector, time - begun)),
                _ => {}
            }
        }
        Ok(times)
    }
}

impl Drop for BlockTrace {
    fn drop(&mut self) {
        let _ = fs::write(self.device.join("enable"), "0");
        // The option is the tracer's, and hides moment and processor of all lines as long as it is on.
        for (file, value) in [("trace_options", "noblk_classic"), ("current_tracer", "nop")] {
            let _ = fs::write(self.mount.path().join(file), value);
        }
        Run::new("umount", "/").words([self.mount.path()]).end();
    }
}

/// First sector, time in the device and time of the I/Os of a recording, whose parts sum to their time.
fn recorded(path: &Path) -> Result<Vec<(i64, i64)>, Box<dyn std::error::Error>> {
    let table = TableReader::open(File::open(path)?, "plumb_why")?.ok_or("no recording")?;
    let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    let mut found = Vec::new();
    for group in 0..table.groups() {
        let cells = table.group(group)?;
        let whole = |name: &str| match names.iter().position(|column| *column == name).map(|at| &cells[at]) {
            Some(Cells::Whole(values)) => values.iter().map(|value| value.unwrap_or_default()).collect::<Vec<i64>>(),
            _ => panic!("no {name} among {names:?}"),
        };
        let (times, offsets, bytes) = (whole("time_ns"), whole("offset_bytes"), whole("bytes"));
        let parts: Vec<Vec<i64>> = names[names.iter().position(|name| *name == "cache_ns").unwrap()..]
            .iter()
            .map(|name| whole(name))
            .collect();
        let devices = whole("device_ns");
        for at in 0..times.len() {
            assert_eq!(parts.iter().map(|part| part[at]).sum::<i64>(), times[at], "I/O {at}: parts and time");
            if devices[at] > 0 && bytes[at] == 4096 {
                found.push((offsets[at] / 512, devices[at]));
            }
        }
    }
    Ok(found)
}

fn device_part() -> Result<(), Box<dyn std::error::Error>> {
    let place = place();
    let device = LoopDevice::direct(place.path(), 16 << 20)?;
    let name = device.path().file_name().unwrap().to_str().unwrap().to_owned();
    let trace = BlockTrace::of(&name)?;
    let job = format!("{PLUMB} fio --name=a --ioengine=psync --rw=randread --bs=4k --direct=1 --number_ios={READS}");
    let words = format!("why --record r.parquet -- {job} --filename={}", device.path().display());
    plumb(&place, words).succeeds();
    let times = trace.times()?;
    let differences: Vec<i64> = recorded(&place.path().join("r.parquet"))?
        .iter()
        .filter_map(|(sector, device)| Some((device - times.get(sector)?).abs()))
        .collect();
    let within = differences.iter().filter(|difference| **difference <= MOST_NS).count();
    let most = differences.iter().max();
    println!("{within} of {} requests within {MOST_NS} ns; the farthest is {most:?} ns off", differences.len());
    if within * 100 >= READS * WITHIN_PERCENT {
        Ok(())
    } else {
        Err(format!("{within} of {READS} requests: {differences:?}").into())
    }
}
