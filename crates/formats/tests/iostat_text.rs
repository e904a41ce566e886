//! iostat's text in forms that no installed version prints, and what is missing in it.

use formats::stream::parse;
use formats::sweep::measurements;
use model::reading::{Content, Damage, IostatRow, ReadKind};

fn read(text: &str) -> (Vec<IostatRow>, Vec<Damage>) {
    let (readings, damages) = parse(text.as_bytes());
    let row = |found| if let Content::Device(row) = found { Some(*row) } else { None };
    (readings.into_iter().filter_map(|reading| row(reading.found)).collect(), damages)
}

#[test]
fn a_device_may_stand_alone_on_a_line() {
    // `-h` of sysstat 9 to 11.
    let text = "\
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           0.50    0.00    0.19    0.21    0.00   99.04

Device:            tps   MB_read/s   MB_wrtn/s    MB_read    MB_wrtn
sda
                  4.12        0.35        0.70       9893      19482
VolGroup00-LogVol00
                  1.00        0.25        0.50         93         82

Device:            tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn
loop0
                  0.02         1.5M         0.0k        84.0k         2.0G
";
    let (rows, damages) = read(text);
    assert_eq!(damages, vec![]);
    let names: Vec<&str> = rows.iter().map(|row| row.device.as_str()).collect();
    assert_eq!(names, ["sda", "VolGroup00-LogVol00", "loop0"]);
    assert_eq!(rows[1].values, [1.0, 0.25, 0.5, 93.0, 82.0]);
    assert_eq!(rows[2].values, [0.02, 1536.0, 0.0, 84.0, 2_097_152.0]);
    for cut in [text.find("                  4.12"), text.find("                  1.00")] {
        let (rows, damages) = read(&text[..cut.expect("the test's own data")]);
        assert!(rows.len() < 2 && rows.iter().all(|row| row.device == "sda"), "{rows:?}");
        assert_eq!(damages.is_empty(), rows.len() == 1, "a name of the kernel was cut: {damages:?}");
    }
}

const FOUR_TABLES: &str = "\
     r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz Device
  314.87     10.1M     0.22   0.1%    0.20    32.8k sda
    1.00      4.0k     0.00   0.0%    0.10     4.0k  both

     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz Device
   14.66    161.2k     1.12   7.1%    0.15    11.0k sda
    2.00      8.0k     0.00   0.0%    0.20     4.0k  both

     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz Device
    0.47      1.0G     0.00   0.0%    0.77   181.0k sda
    0.00      0.0k     0.00   0.0%    0.00     0.0k  both

     f/s f_await  aqu-sz  %util Device
    1.32    0.74    0.07   1.1% sda
    0.00    0.00    0.00   0.0%  both


";

#[test]
fn the_four_tables_of_a_report_are_one_row_for_each_device() {
    let (rows, damages) = read(&[FOUR_TABLES, FOUR_TABLES].concat());
    assert_eq!((rows.len(), damages), (4, vec![]));
    assert_eq!(rows[0], rows[2]);
    assert_eq!((rows[0].columns.len(), rows[0].values.len()), (22, 22));
    let value = |name: &str| rows[0].value(&[name]);
    assert_eq!([value("rkB/s"), value("wareq-sz"), value("dkB/s")], [Some(10.1 * 1024.0), Some(11.0), Some(1048576.0)]);
    assert_eq!([value("%wrqm"), value("f_await"), value("%util")], [Some(7.1), Some(0.74), Some(1.1)]);
    let (readings, _) = parse(FOUR_TABLES.as_bytes());
    let lines: Vec<_> = readings.iter().flat_map(|reading| measurements(reading, None)).collect();
    let kinds: Vec<_> = lines.iter().filter_map(|line| line.kind).collect();
    let (read, write) = (ReadKind::Read, ReadKind::Write);
    assert_eq!(kinds, [read, write, ReadKind::Trim, read, write], "discards where there are any");
    assert_eq!(lines[2].bytes_per_second, Some(1024.0 * 1048576.0));
}

#[test]
fn a_report_of_which_tables_are_missing_says_so() {
    for (end, columns) in [("     w/s", 6), ("     d/s", 12), ("     f/s", 18)] {
        let cut = &FOUR_TABLES[..FOUR_TABLES.find(end).expect("the test's own data")];
        let (rows, damages) = read(cut);
        assert_eq!((rows.len(), rows[0].values.len(), damages.len()), (2, columns, 1), "{damages:?}");
        assert!(damages[0].what.contains("ends here"), "{damages:?}");
        // What is after it is read.
        let (rows, damages) = read(&format!("{cut}{FOUR_TABLES}"));
        assert_eq!((rows.len(), damages.len()), (4, 1), "{damages:?}");
        assert_eq!(rows[2].values.len(), 22);
    }
    let without_a_line = FOUR_TABLES.replacen("   14.66    161.2k     1.12   7.1%    0.15    11.0k sda\n", "", 1);
    let (rows, damages) = read(&without_a_line);
    assert_eq!((rows[0].values.len(), rows[1].values.len()), (6, 22));
    assert!(!damages.is_empty());
}

#[test]
fn all_operations_together_are_a_row_of_the_table() {
    for (text, iops, bytes) in [
        (
            "Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util\n\
             sda             330.00     10.3M     1.34    0.20    32.0k    0.07   1.1%\n",
            330.0,
            10.3 * 1048576.0,
        ),
        (
            "Device             tps    MB_read/s     MB_w+d/s    MB_read     MB_w+d\n\
             sda             330.00         1.00         2.50          3          4\n",
            330.0,
            3.5 * 1048576.0,
        ),
    ] {
        let (readings, damages) = parse(text.as_bytes());
        let lines: Vec<_> = readings.iter().flat_map(|reading| measurements(reading, None)).collect();
        assert_eq!((lines.len(), damages), (1, vec![]), "{text}");
        assert_eq!((lines[0].kind, lines[0].iops), (Some(ReadKind::Mixed), Some(iops)));
        assert_eq!(lines[0].bytes_per_second, Some(bytes));
    }
}

#[test]
fn times_of_every_language_are_those_of_their_report() {
    let table = "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n\
                 sda              12,50      1,5M         0,00         12         13\n\n";
    for date in [
        "27.11.2026 08:17:44",
        "27.11.2026 08.17.44",
        "2026\u{5e74}11\u{6708}27\u{65e5} 08\u{65f6}17\u{5206}44\u{79d2}",
        "27 nov, 2026 08:17:44 AM UTC",
        "2026-11-27T08:17:44+0100",
        "Time: 08:17:44 AM",
        "1795355129",
    ] {
        let (rows, damages) = read(&format!("Linux 6.1.0 (vm) \t27.11.2026 \t_x86_64_\t(2 CPU)\n\n{date}\n{table}"));
        assert_eq!((rows.len(), damages), (1, vec![]), "{date}");
        assert_eq!((rows[0].date.as_deref(), rows[0].values[1]), (Some(date), 1536.0), "{date}");
    }
    let (rows, _) = read(&format!("Linux 6.1.0 (vm) \t27.11.2026 \t_x86_64_\t(2 CPU)\n\n{table}"));
    assert_eq!(rows[0].date, None);
}
