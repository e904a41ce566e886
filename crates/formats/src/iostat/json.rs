//! iostat's JSON, with the newlines and tabs of sysstat, for line-based tools.

use super::cell::Value;
use super::columns::{label, of_json, tables};
use super::{Columns, Host, Latencies, Report, Unit};
use model::DeviceActivity;

/// The text before the first report.
pub fn head(host: &Host) -> String {
    let members = [("nodename", &host.name), ("sysname", &host.system), ("release", &host.release)];
    let mut text = String::from("{\"sysstat\": {\n\t\"hosts\": [\n\t\t{\n");
    for (key, value) in members.into_iter().chain([("machine", &host.machine)]) {
        text += &format!("\t\t\t\"{key}\": {},\n", quoted(value));
    }
    text += &format!("\t\t\t\"number-of-cpus\": {},\n\t\t\t\"date\": {},\n", host.cpus, quoted(&host.date));
    text + "\t\t\t\"statistics\": [\n"
}

/// The text between two reports.
pub const SEPARATOR: &str = ",\n";

/// The text after the last report and the end of its line.
pub const TAIL: &str = "\t\t\t]\n\t\t}\n\t]\n}}\n";

/// Formats one report, without a trailing newline.
pub fn report(report: &Report, columns: Columns, unit: Unit) -> String {
    let mut members = Vec::new();
    if let Some(moment) = &report.moment {
        members.push(format!("\t\t\t\t\t\"timestamp\": {}", quoted(moment)));
    }
    if let Some(cpu) = &report.cpu {
        members.push(format!(
            "\t\t\t\t\t\"avg-cpu\":  {{\"user\": {:.2}, \"nice\": {:.2}, \"system\": {:.2}, \"iowait\": {:.2}, \
             \"steal\": {:.2}, \"idle\": {:.2}}}",
            cpu.user, cpu.nice, cpu.system, cpu.iowait, cpu.steal, cpu.idle
        ));
    }
    if let Some(devices) = &report.devices {
        let lines: Vec<String> = devices.iter().map(|device| line(device, columns, unit)).collect();
        members.push(format!("\t\t\t\t\t\"disk\": [\n{}\n\t\t\t\t\t]", lines.join(SEPARATOR)));
    }
    members.extend(report.latency.as_ref().map(Latencies::members));
    format!("\t\t\t\t{{\n{}\n\t\t\t\t}}", members.join(SEPARATOR))
}

/// Formats one device. Its members are ordered by quantity; the text orders columns by operation.
fn line(device: &DeviceActivity, columns: Columns, unit: Unit) -> String {
    let columns = of_json(columns);
    let label = label(columns, unit);
    let mut members: Vec<(String, Value)> =
        tables(columns).iter().copied().flatten().map(|column| (column.key(label), (column.value)(device))).collect();
    members.sort_by_key(|(_, value)| value.json_position());
    let members: String = members.iter().map(|(key, value)| format!(", \"{key}\": {}", value.in_json(unit))).collect();
    format!("\t\t\t\t\t\t{{\"disk_device\": {}{members}}}", quoted(&device.name))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_is_valid_json() {
        let host = Host { name: "a \"b\"\\".into(), ..Host::default() };
        let devices = vec![DeviceActivity { name: "sda".into(), ..DeviceActivity::default() }; 2];
        let full = Report {
            moment: Some("now".into()),
            cpu: Some(model::CpuActivity::default()),
            devices: Some(devices),
            latency: None,
        };
        let empty = Report { devices: Some(Vec::new()), ..Report::default() };
        for columns in [Columns::Basic, Columns::Extended, Columns::ExtendedShort] {
            let reports = [&full, &empty].map(|shown| report(shown, columns, Unit::Kilobytes)).join(SEPARATOR);
            let text = format!("{}{reports}\n{TAIL}", head(&host));
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let host = &value["sysstat"]["hosts"][0];
            assert_eq!(host["nodename"], "a \"b\"\\");
            assert_eq!(host["statistics"][0]["disk"][1]["disk_device"], "sda");
            assert_eq!(host["statistics"][1]["disk"].as_array().unwrap().len(), 0);
        }
    }
}
