# Reads blocks of a disk one by one, each with the time of the monotonic clock before and after: qemu notes when it gets
# each of these, so the clock is known at that moment.
import mmap
import os
import sys
import time

disk, first = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), int(sys.argv[2])
block = mmap.mmap(-1, 4096)
for number in range(first, first + int(sys.argv[3])):
    before = time.monotonic_ns()
    os.preadv(disk, [block], number * 4096)
    print(number * 8, before, time.monotonic_ns())
