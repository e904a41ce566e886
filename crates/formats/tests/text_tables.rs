//! Text tables with their histogram: cells of a share of 0 are blank, and stand in their columns unless blanks were
//! squeezed.

use formats::stream;
use formats::sweep::{Detail, Layout};
use model::Measurement;
use model::reading::{Content, LatencyShare};

fn rows(text: &str) -> Vec<Measurement> {
    let (readings, damages) = stream::parse(text.as_bytes());
    assert!(damages.is_empty(), "{damages:?}\n{text}");
    let row = |found| match found {
        Content::Row(row) => *row,
        other => panic!("{other:?}"),
    };
    readings.into_iter().map(|reading| row(reading.found)).collect()
}

/// Bound in milliseconds (0 for none) and percentage of the shares above 0.
fn shares(row: &Measurement) -> Vec<(f64, f64)> {
    let shares = row.shares.iter().filter(|share| share.percent > 0.0);
    shares.map(|share| (share.below_ns.unwrap_or(0.0) / 1e6, share.percent)).collect()
}

/// A row as fioparse.sh -v -p prints it: `%8s` for the test, ` %5s` for each share, blank for none.
fn fioparse(test: &str, iops: &str, cells: [&str; 10], percentiles: &str) -> String {
    let cells: String = cells.iter().map(|cell| format!(" {cell:>5}")).collect();
    format!("{test:>8}   8    8K r    10.508     5.943     0.100    90.000     1.000 {iops:>8}{cells}{percentiles}\n")
}

const HEAD: &str = "test  users   size         MB       ms      min      max      std    IOPS   50us   1ms   4ms  10ms  20ms  50ms   .1s    1s    2s   2s+\n";

#[test]
fn shares_stand_in_their_columns_if_blanks_were_not_squeezed() {
    let table = HEAD.to_owned()
        + &fioparse("randread", "1345", ["", "12", "", "80", "7", "", "", "0", "", ""], ",  10.000,  20.000")
        + &fioparse("read", "13454", ["99", "", "", "", "", "", "", "", "", "1"], "")
        + fioparse("read", "134", ["", "", "100", "", "", "", "", "", "", ""], "").trim_end()
        + "\n";
    let rows = rows(&table);
    assert_eq!(shares(&rows[0]), [(1.0, 12.0), (10.0, 80.0), (20.0, 7.0)]);
    assert_eq!((rows[0].iops, rows[0].percentiles_ns[1]), (Some(1345.0), Some(20e6)));
    assert_eq!(shares(&rows[1]), [(0.05, 99.0), (0.0, 1.0)]);
    assert_eq!(shares(&rows[2]), [(4.0, 100.0)]);
    assert!(rows.iter().all(|row| row.unplaced_shares.is_empty() && row.shares.len() == 10));
    // fioparse.sh itself puts another blank before the first share.
    let own = HEAD.to_owned()
        + &fioparse("read", "134", ["7", "", "93", "", "", "", "", "", "", ""], "").replace("134     7", "134      7");
    assert_eq!(shares(&self::rows(&own)[0]), [(0.05, 7.0), (4.0, 93.0)]);
    // Squeezed: no cell says which column it is of, unless all are there.
    let squeezed = |cells: [&str; 10]| {
        let row = fioparse("randread", "1345", cells, "");
        self::rows(&(HEAD.to_owned() + &row.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")).remove(0)
    };
    let some = squeezed(["", "12", "", "80", "7", "", "", "0", "", ""]);
    assert_eq!((some.unplaced_shares, some.shares.len()), (vec![12.0, 80.0, 7.0, 0.0], 0));
    let all = squeezed(["1", "12", "0", "80", "7", "0", "0", "0", "0", "0"]);
    assert_eq!(shares(&all), [(0.05, 1.0), (1.0, 12.0), (10.0, 80.0), (20.0, 7.0)]);
}

#[test]
fn the_table_of_plumb_is_read_back_with_its_histogram() {
    let share = |below_ns, percent| LatencyShare { below_ns, percent };
    let row = Measurement {
        test: "randread".into(),
        users: Some(8.0),
        block: Some((8192, 8192)),
        kind: Some(model::reading::ReadKind::Read),
        bytes_per_second: Some(8192.0 * 1345.0),
        mean_ns: Some(5.943e6),
        iops: Some(1345.0),
        shares: vec![share(Some(1e6), 12.0), share(Some(4e6), 0.2), share(Some(1e7), 87.8)],
        percentiles_ns: [Some(1e7), Some(2e7), None, None, None, None],
        errno: Some(5.0),
        ..Measurement::default()
    };
    for (buckets, percentiles) in [(true, true), (true, false), (false, true)] {
        let layout = Layout::new(Detail { buckets, percentiles, ..Detail::default() });
        let read = rows(&(layout.table_head() + &layout.table_row(&row, "a"))).remove(0);
        let expected: &[(f64, f64)] = if buckets { &[(1.0, 12.0), (10.0, 88.0)] } else { &[] };
        assert_eq!(shares(&read), expected);
        let [p95, p99, rest @ ..] = read.percentiles_ns;
        assert_eq!((p95, p99), if percentiles { (Some(1e7), Some(2e7)) } else { (None, None) });
        assert_eq!((rest, read.errno, read.iops), ([None; 4], Some(5.0), Some(1345.0)));
    }
}
