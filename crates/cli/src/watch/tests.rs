//! The screen on recorded machines, compared character by character, and the effects of keys.

use super::sampling::{LatencyGaps, Machine};
use super::state::{SortKey, State, Then};
use super::{lines, screen};
use measure::Nanos;
use model::{DeviceLatency, LatencyPercentiles, OperationLatency};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::path::Path;
use std::time::Duration;

/// Writes the files of a machine at second `n` of a recording: sda reads 4 KiB at a rising rate, sdb writes 64 KiB, sdc
/// is idle.
fn record(root: &Path, n: u64) {
    let write = |file: &str, text: &str| {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let reads = 50 * n * n;
    write("proc/uptime", &format!("{}.00 0\n", 100 + n));
    write("proc/stat", &format!("cpu  {} 0 {} {} {} 0 0 0 0 0\n", 20 * n, 30 * n, 140 * n, 10 * n));
    write(
        "sys/block/sda/stat",
        &format!("{reads} 0 {} {} 0 0 0 0 0 {} {}\n", reads * 8, reads / 2, 450 * n, reads / 2),
    );
    write(
        "sys/block/sdb/stat",
        &format!("0 0 0 0 {} 0 {} {} 2 {} {}\n", 80 * n, 80 * n * 128, 960 * n, 970 * n, 960 * n),
    );
    write("sys/block/sdc/stat", "7 0 56 3 0 0 0 0 0 3 3\n");
    write("proc/812/comm", "postgres\n");
    write("proc/812/io", &format!("rchar: 1\nwchar: 1\nread_bytes: {}\nwrite_bytes: {}\n", reads * 4096, 8192 * n));
    write("proc/9/comm", "ev\u{1b}[31mil\n");
    write("proc/9/io", &format!("rchar: 1\nwchar: 1\nread_bytes: 0\nwrite_bytes: {}\n", 5_242_880 * n));
    write("proc/3/comm", "idle\n");
    write("proc/3/io", "rchar: 1\nwchar: 1\nread_bytes: 5\nwrite_bytes: 5\n");
}

fn watched(names: &[String]) -> Machine {
    let root = tempfile::tempdir().unwrap();
    let mut machine = Machine::default();
    for n in 1..=12 {
        record(root.path(), n);
        machine.look(root.path(), names).unwrap();
    }
    machine
}

fn state() -> State {
    State::new(Duration::from_secs(1))
}

fn drawn(machine: &Machine, state: &State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen::draw(frame, machine, state, "db1")).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect::<Vec<_>>().join("\n")
}

fn press(state: &mut State, machine: &Machine, code: KeyCode) -> Then {
    state.press(KeyEvent::new(code, KeyModifiers::NONE), machine)
}

#[test]
fn the_smallest_screen_shows_devices_curves_and_processes() {
    insta::assert_snapshot!(drawn(&watched(&[]), &state(), 80, 24));
}

#[test]
fn a_wide_screen_has_longer_curves() {
    let machine = watched(&["sdb".to_owned()]);
    insta::assert_snapshot!(drawn(&machine, &state(), 120, 30));
}

#[test]
fn screens_of_60_and_200_columns_show_all_rates() {
    for width in [60, 200] {
        insta::assert_snapshot!(format!("screen_at_{width}"), drawn(&watched(&[]), &state(), width, 24));
    }
    let (machine, mut helped) = (watched(&[]), state());
    press(&mut helped, &machine, KeyCode::Char('?'));
    insta::assert_snapshot!("help_at_60", drawn(&machine, &helped, 60, 24));
}

#[test]
fn reads_writes_and_discards_add_up_to_the_curve_in_every_width() {
    let root = tempfile::tempdir().unwrap();
    let mut machine = Machine::default();
    for n in 1..=3u64 {
        record(root.path(), n);
        // 23 reads, 2 writes and 1246 discards a second, as a trim of a file system makes them.
        let stat = format!(
            "{} 0 {} 5 {} 0 {} 3 0 {} {} {} 0 {} 9\n",
            23 * n,
            184 * n,
            2 * n,
            16 * n,
            20 * n,
            20 * n,
            1246 * n,
            9968 * n
        );
        let folder = root.path().join("sys/block/vda");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("stat"), stat).unwrap();
        machine.look(root.path(), &["vda".to_owned()]).unwrap();
    }
    let number = |text: &str| text.replace(',', "").parse::<f64>().unwrap();
    for width in [60, 80, 100, 200] {
        let text = drawn(&machine, &state(), width, 24);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let heads = lines.iter().find(|line| line.first() == Some(&"Device")).unwrap();
        let row = lines.iter().find(|line| line.first() == Some(&"vda") && line.len() > 4).unwrap();
        let rates = ["r/s", "w/s", "d/s"].map(|name| {
            let at = heads.iter().position(|head| *head == name).unwrap();
            number(row[at])
        });
        assert_eq!(rates, [23.0, 2.0, 1246.0], "{text}");
        let curve = lines.iter().find(|line| line.first() == Some(&"IOPS")).unwrap();
        assert_eq!(number(curve[1]), rates.iter().sum::<f64>(), "{text}");
    }
}

#[test]
fn a_zoned_device_has_its_zones_in_its_heading_and_in_json() {
    let root = tempfile::tempdir().unwrap();
    let mut machine = Machine::default();
    for n in 1..=3 {
        record(root.path(), n);
        let queue = [("zoned", "host-managed"), ("nr_zones", "64"), ("chunk_sectors", "8192")];
        for (file, text) in [("dev", "8:16"), ("queue/zoned", "none")] {
            let path = root.path().join("sys/block/sda").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir_all(root.path().join("sys/block/sdb/queue")).unwrap();
        std::fs::write(root.path().join("sys/block/sdb/dev"), "8:32\n").unwrap();
        for (file, text) in queue {
            std::fs::write(root.path().join("sys/block/sdb/queue").join(file), text).unwrap();
        }
        machine.look(root.path(), &[]).unwrap();
    }
    let text = drawn(&machine, &state(), 80, 24);
    assert!(text.contains("\nsdb  host-managed, 64 zones of 4M\n"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let saved = lines::save(folder.path(), "db1", &machine).unwrap();
    let saved: serde_json::Value = serde_json::from_slice(&std::fs::read(saved).unwrap()).unwrap();
    let zoned = |at: usize| saved["devices"][at].get("zoned").cloned();
    let expected = serde_json::json!({ "model": "host-managed", "zones": 64, "zone_bytes": 4_194_304 });
    assert_eq!((zoned(0), zoned(1)), (None, Some(expected)));
}

#[test]
fn latencies_have_a_row_per_direction_and_fit_the_screen() {
    let mut machine = watched(&[]);
    let without = drawn(&machine, &state(), 80, 24);
    machine.gaps = Some(LatencyGaps::default());
    assert!(drawn(&machine, &state(), 80, 24).contains("\nno I/O ended\n"));
    let times = |p50, p99| LatencyPercentiles { p50: Some(Nanos(p50)), p99: Some(Nanos(p99)), p99_9: None };
    let read = OperationLatency { ios: 1204, queue: times(3_120, 41_000), device: times(83_100, 1_250_000) };
    let write = OperationLatency { ios: 0, ..read };
    machine.devices.get_mut("sda").unwrap().history.back_mut().unwrap().latency = Some(DeviceLatency { read, write });
    machine.gaps = Some(LatencyGaps { lost: 3, left_out: 1 });
    let rows = |width: u16| {
        let text = drawn(&machine, &state(), width, 24);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let at = text.lines().position(|line| line.starts_with("Latency")).unwrap();
        assert!(text.contains("Process") && text.contains("peak"), "{text}");
        text.lines().skip(at).take(3).map(words).collect::<Vec<_>>()
    };
    let head = "Latency I/Os queue p50 p99 p99.9 device p50 p99 p99.9";
    assert_eq!(
        rows(80),
        [head, "! events lost 3", "sda read 1,204 3.12 µs 41 µs - 83.1 µs 1.25 ms -"].map(str::to_owned)
    );
    assert_eq!(rows(60)[2], "sda read 3.12 µs 41 µs 83.1 µs 1.25 ms -");
    assert!(!without.contains("Latency"));
}

#[test]
fn help_lies_over_the_screen() {
    let (machine, mut state) = (watched(&[]), state());
    press(&mut state, &machine, KeyCode::Char('?'));
    insta::assert_snapshot!(drawn(&machine, &state, 80, 24));
    assert_eq!(press(&mut state, &machine, KeyCode::Esc), Then::Stay);
    assert!(!state.help, "Esc takes the help away before it quits");
}

#[test]
fn the_first_look_has_no_rates_and_says_so() {
    let root = tempfile::tempdir().unwrap();
    record(root.path(), 1);
    let mut machine = Machine::default();
    machine.look(root.path(), &[]).unwrap();
    let text = drawn(&machine, &state(), 80, 24);
    assert!(text.contains("rates need two looks") && text.contains("sda"), "{text}");
}

#[test]
fn a_screen_that_is_too_small_says_how_much_it_needs() {
    assert!(drawn(&watched(&[]), &state(), 59, 24).contains("needs 60 × 24"));
    for (width, height) in [(1, 1), (10, 3), (60, 23)] {
        drawn(&watched(&[]), &state(), width, height);
    }
}

#[test]
fn more_devices_than_rows_keep_the_one_in_focus_in_sight() {
    let root = tempfile::tempdir().unwrap();
    let mut machine = Machine::default();
    for n in 1..=2u64 {
        record(root.path(), n);
        for disk in 0..40 {
            let folder = root.path().join(format!("sys/block/vd{disk:02}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("stat"), format!("{} 0 8 1 0 0 0 0 0 1 1\n", n * (disk + 1))).unwrap();
        }
        machine.look(root.path(), &[]).unwrap();
    }
    let mut state = state();
    state.order = SortKey::Name;
    for _ in 0..60 {
        press(&mut state, &machine, KeyCode::Down);
    }
    let text = drawn(&machine, &state, 80, 24);
    assert_eq!(state.focus.as_deref(), Some("vd39"));
    assert!(text.matches("vd39").count() == 2 && text.contains("Process"), "{text}");
}

#[test]
fn keys_sort_pause_and_quit() {
    let (machine, mut state) = (watched(&[]), state());
    assert_eq!(state.order.arrange(&machine), ["sdb", "sda", "sdc"], "by utilisation");
    press(&mut state, &machine, KeyCode::Char('s'));
    assert_eq!((state.order, state.order.arrange(&machine)[0]), (SortKey::Iops, "sda"));
    for _ in 0..5 {
        press(&mut state, &machine, KeyCode::Char('s'));
    }
    assert_eq!(state.order, SortKey::Utilisation, "round and round");
    press(&mut state, &machine, KeyCode::Char(' '));
    assert!(state.paused && drawn(&machine, &state, 80, 24).contains("PAUSED"));
    press(&mut state, &machine, KeyCode::Char('-'));
    press(&mut state, &machine, KeyCode::Char('-'));
    press(&mut state, &machine, KeyCode::Char('-'));
    assert_eq!(state.interval, Duration::from_millis(250));
    assert_eq!(press(&mut state, &machine, KeyCode::Char('x')), Then::Stay);
    assert_eq!(press(&mut state, &machine, KeyCode::Char('q')), Then::Quit);
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(state.press(control_c, &machine), Then::Quit);
}

#[test]
fn a_device_that_vanishes_leaves_the_screen() {
    let root = tempfile::tempdir().unwrap();
    let mut machine = Machine::default();
    record(root.path(), 1);
    machine.look(root.path(), &[]).unwrap();
    std::fs::remove_dir_all(root.path().join("sys/block/sdb")).unwrap();
    machine.look(root.path(), &[]).unwrap();
    assert_eq!(machine.devices.keys().collect::<Vec<_>>(), ["sda", "sdc"]);
}

#[test]
fn what_is_saved_is_new_and_complete() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plumb-watch-001.json"), "my thesis").unwrap();
    let path = lines::save(folder.path(), "db1", &watched(&[])).unwrap();
    assert!(path.ends_with("plumb-watch-002.json"));
    assert_eq!(std::fs::read_to_string(folder.path().join("plumb-watch-001.json")).unwrap(), "my thesis");
    let saved: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!((&saved["command"], &saved["devices"][0]["name"]), (&"watch".into(), &"sda".into()));
    let samples = saved["devices"][0]["samples"].as_array().unwrap();
    assert_eq!((samples.len(), &samples[0]["reads_per_second"]), (11, &150.0.into()));
    assert_eq!(saved["processes"][0]["process"], 9);
}

#[test]
fn a_crash_leaves_the_terminal_as_it_was() {
    // The test runs itself on a separate terminal, where it panics on purpose.
    if std::env::var_os("PLUMB_TEST_CRASH").is_some() {
        let _screen = super::Screen::open().unwrap();
        panic!("on purpose");
    }
    let server = format!("plumb-crash-{}", std::process::id());
    let tmux = |words: &[&str]| {
        let outcome = std::process::Command::new("tmux").args(["-L", &server]).args(words).output();
        String::from_utf8_lossy(&outcome.expect("tmux: make oracles").stdout).into_owned()
    };
    let program = std::env::current_exe().unwrap();
    let script = format!(
        "PLUMB_TEST_CRASH=1 {} --exact --nocapture watch::tests::a_crash_leaves_the_terminal_as_it_was; echo ended; \
         stty -a | tr ' ' '\\n' | grep -c '^icanon'; sleep 60",
        program.display()
    );
    tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "50", &script]);
    let mut shown = String::new();
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(100));
        shown = tmux(&["capture-pane", "-p"]);
        if shown.contains("ended\n1") {
            break;
        }
    }
    let modes = tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
    tmux(&["kill-server"]);
    assert!(shown.contains("on purpose") && shown.contains("ended\n1"), "{shown}");
    assert_eq!(modes.trim(), "0 1");
}
