"""A disk with a volatile cache, for nbdkit's plugin python: what was written is in memory until it is flushed, or until
the disk likes to write it to its file, in any order and by `unit` bytes. `lie=order` ignores flushes and FUA. `lie=late`
does so, too, and writes back in order, late: a file system there is whole, and older than it said. A kill of nbdkit is
a power cut."""

import collections
import os
import random

import nbdkit

API_VERSION = 2
SECTOR = 512
# Sectors in the cache beyond which it always writes back, and that a late disk always keeps in it.
MOST = 8192
LATE = 2048

settings = {"file": None, "lie": "no", "unit": SECTOR}
cache = {}
order = []
late = collections.deque()
disk = None


def config(key, value):
    settings[key] = value


def config_complete():
    if not settings["file"]:
        raise RuntimeError("file= is needed")


def get_ready():
    global disk
    disk = os.open(settings["file"], os.O_RDWR)


def open(readonly):
    return 1


def get_size(h):
    return os.fstat(disk).st_size


def block_size(h):
    return (SECTOR, 4096, 0xFFFFFFFF)


def is_honest():
    return settings["lie"] == "no"


def can_fua(h):
    return nbdkit.FUA_NATIVE


def can_multi_conn(h):
    return True


def pread(h, buf, offset, flags):
    count = len(buf)
    found = bytearray(os.pread(disk, count, offset))
    for at in range(0, count, SECTOR):
        cached = cache.get(offset + at)
        if cached is not None:
            found[at : at + SECTOR] = cached
    buf[:] = found


def write_back(key):
    unit = int(settings["unit"])
    first = key - key % unit
    for key in range(first, first + unit, SECTOR):
        sector = cache.pop(key, None)
        if sector is not None:
            os.pwrite(disk, sector, key)


def pwrite(h, buf, offset, flags):
    keys = range(offset, offset + len(buf), SECTOR)
    for key in keys:
        sector = bytes(buf[key - offset : key - offset + SECTOR])
        if settings["lie"] == "late":
            late.append((key, sector))
        elif key not in cache:
            order.append(key)
        cache[key] = sector
    while len(late) > LATE:
        key, sector = late.popleft()
        os.pwrite(disk, sector, key)
    if flags & nbdkit.FLAG_FUA and is_honest():
        for key in keys:
            write_back(key)
    count = random.randrange(len(keys) + 1)
    while order and (count > 0 or len(cache) > MOST):
        at = random.randrange(len(order))
        order[at], order[-1] = order[-1], order[at]
        write_back(order.pop())
        count -= 1


def flush(h, flags):
    if is_honest():
        for key in list(cache):
            write_back(key)
        order.clear()
