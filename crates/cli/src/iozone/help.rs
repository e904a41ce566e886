//! iozone's help, in our words.

/// The options.
pub(crate) const TEXT: &str = "\
iozone: help mode

    Usage: iozone [options]        sizes: a number of kB, or with k, m, g

  What is measured
    -i #     a test, repeatable: 0 write/rewrite, 1 read/re-read, 2 random read/write, 3 backwards,
             4 one record again and again, 5 strides, 6 fwrite, 7 fread, 8 mix (with -t), 9 pwrite, 10 pread
    -s #     file size (512k), repeatable      -r #   record size (4k), repeatable
    -a       matrix of file and record sizes   -n # -g #  its file sizes (64k to 512m)
    -z       small records for large files too -y # -q #  its record sizes (4k to 16m)
    -+x #    factor from one size to the next  -E     tests 9 and 10 in the table
    -j #     records apart in test 5 (17)      -+n    no second passes
    -f FILE  the file (iozone.tmp)             -w     keep it

  Many at once
    -t #     children, repeatable              -l # -u #  from so many to so many
    -F NAME ...  a file for each               -T     threads
    -x       nobody stops with the first       -C     a line for each
    -d #     microseconds between starts       -P #   bind them to CPUs from # on
    -+p # -+K # -+B   readers in the mix: percent, number; sequential
    -+k      divide the size among them        -+O #  operations per second of each
    -+R FILE names of files, one per line      -+V    all share one file
    -+m FILE machines, a child on each: lines of host, directory, path of plumb [file]

  How
    -I       O_DIRECT                          -o -+r -+D  O_SYNC; for reads too; O_DSYNC
    -e -c    flush, close inside the time      -B -D -G    mapped files, and their msync
    -H # -k #  POSIX asynchronous I/O          -W     lock the file
    -V #     this byte everywhere, all checked -p -S -L  purge the cache; its size and line
    -J # -+J compute before each record        -+q #  rest between tests
    -U DIR   unmount and mount between tests   -+N -+E  existing files: written over, read only
    -X FILE -Y FILE  records of test 0, of test 1: lines of offset, length in bytes [delay in ms]
    -+b K,MS after each K kB a rest            -+X -+Z  other bytes in the records
    -+l -+L  lock each record; one shared file -+d    every byte one of its own, and checked
    -m       a buffer for each record          -K -Z  reads elsewhere; a write before test 0
    -+A #    madvise of mapped files: 0 normal, 1 random, 2 sequential, 3 dontneed, 4 willneed
    -+F      writers of the mix of -+B cut their files

  Data for deduplication
    -+w #    percent that all files have       -+y #  percent of it that all records have
    -+C #    percent of that in one file alone -+S # -+W #  seed of the set; added to the child's number
    -+M      no zeros at the end of records    -+a #  percent of its words that are zero

  What is shown
    -O -N    operations, microseconds          -R     tables as text
    -b FILE  tables as worksheet (.xls, .xlsx) -Q     latency of each record, in files
    -+u -M   CPU time; the machine             -h -v  this help; the version
    -+T -+z  log and histograms of each child, in files

  plumb's own
    --json=FILE  everything that was measured: percentiles, devices, checks
    --csv=FILE   the tables, a line per number
    -+report FILE  the tables as pictures: .html, .svg or .png
    --strict     status 4 where a check speaks against a number
    --stuck-after=#  name an I/O that has not come back for # seconds (30); 0 for never
    --untrusted  the files of -+m and -+R are a stranger's: no machines, nothing outside
    plumb knee --iozone ...  more children until throughput stops growing

  Example: iozone -i 0 -i 1 -i 2 -r 4k -s 1g -t 2 -I -F /m1/f /m2/f

  What plumb adds (percentiles, what speaks against a number) goes to standard
  error where that is a terminal, or with PLUMB_REMARKS=always.
  docs/iozone.md lists where it differs from iozone, and why.
";

/// The version.
pub(crate) fn version() -> String {
    format!(
        "       'Iozone' Filesystem Benchmark Program, by plumb {}\n \n        Version $Revision: 3.489 $\n\
         \t\tCompiled for 64 bit mode.\n \n",
        env!("CARGO_PKG_VERSION")
    )
}
