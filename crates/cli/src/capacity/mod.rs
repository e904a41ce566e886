//! `plumb capacity`: the largest rate of arrivals at which response times keep their limits.
//!
//! Owns the command line and the exit status. `analysis::capacity` decides which rate is tried next; `survey` makes its
//! Plan, `search` measures, `numbers` reads the result, `shown` prints.

mod numbers;
mod search;
mod shown;
mod slo;

use crate::failure::{Cut, Failure, NOT_STORAGE};
use crate::result_file::DocumentFile;
use crate::safe_files::Durability;
use crate::{drawing, input, pages};
use analysis::capacity::Answer;
use measure::{Nanos, text};
use report::data::{Capacity, Parts, RateTrial, RecordedIos, ResponseLimit};
use report::page::{Numbers, Page, Picture};
use search::{Ending, Question, SearchResult, TrialRow, stage_words};
use serde_json::{Value, json};
use session::Session;
use session::arguments::SessionArgs;
use session::machine::{Machine, parser, seed_from_clock};
use shown::Report;
use slo::Slo;
use std::path::{Path, PathBuf};
use survey::{Arrivals, OPEN_LOOP_ENGINES, OpenLoad, OpenTarget, Preparation, Reach, SurveyRequest, TestKind, Writes};

/// Find the largest rate of I/Os at which response times keep a limit
#[derive(Debug, clap::Args)]
#[command(
    long_about = "\
Finds the largest rate of I/Os at which response times keep a limit. Sends I/Os at a rate, whether earlier ones have ended or not (open loop). Response times count from the moment at which an I/O was due. Raises the rate until the limit is missed, tries rates around it until the answer is known to 3 %, and confirms it with a longer run.",
    after_help = "\
Examples:
  plumb capacity . --slo 'p99<2ms'                     8k random reads, Poisson arrivals
  plumb capacity /data --slo 'read.p99<2ms' --slo 'write.p99.9<10ms' --mix 70
  plumb capacity /dev/nvme0n1 --slo 'p99.9<500us' --bs 4k --time 30m
  plumb capacity /data --slo 'p95<20ms' --picture capacity.svg
  plumb capacity /data --slo 'p99<2ms' --page answer.pdf

A limit is a percentile and a time; with several limits, the one that is reached first counts.
A directory gets a work file, which is removed; a file or device is only read, unless --overwrite
names the device.
More: docs/capacity.md
Exit status: 0 answered, also with `at least` and `not at any rate`; 2 cannot tell; 3 a result that
is not of the storage; 4 with --strict if a check found a problem; 1 an error; 128 + signal
after a signal"
)]
pub(crate) struct CapacityArgs {
    /// Directory on the disk, existing file (only read) or block device (only read)
    #[arg(value_name = "PATH|DEVICE")]
    target: PathBuf,
    /// Limit on response times, like 'p99<2ms' or 'write.p99.9<10ms'; repeat it for several limits
    #[arg(long, value_name = "LIMIT", value_parser = Slo::parse, required = true)]
    slo: Vec<Slo>,
    /// Bytes of an I/O
    #[arg(long, value_name = "SIZE", value_parser = block, default_value = "8k")]
    bs: u32,
    /// Share of reads in percent; the others are writes
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=100), default_value_t = 100)]
    mix: u32,
    /// Distribution of arrivals: as of many independent users, or at equal distances
    #[arg(long, value_name = "poisson|even", value_parser = arrivals, default_value = "poisson")]
    arrivals: Arrivals,
    /// First and lowest rate, like 500 or 20k [default: half of what one user does]
    #[arg(hide_short_help = true, long, value_name = "RATE", value_parser = slo::rate)]
    from: Option<f64>,
    /// Largest rate [default: none]
    #[arg(hide_short_help = true, long, value_name = "RATE", value_parser = slo::rate)]
    to: Option<f64>,
    /// Half width of the interval that ends the search
    #[arg(hide_short_help = true, long, value_name = "SHARE", value_parser = input::share, default_value = "3%")]
    precision: f64,
    /// Longest time of all trials together; with it, a trial may last longer than a minute [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = survey::seconds)]
    time: Option<u64>,
    /// Time of the run that confirms the rate; 0 for none
    #[arg(long, value_name = "TIME", value_parser = survey::patience, default_value = "60s")]
    confirm: u64,
    /// Size of the work file, like 512M or 16G [default: 16G or a quarter of the free space]
    #[arg(long, value_parser = survey::size)]
    size: Option<u64>,
    /// I/O engine of fio [default: io_uring; libaio where the kernel refuses it]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
    /// Option of fio that is added to the job, like hipri=1; {run} in it is the number of the trial; repeat it for
    /// several
    #[arg(hide_short_help = true, long, value_name = "OPTION=VALUE", value_parser = survey::added_option)]
    with: Vec<(String, String)>,
    /// Allow writes to the device with this serial number, WWID or UUID
    #[arg(hide_short_help = true, long, value_name = "IDENTITY")]
    overwrite: Vec<String>,
    /// Seed of the arrivals and of the order of trials [default: from the clock]
    #[arg(hide_short_help = true, long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// File for the result as JSON; - is standard output, and no file [default: plumb-capacity-NNN.json]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Picture of the trials: .svg, .png, .pdf or .html
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Page with the answer, to send to others: .html or .pdf
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Do not write a page of the result
    #[arg(long)]
    no_report: bool,
    /// Divide the time of the I/Os of each trial: cache, waits, throttle, queue, device; needs root
    #[arg(hide_short_help = true, long)]
    layers: bool,
    #[command(flatten)]
    session: SessionArgs,
}

/// Exit status if the answer is not known.
const CANNOT_TELL: u8 = 2;

fn block(text: &str) -> Result<u32, String> {
    match survey::block_sizes(text).map_err(|error| error.to_string())?[..] {
        [block] => Ok(block),
        _ => Err("name one block size".to_owned()),
    }
}

fn arrivals(word: &str) -> Result<Arrivals, String> {
    match word {
        "poisson" => Ok(Arrivals::Poisson),
        "even" => Ok(Arrivals::Even),
        _ => Err("arrivals are poisson or even".to_owned()),
    }
}

pub(crate) fn run(args: &CapacityArgs) -> Result<u8, Failure> {
    let mut session = Session::open(&args.session)?;
    let searched = search(args, &mut session);
    session.close(searched)
}

fn search(args: &CapacityArgs, session: &mut Session) -> Result<u8, Failure> {
    let question = args.question()?;
    args.picture.as_deref().map(drawing::check_output).transpose()?;
    args.page.as_deref().map(pages::check_to_mail).transpose()?;
    let prepared = Preparation::new(args.request(), Reach::Whole, 0)?;
    prepared.check(&prepared.found.outlined(&prepared.request), &parser(), &Machine::here().surroundings())?;
    if args.layers {
        search::check_layers(&question, &prepared.found.outlined(&prepared.request))?;
    }
    let mut open = OpenTarget::open(&prepared.found, &prepared.request)?;
    if args.mix < 100 && open.writes != Writes::Allowed {
        let shown = &open.shown;
        return Err(Failure::new(format!("{shown}: is only read; leave out --mix, or name a directory")));
    }
    let mut file =
        DocumentFile::reserve(args.output.as_deref(), Path::new("."), "plumb-capacity", &args.session.streams)?;
    let prints = file.prints;
    args.session.publish.check_stdout(prints.then_some("-o -"))?;
    let mut out = session.stdout();
    let verbosity = session.verbosity();
    let wear = if open.is_filled() { 0 } else { prepared.found.prepared_bytes(&prepared.request) };
    if wear > 0 && !prints && !verbosity.is_quiet() {
        out.write(&format!("A work file of {} is written first.\n", survey::short_size(wear)))?;
    }
    let remark = |remark: &String| verbosity.remark(&format!("plumb: {remark}"));
    open.remarks.iter().for_each(remark);
    let mut display = session.display(Nanos::ZERO);
    let filled = session.fill(&prepared, &open, &mut display);
    display.clear();
    if let Err(cut) = filled {
        return cut.saying("nothing was measured").outcome();
    }
    open.set_filled()?.iter().for_each(remark);
    let found = search::measure(question, &open.target, session);
    let report = Report { target: &open.shown, found: &found };
    if found.rows.is_empty()
        && let Ending::Cut(Cut::Failed(_)) = found.ending
    {
        return status(found);
    }
    let document = report.document()?;
    file.write(&document, Durability::Synced)?;
    match prints {
        true => out.write(&document)?,
        false => out.write_painted(&report.text(verbosity), report.verdicts())?,
    }
    report.remarks().iter().for_each(remark);
    let drawn = found.rows.len() > 1;
    match args.picture.as_deref() {
        Some(path) if drawn => drawing::drawn(path, &page(&report)?)?,
        Some(path) => verbosity.remark(&format!("plumb: {}: not drawn: there was no second trial", path.display())),
        None => {}
    }
    if let Some(path) = args.page.as_deref() {
        drawing::drawn(path, &page(&report)?)?;
    }
    if let Some(path) = file.path() {
        let page = if args.no_report || !drawn { String::new() } else { page_next_to(path, &report) };
        if !prints && !verbosity.is_quiet() {
            out.write(&format!("Result: {}\n{page}", path.display()))?;
        }
    }
    status(found)
}

/// Draws the page next to the result. Returns the line that says so.
fn page_next_to(result: &Path, report: &Report<'_>) -> String {
    let html = result.with_extension("html");
    match page(report).and_then(|page| drawing::drawn(&html, &page)) {
        Ok(()) => format!("Report: {}\n", html.display()),
        Err(failure) => format!("No report: {}\n", failure.message()),
    }
}

fn status(found: SearchResult) -> Result<u8, Failure> {
    match found.ending {
        Ending::Concluded(_) if !found.findings.refused.is_empty() => Ok(NOT_STORAGE),
        Ending::Concluded(conclusion) => match conclusion.answer {
            Answer::CannotTell(_) => Ok(CANNOT_TELL),
            Answer::Holds | Answer::AtLeast(..) | Answer::Never(_) => Ok(0),
        },
        Ending::Cut(cut) => cut.outcome(),
    }
}

impl CapacityArgs {
    fn question(&self) -> Result<Question, Failure> {
        let load = OpenLoad {
            block: self.bs,
            read_percent: self.mix,
            arrivals: self.arrivals,
            engine: self.engine.clone().unwrap_or_else(|| OPEN_LOOP_ENGINES[0].to_owned()),
            added: self.with.clone(),
            seed: self.seed.unwrap_or_else(seed_from_clock),
            limit: self.slo.iter().map(|slo| slo.limit).max().unwrap_or_default(),
        };
        if let Some(slo) = self.slo.iter().find(|slo| load.part(slo.direction) == 0.0) {
            return Err(Failure::new(format!("--slo: {} has no I/O with --mix {}", slo.words(), self.mix)));
        }
        if let (Some(from), Some(to)) = (self.from, self.to)
            && from > to
        {
            return Err(Failure::new("--from is above --to"));
        }
        Ok(Question {
            slos: self.slo.clone(),
            load,
            may_change_engine: self.engine.is_none(),
            precision: self.precision,
            between: [self.from, self.to],
            confirm: self.confirm,
            time: self.time,
            layers: self.layers,
        })
    }

    fn request(&self) -> SurveyRequest {
        SurveyRequest {
            targets: vec![self.target.clone()],
            tests: vec![TestKind::RandomRead],
            users: vec![1],
            block_sizes: vec![self.bs],
            size: self.size,
            engine: self.engine.clone(),
            overwrite: self.overwrite.clone(),
            ..SurveyRequest::default()
        }
    }
}

/// The page of a search: the trials as a picture, and their numbers.
fn page(report: &Report<'_>) -> Result<Page, Failure> {
    let title = format!("{} · {}", report.target, report.load());
    let sentences = report.sentences();
    let picture = pages::picture("capacity", &title, "Response time over the rate", data(report, &title, &sentences))?;
    Ok(Page {
        places: vec![report.found.place.place(report.target.to_owned())],
        sentences: sentences.get(1..).unwrap_or_default().to_vec(),
        // With one I/O at a time alone there is no rate to draw.
        pictures: if report.rows().is_empty() { Vec::new() } else { [vec![picture], parts(report, &title)?].concat() },
        numbers: numbers(report),
        remarks: report.remarks(),
        ..pages::begun(format!("Capacity: {title}"), sentences.first().cloned().unwrap_or_default())
    })
}

/// Where the time of the I/Os went, one at a time and at the rate next to the answer, if it was recorded.
fn parts(report: &Report<'_>, title: &str) -> Result<Vec<Picture>, Failure> {
    let alone = report.found.rows.iter().find(|row| row.stage.is_none());
    let recorded = alone.into_iter().chain(report.at_the_limit()).filter_map(|row| {
        let rate = text::short_number(row.offered);
        let before = row.stage.map_or_else(|| "one at a time: ".to_owned(), |_| format!("at {rate}/s: "));
        Some((before, row.measured.layers.as_deref()?))
    });
    let (mut ios, mut sentences) = (Vec::new(), Vec::new());
    for (before, layers) in recorded {
        sentences.push(format!("{before}{}", analysis::parts::brief(layers)));
        ios.extend(layers.groups.iter().map(|group| RecordedIos { before: before.clone(), group }));
    }
    let data = || Parts { sentences, ..Parts::of(title, &ios) };
    let picture = (!ios.is_empty()).then(|| pages::picture("parts", title, "Where the time goes", data()));
    Ok(picture.transpose()?.into_iter().collect())
}

fn data(report: &Report<'_>, title: &str, sentences: &[String]) -> Capacity {
    let limit = report.limit();
    let crossing = report.conclusion().and_then(|found| found.crossing);
    let trial = |row: &&TrialRow| {
        let [p50_ns, p99_ns, p99_9_ns] = row.measured.percentiles;
        RateTrial {
            offered: row.offered,
            done: row.measured.done,
            over: Report::share(row, limit),
            p50_ns,
            p99_ns,
            p99_9_ns,
        }
    };
    let slos = report.found.question.slos.iter();
    Capacity {
        title: title.to_owned(),
        sentences: sentences.to_vec(),
        trials: report.rows().iter().map(trial).collect(),
        limits: slos.map(|slo| ResponseLimit { label: slo.words(), limit_ns: slo.limit.as_f64() }).collect(),
        capacity: crossing.map(|crossing| crossing.rate),
        low: crossing.map(|crossing| crossing.low),
        high: crossing.map(|crossing| crossing.high),
        notes: report.remarks(),
    }
}

/// The columns of the table: id, title, unit.
const COLUMNS: &[(&str, &str, &str)] = &[
    ("stage", "stage", ""),
    ("offered", "offered", "1/s"),
    ("done", "done", "1/s"),
    ("seconds", "time", "s"),
    ("over", "over the limit", "%"),
    ("p50", "p50", "µs"),
    ("p99", "p99", "µs"),
    ("p99_9", "p99.9", "µs"),
    ("usual_part", shown::PARTS[0], ""),
    ("slow_part", shown::PARTS[1], ""),
];

fn numbers(report: &Report<'_>) -> Numbers {
    let limit = report.limit();
    let columns = if report.found.question.layers { COLUMNS } else { &COLUMNS[..COLUMNS.len() - shown::PARTS.len()] };
    let rounded = |number: f64, digits: i32| json!((number * 10_f64.powi(digits)).round() / 10_f64.powi(digits));
    let row = |row: &&TrialRow| {
        let [p50, p99, p999] =
            row.measured.percentiles.map(|found| found.map_or(Value::Null, |ns| rounded(ns / 1e3, 1)));
        let mut cells = vec![
            json!(row.stage.map_or_else(String::new, stage_words)),
            rounded(row.offered, 0),
            rounded(row.measured.done, 0),
            rounded(row.seconds, 1),
            rounded(100.0 * Report::share(row, limit), 2),
            p50,
            p99,
            p999,
        ];
        cells.extend(row.largest().map(Value::from));
        cells.truncate(columns.len());
        cells
    };
    pages::numbers(columns, report.rows().iter().map(row).collect())
}
