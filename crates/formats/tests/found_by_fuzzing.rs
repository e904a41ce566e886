//! What fuzzing found, each with the input that showed it, made small.

use formats::stream::parse;
use formats::sweep::{ColumnNames, measurements, r_head, r_row, r_tail};
use model::reading::Content;

/// Our own R code was read back without the rows whose names hold a comma or a quote.
#[test]
fn names_with_commas_and_quotes_are_read_back_from_r_code() {
    for name in ["readers, Benny", "say \"hi\", twice", "back\\slash\\", "plain"] {
        let row = model::Measurement { test: name.into(), users: Some(2.0), ..Default::default() };
        let code = format!("{}{}{}", r_head(), r_row(&row, "a.json", 0), r_tail(None, ColumnNames::Units));
        let (readings, damages) = parse(code.as_bytes());
        assert!(damages.is_empty(), "{name}: {damages:?}");
        let rows: Vec<_> = readings.iter().flat_map(|reading| measurements(reading, None)).collect();
        assert_eq!(rows, [row], "{name}");
        assert!(matches!(readings[0].found, Content::Row(_)));
    }
}

/// A row of so few I/Os that ten seconds hold none was divided by their number.
#[test]
fn a_very_slow_row_is_a_result_without_latencies() {
    let table = "test users size MB ms IOPS 50us 1ms 4ms 10ms 20ms 50ms .1s 1s 2s 2s+\n\
                 randread 32 8K r 3.393 73 .043407 1 20 24 25 12 15\n";
    let results = formats::results::results(table.as_bytes()).found;
    let read = &results[0].result.jobs[0].directions.read;
    assert_eq!((read.ios, read.total.is_none()), (0, true));
}
