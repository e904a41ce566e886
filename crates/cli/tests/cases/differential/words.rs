//! Cases about words: the command line, job files, and what is refused.

use super::case::Case;

/// A job of SCSI commands, with words that need a device when they run.
const SG: &str = "[a]\nioengine=sg\nrw=write\nfilename=/dev/sg99\nhipri\nreadfua=1\nsg_write_mode=write_same_ndob\n\
                  stream_id=3\n[b]\nioengine=sg\nrw=write\nfilename=/dev/sg99\nsg_write_mode=verify_bytchk_11\n";

/// The command line.
pub(super) fn command_line() -> Vec<Case> {
    vec![
        Case::report("the_shortest_job", "--name=a --size=1m"),
        Case::report("single_dashes", "-name=a -size=1m -rw=randread -bs=8k"),
        Case::report("a_unique_abbreviation", "--name=a --size=256k --numj=2 --group_rep"),
        Case::report("each_name_opens_a_job", "--name=a --size=1m --name=b --rw=write --size=512k"),
        Case::report("options_before_the_first_name_are_global", "--bs=16k --size=1m --name=a --name=b --rw=write"),
        Case::report(
            "name_global_goes_back",
            "--name=global --bs=8k --size=256k --name=a --name=global --bs=16k --name=b",
        ),
        Case::report("aliases", "--name=a --size=256k --blocksize=8k --readwrite=randread --nr_files=2"),
        Case::report("upper_case_units", "--name=a --size=1M --bs=4K"),
        Case::report("units_with_b", "--name=a --size=1mb --bs=4kib --kb_base=1000 --rw=write"),
        Case::report("hexadecimal", "--name=a --size=0x40000 --bs=0x2000"),
        Case::report("three_way_block_sizes", "--name=a --size=1m --rw=rw --bs=4k,16k").mixed(),
        Case::report("a_slot_left_empty", "--name=a --size=256k --rw=write --bs=,16k"),
        Case::report("a_description", "--name=a --size=64k").word("--description=the morning run, of today"),
        Case::report("the_later_one_wins", "--name=a --size=256k --bs=4k --bs=16k --buffered=1 --direct=1 --rw=write"),
        Case::report("eta_never", "--eta=never --name=a --size=64k"),
        Case::report("readonly_reads", "--readonly --name=a --size=64k --ioengine=null"),
        Case::own_format("normal_is_the_default", "--name=a --size=1m --rw=randread"),
        Case::own_format("json_alone", "--output-format=json --name=a --size=1m --rw=randread"),
        Case::own_format("normal_before_json", "--output-format=normal,json --name=a --size=1m"),
        Case::own_format("formats_in_two_options", "--output-format=json --output-format=normal --name=a --size=256k"),
        Case::report("output_into_a_file", "--output=out.txt --name=a --size=256k").report_in("out.txt"),
        Case::words("showcmd_of_a_file", "--showcmd x.fio")
            .file("x.fio", "[global]\nbs=8k\ndirect=1\n[a]\nsize=64k\nrw=randread\n[b]\nstonewall\nsize=64k\n"),
        Case::words("showcmd_in_order", "--showcmd x.fio").file(
            "x.fio",
            "[global]\nfdp=0\ndirect=1\n[a]\nuserspace_reap=0\nfilename=f\nblocksize=4k\nsize=64k\nioengine=libaio\n\
             time_based\nrw=read\nlockfile=none\ngroup_reporting=1\nkb_base=1000\niodepth=4\n",
        )
        .newest_only(),
        Case::status("parse_only_of_good_words", "--parse-only --name=a --size=1m --rw=randwrite"),
        Case::status("version", "--version"),
        Case::status("help", "--help"),
        Case::status("cmdhelp_of_one_option", "--cmdhelp=bs"),
        Case::status("cmdhelp_of_all", "--cmdhelp=all"),
        Case::status("cmdhelp_of_an_unknown_option", "--cmdhelp=nosuchthing"),
        Case::status("enghelp", "--enghelp"),
        Case::status("enghelp_of_libaio", "--enghelp=libaio"),
        Case::status("enghelp_of_an_unknown_engine", "--enghelp=nosuch"),
        Case::status("nothing_to_do", ""),
        // fio does not say that it has none.
        Case::own_format(
            "threads_has_no_effect",
            "--output-format=json --name=a --ioengine=null --size=64k --rw=write --threads=4",
        ),
        Case::words("showcmd_of_threads", "--showcmd x.fio").file("x.fio", "[a]\nsize=64k\nthreads=4\n"),
        Case::refused("threads_without_a_number", "--name=a --ioengine=null --size=64k --threads=x"),
        Case::report("an_eta_interval_in_seconds", "--eta-interval=1 --name=a --ioengine=null --size=64k"),
        Case::refused("an_eta_interval_below_250_ms", "--eta-interval=100ms --name=a --ioengine=null --size=64k"),
        Case::refused("an_eta_newline_of_zero", "--eta-newline=0 --name=a --ioengine=null --size=64k"),
        Case::report("an_eta_newline_of_100_ms", "--eta-newline=100ms --name=a --ioengine=null --size=64k"),
        Case::status(
            "debug_words_never_stop_a_run",
            "--debug=nosuch,net,job:x,zbd --name=a --ioengine=null --size=64k",
        )
        .ends(0),
        Case::status("parse_only_knows_the_words_of_sg", "--parse-only x.fio").file("x.fio", SG).ends(0),
        Case::words("showcmd_of_the_words_of_sg", "--showcmd x.fio").file("x.fio", SG),
        Case::refused("parse_only_of_a_word_that_sg_does_not_have", "--parse-only x.fio")
            .file("x.fio", "[a]\nioengine=sg\nsg_write_mode=nosuch\n"),
        Case::status("warnings_are_fatal_when_asked", "--warnings-fatal --name=a --size=64k --time_based"),
    ]
}

/// Job files.
pub(super) fn job_files() -> Vec<Case> {
    const TWO: &str = "[global]\nsize=256k\nbs=8k\n\n[first]\nrw=write\n\n[second]\nrw=randread\n";
    vec![
        Case::report("globals_and_two_jobs", "x.fio").file("x.fio", TWO),
        Case::report("a_global_in_the_middle", "x.fio")
            .file("x.fio", "[a]\nsize=64k\n[global]\nbs=16k\n[b]\nsize=64k\n[global]\nrw=write\n[c]\nsize=64k\n"),
        Case::report("comments_and_blanks", "x.fio")
            .file("x.fio", "; first\n# second\n\n[a]   \n  size=256k   ; after a value\n\tbs=8k # too\nrw=write\n"),
        Case::report("names_with_blanks", "x.fio").file("x.fio", "[the first job]\nsize=64k\nfilename=f\n"),
        Case::report("an_included_file", "x.fio")
            .file("x.fio", "[global]\ninclude common.inc\n[a]\nrw=randwrite\n")
            .file("common.inc", "size=256k\nbs=16k\n"),
        Case::report("an_included_file_next_to_the_including_one", "sub/x.fio")
            .file("sub/x.fio", "[global]\ninclude common.inc\n[a]\n")
            .file("sub/common.inc", "size=64k\n"),
        Case::report("variables_of_the_environment", "x.fio")
            .file("x.fio", "[a]\nsize=${PLUMB_SIZE}\nrw=${PLUMB_RW}\n")
            .variable("PLUMB_SIZE", "128k")
            .variable("PLUMB_RW", "randread"),
        Case::report("keywords", "x.fio").file("x.fio", "[a]\nsize=1m\nbs=$pagesize\nnumjobs=$ncpus\n"),
        Case::report("arithmetic_with_keywords", "x.fio").file("x.fio", "[a]\nbs=4k\nsize=$pagesize*16\n"),
        Case::report("standard_input", "-").input("[a]\nsize=64k\n[b]\nsize=128k\nrw=write\n"),
        Case::report("several_files_stand_apart", "x.fio y.fio")
            .file("x.fio", "[a]\nsize=64k\n")
            .file("y.fio", "[b]\nsize=128k\nrw=write\n"),
        Case::report("one_section", "--section=second x.fio").file("x.fio", TWO),
        Case::report("two_sections", "--section=second --section=first x.fio").file("x.fio", TWO),
        Case::report("options_before_a_file", "--bs=32k x.fio").file("x.fio", "[a]\nsize=256k\n"),
    ]
}

/// What both refuse.
pub(super) fn refused() -> Vec<Case> {
    let line = |name, words| Case::refused(name, words);
    let file = |name, text: &str| Case::refused(name, "bad.fio").file("bad.fio", text);
    vec![
        line("an_unknown_option", "--name=a --size=1m --nosuchoption=1"),
        line("an_unknown_rw", "--name=a --size=1m --rw=sideways"),
        line("a_size_without_digits", "--name=a --size=large"),
        line("a_block_size_of_nothing", "--name=a --size=1m --bs=0"),
        line("a_share_over_100", "--name=a --size=1m --rw=rw --rwmixread=101"),
        line("a_depth_of_nothing", "--name=a --size=1m --ioengine=libaio --iodepth=0"),
        line("an_unknown_engine", "--name=a --size=1m --ioengine=nosuch"),
        line("an_engine_option_of_another_engine", "--name=a --size=1m --ioengine=libaio --sqthread_poll=1"),
        line("a_section_that_is_not_there", "--section=nosuch bad.fio").file("bad.fio", "[a]\nsize=1m\n"),
        line("the_global_section_alone", "--section=global bad.fio").file("bad.fio", "[a]\nsize=1m\n"),
        line("a_job_file_that_is_not_there", "nosuch.fio"),
        line("parse_only_of_bad_words", "--parse-only --name=a --size=1m --rw=sideways"),
        line("writing_under_readonly", "--readonly --name=a --size=1m --rw=write"),
        line("an_unknown_output_format", "--output-format=pretty --name=a --size=64k"),
        line("rate_and_rate_iops", "--name=a --size=1m --rate=1m --rate_iops=10"),
        line("a_wait_for_an_unknown_job", "--name=a --size=64k --wait_for=absent"),
        line("a_bad_priority", "--name=a --size=64k --prio=9"),
        line("a_bad_niceness", "--name=a --size=64k --nice=50"),
        line("a_cpu_that_is_not_there", "--name=a --size=64k --cpus_allowed=9999"),
        file("text_before_the_first_section", "size=1m\n[a]\nsize=1m\n"),
        file("a_bad_value_in_a_file", "[a]\nsize=1m\nrw=sideways\n"),
        file("an_unknown_option_in_a_file", "[a]\nsize=1m\nnosuchoption=1\n"),
        file("an_include_that_is_not_there", "[a]\ninclude nosuch.inc\nsize=1m\n"),
        file("a_bool_without_value", "[a]\nsize=1m\ndirect\n"),
        file("an_option_that_needs_a_value", "[a]\nsize=1m\nbs\n"),
    ]
}
