//! iozone's tables as files: the BIFF worksheet that iozone writes, and CSV. Workbooks (.xlsx) are in `workbook`.

use super::text::{Quantity, Table, ThroughputTable};

/// Size of a label in iozone's worksheets in bytes; shorter text is padded with zeros.
const LABEL: usize = 256;

/// A worksheet in BIFF2, the oldest Excel format: a header, then each table below its name.
pub fn biff(command: &str, tables: &[Table]) -> Vec<u8> {
    let mut sheet = Sheet { bytes: vec![0x09, 0x00, 0x04, 0x00, 0x02, 0x00, 0x10, 0x00], row: 0 };
    sheet.label(command);
    sheet.label(" ");
    sheet.label("The top row is records sizes, the left column is file sizes");
    for (index, table) in tables.iter().enumerate() {
        // An empty row separates rates from CPU utilization.
        sheet.row += u16::from(index > 0 && tables[index - 1].quantity != table.quantity);
        sheet.label(&label(table));
        for (column, &record) in (1..).zip(&table.records_kb) {
            sheet.number(column, record);
        }
        sheet.row += 1;
        for (size, values) in &table.rows {
            sheet.number(0, *size);
            for (column, &value) in (1..).zip(values) {
                sheet.float(column, value);
            }
            sheet.row += 1;
        }
    }
    sheet.bytes.extend([0x0a, 0x00, 0x00, 0x00]);
    sheet.bytes
}

/// The label above a table: iozone writes titles differently here, `Re-reader Report`, `Random Read Report`.
fn label(table: &Table) -> String {
    let mut name = String::new();
    for letter in table.name.chars() {
        match name.chars().last() {
            Some('-') => name.extend(letter.to_lowercase()),
            Some(' ') => name.extend(letter.to_uppercase()),
            _ => name.push(letter),
        }
    }
    match table.quantity {
        Quantity::Rate => format!("{name} Report"),
        Quantity::Processor => table.title(&name),
    }
}

/// A worksheet of throughput mode: of each table the header lines, then each test with a value per number of children.
pub fn throughput_biff(command: &str, tables: &[ThroughputTable<'_>]) -> Vec<u8> {
    let mut sheet = Sheet { bytes: vec![0x09, 0x00, 0x04, 0x00, 0x02, 0x00, 0x10, 0x00], row: 0 };
    sheet.label(command);
    for table in tables {
        table.head.iter().for_each(|line| sheet.label(line.trim_end()));
        for (name, values) in &table.rows {
            sheet.label(&format!("{name:>15} "));
            sheet.row -= 1;
            for (column, &value) in (2..).zip(values) {
                sheet.float(column, value);
            }
            sheet.row += 1;
        }
    }
    sheet.bytes.extend([0x0a, 0x00, 0x00, 0x00]);
    sheet.bytes
}

struct Sheet {
    bytes: Vec<u8>,
    row: u16,
}

impl Sheet {
    /// Writes a text into the first column and advances to the next row.
    fn label(&mut self, text: &str) {
        let end = text.floor_char_boundary(LABEL - 1);
        let text = &text.as_bytes()[..end];
        self.bytes.extend([0x04, 0x00, 0x08, 0x01]);
        self.place(0);
        self.bytes.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        self.bytes.extend(text);
        self.bytes.extend(std::iter::repeat_n(0, LABEL - text.len()));
        self.row += 1;
    }

    fn number(&mut self, column: u16, value: u64) {
        self.float(column, value as f64);
    }

    fn float(&mut self, column: u16, value: f64) {
        self.bytes.extend([0x03, 0x00, 0x0f, 0x00]);
        self.place(column);
        self.bytes.extend(value.to_le_bytes());
    }

    /// Writes row, column, and three attribute bytes, all zero.
    fn place(&mut self, column: u16) {
        self.bytes.extend(self.row.to_le_bytes());
        self.bytes.extend(column.to_le_bytes());
        self.bytes.extend([0, 0, 0]);
    }
}

/// One line per value: test, file size, record size, value.
pub fn csv(tables: &[Table]) -> String {
    let mut text = String::from("test,file_kb,record_kb,value\n");
    for table in tables {
        for (size, values) in &table.rows {
            for (record, value) in table.records_kb.iter().zip(values) {
                text.push_str(&match table.quantity {
                    Quantity::Rate => format!("{},{size},{record},{value:.0}\n", table.name),
                    Quantity::Processor => format!("{} CPU %,{size},{record},{value:.2}\n", table.name),
                });
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let rows = vec![(64, vec![1_722_886.0, 2_133_730.0])];
        Table { name: "Writer".into(), records_kb: vec![4, 8], rows, ..Table::default() }
    }

    /// The records of a worksheet: type and length.
    fn records(sheet: &[u8]) -> Vec<(u16, usize)> {
        let mut found = Vec::new();
        let mut at = 0;
        while at + 4 <= sheet.len() {
            let word = |at: usize| u16::from_le_bytes([sheet[at], sheet[at + 1]]);
            found.push((word(at), usize::from(word(at + 2))));
            at += 4 + usize::from(word(at + 2));
        }
        assert_eq!(at, sheet.len());
        found
    }

    /// Expected records as written by iozone 3.489.
    #[test]
    fn a_worksheet_has_the_records_of_the_original() {
        let sheet = biff("iozone -b x.xls ", &[table()]);
        let expected =
            [(9, 4), (4, 264), (4, 264), (4, 264), (4, 264), (3, 15), (3, 15), (3, 15), (3, 15), (3, 15), (10, 0)];
        assert_eq!(records(&sheet), expected);
    }

    #[test]
    fn a_line_of_csv_is_a_number() {
        assert_eq!(csv(&[table()]).lines().nth(2), Some("Writer,64,8,2133730"));
    }
}
