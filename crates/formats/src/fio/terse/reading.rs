//! Terse lines of versions 2 to 5 → the values that each line contains, nothing inferred.

use super::read::{
    ADDED_SAMPLES, AFTER_PERCENTILES, BEFORE_PERCENTILES, blocks, fields_of, first_percentile, percentile,
};
use super::{PERCENTILE_PLACES, UNUSED_PLACE};
use crate::read_number::{percent, whole};
use fio::TerseVersion;
use measure::Direction;
use model::LatencyBins;
use model::reading::{
    Found, LatencyShare, ReadDirection, ReadDisk, ReadJob, ReadKind, ReadLatency, ReadRun, ReadSamples, Reading,
};

/// Fields per disk.
const DISK: usize = super::DISK_FIELDS;

/// Reads a line; `None` if it is not a job line, a message if it is damaged.
pub(crate) fn reading(line: u64, text: &str) -> Option<Result<Reading, String>> {
    let Some((version, fields)) = fields_of(text) else {
        let looks = text.split(';').nth(1).is_some_and(|field| field.starts_with("fio-"));
        return looks.then(|| Err("a terse line that ends within its first direction".to_owned()));
    };
    Some(read_line(line, version, &fields))
}

/// Adds the description, which version 2 prints on the following line; returns false if this job cannot have one.
pub(crate) fn describe(reading: &mut Reading, text: &str) -> bool {
    let Found::Run(run) = &mut reading.found else {
        return false;
    };
    match run.jobs.first_mut() {
        Some(job) if run.version.is_none() && job.description.is_none() => {
            job.description = Some(text.to_owned());
            true
        }
        _ => false,
    }
}

fn read_line(line: u64, version: TerseVersion, fields: &[&str]) -> Result<Reading, String> {
    let head = usize::from(version > TerseVersion::V2);
    let start = first_percentile(fields).and_then(|at| at.checked_sub(BEFORE_PERCENTILES)).unwrap_or_default();
    let name = start.checked_sub(2).and_then(|end| fields.get(head..end)).filter(|name| !name.is_empty());
    let name = name.ok_or("a terse line without name, group and error")?.join(";");
    let (directions, tail) = match blocks(version, &fields[start..]) {
        Ok(blocks) => (blocks.directions, blocks.tail),
        // With unified_rw_reporting there is a single direction block.
        Err(what) => single(version, &fields[start..]).ok_or(what)?,
    };
    let mixed = directions.len() == 1;
    let mut job = ReadJob {
        line,
        name: Some(name),
        group: whole(fields[start - 2]),
        errno: whole(fields[start - 1]),
        ..ReadJob::default()
    };
    for (block, direction) in directions.iter().zip(Direction::ALL) {
        let kind = match direction {
            _ if mixed => ReadKind::Mixed,
            Direction::Read => ReadKind::Read,
            Direction::Write => ReadKind::Write,
            Direction::Trim => ReadKind::Trim,
        };
        job.directions.extend(read_direction(block, kind));
    }
    let mut run = ReadRun::default();
    if head == 1 {
        run.version = fields.first().map(|version| (*version).to_owned());
    }
    read_tail(tail, &mut job, &mut run);
    run.jobs.push(job);
    Ok(Reading { format: "fio-terse", line, found: Found::Run(Box::new(run)) })
}

fn single<'line>(
    version: TerseVersion,
    fields: &'line [&'line str],
) -> Option<(Vec<&'line [&'line str]>, &'line [&'line str])> {
    let added = if version == TerseVersion::V5 { ADDED_SAMPLES } else { 0 };
    let (block, tail) = fields.split_at_checked(BEFORE_PERCENTILES + PERCENTILE_PLACES + AFTER_PERCENTILES + added)?;
    (tail.len() >= super::TAIL_FIELDS && percentile(tail.get(BEFORE_PERCENTILES)?).is_none())
        .then(|| (vec![block], tail))
}

/// `None` for a direction without I/O.
fn read_direction(block: &[&str], kind: ReadKind) -> Option<ReadDirection> {
    let number = |at: usize| block.get(at).and_then(|field| whole(field));
    let moved = number(0).unwrap_or(0.0) > 0.0 || number(2).unwrap_or(0.0) > 0.0 || number(3).unwrap_or(0.0) > 0.0;
    if !moved {
        return None;
    }
    let latency = |at: usize| -> Option<ReadLatency> {
        let value = |at: usize| number(at).map(|us| us * 1e3);
        let found = ReadLatency {
            min_ns: value(at),
            max_ns: value(at + 1),
            mean_ns: value(at + 2),
            deviation_ns: value(at + 3),
            ..ReadLatency::default()
        };
        (found.max_ns.unwrap_or(0.0) > 0.0 || found.mean_ns.unwrap_or(0.0) > 0.0).then_some(found)
    };
    let places = block.get(BEFORE_PERCENTILES..BEFORE_PERCENTILES + PERCENTILE_PLACES).unwrap_or_default();
    let used = places.iter().filter(|place| **place != UNUSED_PLACE);
    let mut percentiles: Vec<(f64, f64)> = used
        .filter_map(|place| {
            let (percent, value) = place.split_once("%=")?;
            Some((whole(percent)?, whole(value)? * 1e3))
        })
        .collect();
    percentiles.sort_by(|one, other| one.0.total_cmp(&other.0));
    let after = BEFORE_PERCENTILES + PERCENTILE_PLACES;
    let (mut completion, mut total) = (latency(8), latency(after));
    if let Some(measured) = completion.as_mut().or(total.as_mut()) {
        measured.percentiles = percentiles;
    }
    let at = after + 4;
    let kib = |at: usize| number(at).map(|kib| kib * 1024.0);
    let bandwidth = ReadSamples {
        min: kib(at),
        max: kib(at + 1),
        percent_of_group: block.get(at + 2).and_then(|share| percent(share)),
        mean: kib(at + 3),
        deviation: kib(at + 4),
        count: number(at + 5),
    };
    let iops_samples = ReadSamples {
        min: number(at + 6),
        max: number(at + 7),
        percent_of_group: None,
        mean: number(at + 8),
        deviation: number(at + 9),
        count: number(at + 10),
    };
    let taken = |samples: ReadSamples| (samples.max.unwrap_or(0.0) > 0.0).then_some(samples);
    Some(ReadDirection {
        bytes: number(0).map(|kib| kib * 1024.0),
        bytes_per_second: number(1).map(|kib| kib * 1024.0),
        iops: number(2),
        runtime_ms: number(3),
        submission: latency(4),
        completion,
        total,
        bandwidth: taken(bandwidth),
        iops_samples: taken(iops_samples),
        ..ReadDirection::new(kind)
    })
}

fn read_tail(fields: &[&str], job: &mut ReadJob, run: &mut ReadRun) {
    let share = |at: usize| fields.get(at).and_then(|field| percent(field));
    let number = |at: usize| fields.get(at).and_then(|field| whole(field));
    job.user_percent = share(0);
    job.system_percent = share(1);
    job.switches = number(2);
    job.major_faults = number(3);
    job.minor_faults = number(4);
    job.depth_percent = (5..12).filter_map(share).collect();
    let bounds = LatencyBins::BOUNDS.map(crate::result_as_reading::float);
    let micro = bounds.iter().map(|bound| Some(bound * 1e3));
    let milli = bounds.iter().map(|bound| Some(bound * 1e6)).chain([Some(2e9), None]);
    for (at, below_ns) in (12..).zip(micro.chain(milli)) {
        if let Some(percent) = share(at).filter(|percent| *percent > 0.0) {
            job.latency_shares.push(LatencyShare { below_ns, percent });
        }
    }
    let mut rest = fields.get(super::TAIL_FIELDS..).unwrap_or_default();
    if run.version.is_some() {
        while let Some((disk, after)) = rest.split_at_checked(DISK)
            && disk[DISK - 1].ends_with('%')
        {
            run.disks.push(read_disk(disk));
            rest = after;
        }
    }
    // Errors are two numbers; anything else is a description.
    if let [total, first, ..] = rest
        && let (Some(total), Some(_)) = (whole(total), whole(first))
    {
        job.forgiven_errors = Some(total);
        rest = &rest[2..];
    }
    if !rest.is_empty() {
        job.description = Some(rest.join(";")).filter(|text| !text.is_empty());
    }
}

fn read_disk(fields: &[&str]) -> ReadDisk {
    let pair = |at: usize| Some((whole(fields.get(at)?)?, whole(fields.get(at + 1)?)?));
    ReadDisk {
        name: fields.first().map(|name| (*name).to_owned()).unwrap_or_default(),
        ios: pair(1),
        sectors: None,
        merges: pair(3),
        ticks_ms: pair(5),
        in_queue_ms: fields.get(7).and_then(|field| whole(field)),
        utilisation_percent: fields.get(8).and_then(|field| percent(field)),
    }
}
