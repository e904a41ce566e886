//! Our table and the real fio's. Debian's fio must be installed; without it these tests fail.

use crate::abilities::invoke;
use fio::Action;
use std::collections::BTreeSet;
use std::process::Command;

fn fio(arguments: &[&str]) -> String {
    let output = Command::new("fio").args(arguments).output();
    let output = output.expect("the real fio is installed (apt-get install fio)");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn ours(argument: &str) -> String {
    match invoke(&[argument], &[]).expect("help").action {
        Action::CmdHelp(text) => text,
        other => panic!("no help: {other:?}"),
    }
}

/// The names in the first column.
fn names(text: &str) -> BTreeSet<String> {
    let column = text.lines().filter_map(|line| line.split_once(':'));
    column.map(|(name, _)| name.trim().to_owned()).collect()
}

/// What stands after `key:` in the help of one option.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once(": "));
    pairs.filter(|(found, _)| found.trim() == key).map(|(_, value)| value.trim()).next()
}

#[test]
fn every_option_of_fio_is_in_our_table() {
    let known = names(&ours("--cmdhelp=all"));
    // An alias here, a separate option there.
    let missing: Vec<String> =
        names(&fio(&["--cmdhelp=all"])).into_iter().filter(|name| !known.contains(name)).collect();
    assert_eq!(missing, ["allrandrepeat", "log_max_value", "log_unix_epoch"]);
}

#[test]
fn aliases_and_defaults_are_those_of_fio() {
    let mut differing = Vec::new();
    for name in names(&fio(&["--cmdhelp=all"])) {
        let theirs = fio(&[&format!("--cmdhelp={name}")]);
        let ours = ours(&format!("--cmdhelp={name}"));
        let alias = field(&theirs, "alias");
        if alias.is_some() && !ours.lines().any(|line| line.trim() == format!("alias: {}", alias.unwrap_or(""))) {
            differing.push(format!("{name}: alias {alias:?}"));
        }
        let (their_default, our_default) = (field(&theirs, "default"), field(&ours, "default"));
        if their_default != our_default {
            differing.push(format!("{name}: {their_default:?}, ours {our_default:?}"));
        }
    }
    let expected = [
        // 3.42 made it one with randrepeat.
        r#"allrandrepeat: Some("0"), ours Some("1")"#,
        // fio's table says 0, and its start sets 1.
        r#"error_dump: Some("0"), ours Some("1")"#,
        // The same number, written shorter.
        r#"hugepage-size: Some("2097152"), ours Some("2m")"#,
        // 3.42 made it a word.
        r#"log_max_value: Some("0"), ours Some("avg")"#,
        // We name what fio does without.
        r#"unit_base: Some("no default"), ours Some("0")"#,
    ];
    assert_eq!(differing, expected);
}

#[test]
fn fio_reads_what_showcmd_writes() {
    let text = "[global]\nbs=8k\nioengine=null\nsize=1m\n[a]\nrw=randread\nnorandommap\n[b]\nstonewall\nbs=4k,16k\n";
    let shown = match invoke(&["--showcmd", "f"], &[("f", text)]).expect("shown").action {
        Action::ShowCmd(text) => text,
        other => panic!("not shown: {other:?}"),
    };
    let words: Vec<&str> = shown.split_whitespace().skip(1).collect();
    let output = Command::new("fio").args(&words).arg("--output-format=normal").output().expect("fio is installed");
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}");
    assert!(report.contains("a: (g=0): rw=randread, bs=(R) 8192B-8192B"), "{report}");
    assert!(report.contains("b: (g=1): rw=read, bs=(R) 4096B-4096B, (W) 16.0KiB-16.0KiB"), "{report}");
}

/// Whether fio takes these words; nothing is run.
fn fio_accepts(words: &[&str]) -> bool {
    let output = Command::new("fio").arg("--parse-only").args(words).output().expect("fio is installed");
    output.status.success()
}

/// Values that both take.
const TAKEN: &str = "bs=4k bs=4K bs=4kb bs=4ki bs=0x1000 bs=4k,8k bs=,8k bs=8k,,2k bs=,,4k blocksize=1m bsrange=4k-8k \
    bsrange=4k:8k bsrange=8k-4k bsrange=1k-4k,2k-8k bssplit=4k/60:8k/40 bssplit=4k/50:8k/ bssplit=4k:8k \
    bssplit=4k/50:8k/50,4k/10:16k/90 bs_unaligned size=1g size=10% size=100% io_size=5% io_limit=1m filesize=1m \
    filesize=1m-2m offset=1m offset=5% fileoffset=4k offset_increment=1g number_ios=10 number_ios=1k rw=read rw=randrw \
    readwrite=trimwrite rw=randtrimwrite rwmixread=0 rwmixread=100 rwmixwrite=30 random_distribution=zipf:1.2 \
    random_distribution=pareto:0.9 random_distribution=normal:20 random_distribution=zipf:1.1:0.5 \
    random_distribution=zoned:60/10:40/90 random_distribution=zoned_abs:60/20m:40/80m percentage_random=50,20 norandommap \
    norandommap=0 random_generator=lfsr random_generator=tausworthe64 randrepeat=0 allrandrepeat=1 randseed=5 \
    randseed=0x10 iodepth=4 iodepth_batch=0 iodepth_batch_submit=2 iodepth_batch_complete=0 iodepth_batch_complete_max=4 \
    iodepth_low=2 direct=1 buffered=0 sync=1 sync=dsync sync=none fsync=8 fdatasync=4 end_fsync=1 fsync_on_close=1 \
    fallocate=none fallocate=posix fallocate=keep fallocate=truncate fallocate=0 invalidate=0 pre_read=1 overwrite=1 \
    unlink=1 create_only=1 create_fsync=0 allow_file_create=0 allow_mounted_write=1 nrfiles=4 nr_files=2 numjobs=4 thread \
    thread=0 stonewall wait_for_previous new_group group_reporting group_reporting=0 exitall exitall_on_error runtime=10 \
    runtime=10s runtime=5m runtime=500ms runtime=20us timeout=3 time_based time_based=0 ramp_time=2 startdelay=1 \
    startdelay=1-2 loops=3 thinktime=5 thinktime_spin=2 thinktime_blocks=4 rate=1m rate=1m,,500k rate_iops=100 \
    rate_iops=,50 rate_process=poisson rate_ignore_thinktime=1 zero_buffers refill_buffers scramble_buffers=0 \
    buffer_pattern=0xdeadbeef buffer_pattern=\"abc\" buffer_pattern=42 buffer_compress_percentage=50 \
    buffer_compress_chunk=4096 dedupe_percentage=30 mem=malloc mem=shm mem=mmap mem=mmapshared iomem=mmap iomem_align=512 \
    mem_align=4096 hugepage-size=2m lockmem=1m nice=-5 prio=3 prioclass=2 cpus_allowed=0 cpus_allowed=0,1 cpus_allowed=0-1 \
    cpus_allowed_policy=split cpumask=1 disk_util=0 disable_lat=1 disable_clat=1 disable_slat=1 disable_bw=1 gtod_reduce=1 \
    clat_percentiles=0 lat_percentiles=1 slat_percentiles=1 percentile_list=50:99 percentile_list=99.9 \
    significant_figures=6 bwavgtime=100 iopsavgtime=100 kb_base=1000 unit_base=8 unit_base=1 continue_on_error=all \
    continue_on_error=io per_job_logs=0 description=text";

/// Values that both refuse.
const REFUSED: &str = "bs=foo bs=, bs= bs=0 bsrange=8k bsrange=x io_size=110% rw=raed rw=trimread rwmixread=101 \
    random_distribution=zipf:x random_distribution=ziff random_distribution=zoned:50/50 \
    random_distribution=pareto:2 percentage_random=101 norandommap=x random_generator=mt iodepth=0 iodepth=x direct=true \
    direct=2 direct buffered=yes fallocate=never sync=fsync nice=30 nice=-21 prio=8 prioclass=4 \
    cpus_allowed_policy=both mem=mallok kb_base=1025 unit_base=2 significant_figures=0 \
    significant_figures=11 continue_on_error=some rate_process=equal runtime=x thread=x buffer_compress_percentage=101 \
    dedupe_percentage=200 fsync=x nosuchoption=1 zzz randrepeat=2 invalidate=x";

/// Values that fio takes although they cannot be meant, and we refuse.
const REFUSED_BY_US_ALONE: &str = "bs=4q bs=4kk bs=1.5m bs=4k,foo bssplit=4k/50:8k/60 runtime=1.5 runtime=5x \
    runtime=-1 norandommap=2 size=110% offset=-1 percentile_list=99:101 rwmixwrite=-1 cpus_allowed=99 cpus_allowed=x";

/// Whether we take these words.
fn we_accept(words: &[&str]) -> bool {
    invoke(&[&["--parse-only"], words].concat(), &[]).is_ok()
}

/// The values of a list on which a verdict is not the expected one.
fn differing(list: &str, expected: bool, accepts: impl Fn(&[&str]) -> bool) -> Vec<&str> {
    let judge = |value: &&str| accepts(&["--name=x", &format!("--{value}")]) != expected;
    list.split_whitespace().filter(judge).collect()
}

#[test]
fn values_are_taken_and_refused_as_fio_does() {
    let options: Vec<String> = TAKEN.split_whitespace().map(|value| format!("--{value}")).collect();
    let jobs: Vec<&str> = options.iter().flat_map(|option| ["--name=x", option.as_str()]).collect();
    assert!(fio_accepts(&jobs), "one call for all of them: starting fio takes its time");
    let none = Vec::<&str>::new();
    assert_eq!(differing(TAKEN, true, we_accept), none);
    assert_eq!(differing(REFUSED, false, fio_accepts), none);
    assert_eq!(differing(REFUSED, false, we_accept), none);
    assert_eq!(differing(REFUSED_BY_US_ALONE, true, fio_accepts), none);
    assert_eq!(differing(REFUSED_BY_US_ALONE, false, we_accept), none);
}
