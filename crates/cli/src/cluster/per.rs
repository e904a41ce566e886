//! The table of all members, or of all hosts, on request (`--per`).

use cluster::{MemberResult, MemberSummary, Summary};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use measure::text;
use std::collections::BTreeMap;

/// Columns; names have none.
const HEADS: [&str; 9] = ["", "", "rate", "IOPS", "p50", "p99", "p99.9", "max", "began"];

/// The rows of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Per {
    /// Each host with its members together
    Host,
    /// Each member
    Member,
}

/// Members that share a row.
struct Row<'a> {
    names: [String; 2],
    of: Vec<(&'a MemberSummary, &'a MemberResult)>,
}

/// The table, line by line. Directions are added; percentiles are of the histograms of a row together.
pub(super) fn lines(per: Per, summary: &Summary, members: &[MemberResult]) -> Vec<String> {
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
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(HEADS);
    table.add_rows(rows.iter().map(Row::cells));
    for (column, name) in table.column_iter_mut().zip(HEADS) {
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
