//! The document of a run on servers: `client_stats` in place of `jobs`, with host and port in each entry.

use super::own;
use super::write::{Detail, disk_entries, job, options, spelled};
use crate::fio::clients::{ServerResult, ServerResults, sums};
use crate::fio::group;
use crate::fio::text::version_line;
use crate::{View, local_time};
use model::JobResult;
use serde_json::{Map, Value, json};

/// Writes the document, with a trailing newline.
pub(crate) fn of_clients(results: &ServerResults<'_>, view: &View, detail: Detail) -> String {
    let ended = results.servers.iter().map(|server| server.result.ended_unix_ms).max().unwrap_or_default();
    let program = results.servers.first().map_or(::fio::VERSION, |server| server.result.environment.program.as_str());
    let mut root = Map::new();
    root.insert("fio version".into(), json!(version_line(program)));
    root.insert("timestamp".into(), json!(ended / 1000));
    root.insert("time".into(), json!(local_time::spelled(ended, &view.zone)));
    let globals = results.servers.iter().flat_map(|server| server.result.global_options.clone());
    root.insert("global options".into(), options(&globals.collect::<Vec<_>>()));
    let mut entries: Vec<Value> = Vec::new();
    for server in &results.servers {
        let rows = group::printed_rows(server.result);
        let groups = group::of_rows(&rows);
        entries.extend(rows.iter().map(|row| of_server(without_local_keys(job(row, &groups, detail)), server)));
    }
    if let Some(last) = results.servers.last() {
        let sum = |row: &JobResult| {
            let groups = group::of_rows(std::slice::from_ref(row));
            of_server(without_local_keys(job(row, &groups, detail)), last)
        };
        entries.extend(sums(results).iter().map(sum));
    }
    root.insert("client_stats".into(), Value::Array(entries));
    let of_server_too = |server: &ServerResult<'_>| {
        disk_entries(&server.result.devices).into_iter().map(|entry| of_server(entry, server)).collect::<Vec<_>>()
    };
    root.insert("disk_util".into(), results.servers.iter().flat_map(of_server_too).collect());
    own::with_member(spelled(&Value::Object(root)), results.own.as_ref()) + "\n"
}

/// fio's clients do not have these keys of a run on one machine.
fn without_local_keys(mut entry: Value) -> Value {
    if let Some(members) = entry.as_object_mut() {
        for key in ["job_start", "eta", "elapsed"] {
            members.shift_remove(key);
        }
    }
    entry
}

fn of_server(mut entry: Value, server: &ServerResult<'_>) -> Value {
    if let Some(members) = entry.as_object_mut() {
        members.insert("hostname".into(), json!(server.host));
        members.insert("port".into(), json!(server.port));
    }
    entry
}
