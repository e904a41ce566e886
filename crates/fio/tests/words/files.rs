//! The grammar of job files.

use crate::abilities::{file_plan, invoke, plan_of, titles};
use measure::Direction;
use plan::Mix;

/// The block size of each job of a file.
fn sizes(text: &str) -> Vec<u32> {
    file_plan(text).jobs.iter().map(|job| job.load.block_size.read.smallest()).collect()
}

#[test]
fn global_sections_hold_for_what_follows_only() {
    assert_eq!(sizes("[a]\n[global]\nbs=8k\n[b]\n[globalfoo]\nbs=1k\n[c]\n"), [4096, 8192, 1024]);
}

#[test]
fn comments_start_anywhere_and_blanks_do_not_matter() {
    let text = "; a comment\n# another\n\n[a] ; named a\n  bs = 16k   # so large\r\n\tsize=1m;x\n";
    assert_eq!(sizes(text), [16384]);
}

#[test]
fn the_later_of_two_wins_but_units_and_engine_come_first() {
    assert_eq!(sizes("[a]\nbs=8k\nbs=2k\n"), [2048]);
    assert_eq!(sizes("[a]\nbs=4k\nkb_base=1000\n"), [4000]);
    assert_eq!(sizes("[a]\nbs=4ki\nkb_base=1000\n"), [4096]);
    let plan = file_plan("[a]\nuserspace_reap\nioengine=libaio\n");
    assert!(plan.jobs[0].engine_options.is_on("userspace_reap"));
}

#[test]
fn the_environment_and_facts_of_the_machine_are_filled_in() {
    let cases: &[(&str, u32)] = &[
        ("bs=${SIZE}k", 8192),
        ("bs=${SIZE}${NOSUCH}k", 8192),
        ("${OPTION}", 2048),
        ("bs=$pagesize", 4096),
        ("bs=$pagesize*2", 8192),
        ("bs=$ncpus*2+1", 9),
        ("bs=($ncpus*1k)", 4096),
        ("bs=$mb_memory/4", 500),
        ("bs=(4*1k)", 4096),
        ("bs=(2^13)", 8192),
    ];
    for &(line, expected) in cases {
        assert_eq!(sizes(&format!("[a]\n{line}\n")), [expected], "{line}");
    }
    let plan = file_plan("[a]\nfilename=data-$ncpus.bin\n");
    assert_eq!(plan.jobs[0].files.names, [std::path::PathBuf::from("data-4.bin")]);
}

#[test]
fn includes_nest_and_are_found_next_to_the_including_file() {
    let files = [
        ("jobs/mix.fio", "[a]\ninclude part.inc\nsize=1m\n"),
        ("jobs/part.inc", "bs=32k\ninclude=sub/more.inc\n"),
        ("jobs/sub/more.inc", "rw=write ; deeper\n"),
    ];
    let plan = plan_of(invoke(&["jobs/mix.fio"], &files));
    assert_eq!(plan.jobs[0].load.block_size.read.smallest(), 32768);
    assert_eq!(plan.jobs[0].load.mix, Mix::Only(Direction::Write));
}

#[test]
fn files_that_include_themselves_come_to_an_end() {
    let twice = "include a\ninclude a\nbs=8k\n";
    let files = [("f", "[x]\ninclude a\n"), ("a", twice)];
    let expected = "a:1: includes nest deeper than 16 or are more than 256; look for a file that includes itself";
    assert_eq!(titles(&["f"], &files), [expected]);
}

#[test]
fn standard_input_is_a_job_file_once() {
    assert_eq!(plan_of(invoke(&["-"], &[("-", "[a]\nsize=1m\n")])).jobs[0].name, "a");
    let messages = titles(&["-", "-"], &[("-", "[a]\nsize=1m\n")]);
    assert_eq!(messages, ["command line: standard input can be read only once"]);
}

#[test]
fn a_wrong_job_names_its_file_and_every_wrong_line() {
    let text = "[global]\nioengine=null\n[good]\nsize=1m\n[a]\nsize=1m\nbs=4q\nfoo=1\n[b]\nrw=raed\n";
    assert_eq!(
        titles(&["mix.fio"], &[("mix.fio", text)]),
        [
            "job `a` (mix.fio:7): bs=4q is not a size; write it like 4k, 1m or 4096",
            "job `a` (mix.fio:8): there is no option `foo`",
            "job `b` (mix.fio:10): rw=raed is not one of its values; did you mean `read`? It takes read, write, trim, \
             randread, randwrite, randtrim, rw, readwrite, randrw, trimwrite, randtrimwrite",
        ]
    );
}

#[test]
fn an_error_shows_the_line_with_the_word_underlined() {
    let error = invoke(&["mix.fio"], &[("mix.fio", "[a]\nsize=1m\n  bs=4k,4q ; two\n")]).expect_err("4q");
    let shown = error.to_string();
    assert!(shown.contains("mix.fio:3:6"), "{shown}");
    assert!(shown.contains("  bs=4k,4q ; two"), "{shown}");
    assert!(shown.contains("^^^^^"), "{shown}");
    let error = invoke(&["--name=x", "--bs=4q"], &[]).expect_err("4q");
    assert!(error.to_string().contains("fio --name=x --bs=4q"), "{error}");
}

#[test]
fn an_error_in_an_included_file_names_that_file() {
    let files = [("a.fio", "[a]\ninclude b.inc\n"), ("b.inc", "size=1m\niodepth=0\n")];
    assert_eq!(titles(&["a.fio"], &files), ["job `a` (b.inc:2): iodepth=0 is below the smallest value, 1"]);
}

#[test]
fn lines_up_to_the_limit_are_read() {
    let comment = "x".repeat(8000);
    assert_eq!(sizes(&format!("[a]\nbs=8k ;{comment}\n")), [8192]);
}

#[test]
fn a_section_may_have_any_text_as_its_name() {
    let plan = file_plan("[my job: 4k/8k]\nsize=1m\n[]\nsize=1m\n[x]\nname=y\n");
    let names: Vec<&str> = plan.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["my job: 4k/8k", "", "y"]);
}

#[test]
fn a_contradiction_shows_both_lines() {
    let text = "[a]\nrate=1m\nthread\nloops=2\nsize=1m\nrate_iops=5\n";
    let error = invoke(&["mix.fio"], &[("mix.fio", text)]).expect_err("both rates").to_string();
    assert!(error.contains("2 | rate=1m\n") && error.contains("6 | rate_iops=5\n"), "{error}");
    assert!(!error.contains("loops"), "{error}");
}
