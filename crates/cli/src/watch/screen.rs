//! The screen: a pure function of the data and the user's choices.

use super::sampling::{LatencyGaps, Machine, ProcessRate, Track};
use super::state::State;
use formats::printable;
use measure::{Nanos, text};
use model::{DeviceActivity, OperationLatency};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table};

/// Minimum size of the terminal, in columns and rows.
const SMALLEST: (u16, u16) = (60, 24);
/// Rows of the part about the device in focus, including the heading.
const FOCUS_ROWS: u16 = 5;
/// Minimum number of rows for the processes, including the heading.
const PROCESS_ROWS: u16 = 5;

/// The keys of the bottom line, the most important first; those that have no room are in the help.
const KEYS: [&str; 7] = ["q quit", "? help", "p pause", "s sort", "↑↓ device", "+- interval", "w save"];
const HELP: &[&str] = &[
    "q, Esc, Ctrl-C   quit",
    "p, space         pause and go on",
    "s                sort by the next: util, IOPS,",
    "                 throughput, queue, await, name",
    "↑ ↓, k j         the device whose curves are shown",
    "+ -              look less often, more often",
    "w                save it: plumb-watch-NNN.json",
    "? h              this help, and away with it",
    "",
    "r/s w/s d/s      reads, writes, discards: sum is IOPS",
    "size, await      mean of a request; time with its queue",
    "queue            mean number of requests under way",
    "util             time with a request under way; with many",
    "                 at once it can do more at 100 %",
];

pub(super) fn draw(frame: &mut Frame<'_>, machine: &Machine, state: &State, host: &str) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!(
            "{} × {} is too small: plumb watch needs {} × {}. q quits.",
            area.width, area.height, SMALLEST.0, SMALLEST.1
        );
        frame.render_widget(Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true }), area);
        return;
    }
    let names = state.order.arrange(machine);
    let wanted = u16::try_from(names.len().max(1)).unwrap_or(u16::MAX).saturating_add(1);
    let room = area.height - 3 - FOCUS_ROWS - PROCESS_ROWS;
    let times = machine.gaps.map(|gaps| latency_rows(machine, &names, gaps, area.width));
    let times_wanted = times.as_ref().map_or(0, |rows| u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(1));
    // Half of the room, or what the devices leave.
    let times_room = times_wanted.min((room / 2).max(room.saturating_sub(wanted)));
    let rows = [
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(wanted.min(room - times_room)),
        Constraint::Length(times_room),
        Constraint::Length(FOCUS_ROWS),
        Constraint::Min(PROCESS_ROWS),
        Constraint::Length(1),
    ];
    let [title, cpu, devices, latency, focus, processes, bottom] = Layout::vertical(rows).areas(area);
    frame.render_widget(title_line(machine, state, host), title);
    frame.render_widget(cpu_line(machine, cpu.width), cpu);
    draw_devices(frame, devices, machine, state, &names);
    if let Some(times) = times {
        draw_latency(frame, latency, times);
    }
    draw_focus(frame, focus, machine, state.focused(&names));
    draw_processes(frame, processes, machine);
    let message = state.message.as_deref().map_or_else(|| keys(area.width), |message| format!(" {}", shown(message)));
    frame.render_widget(Paragraph::new(message).style(Style::new().add_modifier(Modifier::REVERSED)), bottom);
    if state.help {
        draw_help(frame, area);
    }
}

/// The bottom line: as many keys as have room.
fn keys(width: u16) -> String {
    let mut text = String::new();
    for key in KEYS {
        let longer = format!("{text} {key} ");
        if longer.chars().count() > usize::from(width) {
            break;
        }
        text = longer;
    }
    text
}

/// Makes text from outside safe: a single line without control characters.
fn shown(text: &str) -> String {
    printable::line(text).into_owned()
}

fn title_line(machine: &Machine, state: &State, host: &str) -> Line<'static> {
    let paused = if state.paused { "  PAUSED" } else { "" };
    let text = format!(
        "every {} s, sort: {}, {}{}",
        state.interval.as_secs_f64(),
        state.order.title(),
        text::counted(machine.devices.len() as u64, "device"),
        paused
    );
    Line::from(vec![
        Span::styled("plumb watch ", Style::new().add_modifier(Modifier::BOLD)),
        Span::raw(format!("{}  {text}", shown(host))),
    ])
}

fn cpu_line(machine: &Machine, width: u16) -> Line<'static> {
    let Some(cpu) = machine.cpu else { return Line::from("CPU  a moment, please: rates need two looks") };
    let shares = [
        ("user", cpu.user + cpu.nice),
        ("system", cpu.system),
        ("iowait", cpu.iowait),
        ("steal", cpu.steal),
        ("idle", cpu.idle),
    ];
    let spelled = |gap: &str, unit: &str| -> String {
        shares.iter().map(|(name, share)| format!("{gap}{name} {share:.1}{unit}")).collect()
    };
    let long = format!("CPU{}", spelled("  ", " %"));
    Line::from(if long.chars().count() <= usize::from(width) { long } else { format!("CPU %{}", spelled(" ", "")) })
}

/// A column of the table of devices: its name, its width, the width of the terminal from which on it is shown, and its
/// value.
struct Column {
    name: &'static str,
    width: u16,
    from: u16,
    value: fn(&DeviceActivity) -> String,
}

const fn column(name: &'static str, width: u16, from: u16, value: fn(&DeviceActivity) -> String) -> Column {
    Column { name, width, from, value }
}

/// The columns between the name and the utilisation. Reads, writes and discards add up to the IOPS of the curve in
/// every width.
const COLUMNS: [Column; 9] = [
    column("r/s", 6, 0, |now| text::narrow_number(now.reads.per_second)),
    column("w/s", 6, 0, |now| text::narrow_number(now.writes.per_second)),
    column("d/s", 6, 0, |now| text::narrow_number(now.discards.per_second)),
    column("read/s", 6, 80, |now| text::short_bytes(now.reads.sectors_per_second * 512.0)),
    column("write/s", 7, 80, |now| text::short_bytes(now.writes.sectors_per_second * 512.0)),
    column("disc/s", 6, 100, |now| text::short_bytes(now.discards.sectors_per_second * 512.0)),
    column("size", 6, 80, |now| or_dash(now.together.request_sectors, |sectors| text::short_bytes(sectors * 512.0))),
    column("queue", 6, 0, |now| text::narrow_number(now.queue)),
    column("await", 7, 0, |now| or_dash(now.together.await_ms, |ms| text::time(1e6 * ms))),
];

fn or_dash(value: Option<f64>, shown: fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), shown)
}

const NAME_WIDTH: u16 = 9;
const UTIL_WIDTH: u16 = 5;

fn draw_devices(frame: &mut Frame<'_>, area: Rect, machine: &Machine, state: &State, names: &[&str]) {
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| area.width >= column.from).collect();
    let widths: Vec<u16> =
        std::iter::once(NAME_WIDTH).chain(columns.iter().map(|column| column.width)).chain([UTIL_WIDTH]).collect();
    let taken = widths.iter().map(|width| width + 1).sum::<u16>();
    let curve = usize::from(area.width.saturating_sub(taken));
    let heads = columns.iter().map(|column| column.name).chain(["util"]).map(right);
    let heads = std::iter::once(Cell::from("Device")).chain(heads).chain([Cell::from("IOPS")]);
    let focus = state.focused(names);
    let body = usize::from(area.height.saturating_sub(1));
    // Scroll so that the device in focus is always visible.
    let at = names.iter().position(|name| Some(*name) == focus).unwrap_or(0);
    let skipped = (at + 1).saturating_sub(body);
    let rows = names.iter().skip(skipped).filter_map(|&name| {
        let style = if Some(name) == focus { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        Some(device_row(name, machine.devices.get(name)?, &columns, curve).style(style))
    });
    let widths = widths.into_iter().map(Constraint::Length).chain([Constraint::Min(3)]);
    let header = Row::new(heads).style(Style::new().add_modifier(Modifier::UNDERLINED));
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1), area);
}

/// The columns of the latencies: name, width, and the width of the terminal from which on they are shown.
const LATENCY_COLUMNS: [(&str, u16, u16); 7] = [
    ("I/Os", 7, 80),
    ("queue p50", 9, 0),
    ("p99", 7, 0),
    ("p99.9", 7, 70),
    ("device p50", 10, 0),
    ("p99", 7, 0),
    ("p99.9", 7, 0),
];
const LATENCY_NAME: u16 = 14;

/// A row for the reads and one for the writes of each device that had any, in the order of the devices.
fn latency_rows(machine: &Machine, names: &[&str], gaps: LatencyGaps, width: u16) -> Vec<Row<'static>> {
    let row = |name: &str, direction: &str, times: &OperationLatency| {
        let spelled = |time: Option<Nanos>| or_dash(time.map(Nanos::as_f64), text::time);
        let times_of = times.queue.all().into_iter().chain(times.device.all()).map(spelled);
        let cells = std::iter::once(text::narrow_number(measure::float(times.ios))).chain(times_of);
        let cells = cells.zip(LATENCY_COLUMNS).filter(|(_, column)| width >= column.2).map(|(cell, _)| right(cell));
        Row::new(std::iter::once(Cell::from(format!("{} {direction}", shown(name)))).chain(cells))
    };
    let of = |name: &&str| {
        let latency = machine.devices.get(*name)?.latency()?;
        let all = [("read", latency.read), ("write", latency.write)].into_iter();
        Some(all.filter(|(_, times)| times.ios > 0).map(|(direction, times)| row(name, direction, &times)).collect())
    };
    let mut rows: Vec<Row<'static>> = names.iter().filter_map(of).flat_map(|rows: Vec<Row<'static>>| rows).collect();
    if gaps.lost > 0 || gaps.left_out > 0 {
        rows.insert(0, Row::new([Cell::from("! events lost"), right(text::grouped(measure::float(gaps.lost)))]));
    }
    if rows.is_empty() {
        rows.push(Row::new(["no I/O ended"]));
    }
    rows
}

fn draw_latency(frame: &mut Frame<'_>, area: Rect, rows: Vec<Row<'static>>) {
    let columns = || LATENCY_COLUMNS.into_iter().filter(|column| area.width >= column.2);
    let heads = std::iter::once(Cell::from("Latency")).chain(columns().map(|(name, ..)| right(name)));
    let widths = std::iter::once(LATENCY_NAME).chain(columns().map(|(_, width, _)| width)).map(Constraint::Length);
    let header = Row::new(heads).style(Style::new().add_modifier(Modifier::UNDERLINED));
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1), area);
}

fn right(text: impl Into<String>) -> Cell<'static> {
    Cell::from(Line::from(text.into()).right_aligned())
}

fn device_row(name: &str, track: &Track, columns: &[&Column], curve: usize) -> Row<'static> {
    let name = Cell::from(shown(name));
    let Some(now) = track.now() else { return Row::new([name]) };
    let util = now.utilisation_percent;
    let colour = match util {
        _ if util >= 90.0 => Style::new().fg(Color::Red),
        _ if util >= 60.0 => Style::new().fg(Color::Yellow),
        _ => Style::new(),
    };
    let mut cells = vec![name];
    cells.extend(columns.iter().map(|column| right((column.value)(now))));
    cells.push(right(text::grouped(util) + "%").style(colour));
    cells.push(
        Cell::from(sparks(&values(track, |now| now.together.per_second), curve)).style(Style::new().fg(Color::Cyan)),
    );
    Row::new(cells)
}

fn values(track: &Track, of: fn(&DeviceActivity) -> f64) -> Vec<f64> {
    track.history.iter().map(|sample| of(&sample.activity)).collect()
}

/// Draws the curves of the device in focus, each with its current value and its peak.
fn draw_focus(frame: &mut Frame<'_>, area: Rect, machine: &Machine, focus: Option<&str>) {
    let Some((name, track)) = focus.and_then(|name| Some((name, machine.devices.get(name)?))) else {
        frame.render_widget(Paragraph::new("No device was ever used; name one to see it."), area);
        return;
    };
    type Curve = (&'static str, fn(&DeviceActivity) -> f64, fn(f64) -> String);
    const CURVES: [Curve; 4] = [
        ("IOPS", |now| now.together.per_second, text::narrow_number),
        ("bytes/s", |now| now.together.sectors_per_second * 512.0, text::short_bytes),
        ("await", |now| now.together.await_ms.unwrap_or(0.0), |ms| text::time(1e6 * ms)),
        ("util", |now| now.utilisation_percent, |percent| text::percent(percent / 100.0)),
    ];
    let name = Span::styled(shown(name), Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED));
    let zones = track.zoned.as_ref().map(|zoned| {
        let (zones, size) = (text::counted(zoned.zones, "zone"), text::short_bytes(measure::float(zoned.zone_bytes)));
        Span::raw(format!("  {}, {zones} of {size}", shown(&zoned.model)))
    });
    let mut lines = vec![Line::from(std::iter::once(name).chain(zones).collect::<Vec<_>>())];
    let width = usize::from(area.width).saturating_sub(40);
    for (title, of, spelled) in CURVES {
        let values = values(track, of);
        let now = values.last().copied().unwrap_or(0.0);
        let peak = values.iter().copied().fold(0.0, f64::max);
        lines.push(Line::from(vec![
            Span::raw(format!("  {title:<8}{:>10}  ", spelled(now))),
            Span::styled(format!("{:<width$}", sparks(&values, width)), Style::new().fg(Color::Cyan)),
            Span::raw(format!("  peak {:>10}", spelled(peak))),
        ]));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// Width from which on a sentence has room behind the columns of the processes.
const ROOMY: u16 = 70;

fn draw_processes(frame: &mut Frame<'_>, area: Rect, machine: &Machine) {
    let hidden = match machine.hidden {
        0 => String::new(),
        hidden if area.width < ROOMY => format!("  ({hidden} hidden)"),
        hidden => format!("  ({hidden} more: no permission to look)"),
    };
    let header = Row::new([right("PID"), right("read/s"), right("write/s"), Cell::from(format!("Process{hidden}"))])
        .style(Style::new().add_modifier(Modifier::UNDERLINED));
    let row = |rate: &ProcessRate| {
        let cells =
            [rate.process.to_string(), text::short_bytes(rate.read_bytes), text::short_bytes(rate.written_bytes)]
                .map(right);
        Row::new(cells.into_iter().chain([Cell::from(shown(&rate.name))]))
    };
    let mut rows: Vec<Row<'_>> = machine.busiest.iter().map(row).collect();
    if rows.is_empty() {
        rows.push(Row::new([Cell::new(""), Cell::new(""), Cell::new(""), Cell::from("no process caused I/O")]));
    }
    let widths = [Constraint::Length(9), Constraint::Length(8), Constraint::Length(8), Constraint::Min(20)];
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1), area);
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let (width, height) = (64, u16::try_from(HELP.len()).unwrap_or(u16::MAX).saturating_add(2));
    let place = Rect {
        x: area.x + area.width.saturating_sub(width) / 2,
        y: area.y + area.height.saturating_sub(height) / 2,
        width: width.min(area.width),
        height: height.min(area.height),
    };
    frame.render_widget(Clear, place);
    let lines: Vec<Line<'_>> = HELP.iter().map(|&line| Line::from(line)).collect();
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" plumb watch ")), place);
}

/// The last values as bars, from 0 to the largest of them.
fn sparks(values: &[f64], width: usize) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let last = &values[values.len().saturating_sub(width)..];
    let peak = last.iter().copied().fold(0.0, f64::max);
    let bar = |&value: &f64| match peak > 0.0 && value > 0.0 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 8")]
        true => BARS[((value / peak * 8.0).round().clamp(1.0, 8.0)) as usize],
        false => BARS[0],
    };
    last.iter().map(bar).collect()
}
