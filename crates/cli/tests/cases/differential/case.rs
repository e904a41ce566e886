//! What one case is: what both programs are given, and what their answers are held to.

use super::streams::Ios;
use house::{Amounts, Call, Depths, Samples, TextRules};
use std::time::Duration;

/// What must agree in addition to the exit status and the files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Held {
    /// A report: JSON tree and normal text.
    Report,
    /// The exact words, apart from the program's own name.
    Words,
    /// The I/Os that `--debug=io` prints.
    Ios(Ios),
    /// Nothing more: the words are each program's own.
    Status,
    /// A refusal: not zero, nothing made.
    Refusal,
}

/// What a limited run must reach within 2 %, per job and direction that moved anything.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// I/Os per second.
    pub(super) iops: f64,
    /// Bytes per second.
    pub(super) bandwidth: f64,
}

/// One case of the list.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// What it shows.
    pub(super) name: &'static str,
    /// What both programs are given.
    pub(super) call: Call,
    /// What the answers are held to.
    pub(super) held: Held,
    /// How closely the text is.
    pub(super) rules: TextRules,
    /// The bytes of all directions together are fixed, though not each of them.
    pub(super) sum_fixed: bool,
    /// The rate to reach.
    pub(super) rate: Option<Rate>,
    /// The contents of the files are fixed.
    pub(super) contents_fixed: bool,
    /// There are logs: as many rows of as many fields, whatever the numbers.
    pub(super) logged: bool,
    /// There are logs over windows, and compressed ones: about as many rows, of as many fields.
    pub(super) windowed: bool,
    /// The file that holds the report, when it is not standard output.
    pub(super) report_file: Option<&'static str>,
    /// How fio itself must end; `None` where the two only have to agree.
    pub(super) ends: Option<i32>,
    /// Needs a separate block device for `{dev}`.
    pub(super) on_device: bool,
    /// Debian's stable fio answers otherwise: only the newest is asked.
    pub(super) newest_only: bool,
    /// What the kernel is asked for: the calls that strace writes down, and the words of the lines that are counted.
    pub(super) asked: Option<(&'static str, &'static [&'static str])>,
}

impl Case {
    fn new(name: &'static str, words: &str, held: Held) -> Case {
        let call = Call { words: words.split_whitespace().map(str::to_owned).collect(), ..Call::default() };
        let rules = TextRules { amounts: Amounts::Fixed, depths: Depths::Fixed, samples: Samples::Perhaps };
        Case {
            name,
            call,
            held,
            rules,
            sum_fixed: false,
            rate: None,
            contents_fixed: false,
            logged: false,
            windowed: false,
            report_file: None,
            ends: matches!(held, Held::Report | Held::Words | Held::Ios(_)).then_some(0),
            on_device: false,
            newest_only: false,
            asked: None,
        }
    }

    /// A run whose JSON and text are compared.
    pub(super) fn report(name: &'static str, words: &str) -> Case {
        Case::new(name, &format!("--output-format=json,normal {words}"), Held::Report)
    }

    /// A run that chooses its own output.
    pub(super) fn own_format(name: &'static str, words: &str) -> Case {
        Case::new(name, words, Held::Report)
    }

    /// A run whose words are the same, letter by letter.
    pub(super) fn words(name: &'static str, words: &str) -> Case {
        Case::new(name, words, Held::Words)
    }

    /// A run of which only the exit status counts.
    pub(super) fn status(name: &'static str, words: &str) -> Case {
        Case::new(name, words, Held::Status)
    }

    /// A run whose I/Os are compared.
    pub(super) fn ios(name: &'static str, how: Ios, words: &str) -> Case {
        Case::new(name, &format!("--debug=io --name=a {words}"), Held::Ios(how))
    }

    /// A run of which as many lines of these calls must hold these words.
    pub(super) fn calls(name: &'static str, calls: &'static str, wanted: &'static [&'static str], words: &str) -> Case {
        let mut case = Case::new(name, &format!("--name=a --size=64k {words}"), Held::Status).ends(0);
        case.asked = Some((calls, wanted));
        case
    }

    /// Input that both refuse.
    pub(super) fn refused(name: &'static str, words: &str) -> Case {
        Case::new(name, words, Held::Refusal)
    }

    /// Of the newest fio alone.
    pub(super) const fn newest_only(mut self) -> Case {
        self.newest_only = true;
        self
    }

    /// True if it lasts for a given time or at a given rate.
    pub(super) fn takes_time(&self) -> bool {
        let times = ["runtime", "rate", "thinktime"];
        let lasts = |text: &String| times.iter().any(|time| text.contains(time));
        self.call.words.iter().any(lasts) || self.call.files.iter().any(|(_, text)| lasts(text))
    }

    /// With a file that lies there before.
    pub(super) fn file(mut self, name: &str, text: &str) -> Case {
        self.call.files.push((name.to_owned(), text.to_owned()));
        self
    }

    /// With one more word, which may hold blanks.
    pub(super) fn word(mut self, word: &str) -> Case {
        self.call.words.push(word.to_owned());
        self
    }

    /// With a variable in the environment.
    pub(super) fn variable(mut self, name: &str, value: &str) -> Case {
        self.call.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With text on standard input.
    pub(super) fn input(mut self, text: &str) -> Case {
        text.clone_into(&mut self.call.input);
        self
    }

    /// Speed decides how much is done.
    pub(super) fn free_amounts(mut self) -> Case {
        self.rules.amounts = Amounts::Free;
        self
    }

    /// Chance decides the share of each direction; their sum is fixed.
    pub(super) fn mixed(mut self) -> Case {
        self.sum_fixed = true;
        self.free_amounts()
    }

    /// Timing decides how many are in flight.
    pub(super) fn free_depths(mut self) -> Case {
        self.rules.depths = Depths::Free;
        self
    }

    /// Long enough to have samples for certain.
    pub(super) fn sampled(mut self) -> Case {
        self.rules.samples = Samples::Certain;
        self
    }

    /// Reaches this rate.
    pub(super) fn rate(mut self, iops: f64, bandwidth: f64) -> Case {
        self.rate = Some(Rate { iops, bandwidth });
        self.free_amounts().sampled()
    }

    /// Leaves files with the same bytes.
    pub(super) fn same_contents(mut self) -> Case {
        self.contents_fixed = true;
        self
    }

    /// Leaves logs with the same number of rows.
    pub(super) fn logged(mut self) -> Case {
        self.logged = true;
        self.free_depths()
    }

    /// Leaves logs over windows, or compressed ones.
    pub(super) fn windowed(mut self) -> Case {
        self.windowed = true;
        self.free_depths()
    }

    /// Reports into this file.
    pub(super) fn report_in(mut self, name: &'static str) -> Case {
        self.report_file = Some(name);
        self
    }

    /// Ends with this exit status.
    pub(super) fn ends(mut self, status: i32) -> Case {
        self.ends = Some(status);
        self
    }

    /// Runs on a block device.
    pub(super) fn on_device(mut self) -> Case {
        self.on_device = true;
        self
    }

    /// Gets a signal after this number of milliseconds.
    pub(super) fn signal(mut self, after_ms: u64, name: &'static str) -> Case {
        self.call.signal = Some((Duration::from_millis(after_ms), name));
        self.ends(128)
    }
}
