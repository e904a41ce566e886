//! fio's outputs of a run on servers (`--client`): the jobs of each server, and their sum, `All clients`, last.
//!
//! Owns the sums and the text. Percentiles of a sum are those of the histograms of all servers together.

use super::{CLIENTS_SUM, group, json, terse, text};
use crate::table::FormatError;
use crate::{View, printable};
use model::{Echo, JobResult, RunResult};
use serde_json::Value;

/// The result of one server.
#[derive(Clone, Copy, Debug)]
pub struct ServerResult<'a> {
    /// The server as the client was given it.
    pub host: &'a str,
    /// Its port; 0 for a socket in the file system.
    pub port: u16,
    /// The name in front of its lines of text.
    pub label: &'a str,
    /// Its result.
    pub result: &'a RunResult,
}

/// All servers of a run.
#[derive(Clone, Debug)]
pub struct ServerResults<'a> {
    /// In the order of the command line.
    pub servers: Vec<ServerResult<'a>>,
    /// Numbers that only plumb has, for the key `plumb` of the JSON.
    pub own: Option<Value>,
    /// Use of their sums.
    pub sums: Sums,
}

/// Use of the sums of all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// They are shown.
    Shown,
    /// A server is missing, so there are none.
    LeftOut,
}

/// Writes the results in the format with this `--output-format` word.
///
/// # Errors
/// There is no format with this word.
pub fn write(word: &str, results: &ServerResults<'_>, view: &View) -> Result<String, FormatError> {
    match word {
        "normal" => Ok(normal(results, view)),
        "terse" => Ok(lines(results, view)),
        "json" => Ok(json::of_clients(results, view, json::Detail::Percentiles)),
        "json+" => Ok(json::of_clients(results, view, json::Detail::Bins)),
        "json-full" => Ok(json::of_clients(results, view, json::Detail::Everything)),
        _ => Err(FormatError::NotWritten(format!("no format of results of servers is named {word}"))),
    }
}

/// The sums of all servers' rows: one per group if all have `group_reporting`, else one; none for a single row.
pub fn sums(results: &ServerResults<'_>) -> Vec<JobResult> {
    let rows: Vec<JobResult> = results.servers.iter().flat_map(|server| group::printed_rows(server.result)).collect();
    if rows.len() < 2 || results.sums == Sums::LeftOut {
        return Vec::new();
    }
    let by_group = rows.iter().all(|row| row.style.group_reporting);
    let mut sums: Vec<JobResult> = Vec::new();
    for row in &rows {
        match sums.iter_mut().find(|sum| !by_group || sum.echo.group == row.echo.group) {
            Some(sum) => {
                sum.merge(row);
                sum.echo.group = sum.echo.group.max(row.echo.group);
            }
            None => sums.push(row.clone()),
        }
    }
    sums.sort_by_key(|sum| sum.echo.group);
    for sum in &mut sums {
        sum.echo = Echo { name: CLIENTS_SUM.to_owned(), group: sum.echo.group, ..Echo::default() };
        // Options, a depth and a latency target are those of one job.
        sum.steady = None;
        sum.pid = 0;
    }
    sums
}

fn normal(results: &ServerResults<'_>, view: &View) -> String {
    let mut all = String::new();
    for server in &results.servers {
        all.push_str(&format!("<{}> {}", printable::line(server.label), text::write(server.result, view)));
    }
    let ended = results.servers.iter().map(|server| server.result.ended_unix_ms).max().unwrap_or_default();
    for sum in sums(results) {
        all.push_str(&text::block(&sum, ended, view));
    }
    all
}

fn lines(results: &ServerResults<'_>, view: &View) -> String {
    let version = view.terse_version;
    let of_servers = results.servers.iter().map(|server| terse::write(server.result, version));
    let sums = sums(results);
    let program = results.servers.first().map(|server| server.result.environment.clone()).unwrap_or_default();
    let of_sums = sums.into_iter().map(|sum| {
        let result = RunResult { jobs: vec![sum], environment: program.clone(), ..RunResult::default() };
        terse::write(&result, version)
    });
    of_servers.chain(of_sums).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Nanos;

    fn result(rows: &[(u32, bool)], ios: u64, latency: Nanos) -> RunResult {
        let job = |&(group, group_reporting): &(u32, bool)| {
            let mut job = JobResult { workers: 1, runtime: Nanos::SECOND, ..JobResult::default() };
            (job.echo.name, job.echo.group, job.echo.number) = ("w".to_owned(), group, group + 1);
            job.style.group_reporting = group_reporting;
            job.style.completion_percentiles = true;
            job.style.percentiles = vec![50.0, 95.0];
            let read = &mut job.directions.read;
            (read.ios, read.bytes, read.runtime) = (ios, ios * 4096, Nanos::SECOND);
            let mut found = model::LatencyStatistics::default();
            found.moments.record_many(latency, ios);
            found.histogram.get_or_insert_default().record_many(latency, ios);
            read.completion = Some(found);
            job
        };
        RunResult { jobs: rows.iter().map(job).collect(), ..RunResult::default() }
    }

    fn of<'a>(results: &'a [RunResult]) -> ServerResults<'a> {
        let server = |result: &'a RunResult| ServerResult { host: "a", port: 8765, label: "a", result };
        ServerResults { servers: results.iter().map(server).collect(), own: None, sums: Sums::Shown }
    }

    #[test]
    fn the_sum_has_percentiles_of_all_latencies_together() {
        let results =
            [result(&[(0, false)], 900, Nanos::from_millis(1)), result(&[(0, false)], 100, Nanos::from_millis(9))];
        let text = write("json", &of(&results), &View::in_zone(jiff::tz::TimeZone::UTC)).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let stats = document["client_stats"].as_array().unwrap();
        assert_eq!(stats.len(), 3);
        assert_eq!(stats[2]["jobname"], "All clients");
        assert_eq!(stats[2]["read"]["total_ios"], 1000);
        let p95 = stats[2]["read"]["clat_ns"]["percentile"]["95.000000"].as_u64().unwrap();
        assert!(p95.abs_diff(9_000_000) < 9_000_000 / 64, "{p95}");
    }

    #[test]
    fn there_is_one_sum_or_one_for_each_group_and_none_of_one_row() {
        let ends = Nanos::from_millis(1);
        for (rows, servers, expected) in [
            (&[(0, false)][..], 1, vec![]),
            (&[(0, false)], 2, vec![(0, 2)]),
            (&[(0, false), (1, false)], 2, vec![(1, 4)]),
            (&[(0, true), (1, true)], 2, vec![(0, 2), (1, 2)]),
            (&[(0, true), (1, false)], 2, vec![(1, 4)]),
        ] {
            let results = vec![result(rows, 10, ends); servers];
            let found: Vec<(u32, u32)> = sums(&of(&results)).iter().map(|sum| (sum.echo.group, sum.workers)).collect();
            assert_eq!(found, expected, "{rows:?}");
        }
    }
}
