//! Words that are wrong, and what is said of them.

use crate::abilities::titles;

/// `fio --name=x --ioengine=null --size=1m` with these further words, and the message without its place.
const COMMAND_LINES: &[(&[&str], &str)] = &[
    (&["--bs=4q"], "bs=4q is not a size; write it like 4k, 1m or 4096"),
    (&["--bs=4kk"], "bs=4kk is not a size; write it like 4k, 1m or 4096"),
    (&["--bs=1.5m"], "bs=1.5m is not a size; write it like 4k, 1m or 4096"),
    (&["--bs=foo"], "bs=foo is not a number; write it like 4k, 1m or 4096"),
    (&["--bs=4k,foo"], "bs=4k,foo has a wrong part: `foo` is not a number; write it like 4k, 1m or 4096"),
    (&["--bs=1,2,3,4"], "bs=1,2,3,4 has more than three parts; give one value, or read,write,trim"),
    (&["--bs=,"], "bs=, has no value; give one value, or read,write,trim"),
    (&["--bs="], "bs= needs a value; write it like bs=4096"),
    (&["--bs=0"], "bs=0 is below the smallest value, 1; write it like 4k"),
    (&["--bs=8g"], "bs=8g is above the largest value, 4294967295"),
    (&["--bs=-4k"], "bs=-4k is negative; give 0 or more"),
    (&["--bs=(4*)"], "bs=(4*) is not a number; write it like 4k, 1m or 4096"),
    (&["--bsrange=8k"], "bsrange=8k is not a range; write it like 4k-16k"),
    (&["--bsrange=4k-z"], "bsrange=4k-z has a wrong part: `z` is not a number; write it like 4k, 1m or 4096"),
    (
        &["--bssplit=4k/50:8k/60"],
        "bssplit=4k/50:8k/60 has shares that sum to 110, above 100; leave a share empty to give it the rest",
    ),
    (&["--bssplit=4k/x"], "bssplit=4k/x has a share that is not 0 to 100: `x`; write it like 4k/60:64k/40"),
    (&["--size=10x"], "size=10x is not a size; write it like 4k, 1m or 4096"),
    (&["--size=x%"], "size=x% is not a percentage; write it like 10%"),
    (&["--size=110%"], "size=110% is more than all of the file; give up to 100%"),
    (&["--io_size=110%"], "io_size=110% is more than all of the file; give up to 100%"),
    (
        &["--zonemode=zbd", "--recover_zbd_write_error=1"],
        "the job ends with its first failed write; add continue_on_error=write",
    ),
    (
        &["--zonemode=zbd", "--zonesize=64k", "--zonecapacity=2k", "--rw=write"],
        "a written block is larger than a zone's capacity; give a smaller bs",
    ),
    (&["--ignore_zone_limits=1"], "this needs zonemode=zbd; set zonemode=zbd and zonesize"),
    (&["--size=4z"], "zones need zonemode; set zonemode=strided or zonemode=zbd"),
    (&["--size=1k"], "size is 1024 bytes, less than one block of 4096; make size larger or bs smaller"),
    (&["--offset=-1"], "offset=-1 is negative; write it like 4k, 1m or 4096"),
    (&["--filesize=1m-x"], "filesize=1m-x is not a number; write it like 4k, 1m or 4096"),
    (&["--offset=9223372036854775808"], "offset=9223372036854775808 is above the largest number, 9223372036854775807"),
    (&["--iodepth=1.5"], "iodepth=1.5 is not a whole number; write it like 1 or 4096"),
    (&["--verify_async=1025"], "verify_async=1025 is above the largest value, 1024"),
    (
        &["--random_distribution=zipf:nan"],
        "random_distribution=zipf:nan has a part that is not a number: `nan`; write it like zipf:1.2, pareto:0.9:0.5 or \
         normal:20, with finite numbers",
    ),
    (
        &["--io_submit_mode=offload", "--iodepth=4097"],
        "iodepth=4097 with io_submit_mode=offload would be as many threads; 4096 is the most; use a smaller iodepth, or \
         several jobs",
    ),
    (&["--iodepth=0"], "iodepth=0 is below the smallest value, 1"),
    (&["--iodepth=99999999999"], "iodepth=99999999999 is above the largest value, 4294967295"),
    (&["--numjobs=0"], "numjobs=0 is below the smallest value, 1"),
    (&["--nrfiles=4000000000"], "this makes 4000000000 files; 1048576 is the most; make nrfiles or numjobs smaller"),
    (&["--numjobs=5000"], "this makes 5000 workers; 4096 is the most; make numjobs smaller"),
    (&["--nice=30"], "nice=30 is above the largest value, 19"),
    (&["--nice=-21"], "nice=-21 is below the smallest value, -20"),
    (&["--prio=8"], "prio=8 is above the largest value, 7"),
    (&["--rwmixread=101"], "rwmixread=101 is above the largest value, 100"),
    (&["--percentage_random=101"], "percentage_random=101 has a share of 101; give 0 to 100"),
    (&["--direct=true"], "direct=true is neither 0 nor 1; write 1 for yes, 0 for no"),
    (&["--direct=2"], "direct=2 is neither 0 nor 1; write 1 for yes, 0 for no"),
    (&["--direct"], "option `direct` needs a value"),
    (&["--norandommap=yes"], "norandommap=yes is neither 0 nor 1; write 1 for yes, 0 for no"),
    (&["--runtime=5x"], "runtime=5x is not a time; write it like 10s, 5m or 500ms; a bare number means seconds"),
    (&["--runtime=-1"], "runtime=-1 is negative; write it like 10s, 5m or 500ms; a bare number means seconds"),
    (&["--runtime=1.5"], "runtime=1.5 is not a time; write it like 10s, 5m or 500ms; a bare number means seconds"),
    (&["--runtime=999999999d"], "runtime=999999999d is longer than 500 years"),
    (&["--thinktime=x"], "thinktime=x is not a time; write it like 10s, 5m or 500ms; a bare number means microseconds"),
    (
        &["--startdelay=1-x"],
        "startdelay=1-x is not a time; write it like 10s, 5m or 500ms; a bare number means seconds",
    ),
    (
        &["--rw=read:x"],
        "rw=read:x has no offset modifier in `x`; write rw=read:8k to leave 8 KiB out after each block, rw=randread:8 \
         for 8 blocks per draw",
    ),
    (
        &["--rw=randread:-2"],
        "rw=randread:-2 draws less than one block at a time; write rw=read:8k to leave 8 KiB out after each block, \
         rw=randread:8 for 8 blocks per draw",
    ),
    (
        &["--fallocate=never"],
        "fallocate=never is not one of its values; it takes native, none, posix, keep, truncate, 0, 1",
    ),
    (
        &["--mem=mallok"],
        "mem=mallok is not one of its values; did you mean `malloc`? It takes malloc, shm, shmhuge, mmap, mmaphuge, mmapshared, cudamalloc",
    ),
    (&["--mem=malloc:/x"], "mem=malloc:/x takes no file; only mmap, mmaphuge and mmapshared take one"),
    (&["--kb_base=1025"], "kb_base=1025 is not one of its values; did you mean `1024`? It takes 1024, 1000"),
    (
        &["--random_distribution=zipf:x"],
        "random_distribution=zipf:x has a part that is not a number: `x`; write it like zipf:1.2, pareto:0.9:0.5 or normal:20, with finite numbers",
    ),
    (
        &["--random_distribution=zoned:50/50"],
        "random_distribution=zoned:50/50 has shares of I/O that sum to 50, not 100; write it like zoned:60/10:40/90, shares of I/O for shares of the region",
    ),
    (&["--random_distribution=ziff"], "random_distribution=ziff is not a distribution; did you mean `zipf`?"),
    (&["--percentile_list=99:101"], "percentile_list=99:101 has a percentile of 101; give values from 0 to 100"),
    (&["--percentile_list=a"], "percentile_list=a has a part that is not a number: `a`; write it like 50:99:99.9"),
    (&["--cpus_allowed=0-99"], "cpus_allowed=0-99 names CPU 99, but this machine has 0 to 3"),
    (&["--cpus_allowed=a"], "cpus_allowed=a has a part that is not a CPU: `a`; write it like 0,2,4-7"),
    (&["--cpumask=0"], "cpumask=0 is not a mask of 32 CPUs; write it like 3 for CPUs 0 and 1"),
    (
        &["--buffer_pattern=abc"],
        "buffer_pattern=abc is not a pattern; write it like 0xdeadbeef, \"text\", 'file' or 42",
    ),
    (&["--buffer_pattern='nosuch'"], "buffer_pattern='nosuch' names the file `nosuch`, which cannot be read"),
    (&["--filename=::"], r"filename=:: names no path; separate paths by `:`, write `\:` for a colon in a name"),
    (&["--rate=1m", "--rate_iops=4"], "rate and rate_iops exclude each other; give one of the two"),
    (
        &["--ioengine=rbd"],
        "engine rbd is refused: it needs librbd, which plumb does not link; map the image (rbd map) and give filename=/dev/rbd0",
    ),
    (&["--ioengine=psync", "--atomic=1"], "engine psync cannot ask for atomic writes; use one of libaio, io_uring"),
    (&["--ioengine=libaio", "--atomic=1"], "atomic writes are direct I/O; add direct=1"),
    (&["--fdp=1"], "engine null cannot tell a device where to place writes; use io_uring_cmd with filename=/dev/ng0n1"),
    (&["--plids=3-1"], "plids=3-1 is not a list of identifiers; write it like 0,2-4"),
    (
        &["--ioengine=rados"],
        "engine rados is refused: it needs librados, which plumb does not link; plumb carries null, sync, psync, mmap, libaio, io_uring",
    ),
    (
        &["--ioengine=rbd", "--rbdname=x"],
        "option `rbdname` is refused: it is not plumb's, and the engine rbd is refused: it needs librbd, which plumb does \
         not link; map the image (rbd map) and give filename=/dev/rbd0",
    ),
    (&["--ioengine=libaoi"], "there is no engine `libaoi`; did you mean `libaio`?"),
    (&["--ioengine=mmap", "--rw=trim"], "engine mmap cannot trim"),
    (&["--wait_for=y"], "wait_for=y names no earlier job; name one earlier job"),
    (&["--wait_for=x"], "wait_for names the job itself; name one earlier job"),
    (&["--verify_only=1"], "verify_only needs a way to verify; give it with verify="),
    (
        &["--verify=md5", "--verify_only=1", "--time_based", "--runtime=1"],
        "verify_only writes nothing, so there is no amount of it that a time would give; leave time_based out",
    ),
    (&["--verify=md5", "--verify_offset=42"], "verify_offset is 42, within the header of 48 bytes; give 48 or more"),
    (&["--verify_pattern=%d"], r#"verify_pattern=%d is not a pattern; write it like 0xdeadbeef, "text", 'file' or 42"#),
    (
        &["--ignore_error=EFOO"],
        "ignore_error=EFOO names an unknown error `EFOO`; write it like EIO:ENOSPC or by number, 5:28",
    ),
    (
        &["--write_barrier=4"],
        "option `write_barrier` is refused: Linux has had no barrier writes since 2.6.37, and in fio it has no effect; \
         use fdatasync; only its default, 0, is accepted",
    ),
    (&["--rwmixcycle=5"], "option `rwmixcycle` is refused: withdrawn: the mix is drawn for each I/O; leave it out"),
    (&["--rw=write", "--readonly"], "writes or trims, but --readonly was given"),
];

/// Whole command lines and their messages.
const WHOLE: &[(&[&str], &str)] = &[
    (&["--name=x", "--iodepht=2"], "command line: there is no option `iodepht`; did you mean `iodepth`?"),
    (&["--name=x", "--zzzzzzzz"], "command line: there is no option `zzzzzzzz`"),
    (&["--nam"], "command line: option `name` needs a value"),
    (
        &["--rate_i=1"],
        "command line: option `rate_i` is ambiguous; it may be rate_iops, rate_iops_min, rate_ignore_thinktime",
    ),
    (&["--version=3"], "command line: option `version` takes no value, but was given `3`"),
    (&["--section=global"], "command line: section=global cannot be the only section; name a job section"),
    (&["--output-format=foo"], "command line: output-format=foo is not a format; use normal, terse, json or json+"),
    (&["--terse-version=6"], "command line: terse-version=6 is not a version; use 2, 3, 4 or 5"),
    (&["--terse-version=3x"], "command line: terse-version=3x is not a version; use 2, 3, 4 or 5"),
    (&["--minimal=1"], "command line: option `minimal` takes no value, but was given `1`"),
    (&["--latency-log"], "command line: option `--latency-log` is refused: withdrawn: use write_lat_log; leave it out"),
    (
        &["--status-interval=x"],
        "command line: status-interval=x is not a time; write it like 10s, 5m or 500ms; a bare number means seconds",
    ),
    (&["--eta=maybe"], "command line: eta=maybe: unknown mode; use always, never or auto"),
    (&["--eta-interval=100ms"], "command line: eta-interval=100ms is shorter than 250 ms; give 250ms or more"),
    (
        &["--eta-newline=x"],
        "command line: eta-newline=x is not a time; write it like 10s, 5m or 500ms; a bare number means seconds",
    ),
    (&["--max-jobs=x"], "command line: max-jobs=x is not a number; write it like 64"),
    (&["nosuch.fio"], "command line: unable to open the job file `nosuch.fio`: no such file"),
    (&["--enghelp=nosuch"], "command line: there is no engine `nosuch`; --enghelp lists the engines"),
    (
        &["--name=a", "--name=a", "--name=b", "--wait_for=a"],
        "job `b` (command line): wait_for=a names 2 jobs; name one earlier job",
    ),
    (
        &["--group_reporting", "--name=a", "--lat_percentiles=1", "--name=b"],
        "job `b` (command line): lat_percentiles differs from job `a` of the same reporting group; set it in [global], or open a group with new_group",
    ),
];

/// Job files called `f` and their first message.
const FILES: &[(&str, &str)] = &[
    ("bs=4k\n[a]\n", "f:1: `bs=4k` is outside of a [job] section; start a section first, [global] or [name]"),
    ("[a\nsize=1m\n", "f:1: the section's name has no closing `]`; write it like [name]"),
    ("[a]x\nsize=1m\n", "f:1: `x` follows the section's name; write it like [name]"),
    ("[a]\nbs\n", "job `a` (f:2): bs needs a value; write it like bs=4096"),
    ("[a]\nthread=\n", "job `a` (f:2): thread= needs a value; write it like thread=1"),
    ("[a]\ntrue\n", "job `a` (f:2): there is no option `true`"),
    ("[a]\n=4k\n", "job `a` (f:2): there is no option ``"),
    ("[a]\ninclude nosuch\n", "f:2: cannot include `nosuch`: no such file"),
    (
        "[a]\nuserspace_reap\n",
        "job `a` (f:2): option `userspace_reap` belongs to the engine libaio; set ioengine=libaio for this job",
    ),
    (
        "[a]\nioengine=libaio\nuserspace_reep\n",
        "job `a` (f:3): there is no option `userspace_reep`; did you mean `userspace_reap`?",
    ),
    ("[a]\nioengine=libaio\nnowait=2\n", "job `a` (f:3): nowait=2 is neither 0 nor 1; write 1 for yes, 0 for no"),
    (
        "[a]\nioengine=libaio\ncmdprio=1\n",
        "job `a` (f:3): option `cmdprio` is refused: its kernel has none; leave it out",
    ),
    ("[a]\nioengine=io_uring\nforce_async=10\n", "job `a` (f:3): force_async=10 is above the largest value, 9"),
    ("[global]\nbs=9x\n[a]\n", "f:2: bs=9x is not a size; write it like 4k, 1m or 4096"),
    ("; nothing\n", "No job(s) defined; open a job with --name=... or name a job file"),
];

#[test]
fn wrong_values_say_what_would_work() {
    for &(words, expected) in COMMAND_LINES {
        let all = [&["--name=x", "--ioengine=null", "--size=1m"], words].concat();
        let first = titles(&all, &[]).remove(0);
        let message = first.strip_prefix("job `x` (command line): ").or(first.strip_prefix("command line: "));
        assert_eq!(message.unwrap_or(&first), expected, "{words:?}");
    }
}

#[test]
fn wrong_command_lines_say_what_would_work() {
    for &(words, expected) in WHOLE {
        assert_eq!(titles(words, &[]).remove(0), expected, "{words:?}");
    }
}

#[test]
fn wrong_job_files_say_where_and_what_would_work() {
    for &(text, expected) in FILES {
        assert_eq!(titles(&["f"], &[("f", text)]).remove(0), expected, "{text:?}");
    }
}

#[test]
fn lines_and_names_beyond_the_limits_are_refused() {
    let line = format!("[a]\ndescription={}\n", "x".repeat(9000));
    assert_eq!(titles(&["f"], &[("f", &line)]).remove(0), "f:2: the line has 9013 bytes; 8192 is the most");
    let name = format!("[{}]\nsize=1m\n", "n".repeat(300));
    assert_eq!(titles(&["f"], &[("f", &name)]).remove(0), "f:1: the section's name has 300 bytes; 255 is the most");
}

#[test]
fn an_included_file_that_opens_a_section_is_refused() {
    let files = [("f", "[a]\ninclude g\n"), ("g", "[b]\nbs=4k\n")];
    assert_eq!(
        titles(&["f"], &files).remove(0),
        "g:1: an included file opens a section; an included file holds options only"
    );
}
