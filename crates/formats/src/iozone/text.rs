//! Writer of iozone's text output: banner, table, throughput blocks, reports.
//!
//! Phrases, column positions and tabs are kept exactly, because programs that parse iozone's output depend on them.

use std::fmt::Write;

/// The banner and the line with the start time, `Fri Nov 20 14:02:22 2026`.
pub fn banner(began: &str) -> String {
    let contributors = [
        "William Norcott, Don Capps, Isom Crawford, Kirby Collins",
        "Al Slater, Scott Rhine, Mike Wisner, Ken Goss",
        "Steve Landherr, Brad Smith, Mark Kelly, Dr. Alain CYR,",
        "Randy Dunlap, Mark Montague, Dan Million, Gavin Brebner,",
        "Jean-Marc Zucconi, Jeff Blomberg, Benny Halevy, Dave Boone,",
        "Erik Habbinga, Kris Strecker, Walter Wong, Joshua Root,",
        "Fabrice Bacchella, Zhenghua Xue, Qin Li, Darren Sawyer,",
        "Vangel Bojaxhi, Ben England, Vikentsi Lapa,",
        "Alexey Skidanov, Sudhir Kumar.",
    ];
    let mut text = String::from("\tIozone: Performance Test of File I/O\n\t        Version $Revision: 3.489 $\n");
    text.push_str("\t\tCompiled for 64 bit mode.\n\t\tBuild: linux-AMD64 \n\n");
    for (index, line) in contributors.iter().enumerate() {
        text.push_str(if index == 0 { "\tContributors:" } else { "\t             " });
        text.push_str(line);
        text.push('\n');
    }
    let _ = write!(text, "\n\tRun began: {began}\n\n");
    text
}

/// Unit of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitName {
    /// `kB/sec`.
    Rate,
    /// `ops/sec`.
    Operations,
    /// Microseconds; in tables only.
    Microseconds,
}

/// Values in the lines between the options and the first result.
#[derive(Clone, Copy, Debug)]
pub struct Preamble<'a> {
    /// Unit of the results.
    pub unit: UnitName,
    /// The command line.
    pub command: &'a str,
    /// Cache size in kB, cache line size in bytes.
    pub cache: (u64, u64),
    /// Stride in records.
    pub stride: u64,
    /// Burst size in kB, and the pause after a burst in milliseconds.
    pub burst: Option<(u64, u64)>,
}

/// Formats the command line and the unit of the output.
pub fn command(preamble: &Preamble<'_>) -> String {
    let mut text = format!("\tCommand line used: {}\n", preamble.command);
    if preamble.unit == UnitName::Rate {
        text.push_str("\tOutput is in kBytes/sec\n");
    }
    text
}

/// Formats the time resolution, cache sizes and stride.
pub fn circumstances(preamble: &Preamble<'_>) -> String {
    let (cache, line) = preamble.cache;
    let mut text = format!(
        "\tTime Resolution = 0.000001 seconds.\n\tProcessor cache size set to {cache} kBytes.\n\
         \tProcessor cache line size set to {line} bytes.\n\tFile stride size set to {} * record size.\n",
        preamble.stride
    );
    if let Some((kb, ms)) = preamble.burst {
        let _ = write!(text, "\tBurst size set to {kb} Kbytes.\n\tBurst sleep duration set to {ms} msec\n");
    }
    text
}

/// Set of columns in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// All tests but the pwrite/pread extensions.
    Usual,
    /// Without the stdio tests.
    WithoutStdio,
    /// With pwrite and pread.
    Extended,
}

/// The two heading lines of a table.
pub fn heading(columns: Columns) -> String {
    let mut first = format!(
        "{:16}{:8}{:9}{:9}{:8}{:10}{:>8} {:>9}{:>9} {:>9} {:>9}{:36}",
        "", "", "", "", "", "", "random", "random", "bkwd", "record", "stride", ""
    );
    let stdio = match columns {
        Columns::Usual | Columns::Extended => format!("{:>9}{:>9}{:>9}{:>9}", "fwrite", "frewrite", "fread", "freread"),
        Columns::WithoutStdio => " ".repeat(36),
    };
    let mut second = format!(
        "{:>16}{:>8}{:>9}{:>9}{:>8}{:>10}{:>8} {:>9}{:>9} {:>9} {:>9}{stdio}",
        "kB", "reclen", "write", "rewrite", "read", "reread", "read", "write", "read", "rewrite", "read"
    );
    if columns == Columns::Extended {
        first.push_str(&" ".repeat(35));
        let _ = write!(second, "{:>8}{:>9}{:>8}{:>10}", "pwrite", "repwrite", "pread", "repread");
    }
    format!("{first}\n{second}\n")
}

/// Formats file size and record size, the start of a row.
pub fn row_start(size_kb: u64, record_kb: u64) -> String {
    format!("{size_kb:16}{record_kb:8}")
}

/// Formats one value of a row, for the first or second pass of a test.
pub fn value(test: u8, pass: u8, value: u64) -> String {
    match (test, pass) {
        (4 | 5, _) => format!(" {value:9}"),
        (10, 0) => format!("{value:8}"),
        _ => format!("{value:9}"),
    }
}

/// The blank cell of a row for an unselected test.
pub fn blank(test: u8) -> &'static str {
    let width = match test {
        3 => 9,
        4 | 5 => 10,
        7 => 17,
        _ => 18,
    };
    &"                  "[..width]
}

/// The last line of every complete run.
pub const COMPLETE: &str = "\niozone test complete.\n";

/// Quantity of a report table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quantity {
    /// Rates in whole numbers, as in the rows.
    #[default]
    Rate,
    /// CPU utilization in percent.
    Processor,
}

/// One report table after the rows: a test over all file and record sizes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Name of the test, such as `Writer`.
    pub name: String,
    /// Quantity of its values.
    pub quantity: Quantity,
    /// Record sizes of the columns, in kB.
    pub records_kb: Vec<u64>,
    /// File size in kB, and a value per record size.
    pub rows: Vec<(u64, Vec<f64>)>,
}

impl Table {
    /// The title of the table, for a name of the test.
    pub(super) fn title(&self, name: &str) -> String {
        match self.quantity {
            Quantity::Rate => format!("{name} report"),
            Quantity::Processor => format!("{name} CPU utilization report (Zero values should be ignored)"),
        }
    }
}

/// Formats the report tables of a run.
pub fn tables(tables: &[Table]) -> String {
    let mut text = String::from("Excel output is below:\n");
    for table in tables {
        let _ = write!(text, "\n\"{}\"\n      ", table.title(&table.name));
        for record in &table.records_kb {
            let _ = write!(text, "  \"{record}\"");
        }
        text.push('\n');
        for (size, values) in &table.rows {
            let _ = write!(text, "\"{size}\"  ");
            for value in values {
                let _ = match table.quantity {
                    Quantity::Rate => write!(text, " {value:.0} "),
                    Quantity::Processor => write!(text, "{value:7.2}"),
                };
            }
            text.push('\n');
        }
    }
    text
}

/// Kind of children in throughput mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildKind {
    /// Processes.
    Process,
    /// Threads.
    Thread,
}

impl ChildKind {
    const fn word(self) -> &'static str {
        match self {
            ChildKind::Process => "process",
            ChildKind::Thread => "thread",
        }
    }

    fn plural(self, count: u32) -> String {
        let end = match (self, count) {
            (_, 1) => "",
            (ChildKind::Process, _) => "es",
            (ChildKind::Thread, _) => "s",
        };
        format!("{}{end}", self.word())
    }
}

/// The lines before the first throughput block.
pub fn throughput_start(children: ChildKind, count: u32, bounds: Option<(u32, u32)>) -> String {
    let mut text = String::new();
    if let Some((least, most)) = bounds {
        let _ = write!(text, "\tMin process = {least} \n\tMax process = {most} \n");
    }
    let _ = writeln!(text, "\tThroughput test with {count} {}", children.plural(count));
    text
}

/// The same if a telemetry file defines the records.
pub fn each_writes_by_telemetry(children: ChildKind, size_kb: u64) -> String {
    format!("\tEach {} writes a {size_kb} kByte file in telemetry controlled records\n", children.word())
}

/// The line before the blocks for one number of children.
pub fn each_writes(children: ChildKind, size_kb: u64, record_kb: u64) -> String {
    format!("\tEach {} writes a {size_kb} kByte file in {record_kb} kByte records\n", children.word())
}

/// Results of one throughput test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block<'a> {
    /// Name of the test in the output.
    pub title: &'a str,
    /// Sum of the children's throughput.
    pub together: f64,
    /// Throughput as measured by the parent.
    pub parent: f64,
    /// Smallest, largest and mean throughput of a child.
    pub spread: (f64, f64, f64),
    /// Smallest amount transferred by a child.
    pub least_amount: f64,
    /// Wall time and CPU time in seconds, if shown.
    pub cpu: Option<(f64, f64)>,
    /// Per child, if requested: amount, throughput, wall and CPU time.
    pub children: Vec<(f64, f64, f64, f64)>,
    /// Number of children.
    pub count: u32,
}

/// Formats the lines of a throughput test.
pub fn block(block: &Block<'_>, kind: ChildKind, unit: UnitName, order: BlockPlace) -> String {
    let (rate, amount) = match unit {
        UnitName::Operations => ("ops/sec", "ops"),
        UnitName::Rate | UnitName::Microseconds => ("kB/sec", "kB"),
    };
    let title = block.title;
    let wide = matches!(title, "initial writers" | "rewriters" | "readers" | "fwriters" | "freaders");
    let count = if wide { format!("{:2}", block.count) } else { block.count.to_string() };
    let tabs = if title == "readers" { "\t\t" } else { "\t" };
    let parent_tabs = if matches!(title, "readers" | "fwriters" | "freaders") { "\t\t" } else { "\t" };
    let word = kind.word();
    let (least, most, mean) = block.spread;
    let mut text = format!("\n\tChildren see throughput for {count} {title} {tabs}= {:10.2} {rate}\n", block.together);
    let _ = writeln!(text, "\tParent sees throughput for {count} {title} {parent_tabs}= {:10.2} {rate}", block.parent);
    let _ = writeln!(text, "\tMin throughput per {word} \t\t\t= {least:10.2} {rate} ");
    let _ = writeln!(text, "\tMax throughput per {word} \t\t\t= {most:10.2} {rate}");
    let _ = writeln!(text, "\tAvg throughput per {word} \t\t\t= {mean:10.2} {rate}");
    let _ = writeln!(text, "\tMin xfer \t\t\t\t\t= {:10.2} {amount}", block.least_amount);
    if let Some((wall, cpu)) = block.cpu {
        let word = if order == BlockPlace::First { "Utilization" } else { "utilization" };
        let _ = write!(
            text,
            "\tCPU {word}: Wall time {wall:8.3}    CPU time {cpu:8.3}    CPU utilization {:6.2} %\n\n",
            percent(cpu, wall)
        );
    }
    for (index, (moved, throughput, wall, cpu)) in block.children.iter().enumerate() {
        let _ =
            write!(text, "\tChild[{index}] xfer count = {moved:10.2} {amount}, Throughput = {throughput:10.2} {rate}");
        if block.cpu.is_some() {
            let _ = write!(text, ", wall={wall:6.3}, cpu={cpu:6.3}, %={:6.2}", percent(*cpu, *wall));
        }
        text.push('\n');
    }
    text
}

/// Position of a block among those for one number of children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockPlace {
    /// The first.
    First,
    /// A later one.
    Later,
}

/// CPU time in percent of wall time.
pub fn percent(cpu: f64, wall: f64) -> f64 {
    if wall > 0.0 { 100.0 * cpu / wall } else { 0.0 }
}

/// A report after the throughput blocks: a line per test, a value per number of children.
#[derive(Clone, Debug)]
pub struct ThroughputTable<'a> {
    /// Its heading lines.
    pub head: [String; 3],
    /// Names of the tests, and their values.
    pub rows: Vec<(&'a str, Vec<f64>)>,
}

impl<'a> ThroughputTable<'a> {
    /// The report of throughput.
    pub fn of_rates(kind: ChildKind, unit: UnitName, record_kb: u64, rows: Vec<(&'a str, Vec<f64>)>) -> Self {
        let output = match unit {
            UnitName::Operations => "Output is in ops/sec",
            UnitName::Rate | UnitName::Microseconds => "Output is in kBytes/sec",
        };
        ThroughputTable { head: head_lines("Throughput", kind, output, record_kb), rows }
    }

    /// The report of CPU utilization in percent.
    pub fn of_processor(kind: ChildKind, record_kb: u64, rows: Vec<(&'a str, Vec<f64>)>) -> Self {
        ThroughputTable { head: head_lines("CPU utilization", kind, "Output is in CPU%", record_kb), rows }
    }

    /// Formats the report.
    pub fn text(&self) -> String {
        let mut text: String = self.head.iter().map(|line| format!("\"{line}\"\n")).collect();
        text.push('\n');
        for (name, values) in &self.rows {
            let values: Vec<String> = values.iter().map(|value| format!("{value:10.2} ")).collect();
            let _ = write!(text, "\"{name:>15} \" {}\n\n", values.join(" "));
        }
        text
    }
}

fn head_lines(what: &str, kind: ChildKind, output: &str, record_kb: u64) -> [String; 3] {
    let axes = format!("{what} report Y-axis is type of test X-axis is number of {}", kind.plural(2));
    [axes, format!("Record size = {record_kb} kBytes "), output.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_columns_at_fixed_places() {
        let row = row_start(64, 4) + &value(0, 0, 1_780_008) + &value(0, 1, 10_821_524) + blank(1);
        assert_eq!(row, "              64       4  1780008 10821524                  ");
        assert_eq!(value(4, 0, 5), "         5");
        assert_eq!(value(10, 0, 1_433_775).len(), 8);
    }

    #[test]
    fn headings_are_as_wide_as_their_rows() {
        let usual = heading(Columns::Usual);
        let lines: Vec<&str> = usual.lines().collect();
        assert_eq!((lines[0].len(), lines[1].len()), (143, 143));
        assert!(lines[1].ends_with("fwrite frewrite    fread  freread"));
    }

    #[test]
    fn a_block_is_what_parsers_look_for() {
        let block_of = Block { title: "readers", together: 7618.06, count: 6, ..Block::default() };
        let text = block(&block_of, ChildKind::Process, UnitName::Rate, BlockPlace::First);
        assert!(text.contains("\tChildren see throughput for  6 readers \t\t=    7618.06 kB/sec\n"), "{text}");
        assert!(text.contains("\tMin throughput per process \t\t\t=       0.00 kB/sec \n"), "{text}");
    }
}
