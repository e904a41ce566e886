//! Zones beyond single jobs: many seeds at the limit of open zones, jobs that share zones, kills, resets, zonefs, and
//! namespaces without native multipath; and what is below a namespace, a thin volume and a multipath device.

use super::rows::{Device, Row};

/// Every job ended well, and read back what it wrote.
const ALL: &str = "20 of 20";
const ALL_OF_FOUR: &str = "80 of 80";

pub(super) fn rows() -> Vec<Row> {
    [seeds(), appends(), files(), stacks()].concat()
}

fn seeds() -> Vec<Row> {
    let row = Row::own;
    let mut rows = Vec::new();
    for (device, most) in [(Device::Zoned, "8"), (Device::ZonedMemory, "6")] {
        let one = |engine: &str| format!("seeds {most} {engine} size=32m");
        let four = |engine: &str| format!("seeds {most} {engine} size=16m numjobs=4");
        for (name, engine) in [
            ("psync", "ioengine=psync"),
            ("libaio", "ioengine=libaio iodepth=8"),
            ("io_uring", "ioengine=io_uring iodepth=8"),
        ] {
            rows.push(Row::own(device, &format!("zbd::seeds_{name}"), one(engine), &[ALL]));
            rows.push(Row::own(device, &format!("zbd::shared_{name}"), four(engine), &[ALL_OF_FOUR]));
        }
        rows.push(row(device, "zbd::killed", "killed; killed; killed", &["verified\nverified\nverified"]));
        rows.push(row(device, "zbd::resets", "resets", &["resets alike"]));
        rows.push(row(
            device,
            "zbd::survey",
            "own=$(plumb survey --overwrite x $dev 2>&1 | sed -n 's/.*this one is \\([^ ]*\\).*/\\1/p'); \
             plumb survey --quick --time 1 --tests randread,write --users 1 --overwrite $own $dev -o /tmp/s.json \
             2>&1; echo \"status $?\"",
            &["It is a zoned device with zones of 4 MiB", "status 0"],
        ));
    }
    rows
}

/// Raw writes by zones, and appends, of which many are in flight in a zone. Six zones hold 18 MiB; random writes go on
/// to 24 MiB by resets, unless they are verified.
fn appends() -> Vec<Row> {
    let row = |name: &str, words: &str, says: &'static [&'static str]| {
        Row::own(Device::Zoned, &format!("append::{name}"), format!("appends {words}"), says)
    };
    let refused = "plumb fio --name=a --filename=$char --ioengine=io_uring_cmd --cmd_type=nvme --rw=write --bs=16k \
                   --size=1m --write_mode=zone_append 2>&1 >/tmp/out; echo \"status $?\"";
    let says = &["write_mode=zone_append needs a zoned namespace and zonemode=zbd", "status 1"];
    vec![
        row("deep", "--rw=write --write_mode=zone_append", &["1152 appends\n0;0;18432\nstatus 0"]),
        row("random", "--rw=randwrite --write_mode=zone_append", &["1536 appends\n0;0;24576\nstatus 0"]),
        row(
            "verified",
            "--rw=randwrite --write_mode=zone_append --verify=crc32c",
            &["1152 appends\n0;18432;18432\nstatus 0"],
        ),
        row("none", "--rw=randwrite --verify=crc32c", &["0 appends\n0;18432;18432\nstatus 0"]),
        Row::own(Device::Zoned, "append::no_zones", refused, says),
        Row::own(
            Device::Nvme512,
            "append::no_zones",
            refused.replace("--size", "--zonemode=zbd --zonesize=1m --size"),
            says,
        ),
    ]
}

/// Files of zonefs.
fn files() -> Vec<Row> {
    let row = |name: &str, words: &str, says: &'static [&'static str]| {
        Row::own(Device::ZonedMemory, &format!("zonefs::{name}"), format!("zone_files; {words}; umount /mnt"), says)
    };
    // Synchronous writes to zonefs on null_blk end with EIO in Linux 6.1, also those of fio.
    let job = "plumb fio --name=a --minimal --bs=64k --direct=1 --ioengine=libaio --filename=/mnt/seq/0";
    let done = "| cut -d';' -f5,6,47; echo \"status ${PIPESTATUS[0]}\"";
    vec![
        row("verified", &format!("{job} --rw=write --size=1m --verify=crc32c {done}"), &["0;1024;1024\nstatus 0"]),
        row(
            "again",
            &format!("{job} --rw=write --size=1m >/tmp/out; {job} --rw=write {done}"),
            &["0;0;4096\nstatus 0"],
        ),
        row(
            "append",
            &format!(
                "{job} --rw=write --size=1m >/tmp/out; {job} --rw=write --size=1m --file_append=1 {done}; \
                 stat -c %s /mnt/seq/0"
            ),
            &["0;0;1024\nstatus 0\n2097152"],
        ),
        row(
            "conventional",
            "plumb fio --name=a --minimal --bs=64k --direct=1 --filename=/mnt/cnv/0 --rw=randwrite --size=1m >/tmp/out; \
             echo \"status $?\"",
            &["status 0"],
        ),
        row(
            "refused",
            &format!(
                "{job} --rw=randwrite --size=1m 2>&1 >/tmp/out; {job} --rw=write --direct=0 --size=1m 2>&1 >/tmp/out; \
                 {job} --rw=write --size=8m 2>&1 >/tmp/out; {job} --rw=write --size=1m --loops=2 2>&1 >/tmp/out; \
                 {job} --rw=write --size=1m --numjobs=2 2>&1 >/tmp/out; \
                 {job} --rw=write --size=1m --iodepth=8 2>&1 >/tmp/out; \
                 plumb survey /mnt 2>&1; stat -c %s /mnt/seq/0"
            ),
            &[
                "written at its end only; use rw=write, or zonemode=zbd on the device itself",
                "add direct=1",
                "holds 4194304 bytes; give a smaller size=",
                "leave out loops, time_based and io_size",
                "give each job its own",
                "use iodepth=1",
                "is on zonefs, whose files are zones",
                "\n0\n",
            ],
        ),
    ]
}

/// What is below a device.
fn stacks() -> Vec<Row> {
    let row = Row::own;
    vec![
        row(
            Device::Scsi512,
            "multipath::mapped",
            "modprobe -a dm_multipath dm_round_robin; for at in 1 2 3 4; do \
             dmsetup create path$at --table \"0 65536 linear $dev 0\"; done; \
             dmsetup create four -u mpath-x --table \"0 65536 multipath 2 queue_mode bio 0 1 1 round-robin 0 4 1 /dev/mapper/path1 1 \
             /dev/mapper/path2 1 /dev/mapper/path3 1 /dev/mapper/path4 1\"; \
             plumb fio --name=a --filename=/dev/mapper/four --rw=read --bs=4k --direct=1 --size=1m | \
             grep -c 'dm-[0-9]*: ios=64/0'; dmsetup remove four; dmsetup remove path1 path2 path3 path4",
            &["4\n"],
        ),
        row(
            Device::Scsi512,
            "thin::not_provisioned",
            "modprobe dm_thin_pool; dmsetup create meta --table \"0 8192 linear $dev 0\"; \
             dmsetup create data --table \"0 262144 linear $dev 8192\"; \
             dd if=/dev/zero of=/dev/mapper/meta bs=1M count=4 oflag=direct status=none; \
             dmsetup create pool --table '0 262144 thin-pool /dev/mapper/meta /dev/mapper/data 128 0'; \
             dmsetup message pool 0 'create_thin 0'; dmsetup create thin --table '0 131072 thin /dev/mapper/pool 0'; \
             dd if=/dev/urandom of=/dev/mapper/thin bs=1M count=8 oflag=direct status=none; \
             PLUMB_REMARKS=always plumb fio --name=a --filename=/dev/mapper/thin --rw=read --bs=64k --direct=1 2>&1 \
             >/tmp/out; \
             for name in thin pool data meta; do dmsetup remove $name; done",
            &["of the reads were of blocks that the volume has not provisioned: no disk was read"],
        ),
    ]
}
