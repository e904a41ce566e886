# What rows of the guest use: devices by what they are, and both programs with the same words.
shopt -s nullglob
export PLUMB_STORE=off DM_DISABLE_UDEV=1
ulimit -l unlimited
mkdir -p /dev/shm/ours
cp /share/plumb /dev/shm/ours/plumb
mkdir -p /share/said

# namespace SERIAL NUMBER: its name in /sys/block, whatever the order in which the kernel found it.
namespace() {
    local disk
    for disk in /sys/block/nvme*n*; do
        [[ $disk != *c[0-9]*n* && $(<"$disk/nsid") = "$2" ]] || continue
        read -r serial <"$disk/device/serial"
        [ "$serial" != "$1" ] || basename "$disk"
    done
}

# disk SERIAL: a SCSI, SATA or virtio disk.
disk() {
    local found
    found=$(grep -lsa "$1" /sys/block/sd*/device/vpd_pg80 /sys/block/vd*/serial | head -1)
    cut -d/ -f4 <<<"$found"
}

usb() {
    local disk
    for disk in /sys/block/sd*; do [[ $(readlink -f "$disk") != */usb* ]] || basename "$disk"; done
}

# place DEVICE NAME: sets dev, char and sg of the rows on it.
place() {
    local name=$2
    [ -n "$name" ] || { echo "no device $1"; exit 1; }
    device[$1]=/dev/$name
    [[ $name != nvme* ]] || character[$1]=/dev/ng${name#nvme}
    for sg in "/sys/block/$name/device/scsi_generic/"*; do generic[$1]=/dev/$(basename "$sg"); done
}

# fill DEVICE: writes each block. Jobs that write protection information of their own leave blocks that the kernel cannot
# read, so plumb has consent for the whole of it.
fill() {
    consent[$1]=$(<"/sys/block/${device[$1]#/dev/}/wwid")
    dd if=/dev/zero of="${device[$1]}" bs=1M oflag=direct 2>/dev/null
}

# memory NAME KEY=VALUE...: a device of null_blk in memory.
memory() {
    local at=/sys/kernel/config/nullb/$1 word
    modprobe null_blk nr_devices=0
    mkdir "$at"
    for word in size=64 memory_backed=1 "${@:2}" power=1; do echo "${word#*=}" >"$at/${word%%=*}"; done
    # Kernels before 6.2 name it by its number.
    [ -b "/dev/$1" ] && place "$1" "$1" || place "$1" "nullb$(<"$at/index")"
}

# mapped NAME: a device of device-mapper with 8 KiB at 64 KiB that fail.
mapped() {
    modprobe -a dm_mod 2>/dev/null
    memory below
    dmsetup create "$1" <<END
0 128 linear ${device[below]} 0
128 16 error
144 65536 linear ${device[below]} 144
END
    device[$1]=/dev/mapper/$1
}

# interrupts: those of all queues of NVMe until now.
interrupts() {
    awk '/nvme/ { for (at = 2; at <= NF && $at ~ /^[0-9]+$/; at++) sum += $at } END { print sum + 0 }' /proc/interrupts
}

# appends WORDS...: the appends that a job of 1,536 writes sends to a zoned namespace, error, and KiB read and written.
appends() {
    local trace=/sys/kernel/tracing status
    [ -d $trace/events ] || /busybox mount -t tracefs tracefs $trace
    blkzone reset "$dev"
    echo >$trace/trace
    echo 1 >$trace/events/nvme/nvme_setup_cmd/enable
    plumb fio --name=a --filename="$char" --ioengine=io_uring_cmd --cmd_type=nvme --zonemode=zbd --bs=16k --size=24m \
        --iodepth=16 --minimal "$@" >/tmp/appended 2>&1
    status=$?
    echo 0 >$trace/events/nvme/nvme_setup_cmd/enable
    echo "$(grep -c 'nvme_cmd_zone_append' $trace/trace) appends"
    cut -d';' -f5,6,47 /tmp/appended
    echo "status $status"
}

# traced PROGRAM...: the NVMe commands on data that a program sends, in the order of their words; those of the block
# layer, which has few retries (bit 15), are of the guard.
traced() {
    local trace=/sys/kernel/tracing
    [ -d $trace/events ] || /busybox mount -t tracefs tracefs $trace
    echo >$trace/trace
    echo 1 >$trace/events/nvme/nvme_setup_cmd/enable
    "$@" >/tmp/traced 2>&1
    echo 0 >$trace/events/nvme/nvme_setup_cmd/enable
    sed -n '/qid=0/d; /ctrl=0x[89a-f]/d; s/.*nsid=\([0-9]*\), .*meta=0x\(0*\).*cmd=(\(.*\))$/\1 \2 \3/p' $trace/trace | sort
}

# commands_alike WORDS...: whether fio and plumb send the same commands to the namespace.
commands_alike() {
    local job=(--name=a --filename="$char" --ioengine=io_uring_cmd --cmd_type=nvme --size=1m --bs=4k)
    traced "$newest" "${job[@]}" "$@" >/tmp/theirs
    traced plumb fio "${job[@]}" "$@" >/tmp/ours
    diff /tmp/theirs /tmp/ours | head -20
    cmp -s /tmp/theirs /tmp/ours && echo "$(wc -l </tmp/ours) commands alike"
}

# guarded TARGET WORDS...: a write to it by plumb, its status, and whether the device is what it was.
guarded() {
    local before status now=unchanged
    sync
    before=$(dd if="$dev" bs=1M count=8 iflag=direct status=none | md5sum)
    plumb fio --name=a --filename="$1" --rw=write --bs=4k --size=64k --direct=1 --minimal "${@:2}" 2>&1 >/tmp/out | cut -c1-400
    status=${PIPESTATUS[0]}
    [ "$before" = "$(dd if="$dev" bs=1M count=8 iflag=direct status=none | md5sum)" ] || now=changed
    echo "status $status, $now"
}

plumb() {
    timeout --signal=INT --kill-after=9 60 /dev/shm/ours/plumb "$@"
}

nodes() {
    dev=${device[$1]} char=${character[$1]:-} sg=${generic[$1]:-}
}

# own NAME DEVICE: runs the script on its standard input; what it prints is the answer. The device is blank before.
own() {
    nodes "$2"
    wipefs -qaf "$dev"
    eval "$(cat)" >"/share/said/$1" 2>&1
    wipefs -qaf "$dev"
}

# row NAME DEVICE FIO WORDS...: a job of this fio and of plumb, whose files are in $lane.
row() {
    local name=$1 on=$2 oracle=$3 word words=() who
    nodes "$on"
    shift 3
    for word; do
        word=${word//'{dev}'/$dev} word=${word//'{char}'/$char}
        words+=("${word//'{sg}'/$sg}")
    done
    for who in fio plumb; do
        [[ $(cat "/sys/block/${dev#/dev/}/queue/zoned" 2>/dev/null) != host-* ]] || blkzone reset "$dev"
        local program=("$oracle")
        if [ $who = plumb ]; then
            program=(/dev/shm/ours/plumb fio)
            [ -z "${consent[$on]:-}" ] || words+=("--write_consent=${consent[$on]}")
        fi
        timeout --signal=INT --kill-after=9 120 "${program[@]}" --output-format=json --name=a "${words[@]}" \
            >"$lane/json" 2>"$lane/err"
        echo $? >"$lane/status"
        for kind in json err status; do cp "$lane/$kind" "/share/said/$name.$who.$kind"; done
    done
}

# seeds OPEN WORDS...: jobs that write 20 seeds at random with at most OPEN zones open, one after the other, and verify;
# how many ended well.
seeds() {
    local seed open=$1
    shift
    {
        printf '%s\n' '[global]' "filename=$dev" direct=1 zonemode=zbd offset=16m bs=256k rw=randwrite verify=crc32c \
            "max_open_zones=$open" stonewall "$@"
        for seed in {1..20}; do printf '%s\n' "[seed$seed]" "randseed=$seed"; done
    } >/tmp/jobs
    timeout 400 /dev/shm/ours/plumb fio --minimal /tmp/jobs >/tmp/out 2>/tmp/errors
    # A job that begins late finds little room in zones that it shares: together they write 1 MiB each.
    awk -F';' '{ all++; jobs[$3]++; written[$3] += $47 }
        $5 == 0 && $47 > 0 && $6 == $47 { good++; next }
        { bad = bad "\n" $3 ": error " $5 ", " $6 " KiB read, " $47 " written" }
        END {
            for (seed in jobs) if (written[seed] < 1024 * jobs[seed]) { good = 0; bad = bad "\n" seed ": " written[seed] " KiB" }
            print good + 0 " of " all + 0 bad
        }' /tmp/out
    head -n 3 /tmp/errors
}

# killed: kills four jobs that write zones, and writes and verifies the same zones then.
killed() {
    local zones="--filename=$dev --direct=1 --zonemode=zbd --offset=16m --size=32m --rw=randwrite"
    /dev/shm/ours/plumb fio --name=a $zones --bs=64k --ioengine=io_uring --iodepth=8 --numjobs=4 --thread --time_based \
        --runtime=60 --minimal >/tmp/out 2>&1 &
    sleep 2
    kill -KILL $!
    wait $! 2>/dev/null
    plumb fio --name=a $zones --bs=256k --verify=crc32c --minimal >/tmp/out 2>&1 && echo verified || cat /tmp/out
}

# resets: whether both programs count the same zone resets. With norandommap they depend on the offsets that each draws.
resets() {
    local words who unlike=''
    while read -r words; do
        for who in "$newest" "/dev/shm/ours/plumb fio"; do
            blkzone reset "$dev"
            $who --name=a --filename="$dev" --direct=1 --zonemode=zbd --offset=16m --size=16m --bs=256k $words \
                2>&1 </dev/null | grep -o '[0-9]* zone resets' >"/tmp/resets.$([ "$who" = "$newest" ] && echo fio || echo plumb)"
        done
        [ -s /tmp/resets.fio ] && diff /tmp/resets.fio /tmp/resets.plumb || unlike+=" $words;"
    done <<'END'
--rw=write
--rw=write --loops=3
--rw=write --io_size=40m
--rw=randwrite --io_size=40m
--rw=randwrite --loops=3
--rw=write --zone_reset_threshold=.5 --zone_reset_frequency=.5 --io_size=32m
END
    echo "resets ${unlike:-alike}"
}

# read_of RESULT: the paths in it, the reads of all of them, and whether the cache is accused.
read_of() {
    python3 - "$1" <<'END'
import json, sys
own = json.load(open(sys.argv[1]))["plumb"]
devices = own["monitored"]["devices"]
paths = [at for at, device in enumerate(devices) if device["name"].startswith("nvme") and "c" in device["name"]]
reads = sum(interval["devices"][at]["reads"]["ios"] for interval in own["monitored"]["intervals"] for at in paths)
print(f"paths {len(paths)}, reads of both {reads}")
accused = [note for note in own["notes"] if note["check"] == "cache" and note["grade"] != "not_checked"]
print(accused or "no cache")
END
}

# zone_files: mounts zonefs on the device.
zone_files() {
    blkzone reset "$dev"
    printf 'SFOZ\x05\xab\xbf\x59' | cat - /dev/zero | head -c 4096 >/tmp/first
    dd if=/tmp/first of="$dev" bs=4096 oflag=direct status=none
    modprobe zonefs
    mount -t zonefs "$dev" /mnt
}

# groups: the control groups of version 2, with limits of I/O.
groups() {
    mkdir -p /tmp/cgroup
    mountpoint -q /tmp/cgroup || mount -t cgroup2 none /tmp/cgroup
    echo +io >/tmp/cgroup/cgroup.subtree_control
}

# into_group NAME: what follows runs in this control group.
into_group() {
    mkdir -p "/tmp/cgroup/$1"
    echo $BASHPID >"/tmp/cgroup/$1/cgroup.procs"
}

out_of_group() {
    echo $BASHPID >/tmp/cgroup/cgroup.procs
}

# parts_of DEVICE PART NANOSECONDS: records reads of the device; whether they spend most of their time in this part,
# and at p50 this time, up to a quarter more: the processors of the guest are slow.
parts_of() {
    plumb why --json -o /tmp/why.json -- /dev/shm/ours/plumb fio --name=a --ioengine=psync --rw=randread --bs=4k \
        --direct=1 --filename="$1" --number_ios=300 --minimal >/tmp/out 2>&1 || cat /tmp/out
    python3 - "$2" "$3" <<'END'
import json, sys
part, time = sys.argv[1], int(sys.argv[2])
answer = json.load(open("/tmp/why.json"))
reads = [group for group in answer["groups"] if group["direction"] == "read" and group["reach"] == "call"]
group = max(reads, key=lambda group: group["count"])
parts, middle = group["parts_ns"], group["middle"]
share = parts[part] / sum(parts.values())
each = middle["parts_ns"][part] / middle["count"]
right = share >= 0.5 and (time == 0 or time <= each <= 1.25 * time)
print(f"{group['count']} reads: {part} {share:.1%} of the time, {each / 1e6:.3f} ms at p50")
print("as planted" if right else json.dumps(parts))
END
    out_of_group
}

# A scheme of placement: the first half of 1 MiB by handle 2, the other by 5.
printf '0, 524288, 2\n524288, 1048576, 5\n' >/tmp/scheme

declare -A device character generic consent
