//! The result of a run of several members in its forms: text and JSON.

use super::page;
use crate::failure::Failure;
use crate::members::judge;
use crate::output::Output;
use crate::streams::Form;
use analysis::grade_title;
use cluster::{DirectionRates, MemberResult, MemberSummary, OnLoss, Reason, Straggler, Summary};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use formats::printable;
use measure::Direction;
use measure::text;
use model::{DirectionResult, Note, RunResult, SCHEMA};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Members and hosts that have a line of their rates.
const MOST_HOSTS: usize = 16;

/// If the numbers are those of all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completeness {
    /// All members have a result.
    Complete,
    /// The rates are those of some members, as was asked for.
    Partial,
    /// Members are missing, so there are no rates.
    Incomplete,
}

impl Completeness {
    pub(super) fn of(summary: &Summary, on_loss: OnLoss) -> Self {
        match on_loss {
            _ if summary.complete => Completeness::Complete,
            OnLoss::GoOn if summary.each.iter().any(|member| member.ios > 0) => Completeness::Partial,
            OnLoss::GoOn | OnLoss::Stop => Completeness::Incomplete,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Completeness::Complete => "complete",
            Completeness::Partial => "partial",
            Completeness::Incomplete => "incomplete",
        }
    }
}

/// Everything that is shown.
pub(super) struct Report<'a> {
    pub(super) members: &'a [MemberResult],
    pub(super) summary: &'a Summary,
    pub(super) completeness: Completeness,
    /// The directory with the members' results.
    pub(super) kept: Option<&'a Path>,
    /// The rows of the table, if one is wanted.
    pub(super) per: Option<Per>,
}

impl Report<'_> {
    /// Writes the result to the output, and the page.
    pub(super) fn write(&self, out: &mut Output, form: Form, page: Option<&Path>) -> Result<(), Failure> {
        let merged = self.merged();
        match form {
            Form::Text => out.write(&printable::lines(&self.lines(&merged).join("\n")))?,
            Form::Json => out.write(&self.document(&merged)?)?,
        }
        if form == Form::Text {
            out.write("\n")?;
        }
        page.map_or(Ok(()), |path| page::write(path, self, &merged))
    }

    /// The result of all, judged.
    pub(super) fn merged(&self) -> RunResult {
        let mut merged = cluster::merged(self.members);
        judge(&mut merged, self.members, self.summary);
        merged.environment.command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        merged
    }

    /// plumb's own JSON of the result of all, with the members next to it.
    fn document(&self, merged: &RunResult) -> Result<String, Failure> {
        let (program, summary) = (crate::pages::MADE_BY, self.summary_as_json()?);
        let document = json!({ "schema": SCHEMA, "program": program, "cluster": summary, "result": merged });
        Ok(serde_json::to_string_pretty(&document)? + "\n")
    }

    pub(super) fn summary_as_json(&self) -> Result<Value, Failure> {
        let mut summary = serde_json::to_value(self.summary)?;
        summary["completeness"] = json!(self.completeness.word());
        if self.completeness == Completeness::Incomplete {
            summary["rates"] = json!([]);
        }
        Ok(summary)
    }

    pub(super) fn lines(&self, merged: &RunResult) -> Vec<String> {
        let mut lines = vec![self.head()];
        if self.completeness != Completeness::Incomplete {
            for rates in &self.summary.rates {
                lines.extend(rate_lines(rates, merged));
            }
            lines.extend(self.hosts());
            lines.extend(self.spread());
            lines.extend(self.worn_out());
        }
        lines.extend(self.per.into_iter().flat_map(|per| per_lines(per, self.summary, self.members)));
        lines.extend(self.summary.stragglers.iter().map(|straggler| format!("slow    {}", slow(straggler))));
        for member in &self.summary.each {
            let host = if member.host.is_empty() { String::new() } else { format!(" ({})", member.host) };
            let name = format!("member {}{host}", member.rank);
            lines.extend(member.error.iter().map(|error| format!("error   {name}: {error}")));
            lines.extend(member.lost.iter().map(|why| format!("lost    {name}: {why}")));
        }
        lines.extend(self.remarks(merged));
        lines.extend(self.incomplete());
        lines.extend(self.kept.map(|folder| format!("kept    each member's own result: {}", folder.display())));
        lines
    }

    pub(super) fn head(&self) -> String {
        let Summary { members, hosts, carrier, library, start, .. } = self.summary;
        let carrier = library.as_ref().unwrap_or(carrier);
        let count = |count: u32, name: &str| text::counted(u64::from(count), name);
        let members = count(*members, "member");
        let mut head = match hosts {
            0 => format!("{members}, none of which began ({carrier})"),
            hosts => format!("{members} on {} ({carrier})", count(*hosts, "host")),
        };
        if let Some(start) = start {
            // Less than the error of the clocks is not known.
            let within = text::time(start.skew.max(start.clock_error).as_f64());
            head.push_str(&format!(
                "; started within {within}, clocks known to ±{}",
                text::time(start.clock_error.as_f64())
            ));
        }
        head
    }

    /// The rate of each host, if there are several.
    fn hosts(&self) -> Option<String> {
        let mut hosts: BTreeMap<&str, f64> = BTreeMap::new();
        for member in self.summary.each.iter().filter(|member| member.ios > 0) {
            *hosts.entry(&member.host).or_default() += member.bytes_per_second?;
        }
        let mut hosts: Vec<(&str, f64)> = hosts.into_iter().filter(|(host, _)| !host.is_empty()).collect();
        hosts.sort_by(|one, other| other.1.total_cmp(&one.1));
        let more = hosts.len().saturating_sub(MOST_HOSTS);
        let shown = hosts.iter().take(MOST_HOSTS).map(|(host, rate)| format!("{host} {}", text::rate(*rate)));
        let more = if more > 0 { format!("   and {more} more") } else { String::new() };
        (hosts.len() > 1).then(|| format!("hosts   {}{more}", shown.collect::<Vec<_>>().join("   ")))
    }

    /// The lowest, the median and the highest rate of a member.
    fn spread(&self) -> Option<String> {
        let with_rate = self.summary.each.iter().filter_map(|member| Some((member.bytes_per_second?, member)));
        let mut members: Vec<(f64, &MemberSummary)> = with_rate.filter(|(_, member)| member.ios > 0).collect();
        members.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (first, last) = (members.first()?, members.last()?);
        let median = cluster::median(members.iter().map(|(rate, _)| *rate).collect());
        (members.len() > 2).then(|| {
            format!(
                "members lowest {} ({}, {})   median {}   highest {} ({}, {})",
                text::rate(first.0),
                first.1.rank,
                first.1.host,
                text::rate(median),
                text::rate(last.0),
                last.1.rank,
                last.1.host
            )
        })
    }

    /// How far the members were when the time was over, and how far all went.
    fn worn_out(&self) -> Option<String> {
        let in_time = || self.summary.each.iter().filter_map(|member| Some((member.ios_in_time?, member)));
        let (slowest, fastest) = (in_time().min_by_key(|(ios, _)| *ios)?, in_time().max_by_key(|(ios, _)| *ios)?);
        let count = |ios: u64| text::number(measure::float(ios));
        Some(format!(
            "worn    when the time was over, a worker had done {} I/Os on member {} and {} on member {}; all went on to {}",
            count(slowest.0),
            slowest.1.rank,
            count(fastest.0),
            fastest.1.rank,
            count(fastest.0)
        ))
    }

    /// The remarks on the run of all, then those on members' own results.
    fn remarks(&self, merged: &RunResult) -> Vec<String> {
        let rate = text::rate;
        let is_complete = self.completeness != Completeness::Incomplete;
        let others = self.summary.rates.iter().filter(|found| is_complete && found.is_other(found.sum));
        let of_rates = others.map(|found| {
            format!(
                "remark  the members' own rates of {}s add up to {}: they were not all at work to the end. The first line is what was \
                 moved in the time",
                found.direction.word(),
                rate(found.sum)
            )
        });
        let of_checks = self.notes(merged);
        let of_checks = of_checks
            .into_iter()
            .map(|note| format!("check   {}: {} [{}]", note.check, note.sentence, grade_title(note.grade)));
        of_rates.chain(of_checks).collect()
    }

    /// The findings on the run, and those on members' own results that the summary counts.
    pub(super) fn notes<'a>(&self, merged: &'a RunResult) -> Vec<&'a Note> {
        let is_of_all = |note: &Note| self.summary.notes.contains(note);
        let is_of_members = |note: &Note| self.summary.each.iter().any(|member| member.checks.contains(&note.check));
        merged.notes.iter().filter(|note| is_of_all(note) || is_of_members(note)).collect()
    }

    pub(super) fn incomplete(&self) -> Option<String> {
        let missing = self.members.iter().filter(|member| member.result.is_none()).count();
        let all = self.summary.members;
        let never_began = self.members.iter().all(|member| member.go.is_none() && member.result.is_none());
        match self.completeness {
            Completeness::Complete => None,
            _ if never_began => Some("INCOMPLETE: nothing began, and nothing was measured".to_owned()),
            Completeness::Partial => {
                Some(format!("PARTIAL: {missing} of {all} members have no result; the rates are those of the others"))
            }
            Completeness::Incomplete => {
                let how = self.kept.map_or_else(String::new, |folder| {
                    format!("; of the others: plumb cluster merge --partial {}/*.json", folder.display())
                });
                Some(format!("INCOMPLETE: {missing} of {all} members have no result, so there is no rate of all{how}"))
            }
        }
    }
}

/// `write   all  3,413 MiB/s ...` and the lines below it.
fn rate_lines(rates: &DirectionRates, merged: &RunResult) -> Vec<String> {
    let name = rates.direction.word();
    let latency = latency(merged, rates.direction).unwrap_or_default();
    let (rate, iops, title) = match (rates.over_all, rates.over_all_iops) {
        (Some(rate), Some(iops)) => (rate, iops, "all"),
        // Without times there is only the sum.
        _ => (rates.sum, rates.sum_iops, "sum"),
    };
    let amount = text::rounded_size(measure::float(rates.bytes));
    let within = rates.elapsed.map(|elapsed| format!(" in {}", text::time(elapsed.as_f64()))).unwrap_or_default();
    let mut lines = vec![format!(
        "{name:<7} {title:<4} {}   {} IOPS{latency}   {amount}{within}",
        text::rate(rate),
        text::number(iops)
    )];
    if let (Some(over_all), Some(window), Some(done)) = (rates.over_all, &rates.common_window, rates.first_done) {
        let is_other = window.high > (1.0 + DirectionRates::SAME) * over_all && window.low > 0.0;
        let range = format!("{} to {}", text::rate(window.low), text::rate(window.high));
        let until = text::time(done.as_f64());
        lines.extend(is_other.then(|| format!("        while all were at work {range}, until {until}")));
    }
    lines
}

/// Percentiles of all members' latencies together, those that there are enough I/Os for.
fn latency(merged: &RunResult, direction: Direction) -> Option<String> {
    let of_direction = merged.jobs.iter().map(|job| &job.directions[direction]).filter(|found| found.ios > 0);
    let found = cluster::together(of_direction.filter_map(DirectionResult::latency_distribution))?;
    let percentile = |(percent, name): (f64, &str)| {
        model::percentile_as_fact(&found, percent).map(|value| format!("   {name} {}", text::time(value.as_f64())))
    };
    let percentiles: String = [(50.0, "p50"), (99.0, "p99")].into_iter().filter_map(percentile).collect();
    Some(format!("{percentiles}   max {}", text::time(found.moments.maximum().unwrap_or_default().as_f64())))
}

fn slow(straggler: &Straggler) -> String {
    let Straggler { ranks, host, reason, value, median, direction } = straggler;
    let whose = match ranks.as_slice() {
        [rank] => format!("member {rank} on {host}"),
        ranks => format!("host {host} (its {} members)", ranks.len()),
    };
    let seconds = |seconds: f64| text::time(seconds * 1e9);
    let word = direction.word();
    match reason {
        Reason::Elapsed => {
            format!("{whose}: its {word}s took {}, {} × the median", seconds(*value), text::number(value / median))
        }
        Reason::Rate => {
            format!("{whose}: {} of {word}s, {} × the median", text::rate(*value), text::number(value / median))
        }
        Reason::Tail => {
            format!("{whose}: p99.9 of its {word}s is {}, of the median {}", seconds(*value), seconds(*median))
        }
    }
}

/// Columns; names have none.
const PER_HEADS: [&str; 9] = ["", "", "rate", "IOPS", "p50", "p99", "p99.9", "max", "began"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Per {
    /// Each host with its members together
    Host,
    /// Each member
    Member,
}

struct Row<'a> {
    names: [String; 2],
    of: Vec<(&'a MemberSummary, &'a MemberResult)>,
}

/// The table, line by line. Directions are added; percentiles are of the histograms of a row together.
fn per_lines(per: Per, summary: &Summary, members: &[MemberResult]) -> Vec<String> {
    let each = summary.each.iter().zip(members);
    let rows = match per {
        Per::Member => each
            .map(|(one, member)| Row {
                names: [format!("member {}", one.rank), one.host.clone()],
                of: vec![(one, member)],
            })
            .collect(),
        Per::Host => {
            let mut hosts: BTreeMap<&str, Vec<_>> = BTreeMap::new();
            each.for_each(|(one, member)| hosts.entry(&one.host).or_default().push((one, member)));
            let row = |(host, of): (&str, Vec<_>)| Row {
                names: [format!("host {host}"), text::counted(of.len() as u64, "member")],
                of,
            };
            hosts.into_iter().map(row).collect::<Vec<_>>()
        }
    };
    table(&PER_HEADS, rows.iter().map(Row::cells))
}

/// Cells in columns, line by line. A column without a head has names; numbers are at the right.
pub(super) fn table<Cells: Into<comfy_table::Row>>(heads: &[&str], rows: impl Iterator<Item = Cells>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(heads);
    table.add_rows(rows);
    for (column, name) in table.column_iter_mut().zip(heads) {
        column.set_padding((0, 2));
        if !name.is_empty() {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

impl Row<'_> {
    fn cells(&self) -> Vec<String> {
        let mut cells = self.names.to_vec();
        let measured: Vec<_> = self.of.iter().filter(|(one, _)| one.lost.is_none() && one.ios > 0).collect();
        if measured.is_empty() {
            cells.push("lost".to_owned());
            return cells;
        }
        let rate: f64 = measured.iter().filter_map(|(one, _)| one.bytes_per_second).sum();
        let iops = |one: &MemberSummary| one.elapsed_s.map(|elapsed| measure::float(one.ios) / elapsed);
        let iops: f64 = measured.iter().filter_map(|(one, _)| iops(one)).sum();
        cells.extend([text::rate(rate), text::number(iops)]);
        let latency = cluster::latency(measured.iter().map(|(_, member)| *member));
        cells.extend(latency.map_or_else(
            || vec![String::new(); 4],
            |found| found.map(|ns| ns.map_or_else(|| "-".to_owned(), |ns| text::time(measure::float(ns)))).to_vec(),
        ));
        let late = measured.iter().filter_map(|(one, _)| one.start_late_ns).max();
        cells.push(late.map_or_else(String::new, |late| format!("+{}", text::time(late.as_f64()))));
        cells
    }
}
