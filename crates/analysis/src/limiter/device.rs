//! Limits of the device and the path to it: other users, flushes, link, locks above it, busy time, queue depth.

use super::verdict;
use crate::run_facts::{RunFacts, bytes_of_sectors, extends_files, fills_holes, float};
use measure::text;
use model::{Bottom, DeviceFacts, DeviceGain, JobResult, LimitedBy, Limiter, Monitored};

/// I/O of other programs counts from this fraction of a device's traffic.
const OTHERS: f64 = 0.20;
/// Most devices that are named.
const MOST_NAMED: usize = 3;
/// From this fraction of busy time, a device is saturated.
const BUSY: f64 = 0.90;
/// A device has at most this many requests at a time if they come one after another.
const ONE_AT_A_TIME: f64 = 1.3;
/// From this many times as many I/Os in flight as the device has, more of them bring nothing.
const WAITING_ABOVE: f64 = 2.0;
/// Below this fraction of busy time, a device of any type has spare capacity.
const HALF_IDLE: f64 = 0.60;
/// Flushes count as the bottleneck from this fraction of the workers' time.
const FLUSHES: f64 = 0.50;
/// A link counts as saturated from this fraction of its bandwidth.
const LINK_FULL: f64 = 0.90;
/// A device without moving parts processes this number of requests in parallel; with fewer it has spare capacity.
const PARALLEL: f64 = 4.0;

/// Requests of a full device take this many times as long as the run's shortest I/O: they wait for each other.
const QUEUED: f64 = 6.0;

/// True if a disk is at work all the time with most of the I/Os in its queue, where they wait for each other: who waits
/// above it, as for a processor, would only wait there instead. False for devices whose work is done by the processors.
pub(crate) fn is_full(seen: &RunFacts<'_>) -> bool {
    let in_memory = |monitored: &Monitored| {
        let layers = monitored.targets.iter().flat_map(|target| &target.layers);
        layers.into_iter().any(|layer| layer.bottom == Some(Bottom::Memory))
    };
    let disks = seen.devices().filter(|(facts, _)| facts.leaf && !is_stacked(facts));
    let users = f64::from(seen.users());
    let Some(shortest) = shortest_ms(seen).filter(|_| !seen.monitored.is_some_and(in_memory)) else { return false };
    let is_full = |gain: &DeviceGain| {
        let busy = seen.share_of_time(float(gain.busy_ms) / 1e3);
        let queue = float(gain.in_queue_ms) / 1e3 / seen.seconds;
        let ticks = float(gain.reads.ticks_ms.saturating_add(gain.writes.ticks_ms));
        let each = ticks / float(gain.reads.ios.saturating_add(gain.writes.ios).max(1));
        busy >= BUSY && queue >= PARALLEL.max(users / 2.0) && each >= QUEUED * shortest
    };
    disks.into_iter().any(|(_, gain)| is_full(gain))
}

/// The shortest latency of an I/O in milliseconds.
fn shortest_ms(seen: &RunFacts<'_>) -> Option<f64> {
    let latencies = seen.jobs().flat_map(|job| job.directions.iter().filter_map(|(_, found)| found.latency()));
    latencies.filter_map(|latency| latency.moments.minimum()).min().map(|shortest| shortest.as_secs_f64() * 1e3)
}

/// I/O of others on the same devices.
#[derive(Clone, Debug)]
pub(crate) struct Others {
    /// Its fraction of the traffic.
    pub(crate) share: f64,
    /// Its bytes.
    pub(crate) bytes: u64,
    /// Kernel names of the devices that it is on: a disk below a loop device has programs that the loop device has not.
    pub(crate) devices: String,
    /// Bytes of this run.
    pub(crate) own: f64,
    /// Bytes at the topmost devices.
    pub(crate) top: f64,
}

impl Others {
    /// `other programs made 22 % of the traffic of sda`.
    pub(crate) fn sentence(&self) -> String {
        format!("other programs made {} of the traffic of {}", text::percent(self.share.min(1.0)), self.devices)
    }
}

/// Bytes that disks read below a loop device for writes that begin or end within its pages of 4 KiB: one page at a time,
/// for at most two of each write. 0 if the workers read themselves.
pub(crate) fn page_reads_below(seen: &RunFacts<'_>) -> u64 {
    const PAGE: u64 = 4096;
    /// Both ends of a write, and a few of others.
    const PAGES_PER_WRITE: f64 = 2.2;
    let Some(monitored) = seen.monitored.filter(|_| seen.steady.bytes[0] == 0) else { return 0 };
    let layers = || monitored.targets.iter().flat_map(|target| &target.layers);
    let has_cache = layers().any(|layer| layer.bypasses_page_cache == Some(false));
    let is_moved = layers().any(|layer| layer.first_byte.is_some_and(|byte| !byte.is_multiple_of(PAGE)));
    let in_parts = seen.jobs().any(|job| job.workload.as_ref().is_some_and(|workload| workload.writes_parts_of_pages));
    let below = seen.devices().filter(|(facts, _)| facts.leaf && !facts.top);
    let (ios, bytes) = below.fold((0_u64, 0_u64), |(ios, bytes), (_, gain)| {
        (ios.saturating_add(gain.reads.ios), bytes.saturating_add(bytes_of_sectors(gain.reads.sectors)))
    });
    let writes = seen.devices().filter(|(facts, _)| facts.top).map(|(_, gain)| gain.writes.ios);
    let writes = writes.fold(0, u64::saturating_add);
    let are_pages = bytes <= 2 * PAGE * ios && float(ios) <= PAGES_PER_WRITE * float(writes);
    if has_cache && (is_moved || in_parts) && are_pages { bytes } else { 0 }
}

/// I/O of others on the same devices; `None` without devices.
pub(crate) fn others(seen: &RunFacts<'_>) -> Option<Others> {
    let moved = |of: fn(&DeviceFacts) -> bool| {
        let sum = |count: fn(&DeviceGain) -> u64| -> u64 {
            seen.devices()
                .filter(|(facts, _)| of(facts))
                .map(|(_, gain)| bytes_of_sectors(count(gain)))
                .fold(0, u64::saturating_add)
        };
        [sum(|gain| gain.reads.sectors), sum(|gain| gain.writes.sectors)]
    };
    let caused = |index: usize| -> u64 {
        let accounts = seen.steady.workers.iter().filter_map(|worker| worker.io_bytes);
        accounts.map(|account| account[2 + index]).fold(0, u64::saturating_add)
    };
    let own = [0, 1].map(|index| seen.steady.bytes[index].max(caused(index)));
    // Where memory answered the workers, what the devices read was for others.
    let own = [seen.reads_of_workers().unwrap_or(own[0]), own[1]];
    // File systems write journals and trees from kernel threads, whose I/O is not charged to the workers: if this run
    // writes to one, additional writes may be its own, and only reads are compared.
    let on_files =
        seen.monitored.is_some_and(|monitored| monitored.targets.iter().any(|target| target.mount.is_some()));
    let writes = on_files && seen.jobs().any(|job| job.directions.write.bytes > 0);
    let compared: &[usize] = if writes { &[0] } else { &[0, 1] };
    let top = moved(|facts| facts.top);
    // RAID with mirrors or parity writes more than it receives: only stacks of one member are compared to the bottom.
    let piled = seen.devices().all(|(facts, _)| facts.below.len() <= 1);
    let leaf = if piled { moved(|facts| facts.leaf) } else { [0, 0] };
    let leaf = [leaf[0].saturating_sub(page_reads_below(seen)), leaf[1]];
    let excess = |device: [u64; 2], above: [u64; 2]| -> u64 {
        compared.iter().map(|&index| device[index].saturating_sub(above[index])).fold(0, u64::saturating_add)
    };
    let share = |more: u64, [reads, writes]: [u64; 2]| match reads.saturating_add(writes) {
        0 => 0.0,
        all => float(more) / float(all),
    };
    let below_top = [0, 1].map(|index| own[index].max(top[index]));
    let (above, below) = (excess(top, own), excess(leaf, below_top));
    let named = |of: fn(&DeviceFacts) -> bool| {
        let names: Vec<String> =
            seen.devices().filter(|(facts, _)| of(facts)).map(|(facts, _)| facts.name.clone()).collect();
        (!names.is_empty()).then(|| text::listed_up_to(&names, MOST_NAMED))
    };
    // Where others moved more: the whole traffic of a disk whose loop device answers from memory may be next to nothing.
    let (bytes, share, devices) = match below > above {
        true => (below, share(below, leaf), named(|facts| facts.leaf)?),
        false => (above, share(above, top), named(|facts| facts.top)?),
    };
    Some(Others { share, bytes, devices, own: float(own[0] + own[1]), top: float(top[0] + top[1]) })
}

/// I/O of other programs on the same device.
pub(crate) fn neighbour(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    // They are members of the same run.
    if seen.other_members().is_some() {
        return None;
    }
    let others = others(seen)?;
    let (_, _, busy) = seen.busiest()?;
    (others.share >= OTHERS && busy >= HALF_IDLE).then(|| {
        let evidence = [("own_bytes", others.own), ("device_bytes", others.top), ("busy_percent", 100.0 * busy)];
        verdict(Limiter::Neighbour, others.share, others.sentence(), &evidence)
    })
}

/// Flushes: fsync and fdatasync of the jobs, or those that the device receives for synchronous writes.
pub(super) fn flush(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let own = seen.flush_share();
    let ticks = seen.devices().filter_map(|(_, gain)| gain.flushes).map(|(_, ms)| ms).max().unwrap_or(0);
    let workers = f64::from(seen.workers().max(1));
    let at_device = seen.share_of_time(float(ticks) / 1e3 / workers);
    let share = own.max(at_device);
    (share >= FLUSHES).then(|| {
        let sentence = format!("the workers waited for flushes {} of the time", text::percent(share.min(1.0)));
        let evidence = [("in_fsync_percent", 100.0 * own), ("flushing_percent", 100.0 * at_device)];
        verdict(Limiter::Flush, share, sentence, &evidence)
    })
}

/// Writes that are durable before they complete, at a device that has room for more of them.
pub(super) fn durable_writes(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let each_is_durable = |job: &JobResult| {
        let flushes = job.workload.as_ref().map(|workload| workload.flushes);
        let only_writes = job.directions.read.ios == 0 && job.directions.write.ios > 0;
        only_writes && flushes.is_some_and(|flushes| flushes.by_each_write || flushes.fsync_every == 1)
    };
    let (on, waiting) = seen.processor_shares()?;
    let share = 1.0 - (on + waiting).min(1.0);
    let (_, gain, busy) = seen.busiest()?;
    let is_full = busy >= BUSY && float(gain.in_queue_ms) / 1e3 / seen.seconds >= PARALLEL;
    (seen.jobs().all(each_is_durable) && !is_full && share >= FLUSHES).then(|| {
        let sentence = format!(
            "each write waits until it is durable, {} of the time: more writers at a time, or a faster flush, would help",
            text::percent(share.min(1.0))
        );
        verdict(Limiter::Flush, share, sentence, &[("waited_percent", 100.0 * share), ("busy_percent", 100.0 * busy)])
    })
}

/// File systems whose I/O another process or machine does.
const SERVED: [&str; 8] = ["fuse", "nfs", "cifs", "smb", "9p", "ceph", "virtiofs", "glusterfs"];

/// The daemon or machine behind the file system of all targets.
pub(super) fn server(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let targets = &seen.monitored?.targets;
    let mount = targets.first()?.mount.as_ref()?;
    let is_served = |kind: &str| SERVED.iter().any(|known| kind.starts_with(known)) && kind != "fuseblk";
    let all = targets.iter().all(|target| target.mount.as_ref().is_some_and(|mount| is_served(&mount.kind)));
    let (on, waiting) = seen.processor_shares()?;
    let share = 1.0 - (on + waiting).min(1.0);
    (all && share >= 0.5).then(|| {
        let sentence = format!(
            "the workers waited {} of the time for the server of {} at {}; what the server waits for is not visible from here",
            text::percent(share.min(1.0)),
            mount.kind,
            mount.point
        );
        verdict(Limiter::Server, share, sentence, &[("waited_percent", 100.0 * share)])
    })
}

/// A saturated link.
pub(super) fn link(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let used = seen.devices().filter_map(|(facts, gain)| {
        let carries = float(facts.link_bytes_per_second?);
        let rate = seen.per_second(bytes_of_sectors(facts.bytes_over_link(gain.reads.sectors, gain.writes.sectors)));
        Some((rate / carries, rate, carries, facts.name.as_str()))
    });
    let (share, rate, carries, name) = used.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (share >= LINK_FULL).then(|| {
        let sentence = format!(
            "the link to {name} carries {} at most, and {} went over it, {} of it",
            text::decimal_rate(carries),
            text::decimal_rate(rate),
            text::percent(share.min(1.0))
        );
        verdict(Limiter::Link, share, sentence, &[("link_bytes_per_second", carries), ("bytes_per_second", rate)])
    })
}

/// Workers wait, but neither for a CPU nor for the device.
pub(super) fn file_system_lock(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let monitored = seen.monitored?;
    let on_files = monitored.targets.iter().any(|target| target.mount.is_some());
    let (_, _, busy) = seen.busiest()?;
    if !on_files || seen.workers() < 2 || (busy >= HALF_IDLE && !writes_take_turns(seen)) {
        return None;
    }
    let (on, waiting) = seen.processor_shares()?;
    let latency = seen.latency_ms()?;
    let share_elsewhere = 1.0 - (device_await_ms(seen).unwrap_or(0.0) / latency).min(1.0) - (on + waiting).min(1.0);
    (share_elsewhere >= 0.5).then(|| {
        let extending =
            if extends_files(seen.result, seen.jobs()) { ", which extends a file write by write" } else { "" };
        let sentence = format!(
            "the workers waited {} of the time for neither a processor nor the device: for each other, in the file \
             system{extending}",
            text::percent(share_elsewhere)
        );
        let evidence = [
            ("latency_ms", latency),
            ("device_busy_percent", 100.0 * busy),
            ("on_cpu_percent", 100.0 * on),
            ("run_delay_percent", 100.0 * waiting),
        ];
        verdict(Limiter::FileSystemLock, share_elsewhere, sentence, &evidence)
    })
}

/// True if workers write where their file has no blocks yet, and the device has one of these writes at a time: each has
/// the file for itself, however busy that makes the device.
fn writes_take_turns(seen: &RunFacts<'_>) -> bool {
    let only_writes = seen.jobs().all(|job| job.directions.read.ios == 0 && job.directions.write.ios > 0);
    let files: std::collections::BTreeSet<&String> = seen.jobs().flat_map(|job| &job.echo.paths).collect();
    let shares = float(files.len() as u64) * 2.0 <= f64::from(seen.workers());
    let at_device = at_devices(seen);
    let allocates = extends_files(seen.result, seen.jobs()) || fills_holes(seen.result, seen.jobs());
    only_writes && shares && at_device <= ONE_AT_A_TIME && allocates
}

/// Mean number of requests at the topmost devices.
fn at_devices(seen: &RunFacts<'_>) -> f64 {
    seen.devices().filter(|(facts, _)| facts.top).map(|(_, gain)| float(gain.in_queue_ms) / 1e3 / seen.seconds).sum()
}

/// Mean time of a request at the topmost devices in ms; `None` without requests.
fn device_await_ms(seen: &RunFacts<'_>) -> Option<f64> {
    let (mut ticks, mut ios) = (0_u64, 0_u64);
    for (_, gain) in seen.devices().filter(|(facts, _)| facts.top) {
        ticks = ticks.saturating_add(gain.reads.ticks_ms).saturating_add(gain.writes.ticks_ms);
        ios = ios.saturating_add(gain.reads.ios).saturating_add(gain.writes.ios);
    }
    (ios > 0).then(|| float(ticks) / float(ios))
}

/// A device that is busy all the time, or one that could process more requests in parallel.
pub(super) fn busy_or_shallow(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let (facts, gain, busy) = seen.busiest()?;
    let queue = float(gain.in_queue_ms) / 1e3 / seen.seconds;
    let users = seen.users();
    let evidence = [("busy_percent", 100.0 * busy), ("mean_queue", queue), ("users", f64::from(users))];
    // The rotational flag of a virtual disk does not describe the hardware.
    let virtualised = seen.monitored.is_some_and(|monitored| monitored.hypervisor.is_some());
    let one_at_a_time = facts.rotational == Some(true) && !is_stacked(facts) && !virtualised;
    if busy >= BUSY && (one_at_a_time || queue >= PARALLEL) {
        let sentence = format!(
            "{} was at work {} of the time, with {queue:.1} requests on average",
            facts.name,
            text::percent(busy)
        );
        return Some(verdict(Limiter::Device, busy, sentence, &evidence));
    }
    let in_flight = (seen.latency_ms()? / 1e3 * seen.per_second(all_ios(seen))).min(f64::from(users));
    if let Some(full) = full_with_few(seen, in_flight) {
        return Some(full);
    }
    let waited = seen.share_of_time(in_flight / f64::from(users.max(1)) * seen.seconds);
    (queue < PARALLEL && waited >= 0.5).then(|| {
        let users = if users == 1 { "one I/O".to_owned() } else { format!("{users} I/Os") };
        let sentence = format!(
            "{users} in flight at most, waited for {} of the time, and {queue:.1} at {} on average: more could bring more",
            text::percent(waited),
            facts.name
        );
        verdict(Limiter::Depth, waited, sentence, &evidence)
    })
}

/// A device that is at work all the time with fewer requests than there are I/Os in flight: the others wait in front of
/// it, and more would do so, too.
fn full_with_few(seen: &RunFacts<'_>, in_flight: f64) -> Option<LimitedBy> {
    let (facts, _, busy) = seen.busiest()?;
    let at_device = at_devices(seen);
    // I/Os that the kernel has in its cache, or splits, are others than those of the device.
    let is_direct = seen.jobs().all(|job| job.echo.direct);
    // Of several devices, one that is full is not where all the I/Os wait.
    let is_alone = seen.devices().filter(|(facts, _)| facts.top).count() == 1;
    let (on, waiting) = seen.processor_shares()?;
    let is_full =
        is_alone && is_direct && busy >= BUSY && in_flight >= PARALLEL && in_flight >= WAITING_ABOVE * at_device;
    (is_full && on + waiting < HALF_IDLE).then(|| {
        let sentence = format!(
            "{} was at work {} of the time and had {} of {} I/Os in flight at a time: the others waited for it",
            facts.name,
            text::percent(busy),
            text::number(at_device),
            text::number(in_flight)
        );
        let evidence = [("busy_percent", 100.0 * busy), ("at_device", at_device), ("in_flight", in_flight)];
        verdict(Limiter::Device, busy, sentence, &evidence)
    })
}

fn all_ios(seen: &RunFacts<'_>) -> u64 {
    seen.steady.ios.iter().copied().fold(0, u64::saturating_add)
}

/// True for loop, dm and md devices, whose rotational flag does not describe the hardware.
fn is_stacked(facts: &DeviceFacts) -> bool {
    !facts.below.is_empty() || ["loop", "dm-", "md"].iter().any(|prefix| facts.name.starts_with(prefix))
}
