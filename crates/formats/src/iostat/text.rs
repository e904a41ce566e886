//! iostat's text reports: first line, CPU line and device table.

use super::cell::{Value, cell, name};
use super::columns::{Column, label, tables};
use super::{Columns, Host, Layout, Naming, Report};
use crate::printable;
use model::{CpuActivity, DeviceActivity};

/// The first line and the empty line after it.
pub fn head(host: &Host) -> String {
    let (release, name) = (printable::line(&host.release), printable::line(&host.name));
    format!("{} {release} ({name}) \t{} \t_{}_\t({} CPU)\n\n", host.system, host.date, host.machine, host.cpus)
}

/// Formats a report and the two empty lines after it.
pub fn report(report: &Report, layout: &Layout) -> String {
    let mut text = String::new();
    if let Some(moment) = &report.moment {
        text += moment;
        text.push('\n');
    }
    if let Some(cpu) = &report.cpu {
        text += &processors(cpu, layout);
    }
    if let Some(devices) = &report.devices {
        let groups = tables(layout.columns);
        if layout.naming == Naming::LastCut {
            let cut: Vec<String> = groups.iter().map(|columns| table(&[columns], devices, layout)).collect();
            text += &cut.join("\n");
        } else {
            text += &table(groups, devices, layout);
        }
    }
    if let Some(latency) = &report.latency {
        text.push('\n');
        text += &latency.table();
    }
    text + "\n\n"
}

fn processors(cpu: &CpuActivity, layout: &Layout) -> String {
    let mut text = String::from("avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n       ");
    for share in [cpu.user, cpu.nice, cpu.system, cpu.iowait, cpu.steal] {
        text += &cell(Value::Percent(share), 7, layout);
    }
    text + &cell(Value::IdlePercent(cpu.idle), 7, layout) + "\n\n"
}

fn table(groups: &[&[Column]], devices: &[DeviceActivity], layout: &Layout) -> String {
    let columns = || groups.iter().copied().flatten();
    let unit = label(layout.columns, layout.unit);
    let headings: String =
        columns().map(|column| format!(" {:>width$}", column.heading(unit), width = column.width)).collect();
    let device = match layout.columns {
        Columns::BasicOld | Columns::ExtendedOld => "Device:",
        _ => "Device",
    };
    let mut text = match layout.naming {
        Naming::First => format!("{device:<13}{headings}\n"),
        Naming::Last | Naming::LastCut => format!("{headings} {device}\n"),
    };
    for device in devices {
        let shown = printable::line(&device.name);
        let cells: String = columns().map(|column| cell((column.value)(device), column.width, layout)).collect();
        text += &match layout.naming {
            Naming::First => name(&format!("{shown:<13}"), layout) + &cells,
            Naming::Last | Naming::LastCut => cells + &name(&format!(" {shown}"), layout),
        };
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iostat::Unit;
    use model::OperationActivity;

    /// 189.80 reads and 4255.20 writes of 4 KiB per second, as printed by iostat of sysstat 9.
    fn busy_disk() -> DeviceActivity {
        let operation = |per_second: f64, await_ms: f64| OperationActivity {
            per_second,
            sectors_per_second: per_second * 8.0,
            await_ms: Some(await_ms),
            request_sectors: Some(8.0),
            ..OperationActivity::default()
        };
        DeviceActivity {
            name: "sdd".into(),
            reads: operation(189.8, 3.07),
            writes: operation(4255.2, 0.13),
            queue: 1.13,
            utilisation_percent: 81.8,
            ..DeviceActivity::default()
        }
    }

    fn check(columns: Columns, unit: Unit, expected: &str) {
        let report = Report { devices: Some(vec![busy_disk()]), ..Report::default() };
        let layout = Layout { columns, unit, ..Layout::default() };
        assert_eq!(super::report(&report, &layout), format!("{expected}\n\n\n"));
    }

    #[test]
    fn the_old_columns_are_those_of_sysstat_9() {
        check(
            Columns::ExtendedOld,
            Unit::Kilobytes,
            "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\n\
             sdd               0.00     0.00  189.80 4255.20   759.20 17020.80     8.00     1.13    0.26    3.07    0.13   0.18  81.80",
        );
        check(
            Columns::BasicOld,
            Unit::Blocks,
            "Device:            tps   Blk_read/s   Blk_wrtn/s   Blk_read   Blk_wrtn\n\
             sdd            4445.00      1518.40     34041.60          0          0",
        );
    }

    #[test]
    fn an_empty_report_is_two_empty_lines() {
        assert_eq!(report(&Report::default(), &Layout::default()), "\n\n");
    }
}
