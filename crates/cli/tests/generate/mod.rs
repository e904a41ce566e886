//! Man pages and completions: all options are in them, other programs accept them, and three shells offer what they
//! should.

use crate::context::{self, PLUMB, place};
use house::{Place, Run, Words};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::LazyLock;

/// The output of plumb, which must succeed and be silent on standard error.
fn plumb(words: impl Words) -> String {
    context::plumb(&std::env::temp_dir(), words).succeeds().silent().stdout
}

/// A directory with links to the program, and what it generates: man pages, and the completion for each shell.
struct Made {
    directory: Place,
}

/// The programs that links to plumb are.
const LINKS: [&str; 4] = ["fio", "fio.sh", "iozone", "iostat"];
/// Shells, and the file with their completion.
const SHELLS: [(&str, &str); 3] = [("bash", "plumb"), ("zsh", "_plumb"), ("fish", "plumb.fish")];

static MADE: LazyLock<Made> = LazyLock::new(|| {
    let directory = place();
    let programs = directory.directory("bin");
    for link in LINKS.iter().chain(&["plumb"]) {
        std::os::unix::fs::symlink(PLUMB, programs.join(link)).unwrap();
    }
    for what in ["man", "bash", "zsh", "fish"] {
        plumb(["--generate", what, "--into", &directory.word(what)]);
    }
    directory.write("results.json", "");
    directory.directory("results");
    Made { directory }
});

impl Made {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.file(name)
    }

    /// Returns what a shell offers for each line. The shell stands in the directory, and finds the links first.
    fn offered(&self, shell: &str, lines: &[String]) -> BTreeMap<String, BTreeSet<String>> {
        let (_, file) = SHELLS.into_iter().find(|(name, _)| *name == shell).unwrap();
        let script = format!("{}/tests/generate/offered.{shell}", env!("CARGO_MANIFEST_DIR"));
        let plain = match shell {
            "bash" => "--norc",
            "zsh" => "-f",
            _ => "--no-config",
        };
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        let file = self.directory.word(format!("{shell}/{file}"));
        let run = Run::new(shell, &self.directory).words([plain, &script, &file]).words(lines);
        let run = run.env("PATH", path).env("HOME", self.directory.path()).env("TERM", "xterm");
        let text = run.succeeds().silent().stdout;
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (line, word) in text.lines().filter_map(|line| line.split_once('\t')) {
            found.entry(line.to_owned()).or_default().insert(word.to_owned());
        }
        found
    }
}

/// The options at the start of a help's line: `-o, --output <FILE>`.
fn options_of_line(line: &str) -> impl Iterator<Item = String> {
    let words = line.trim_start().split(", ").map(|word| word.split([' ', '=', '[', ',']).next().unwrap_or_default());
    words.take_while(|word| word.starts_with(['-', '+']) && word.len() > 1).map(str::to_owned)
}

/// All commands of clap, and their options, as their helps print them.
fn native() -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    let mut open = vec!["plumb".to_owned()];
    while let Some(words) = open.pop() {
        let help = plumb(format!("{} --help", words.trim_start_matches("plumb")));
        let mut options: BTreeSet<String> = BTreeSet::new();
        for line in help.split("\nExamples").next().unwrap_or_default().lines() {
            if line.trim_start().starts_with('-') {
                options.extend(options_of_line(line));
            }
            if let Some((_, aliases)) = line.split_once("[aliases: ") {
                options.extend(options_of_line(aliases.trim_end_matches(']')));
            }
        }
        let commands = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
        let names = commands.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        let names = names.filter(|name| *name != "help" && !(words == "plumb" && LINKS.contains(name)));
        open.extend(names.map(|name| format!("{words} {name}")));
        found.insert(words, options);
    }
    found
}

/// All options of the programs that plumb replaces, as their helps print them.
fn replaced() -> BTreeMap<String, BTreeSet<String>> {
    let of_help = |words: &str| -> BTreeSet<String> {
        let help = plumb(words);
        help.lines().filter(|line| line.starts_with("  ")).flat_map(options_of_line).collect()
    };
    let mut fio = BTreeSet::new();
    // The usage names letters and refused options in running text.
    for word in plumb("fio --help").split_whitespace().filter(|word| word.starts_with('-')) {
        fio.extend(options_of_line(word));
    }
    assert!(fio.remove("--option"), "the usage explains `--option=value` no longer");
    let of_engines = engine::ENGINES.iter().flat_map(|engine| engine.options.iter());
    for option in fio::options().chain(of_engines) {
        let names = std::iter::once(&option.name).chain(option.aliases);
        fio.extend(names.map(|name| format!("--{name}")));
    }
    BTreeMap::from([
        ("plumb fio".to_owned(), fio),
        ("plumb iozone".to_owned(), of_help("iozone -h")),
        ("plumb iostat".to_owned(), of_help("iostat --help")),
        ("plumb fio.sh".to_owned(), of_help("fio.sh -h")),
    ])
}

/// Every program with the options that its help names.
static HELPS: LazyLock<BTreeMap<String, BTreeSet<String>>> = LazyLock::new(|| {
    let mut all = native();
    all.extend(replaced());
    let count = |words: &str| all[words].len();
    assert!(all.len() > 30, "{:?}", all.keys());
    assert!(count("plumb survey") > 30 && count("plumb fio") > 400 && count("plumb iozone") > 90, "{all:?}");
    assert!(count("plumb iostat") > 25 && count("plumb fio.sh") > 15 && count("plumb store add") > 3, "{all:?}");
    all
});

#[test]
fn every_option_of_every_help_is_in_its_man_page() {
    let mut missing = Vec::new();
    for (words, options) in HELPS.iter() {
        let page = std::fs::read_to_string(MADE.path("man").join(words.replace(' ', "-") + ".1")).unwrap();
        let plain = page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "");
        let heads = plain.split(".TP\n").skip(1).filter_map(|entry| entry.lines().next());
        let described: BTreeSet<String> = heads.flat_map(options_of_line).collect();
        missing.extend(options.difference(&described).map(|option| format!("{words} {option}")));
    }
    // clap_mangen leaves second long names out.
    missing.retain(|option| !["plumb survey --seconds"].contains(&option.as_str()));
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_help_has_an_example() {
    let help = |words: &str| {
        let ask = if ["plumb iozone", "plumb fio.sh"].contains(&words) { "-h" } else { "--help" };
        plumb(format!("{} {ask}", words.trim_start_matches("plumb")))
    };
    let has_one = |words: &str| help(words).lines().any(|line| line.trim_start().starts_with("Example"));
    let without: Vec<&String> = HELPS.keys().filter(|words| !has_one(words)).collect();
    assert!(without.is_empty(), "{without:?}");
}

/// Asserts that a shell offers every option behind its program.
fn offers_every_option(shell: &str) {
    let starts = |words: &str| if words == "plumb iostat" { vec!["-", "+"] } else { vec!["-"] };
    let lines = HELPS.keys().flat_map(|words| starts(words).into_iter().map(move |start| format!("{words} {start}")));
    let offered = MADE.offered(shell, &lines.collect::<Vec<_>>());
    let mut missing = Vec::new();
    for (words, options) in HELPS.iter() {
        let lines = offered.iter().filter(|(line, _)| line.trim_end_matches(['-', '+']) == format!("{words} "));
        let words_offered: BTreeSet<&str> =
            lines.flat_map(|(_, found)| found).map(|word| word.split('=').next().unwrap_or(word)).collect();
        let absent = options.iter().filter(|option| !words_offered.contains(option.as_str()));
        missing.extend(absent.map(|option| format!("{words} {option}")));
    }
    assert!(missing.is_empty(), "{shell}: {} missing: {missing:?}", missing.len());
}

#[test]
fn bash_offers_every_option() {
    offers_every_option("bash");
}

#[test]
fn zsh_offers_every_option() {
    offers_every_option("zsh");
}

#[test]
fn fish_offers_every_option() {
    offers_every_option("fish");
}

/// Command lines, a word that is offered, and one that is not.
const OFFERS: &[(&str, &str, &str)] = &[
    ("plumb s", "survey", "parse"),
    ("plumb store ex", "export", "add"),
    ("plumb survey --te", "--tests", "--time"),
    ("plumb --generate z", "zsh", "man"),
    ("plumb check res", "results.json", "survey"),
    ("plumb survey --output-dir res", "results", "results.json"),
    ("plumb fio --output-fo", "--output-format", "--output"),
    ("plumb fio --rw=rand", "randread", "read"),
    ("plumb fio --ioengine=io_", "io_uring", "psync"),
    ("fio --verify=cr", "crc32c", "md5"),
    ("iozone -+", "-+n", "-a"),
    ("plumb iozone --js", "--json", "--csv"),
    ("iostat --comp", "--compact", "--human"),
    ("plumb iostat -o ", "JSON", "-x"),
    ("fio.sh -t readr", "readrand", "write"),
];

#[test]
fn three_shells_offer_commands_options_and_values() {
    let lines: Vec<String> = OFFERS.iter().map(|(line, ..)| (*line).to_owned()).collect();
    let mut wrong = Vec::new();
    for (shell, _) in SHELLS {
        let offered = MADE.offered(shell, &lines);
        for (line, wanted, unwanted) in OFFERS {
            let words = offered.get(*line).cloned().unwrap_or_default();
            // Some shells offer what is typed with it, `--rw=randread`; directories end with a slash.
            let bare = |word: &String| {
                let word = word.trim_end_matches(['/', '=', ' ']);
                word.rsplit_once('=').map_or(word, |(_, value)| value).to_owned()
            };
            let words: BTreeSet<String> = words.iter().map(bare).collect();
            if !words.contains(*wanted) || words.contains(*unwanted) {
                wrong.push(format!("{shell}: `{line}` offers {words:?}, not {wanted} without {unwanted}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_program_that_is_not_plumb_keeps_its_own_completion() {
    let place = place();
    for name in LINKS {
        place.program(name, "#!/bin/sh\n");
    }
    let script = format!("source {}; complete -p", MADE.path("bash").join("plumb").display());
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
    let run = Run::new("bash", &place).words(["--norc", "-c", &script]).env("PATH", path).succeeds().silent();
    assert_eq!(run.stdout, "complete -F _plumb plumb\n");
}

fn pages() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(MADE.path("man")).unwrap();
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    assert_eq!(pages.len(), HELPS.len(), "a page for each program: {pages:?}");
    pages
}

#[test]
fn man_and_mandoc_have_no_complaint() {
    for page in pages() {
        let man = Run::new("man", &MADE.directory).words("--warnings --encoding=UTF-8 --local-file").words([&page]);
        let man = man.env("MANWIDTH", "80").env("LC_ALL", "C.UTF-8").succeeds().silent();
        man.prints("SYNOPSIS").prints("SEE ALSO");
        let lint = Run::new("mandoc", &MADE.directory).words("-T lint").words([&page]).succeeds().silent();
        assert_eq!(lint.stdout, "", "{lint}");
    }
}

#[test]
fn two_times_the_same_date_is_the_same_page() {
    let page = |date: &str| {
        let run = context::plumb(&MADE.directory, "--generate man --page plumb-fio").env("SOURCE_DATE_EPOCH", date);
        run.succeeds().silent().stdout
    };
    assert_eq!(page("86400"), page("86401"));
    assert!(page("86400").contains(".TH PLUMB-FIO 1 1970-01-02 "), "{}", &page("86400")[..200]);
    assert_ne!(page("86400"), page("1000000000"));
}

#[test]
fn mistakes_are_refused_by_name() {
    let occupied = MADE.path("results.json");
    for (words, says) in [
        ("--generate tcsh", "[possible values: man, bash, zsh, fish]"),
        ("--generate", "[possible values: man, bash, zsh, fish]"),
        ("--generate man --page plumb-nothing", "there is no page `plumb-nothing`; there are plumb, plumb-survey"),
        ("--generate zsh --page plumb", "--page is of man pages"),
        (&format!("--generate man --into {}", occupied.display()), "cannot be created"),
        ("--page plumb", "--generate <WHAT>"),
    ] {
        let run = context::plumb(&MADE.directory, words).exits(1).complains(says);
        assert!(run.stdout.is_empty(), "{run}");
    }
    assert!(occupied.is_file());
}
