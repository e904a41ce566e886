//! The list of malformed job files and command lines.

/// One malformed input.
pub(crate) struct Input {
    /// What is wrong with it.
    pub(crate) name: &'static str,
    /// The command that gets it.
    pub(crate) command: &'static str,
    /// The words of the command line, split at blanks.
    pub(crate) words: String,
    /// Files that lie there.
    pub(crate) files: Vec<(&'static str, String)>,
    /// What the message must hold.
    pub(crate) says: Vec<&'static str>,
}

/// A command line for `plumb fio`.
fn line(name: &'static str, words: &str, says: &[&'static str]) -> Input {
    Input { name, command: "fio", words: words.to_owned(), files: Vec::new(), says: says.to_vec() }
}

/// A job file `bad.fio` for `plumb fio`.
fn file(name: &'static str, text: &str, says: &[&'static str]) -> Input {
    let files = vec![("bad.fio", text.to_owned())];
    Input { name, command: "fio", words: "bad.fio".to_owned(), files, says: says.to_vec() }
}

/// A command line for `plumb survey`.
fn survey(name: &'static str, words: &str, says: &[&'static str]) -> Input {
    Input { name, command: "survey", words: words.to_owned(), files: Vec::new(), says: says.to_vec() }
}

/// All of them.
pub(crate) fn all_inputs() -> Vec<Input> {
    let mut inputs = job_files();
    inputs.extend(values_in_files());
    inputs.extend(command_lines());
    inputs.extend(contradictions());
    inputs.extend(surveys());
    inputs
}

/// The grammar of job files.
fn job_files() -> Vec<Input> {
    vec![
        file("text before the first section", "size=1m\n[a]\nsize=1m\n", &["bad.fio:1", "size=1m"]),
        file("an empty file", "", &["No job"]),
        file("only a comment", "; nothing here\n# nor here\n", &["No job"]),
        file("only globals", "[global]\nbs=4k\n", &["No job"]),
        file("a section that does not end", "[a\nsize=1m\n", &["bad.fio:1", "[a"]),
        file("an option without a name", "[a]\nsize=1m\n=4k\n", &["bad.fio:3", "=4k"]),
        file("an unknown option", "[a]\nsize=1m\niodeph=4\n", &["bad.fio:3", "iodeph", "iodepth"]),
        file("an unknown option in a global", "[global]\nblocksz=4k\n[a]\nsize=1m\n", &["bad.fio:2", "blocksz"]),
        file("an include of nothing", "[a]\ninclude\nsize=1m\n", &["bad.fio:2", "include"]),
        file("an include that is not there", "[a]\ninclude gone.inc\n", &["bad.fio:2", "gone.inc"]),
        file("an include of itself", "[a]\ninclude bad.fio\nsize=1m\n", &["bad.fio", "include"]),
        file(
            "an option that belongs to the command line",
            "[a]\nsize=1m\noutput-format=json\n",
            &["bad.fio:3", "output-format"],
        ),
        file("a zero byte", "[a]\nsize=1m\nbs=4\0k\n", &["bad.fio:3", "bs"]),
        file(
            "a line of a hundred thousand letters",
            &format!("[a]\nsize=1m\nbs={}\n", "k".repeat(100_000)),
            &["bad.fio:3"],
        ),
        file("a million brackets", &"[".repeat(1_000_000), &["bad.fio:1"]),
        file("an error in the second of two jobs", "[a]\nsize=1m\n[b]\nsize=1m\nrw=up\n", &["bad.fio:5", "rw", "up"]),
        Input {
            words: "--section=gone bad.fio".to_owned(),
            ..file("a section that is not there", "[a]\nsize=1m\n", &["gone"])
        },
        Input {
            files: vec![("bad.fio", "[a]\ninclude inc/deep.inc\n".into()), ("inc", String::new())],
            ..file("an include below a file", "", &["bad.fio:2", "inc/deep.inc"])
        },
        Input {
            files: vec![("bad.fio", "[a]\ninclude more.inc\n".into()), ("more.inc", "size=1m\nbs=no\n".into())],
            ..file("an error inside an included file", "", &["more.inc:2", "bs", "no"])
        },
    ]
}

/// Values that are none.
fn values_in_files() -> Vec<Input> {
    vec![
        file("a suffix that means nothing", "[a]\nsize=1m\nbs=4q\n", &["bad.fio:3", "bs", "4q"]),
        file("a size of letters", "[a]\nsize=large\n", &["bad.fio:2", "size", "large"]),
        file("a negative size", "[a]\nsize=-1m\n", &["bad.fio:2", "size", "-1m"]),
        file("a size beyond all files", "[a]\nsize=99999999999999999999g\n", &["bad.fio:2", "size"]),
        file("a share over 100 of a size", "[a]\nsize=101%\n", &["bad.fio:2", "size", "101%"]),
        file("a block size of nothing", "[a]\nsize=1m\nbs=0\n", &["bad.fio:3", "bs"]),
        file("four block sizes", "[a]\nsize=1m\nbs=1k,2k,3k,4k\n", &["bad.fio:3", "bs"]),
        file("one bad block size of two", "[a]\nsize=1m\nbs=4k,foo\n", &["bad.fio:3", "foo"]),
        file("half a range", "[a]\nsize=1m\nbsrange=4k-\n", &["bad.fio:3", "bsrange"]),
        file("shares over 100", "[a]\nsize=1m\nbssplit=4k/70:8k/60\n", &["bssplit"]),
        file("an unknown direction", "[a]\nsize=1m\nrw=sideways\n", &["bad.fio:3", "rw", "sideways"]),
        file("a direction nearly right", "[a]\nsize=1m\nrw=randraed\n", &["bad.fio:3", "randraed", "randread"]),
        file("a mix over 100", "[a]\nsize=1m\nrw=rw\nrwmixread=101\n", &["bad.fio:4", "rwmixread", "101"]),
        file("a depth of nothing", "[a]\nsize=1m\niodepth=0\n", &["bad.fio:3", "iodepth"]),
        file("a depth of letters", "[a]\nsize=1m\niodepth=many\n", &["bad.fio:3", "iodepth", "many"]),
        file("yes is not a bool", "[a]\nsize=1m\ndirect=yes\n", &["bad.fio:3", "direct", "yes"]),
        file("a bool without a value", "[a]\nsize=1m\ndirect\n", &["bad.fio:3", "direct"]),
        file("a time of letters", "[a]\nsize=1m\nruntime=soon\n", &["bad.fio:3", "runtime", "soon"]),
        file("a unit of time that is none", "[a]\nsize=1m\nruntime=5y\n", &["bad.fio:3", "runtime", "5y"]),
        file("an unknown engine", "[a]\nsize=1m\nioengine=warp\n", &["bad.fio:3", "ioengine", "warp"]),
        file("a niceness out of bounds", "[a]\nsize=1m\nnice=50\n", &["bad.fio:3", "nice", "50"]),
        file("a priority out of bounds", "[a]\nsize=1m\nprio=9\n", &["bad.fio:3", "prio", "9"]),
        file("processors upside down", "[a]\nsize=1m\ncpus_allowed=3-1\n", &["bad.fio:3", "cpus_allowed"]),
        file("a percentile over 100", "[a]\nsize=1m\npercentile_list=50:101\n", &["bad.fio:3", "percentile_list"]),
        file(
            "a pattern of odd digits",
            "[a]\nsize=1m\nrw=write\nbuffer_pattern=0xzz\n",
            &["bad.fio:4", "buffer_pattern"],
        ),
        file("an unknown way to allocate", "[a]\nsize=1m\nfallocate=hope\n", &["bad.fio:3", "fallocate", "hope"]),
        file(
            "an unknown distribution",
            "[a]\nsize=1m\nrandom_distribution=lucky\n",
            &["bad.fio:3", "random_distribution", "lucky"],
        ),
        file("an unknown kind of memory", "[a]\nsize=1m\nmem=paper\n", &["bad.fio:3", "mem", "paper"]),
        file(
            "an engine option of another engine",
            "[a]\nsize=1m\nioengine=libaio\nsqthread_poll=1\n",
            &["bad.fio:4", "sqthread_poll"],
        ),
    ]
}

/// Command lines.
fn command_lines() -> Vec<Input> {
    vec![
        line("a misspelt option", "--name=a --size=1m --iodeph=4", &["iodeph", "iodepth"]),
        line("an abbreviation of many", "--name=a --size=1m --rand=1", &["rand"]),
        line("an option that needs a value", "--name=a --size=1m --bs", &["bs"]),
        line("a bad value", "--name=a --size=1m --rw=sideways", &["rw", "sideways"]),
        line("an unknown output format", "--output-format=pretty --name=a --size=64k", &["output-format", "pretty"]),
        line("a job file that is not there", "gone.fio", &["gone.fio"]),
        line("a directory as a job file", ".", &["."]),
        line("writing under readonly", "--readonly --name=a --size=64k --rw=randwrite", &["a", "write"]),
        line("an unknown wish for eta", "--eta=perhaps --name=a --size=64k", &["eta", "perhaps"]),
        line(
            "output into a directory that is not there",
            "--output=gone/out.txt --name=a --size=64k",
            &["gone/out.txt"],
        ),
        line("help on an engine that is none", "--enghelp=warp", &["warp"]),
        line("a random draw for less than one block", "--name=a --size=64k --rw=randread:-8", &["rw", "randread:-8"]),
        line("an option that is refused", "--name=a --size=64k --write_barrier=4", &["write_barrier", "fdatasync"]),
        line("a bad value with parse-only", "--parse-only --name=a --size=64k --bs=4q", &["bs", "4q"]),
    ]
}

/// Words that are right one by one and not together.
fn contradictions() -> Vec<Input> {
    vec![
        line("no size and no file", "--name=a --rw=randread", &["a", "size"]),
        line("a block larger than the size", "--name=a --size=4k --bs=64k", &["a", "size"]),
        line("rate and rate_iops", "--name=a --size=1m --rate=1m --rate_iops=10", &["rate", "rate_iops"]),
        line("a wait for an unknown job", "--name=a --size=64k --wait_for=absent", &["wait_for", "absent"]),
        line("a wait for itself", "--name=a --size=64k --wait_for=a", &["wait_for", "a"]),
        line("a directory that is not there", "--name=a --size=64k --directory=gone", &["gone"]),
        line("a processor that is not there", "--name=a --size=64k --cpus_allowed=9999", &["cpus_allowed", "9999"]),
        line("a file name that is too long", &format!("--name=a --size=64k --filename={}", "f".repeat(5000)), &["a"]),
    ]
}

/// The survey.
fn surveys() -> Vec<Input> {
    vec![
        survey("nothing to survey", "", &["PATH"]),
        survey("a path that is not there", "gone", &["gone"]),
        survey("a character device", "/dev/null", &["/dev/null"]),
        survey("a survey of letters", "--size large .", &["size", "large"]),
        survey("a survey of no time", "--time 0 .", &["time", "0"]),
        survey("an option that the survey has not", "--quik .", &["quik", "quick"]),
        survey("a survey larger than the disk", "--size 900000T .", &["900000T"]),
    ]
}
