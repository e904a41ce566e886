//! What is kept of the words, and the command line that says the same.

use crate::abilities::{file_plan, invoke, job, plan_of};
use fio::Action;
use plan::Plan;

fn written(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}
#[test]
fn a_job_keeps_its_raw_options_under_their_main_names() {
    let plan = file_plan(
        "[global]\nioengine=null\nsize=1m\n[j1]\nrw=randread\nnorandommap\nblocksize=4k,16k ; comment\nreadwrite=randrw\n",
    );
    let expected = [("rw", "randread"), ("norandommap", ""), ("bs", "4k,16k"), ("rw", "randrw")];
    assert_eq!(plan.jobs[0].written, written(&expected));
    assert_eq!(plan.global_options, written(&[("ioengine", "null"), ("size", "1m")]));
    assert_eq!(plan.jobs[0].origin, "f:4".replace('f', "mix.fio"));
}

#[test]
fn on_the_command_line_the_name_is_one_of_the_jobs_options() {
    let job = job(&["--time_based=0"]);
    let expected = [("name", "x"), ("ioengine", "null"), ("size", "1m"), ("time_based", "0")];
    assert_eq!(job.written, written(&expected));
    assert_eq!(job.origin, "command line");
}

/// The words of a shown command line, as a shell would split them.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut letters = line.trim_end().chars();
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        let last = words.last_mut().expect("never empty");
        match letter {
            '\'' => quoted = !quoted,
            '\\' if !quoted => last.extend(letters.next()),
            ' ' if !quoted => words.push(String::new()),
            other => last.push(other),
        }
    }
    words.remove(0);
    words
}

/// A plan without what distinguishes a job file from a command line.
fn bare(mut plan: Plan) -> String {
    plan.global_options.clear();
    for job in &mut plan.jobs {
        job.written.clear();
        job.origin.clear();
    }
    format!("{plan:#?}")
}

const MIX: &str = "[global]\nbs=${SIZE}k\nioengine=null\nsize=1m\nrate=1m,,500k\n\
    [j1]\nrw=randread\nnorandommap\nbs=4k,16k\n[j 2]\nstonewall\nfilename=a\\:b:c\nthread=1\nruntime=10\n\
    description=it's a \"job\" $HOME\nbuffer_pattern=\"a b\"0xff\n[global]\nbs=(2*1k)\n[j3]\nioengine=libaio\n\
    userspace_reap\niodepth=$ncpus*2\n";

#[test]
fn showcmd_reads_back_to_the_same_plan() {
    let files = [("1.fio", MIX), ("2.fio", "[global]\nsize=2m\n[k1]\nbs=2k\n[k2]\nname=other\n")];
    for words in [&["1.fio"][..], &["1.fio", "2.fio"], &["--bs=1k", "--size=4m", "--name=a", "2.fio", "1.fio"]] {
        let shown = match invoke(&[&["--showcmd"], words].concat(), &files).expect("shown").action {
            Action::ShowCmd(text) => text,
            other => panic!("not shown: {other:?}"),
        };
        let again = shell_words(&shown);
        let again: Vec<&str> = again.iter().map(String::as_str).collect();
        assert_eq!(bare(plan_of(invoke(&again, &[]))), bare(plan_of(invoke(words, &files))), "{shown}");
    }
}

#[test]
fn showcmd_puts_globals_in_front_and_names_open_jobs() {
    let text = "[global]\nbs=8k\n[a]\nblocksize=4k\nthread\n";
    let shown = match invoke(&["--showcmd", "f"], &[("f", text)]).expect("shown").action {
        Action::ShowCmd(text) => text,
        other => panic!("not shown: {other:?}"),
    };
    assert_eq!(shown, "fio --bs=8k --name=a --bs=4k --thread \n");
}

#[test]
fn options_are_shown_in_fios_order() {
    // As fio 3.33 and 3.41 print it: a blank behind each word, units and locks first, names of files behind the others,
    // options of the engine last.
    let text = "[a]\nuserspace_reap=1\nfilename_format=$jobname\nsize=64k\nfilename=f\nioengine=libaio\nrw=read\nlockfile=none\n\
                iodepth=4\nkb_base=1000\n";
    let shown = match invoke(&["--showcmd", "f"], &[("f", text)]).expect("shown").action {
        Action::ShowCmd(text) => text,
        other => panic!("not shown: {other:?}"),
    };
    assert_eq!(
        shown,
        "fio --name=a --lockfile=none --kb_base=1000 --size=64k --ioengine=libaio --rw=read --iodepth=4 \
         --filename_format='$jobname' --filename=f --userspace_reap=1 \n"
    );
}

#[test]
fn every_pattern_means_what_the_parser_reads() {
    let parser = fio::Parser::new(&[]);
    for word in
        ["read", "write", "trim", "randread", "randwrite", "randtrim", "rw", "randrw", "trimwrite", "randtrimwrite"]
    {
        assert_eq!(parser.echoed_pattern(word, "").expect("a pattern").pattern(), word);
    }
    assert!(parser.echoed_pattern("sequential", "").is_none());
    for (text, word) in [("randread:8", "randread"), ("readwrite", "rw")] {
        assert_eq!(parser.echoed_pattern(text, "").expect("a pattern").pattern(), word);
    }
}
