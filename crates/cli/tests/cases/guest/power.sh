# A boot between two power cuts: judges what the last one has left, then writes until the next one.
shopt -s nullglob
export PLUMB_STORE=off
mkdir -p /dev/shm/ours
cp /share/plumb /dev/shm/ours/plumb
modprobe -a virtio_console ext4 xfs btrfs

# Disks by serial number, of which virtio keeps 20 letters, or by product, of which SCSI keeps 16; and ports by name.
declare -A device port
for file in /sys/block/vd*/serial /sys/block/sd*/device/model; do
    read -r serial <"$file"
    name=${file#/sys/block/}
    device[$serial]=/dev/${name%%/*}
done
for file in /sys/class/virtio-ports/*/name; do
    name=${file#/sys/class/virtio-ports/}
    port[$(<"$file")]=/dev/${name%%/*}
done

# place NAME KIND: the device, or the directory where its file system is mounted.
place() {
    local dev=${device[$1]}
    if [ "$2" = raw ]; then
        echo "$dev"
    else
        mkdir -p "/mnt/$1"
        mountpoint -q "/mnt/$1" || mount -t "$2" "$dev" "/mnt/$1" >&2 || return
        echo "/mnt/$1"
    fi
}

# All disks of the last cut at once.
judge() {
    judge_one "$1" "$2" &
}

judge_one() {
    local at
    if at=$(place "$1" "$2" 2>"/share/$1.text"); then
        /dev/shm/ours/plumb durable --after-cut "/share/$1.acks" "$at" >"/share/$1.text" 2>&1
        case $? in
        0) echo yes ;;
        1) echo no ;;
        2) echo cannot tell ;;
        *) echo error ;;
        esac >"/share/$1.answer"
    else
        echo not mountable >"/share/$1.answer"
    fi
}

write() {
    names+=("$1")
    kinds[$1]=$2
}

declare -A kinds places consents

# Judges first, then writes to all disks at once: one that writes takes the processor from those that begin.
finish() {
    wait
    local name words
    for name in "${names[@]}"; do
        places[$name]=$(place "$name" "${kinds[$name]}") || return
        [ "${kinds[$name]}" != raw ] || consents[$name]=$(/dev/shm/ours/plumb durable "${places[$name]}" \
            --witness /dev/null --record 4k 2>&1 | sed -n 's/.*add --overwrite \([^ ]*\).*/\1/p')
    done
    for name in "${names[@]}"; do
        words=("${places[$name]}" --witness "${port[$name]}" --record 4k)
        [ -z "${consents[$name]}" ] || words+=(--overwrite "${consents[$name]}")
        /dev/shm/ours/plumb durable "${words[@]}" &
    done
    wait
}
