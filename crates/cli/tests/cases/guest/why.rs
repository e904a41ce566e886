//! `plumb why` where it is known what holds I/Os back, on devices that only a guest has: 300 reads of 4 KiB, one at a
//! time, must spend most of their time in the planted part. The processors of the guest are slow.

use super::rows::{Device, Row};

/// Name, device that is read, what is planted, the part, and time that it takes at p50; 0 if that is not known.
const TRUTHS: &[(&str, &str, &str, &str, u32)] = &[
    (
        "timer",
        "${device[timer]}",
        "memory timer memory_backed=0 irqmode=2 completion_nsec=20000000",
        "device",
        20_000_000,
    ),
    (
        "delayed",
        "/dev/mapper/late",
        "memory before; modprobe dm_delay; dmsetup create late --table \"0 65536 delay ${device[before]} 0 20\"",
        "dm or md",
        20_000_000,
    ),
    (
        "limited",
        "$dev",
        "into_group slow; echo \"$(<\"/sys/block/${dev#/dev/}/dev\") riops=50\" >/tmp/cgroup/slow/io.max",
        "throttle",
        0,
    ),
    (
        "model",
        "$dev",
        "number=$(<\"/sys/block/${dev#/dev/}/dev\"); \
         echo \"$number enable=1 min=100 max=100\" >/tmp/cgroup/io.cost.qos; \
         echo \"$number ctrl=user model=linear rbps=409600 rseqiops=50 rrandiops=50 wbps=409600 wseqiops=50 \
         wrandiops=50\" >/tmp/cgroup/io.cost.model; into_group costs",
        "tags",
        0,
    ),
];

pub(super) fn rows() -> Vec<Row> {
    let row = |(name, target, planted, part, time): &(&str, &str, &'static str, &'static str, u32)| {
        let script = format!("groups; {planted}; parts_of \"{target}\" '{part}' {time}");
        Row::own(Device::Virtio, &format!("why::{name}"), script, &["as planted"])
    };
    TRUTHS.iter().map(row).collect()
}
