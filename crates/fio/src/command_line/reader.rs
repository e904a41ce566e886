//! fio's command line: long options with one or two dashes, unique abbreviations, `--name` opens a job, job files last.

use crate::command_line::invocation::{
    Action, EtaRequest, EtaWhen, IdleProfile, OutputFormat, OutputRequest, SideOutputs, TerseVersion, Trial,
    TriggerRequest,
};
use crate::command_line::network::{ClientTrust, LostServer, Needs, NetworkWords, ServerJobs, ServerRequest};
use crate::command_line::options::{Argument, CommandOption, LETTERS, OPTIONS};
use crate::command_line::{debug, help};
use crate::error::{COMMAND_LINE, Place, Problem, Sources, did_you_mean};
use crate::known_engines;
use crate::options::table;
use crate::options::values::span_of_time;
use crate::sections::{Assignment, Section, SectionKind};
use crate::untrusted::Trust;
use measure::Nanos;
use plan::DebugPlan;
use plan::EngineSpec;
use plan::option::{Kind, OptionSpec, Support, TimeUnit};
use std::ops::Range;
use std::path::PathBuf;

/// The content of a command line, before jobs are made from it.
#[derive(Default)]
pub(crate) struct Words {
    /// Sections opened by `--name`, and the unnamed one before the first.
    pub sections: Vec<Section>,
    /// Job files, each with its place on the command line.
    pub files: Vec<(String, Place)>,
    /// Names of the sections to run (`--section`); empty for all.
    pub only: Vec<(String, Place)>,
    pub output: OutputRequest,
    pub eta: EtaRequest,
    pub side: SideOutputs,
    pub read_only: bool,
    pub trust: Trust,
    pub parse_only: bool,
    pub show_command: bool,
    pub warnings_fatal: bool,
    pub merge_only: bool,
    pub idle: Option<IdleProfile>,
    pub trigger: TriggerRequest,
    pub network: NetworkWords,
    /// Directory for verify state files (`--aux-path`).
    pub states_in: Option<PathBuf>,
    /// Debug messages that the run prints (`--debug`).
    pub debug: DebugPlan,
    /// One line for each subject of `--debug`.
    pub announced: Vec<String>,
    /// Words that are wrong and do not prevent a run.
    pub doubts: Vec<Problem>,
    /// Answer to a request for help, the version or similar; it takes precedence over everything else.
    pub answer: Option<Result<Action, Box<Problem>>>,
}

/// An option, as found by its name.
#[derive(Clone, Copy)]
enum KnownOption {
    Command(&'static CommandOption),
    Job(&'static OptionSpec),
}

impl KnownOption {
    fn name(self) -> &'static str {
        match self {
            KnownOption::Command(option) => option.name,
            KnownOption::Job(spec) => spec.name,
        }
    }

    fn argument(self) -> Argument {
        match self {
            KnownOption::Command(option) => option.argument,
            KnownOption::Job(spec) if spec.kind == Kind::Flag => Argument::Possible("0|1"),
            KnownOption::Job(_) => Argument::Needed("VALUE"),
        }
    }
}

/// Reads the words of a command line, without the program's name.
pub(crate) struct Reader<'a> {
    engines: &'static [EngineSpec],
    formats: &'a [OutputFormat],
    source: usize,
    words: &'a [String],
    /// Byte range of each word in the source's text.
    spans: Vec<Range<usize>>,
    problems: &'a mut Vec<Problem>,
    result: Words,
}

impl<'a> Reader<'a> {
    /// Creates a reader over these words. They are added to `sources`, so that messages can show them.
    pub(crate) fn new(
        words: &'a [String],
        engines: &'static [EngineSpec],
        formats: &'a [OutputFormat],
        sources: &mut Sources,
        problems: &'a mut Vec<Problem>,
    ) -> Self {
        let mut text = String::from("fio");
        let mut spans = Vec::with_capacity(words.len());
        for word in words {
            text.push(' ');
            spans.push(text.len()..text.len() + word.len());
            // A line break inside a word would break the line that messages show, so it becomes a space.
            text.extend(word.chars().map(|letter| if letter == '\n' || letter == '\r' { ' ' } else { letter }));
        }
        let source = sources.add(COMMAND_LINE, text);
        Reader { engines, formats, source, words, spans, problems, result: Words::default() }
    }

    /// Reads all words.
    pub(crate) fn read(mut self) -> Words {
        let mut index = 0;
        let mut only_files = false;
        while let Some(word) = self.words.get(index) {
            let start = index;
            index += 1;
            if only_files || !word.starts_with('-') || word == "-" {
                self.file(start);
            } else if word == "--" {
                only_files = true;
            } else {
                index += self.option(start);
            }
            if self.result.answer.is_some() {
                break;
            }
        }
        self.result.output.complete(self.formats);
        self.result
    }

    /// A job file: of the server before it, or of this command.
    fn file(&mut self, index: usize) {
        let word = self.words[index].clone();
        match self.result.network.current() {
            Some(server) => server.files.push(word),
            None => {
                let place = self.place(index, 0..word.len());
                self.result.files.push((word, place));
            }
        }
    }

    /// The place of a byte range within a word.
    fn place(&self, index: usize, part: Range<usize>) -> Place {
        let start = self.spans.get(index).map_or(0, |span| span.start);
        Place { source: self.source, span: start + part.start..start + part.end }
    }

    /// Reads one option. Returns the number of following words that it consumed.
    fn option(&mut self, index: usize) -> usize {
        let word = self.words[index].as_str();
        let dashes = if word.starts_with("--") { 2 } else { 1 };
        let end = word.find('=').unwrap_or(word.len());
        let name_place = self.place(index, dashes..end);
        if dashes == 1
            && let Some(letters) = self.letters(word)
        {
            return letters.into_iter().map(|(found, value)| self.give(found, index, value, name_place.clone())).sum();
        }
        match self.find(&word[dashes..end], &name_place) {
            Ok(found) => self.give(found, index, (end < word.len()).then_some(end + 1), name_place),
            Err(problem) => {
                self.problems.push(problem);
                0
            }
        }
    }

    /// The options of a word such as `-v`, `-mr` or `-oFILE`, each with the start of its value in the word; `None` if
    /// the word is a long option or nothing that is known.
    fn letters(&self, word: &str) -> Option<Vec<(KnownOption, Option<usize>)>> {
        let is_long = || self.all_options().any(|(called, _)| called.starts_with(&word[1..]));
        if word.contains('=') || word.len() > 2 && is_long() {
            return None;
        }
        let mut letters = Vec::new();
        for (at, letter) in word.char_indices().skip(1) {
            let (_, name) = LETTERS.iter().find(|(known, _)| *known == letter)?;
            let (_, found) = self.all_options().find(|(called, _)| called == name)?;
            let rest = at + letter.len_utf8();
            let takes_rest = found.argument() != Argument::None;
            letters.push((found, (takes_rest && rest < word.len()).then_some(rest)));
            if takes_rest {
                break;
            }
        }
        Some(letters)
    }

    /// Gives an option of this word its value: the rest of the word from `start`, or the next word if it needs one.
    /// Returns the number of following words that it consumed.
    fn give(&mut self, found: KnownOption, index: usize, start: Option<usize>, name_place: Place) -> usize {
        let word = self.words[index].as_str();
        let value = start.map(|start| &word[start..]);
        let (value, value_place, taken) = match (value, found.argument()) {
            (Some(value), Argument::None) => {
                let what = format!("option `{}` takes no value, but was given `{value}`", found.name());
                self.problems.push(Problem::at(self.place(index, 0..word.len()), what, None));
                return 0;
            }
            (Some(value), _) => (Some(value), self.place(index, word.len() - value.len()..word.len()), 0),
            (None, Argument::Needed(_)) => match self.words.get(index + 1) {
                Some(next) => (Some(next.as_str()), self.place(index + 1, 0..next.len()), 1),
                None => {
                    let what = format!("option `{}` needs a value", found.name());
                    self.problems.push(Problem::at(name_place, what, None));
                    return 0;
                }
            },
            (None, _) => (None, name_place.clone(), 0),
        };
        match found {
            KnownOption::Command(option) => self.command(option, value, value_place),
            KnownOption::Job(spec) => self.assign(spec, value.map(str::to_owned), name_place, value_place),
        }
        taken
    }

    /// Every option under each of its names.
    fn all_options(&self) -> impl Iterator<Item = (&'static str, KnownOption)> + use<> {
        let commands = OPTIONS.iter().map(|option| (option.name, KnownOption::Command(option)));
        let jobs = table::rows().map(|row| &row.spec).chain(self.engine_options()).flat_map(|spec| {
            std::iter::once(spec.name)
                .chain(spec.aliases.iter().copied())
                .map(move |called| (called, KnownOption::Job(spec)))
        });
        commands.chain(jobs)
    }

    /// Finds an option by name: an exact match, or the only option that starts with `name`. One of plumb's sessions has
    /// no abbreviations, because fio refuses `-q`, and gives way to the only option of fio that starts with its name:
    /// `host` of an engine with `hostname`.
    fn find(&self, name: &str, place: &Place) -> Result<KnownOption, Problem> {
        let of_session = |found: &KnownOption| matches!(found, KnownOption::Command(option) if option.of_session);
        let mut matching: Vec<(&'static str, KnownOption)> = Vec::new();
        for (called, found) in self.all_options() {
            if called == name && !of_session(&found) {
                return Ok(found);
            }
            if called == name || (!name.is_empty() && called.starts_with(name) && !of_session(&found)) {
                matching.push((called, found));
            }
        }
        if matching.iter().any(|(called, _)| *called == name) {
            matching.retain(|(called, found)| *called == name || !of_session(found));
            if let [(_, only)] = matching.as_slice() {
                return Ok(*only);
            }
            matching.retain(|(called, _)| *called != name);
        }
        match matching.as_slice() {
            [] => Err(self.unknown(name, place)),
            [(_, first), rest @ ..] if rest.iter().all(|(_, other)| other.name() == first.name()) => Ok(*first),
            several => {
                let list: Vec<&str> = several.iter().map(|&(called, _)| called).collect();
                let what = format!("option `{name}` is ambiguous");
                Err(Problem::at(place.clone(), what, Some(format!("it may be {}", list.join(", ")))))
            }
        }
    }

    /// The problem for a word that is not the name of an option.
    fn unknown(&self, name: &str, place: &Place) -> Problem {
        let what = format!("there is no option `{name}`");
        let owner = self
            .engines
            .iter()
            .find(|engine| engine.options.iter().any(|option| crate::options::applier::is_called(option, name)));
        if let Some(owner) = owner {
            let help = format!("it belongs to the engine {}; give --ioengine={} before it", owner.name, owner.name);
            return Problem::at(place.clone(), what, Some(help));
        }
        let engine = self.engine();
        if let Some(reason) = known_engines::reason(&engine) {
            let help = known_engines::instead(&engine).map(str::to_owned);
            return Problem::at(place.clone(), known_engines::refusal_of_option(name, &engine, reason), help);
        }
        let commands = OPTIONS.iter().map(|option| option.name);
        let own = self.engine_options().map(|spec| spec.name);
        Problem::at(place.clone(), what, did_you_mean(name, commands.chain(table::names()).chain(own)))
    }

    /// The name of the engine chosen so far; empty if none was.
    fn engine(&self) -> String {
        let chosen = |section: &Section| {
            let last = section.assignments.iter().rev().find(|given| given.name == "ioengine");
            last.and_then(|given| given.value.clone())
        };
        let globals = self.result.sections.iter().rev().filter(|section| section.kind == SectionKind::Global);
        let name = self.result.sections.last().and_then(chosen).or_else(|| {
            let mut inherited = globals;
            inherited.find_map(chosen)
        });
        name.unwrap_or_default()
    }

    /// The options of the engine chosen so far.
    fn engine_options(&self) -> impl Iterator<Item = &'static OptionSpec> + use<> {
        let name = self.engine();
        self.engines.iter().filter(move |engine| engine.name == name).flat_map(|engine| engine.options.iter())
    }

    /// Adds an option of a job to the current section.
    fn assign(&mut self, spec: &OptionSpec, value: Option<String>, name_place: Place, value_place: Place) {
        if spec.name == "name" {
            let title = value.clone().unwrap_or_default();
            self.result.sections.push(Section::open(&title, value_place.clone(), 0));
        } else if self.result.sections.is_empty() {
            self.result.sections.push(Section::open("global", name_place.clone(), 0));
        }
        let assignment = Assignment { name: spec.name.to_owned(), value, name_place, value_place };
        if let Some(section) = self.result.sections.last_mut() {
            section.assignments.push(assignment);
        }
    }

    /// Applies an option of the command itself.
    fn command(&mut self, option: &'static CommandOption, value: Option<&str>, place: Place) {
        if let Support::Refused(reason) = option.support {
            let what = format!("option `--{}` is refused: {reason}", option.name);
            self.problems.push(Problem::at(place, what, Some("leave it out".to_owned())));
            return;
        }
        let text = value.unwrap_or_default();
        match option.name {
            "output" => self.result.output.file = Some(PathBuf::from(text)),
            "output-format" => self.output_format(text, &place),
            "minimal" => self.result.output.formats = vec![OutputFormat::TERSE],
            "append-terse" => self.append_terse(),
            "terse-version" => self.terse_version(text, place),
            "version" => self.answer(Action::Version(format!("{}\n", help::VERSION))),
            "help" => self.answer(Action::Help(help::usage(self.formats))),
            "cmdhelp" => self.answer(Action::CmdHelp(help::options(value))),
            "enghelp" => self.engine_help(value, place),
            "showcmd" => self.result.show_command = true,
            "merge-blktrace-only" => self.result.merge_only = true,
            "parse-only" => self.result.parse_only = true,
            "untrusted" => self.result.trust = Trust::None,
            "readonly" => self.result.read_only = true,
            "section" => self.section(text, place),
            "eta" => self.eta(text, place),
            "eta-newline" => self.result.eta.newline = self.positive_time(option, text, place),
            "eta-interval" => self.eta_interval(option, text, place),
            "status-interval" => self.result.side.status_interval = self.positive_time(option, text, place),
            "bandwidth-log" => self.result.side.bandwidth_log = Some(value.unwrap_or("agg").to_owned()),
            "result" => self.result.side.result = Some(PathBuf::from(text)),
            _ if option.of_session => {
                let value = value.map(|value| format!("={value}")).unwrap_or_default();
                self.result.side.session.push(format!("--{}{value}", option.name));
            }
            "layers" => self.result.side.layers = true,
            "until-regime" => self.result.side.until_regime = Some(text.to_owned()),
            "inflate-log" => self.answer(Action::InflateLog(PathBuf::from(text))),
            "warnings-fatal" => self.result.warnings_fatal = true,
            "max-jobs" => {
                if text.parse::<u32>().is_err() {
                    let what = format!("max-jobs={text} is not a number");
                    self.problems.push(Problem::at(place, what, Some("write it like 64".to_owned())));
                }
            }
            "idle-prof" => self.idle_profile(text, place),
            "trigger-file" => self.result.trigger.file = Some(PathBuf::from(text)),
            "trigger-timeout" => {
                self.result.trigger.timeout = self.time(option, text, TimeUnit::Seconds, place);
            }
            "trigger" => self.result.trigger.command = Some(text.to_owned()),
            "aux-path" => self.result.states_in = Some(PathBuf::from(text)),
            "debug" => self.debug(text, &place),
            "crctest" => self.trial(text, &place, Trial::digests),
            "memcpytest" => self.trial(text, &place, Trial::copies),
            "cpuclock-test" => self.answer(Action::Try(Trial::Clock)),
            "client" | "remote-config" | "partial" | "silence" | "trigger-remote" | "server" | "daemonize"
            | "allow" | "secret-file" | "trust-clients" => self.network(option, value, place),
            name => self.problems.push(Problem::at(place, format!("option `--{name}` has no effect"), None)),
        }
    }

    /// Applies an option of clients and servers.
    fn network(&mut self, option: &'static CommandOption, value: Option<&str>, place: Place) {
        let text = value.unwrap_or_default().to_owned();
        let needs = match option.name {
            "remote-config" | "partial" | "silence" | "trigger-remote" => Some(Needs::Client),
            "daemonize" | "allow" | "trust-clients" => Some(Needs::Server),
            "secret-file" => Some(Needs::Either),
            _ => None,
        };
        let silence = match option.name {
            "silence" => self.time(option, &text, TimeUnit::Seconds, place.clone()),
            _ => None,
        };
        if silence.is_some_and(|silence| silence < Nanos::SECOND) {
            let what = format!("silence={text} is too short: servers send a sign of life twice a second");
            self.problems.push(Problem::at(place.clone(), what, Some("give 1 (second) or more".to_owned())));
        }
        let network = &mut self.result.network;
        network.needs.extend(needs.map(|needs| (option.name, needs, place.clone())));
        match option.name {
            "client" => {
                network.servers.push((ServerJobs { address: text, ..ServerJobs::default() }, place));
            }
            "remote-config" => match network.current() {
                Some(server) => server.remote_config = Some(text),
                None => network.remote_config = Some(text),
            },
            "partial" => network.lost = LostServer::IsLeftOut,
            "silence" => network.silence = silence,
            "trigger-remote" => network.trigger_command = Some(text),
            "server" => {
                let address = value.map(str::to_owned).filter(|address| !address.is_empty());
                network.server = Some((ServerRequest { address, ..ServerRequest::default() }, place));
            }
            "daemonize" => network.daemonize = Some(PathBuf::from(text)),
            "secret-file" => network.secret = Some(PathBuf::from(text)),
            "allow" => network.allowed.push(PathBuf::from(text)),
            _ => network.trust = ClientTrust::Full,
        }
    }

    fn answer(&mut self, action: Action) {
        self.result.answer = Some(Ok(action));
    }

    fn engine_help(&mut self, asked: Option<&str>, place: Place) {
        let wrong = |what| Box::new(Problem::at(place, what, Some("--enghelp lists the engines".to_owned())));
        self.result.answer = Some(help::engines(asked, self.engines).map(Action::EngHelp).map_err(wrong));
    }

    /// Sets the output formats from a comma-separated list; a later option replaces an earlier one.
    fn output_format(&mut self, text: &str, place: &Place) {
        self.result.output.formats.clear();
        for word in text.split(',').map(str::trim) {
            if let Some(format) = self.formats.iter().find(|format| format.is_named(word)) {
                self.result.output.formats.push(format.word);
            } else {
                let known = OutputFormat::words(self.formats);
                let what = format!("output-format={word} is not a format");
                let help = did_you_mean(word, known.iter().copied()).unwrap_or_else(|| {
                    let (last, others) = known.split_last().unwrap_or((&OutputFormat::NORMAL, &[]));
                    format!("use {} or {last}", others.join(", "))
                });
                self.problems.push(Problem::at(place.clone(), what, Some(help)));
            }
        }
    }

    /// Adds terse to the formats so far, or to normal output if none was given.
    fn append_terse(&mut self) {
        let formats = &mut self.result.output.formats;
        if formats.is_empty() {
            formats.push(OutputFormat::NORMAL);
        }
        formats.push(OutputFormat::TERSE);
    }

    fn terse_version(&mut self, text: &str, place: Place) {
        match TerseVersion::of_word(text) {
            Some(version) => self.result.output.terse_version = version,
            None => {
                let what = format!("terse-version={text} is not a version");
                self.problems.push(Problem::at(place, what, Some("use 2, 3, 4 or 5".to_owned())));
            }
        }
    }

    fn section(&mut self, name: &str, place: Place) {
        if name.starts_with("global") {
            let help = Some("name a job section".to_owned());
            self.problems.push(Problem::at(place, "section=global cannot be the only section", help));
            return;
        }
        self.result.only.push((name.to_owned(), place));
    }

    fn idle_profile(&mut self, word: &str, place: Place) {
        self.result.idle = Some(match word {
            "system" => IdleProfile::System,
            "percpu" => IdleProfile::PerCpu,
            "calibrate" => IdleProfile::Calibrate,
            _ => {
                let what = format!("idle-prof={word}: unknown mode");
                self.problems.push(Problem::at(place, what, Some("use system, percpu or calibrate".to_owned())));
                return;
            }
        });
    }

    /// Adds subjects of debug messages. A wrong word is a warning, as in fio: it must not stop a run.
    fn debug(&mut self, list: &str, place: &Place) {
        if list == "help" {
            self.answer(Action::Help(debug::help()));
            return;
        }
        for word in list.split(',').map(str::trim) {
            match debug::add(&mut self.result.debug, word) {
                Ok(mut announced) => self.result.announced.append(&mut announced),
                Err((what, help)) => self.result.doubts.push(Problem::at(place.clone(), what, Some(help))),
            }
        }
    }

    fn trial(&mut self, list: &str, place: &Place, read: fn(&str) -> Result<Trial, (String, String)>) {
        match read(list) {
            Ok(trial) => self.answer(Action::Try(trial)),
            Err((what, help)) => self.problems.push(Problem::at(place.clone(), what, Some(help))),
        }
    }

    fn eta(&mut self, word: &str, place: Place) {
        self.result.eta.when = match word {
            "auto" => EtaWhen::Auto,
            "always" => EtaWhen::Always,
            "never" => EtaWhen::Never,
            _ => {
                let what = format!("eta={word}: unknown mode");
                self.problems.push(Problem::at(place, what, Some("use always, never or auto".to_owned())));
                return;
            }
        };
    }

    fn eta_interval(&mut self, option: &CommandOption, text: &str, place: Place) {
        let least = Nanos::from_millis(250);
        match self.time(option, text, TimeUnit::Seconds, place.clone()) {
            Some(interval) if interval < least => {
                let what = format!("eta-interval={text} is shorter than 250 ms");
                self.problems.push(Problem::at(place, what, Some("give 250ms or more".to_owned())));
            }
            Some(interval) => self.result.eta.interval = interval,
            None => {}
        }
    }

    /// Parses a time that is not 0, in seconds without a unit.
    fn positive_time(&mut self, option: &CommandOption, text: &str, place: Place) -> Option<Nanos> {
        let time = self.time(option, text, TimeUnit::Seconds, place.clone())?;
        if time.is_zero() {
            let what = format!("{}={text} is too short", option.name);
            self.problems.push(Problem::at(place, what, Some("give 1 (second) or 500ms, for example".to_owned())));
        }
        Some(time).filter(|time| !time.is_zero())
    }

    /// Parses a time; an invalid one is recorded as a problem and gives `None`.
    fn time(&mut self, option: &CommandOption, text: &str, bare: TimeUnit, place: Place) -> Option<Nanos> {
        match span_of_time(text, bare) {
            Ok(nanos) => Some(nanos),
            Err(complaint) => {
                let what = format!("{}={text} {}", option.name, complaint.what);
                self.problems.push(Problem::at(place, what, complaint.help));
                None
            }
        }
    }
}
