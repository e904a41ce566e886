//! iostat's JSON, in the layout of its own writer, so that line-wise readers find what they know.

use super::{Columns, Host, Report, Unit};
use model::DeviceActivity;

/// All before the first report.
pub fn head(host: &Host) -> String {
    let members = [("nodename", &host.name), ("sysname", &host.system), ("release", &host.release)];
    let mut text = String::from("{\"sysstat\": {\n\t\"hosts\": [\n\t\t{\n");
    for (key, value) in members.into_iter().chain([("machine", &host.machine)]) {
        text += &format!("\t\t\t\"{key}\": {},\n", quoted(value));
    }
    text += &format!("\t\t\t\"number-of-cpus\": {},\n\t\t\t\"date\": {},\n", host.cpus, quoted(&host.date));
    text + "\t\t\t\"statistics\": [\n"
}

/// Between two reports.
pub const SEPARATOR: &str = ",\n";

/// All behind the last report and its line's end.
pub const TAIL: &str = "\t\t\t]\n\t\t}\n\t]\n}}\n";

/// One report, without the end of its last line.
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
    format!("\t\t\t\t{{\n{}\n\t\t\t\t}}", members.join(SEPARATOR))
}

fn line(device: &DeviceActivity, columns: Columns, unit: Unit) -> String {
    let members: Vec<String> = match columns {
        Columns::Extended | Columns::ExtendedOld => extended(device, unit),
        Columns::ExtendedShort => extended_short(device, unit),
        Columns::Basic | Columns::BasicShort | Columns::BasicOld => basic(device, unit),
    };
    format!("\t\t\t\t\t\t{{\"disk_device\": {}, {}}}", quoted(&device.name), members.join(", "))
}

fn basic(device: &DeviceActivity, unit: Unit) -> Vec<String> {
    let label = super::columns::label(Columns::Basic, unit);
    let (divisor, sectors) = match unit {
        Unit::Kilobytes => (2.0, 2),
        Unit::Megabytes => (2048.0, 2048),
        Unit::Blocks => (1.0, 1),
    };
    let named = [("read", &device.reads), ("wrtn", &device.writes), ("dscd", &device.discards)];
    let rates = named
        .iter()
        .map(|(name, operation)| member(&format!("{label}_{name}/s"), operation.sectors_per_second / divisor));
    let amounts = named.iter().map(|(name, operation)| format!("\"{label}_{name}\": {}", operation.sectors / sectors));
    std::iter::once(member("tps", device.together.per_second)).chain(rates).chain(amounts).collect()
}

fn extended(device: &DeviceActivity, unit: Unit) -> Vec<String> {
    let (label, divisor) = data_rate(unit);
    let operations = [("r", &device.reads), ("w", &device.writes), ("d", &device.discards)];
    let mut members: Vec<String> =
        operations.iter().map(|(letter, operation)| member(&format!("{letter}/s"), operation.per_second)).collect();
    members.push(member("f/s", device.flushes.per_second));
    members.extend(
        operations
            .iter()
            .map(|(letter, operation)| member(&format!("{letter}{label}/s"), operation.sectors_per_second / divisor)),
    );
    members.extend(
        operations.iter().map(|(letter, operation)| member(&format!("{letter}rqm/s"), operation.merges_per_second)),
    );
    members
        .extend(operations.iter().map(|(letter, operation)| member(&format!("{letter}rqm"), operation.merged_percent)));
    members.extend(operations.iter().map(|(letter, operation)| member(&format!("{letter}_await"), operation.await_ms)));
    members.push(member("f_await", device.flushes.await_ms));
    members.extend(
        operations
            .iter()
            .map(|(letter, operation)| member(&format!("{letter}areq-sz"), operation.request_sectors / 2.0)),
    );
    members.push(member("aqu-sz", device.queue));
    members.push(member("util", device.utilisation_percent));
    members
}

fn extended_short(device: &DeviceActivity, unit: Unit) -> Vec<String> {
    let (label, divisor) = data_rate(unit);
    let all = &device.together;
    vec![
        member("tps", all.per_second),
        member(&format!("{label}/s"), all.sectors_per_second / divisor),
        member("rqm/s", all.merges_per_second),
        member("await", all.await_ms),
        member("areq-sz", all.request_sectors / 2.0),
        member("aqu-sz", device.queue),
        member("util", device.utilisation_percent),
    ]
}

/// How extended rates call the unit, and its sectors.
fn data_rate(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Kilobytes => ("kB", 2.0),
        Unit::Megabytes => ("MB", 2048.0),
        Unit::Blocks => ("sec", 1.0),
    }
}

fn member(key: &str, value: f64) -> String {
    format!("\"{key}\": {value:.2}")
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
        let full =
            Report { moment: Some("now".into()), cpu: Some(model::CpuActivity::default()), devices: Some(devices) };
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
