//! Tables of iozone as the versions from 2003 on print them, and as mailing lists and pages repeat them.

use formats::stream::parse;
use model::reading::{Content, Damage, IozoneRow};

fn read(text: &str) -> (Vec<IozoneRow>, Vec<Damage>) {
    let (readings, damages) = parse(text.as_bytes());
    let row = |found| if let Content::Iozone(row) = found { Some(*row) } else { None };
    (readings.into_iter().filter_map(|reading| row(reading.found)).collect(), damages)
}

const NAMES: [&str; 13] = [
    "write",
    "rewrite",
    "read",
    "reread",
    "random read",
    "random write",
    "backward read",
    "record rewrite",
    "stride read",
    "fwrite",
    "refwrite",
    "fread",
    "refread",
];

/// Checks the sizes of a row in kB, and its values under their tests; 0 stands for a blank.
#[track_caller]
fn check(row: &IozoneRow, sizes: [f64; 2], values: &[u32]) {
    assert_eq!([row.file_bytes, row.record_bytes], sizes.map(|size| size * 1024.0));
    let expected = NAMES.into_iter().zip(values).filter(|(_, value)| **value > 0);
    assert_eq!(row.values, expected.map(|(name, value)| (name, f64::from(*value))).collect::<Vec<_>>());
}

const OF_2005: &str = "\
                                                            random  random    bkwd  record  stride
              KB  reclen   write rewrite    read    reread    read   write    read rewrite    read   fwrite frewrite   fread  freread
             512       4    6505    6889   516696   530518  535562    6748  473675    6798  464599     6621     6939  490372   506984
";
const OF_2010: &str = "\
                                                            random  random    bkwd   record   stride
              KB  reclen   write rewrite    read    reread    read   write    read  rewrite     read   fwrite frewrite   fread  freread
              64       8   25549  345725   516034  2199541 1229452  338782  415666   470666  1393409   799055   753110 1335973  2071017
          409600      64   31782   22524                    816017   10411                  3779260                                  
";
const OF_2025: &str = "\
                                                                    random    random      bkwd     record     stride
              kB  reclen    write    rewrite      read    reread      read     write      read    rewrite       read    fwrite  frewrite     fread   freread
            4096       1     14065     24650     24306     24074      9972      9793     16588      10777      15387     22397     23525     14663     13678
         1048576    1024    859037   1358016   1449306  16421172  15936521   1087545                                                                
";

#[test]
fn tables_of_every_time_are_read_by_their_columns() {
    let (rows, damages) = read(&[OF_2005, OF_2010, OF_2025].join("\niozone test complete.\n\n"));
    assert_eq!((rows.len(), damages), (5, vec![]));
    let of_2005 = [6505, 6889, 516_696, 530_518, 535_562, 6748, 473_675, 6798, 464_599, 6621, 6939, 490_372, 506_984];
    check(&rows[0], [512.0, 4.0], &of_2005);
    let of_2010 = [
        25_549, 345_725, 516_034, 2_199_541, 1_229_452, 338_782, 415_666, 470_666, 1_393_409, 799_055, 753_110,
        1_335_973, 2_071_017,
    ];
    check(&rows[1], [64.0, 8.0], &of_2010);
    check(&rows[2], [409_600.0, 64.0], &[31_782, 22_524, 0, 0, 816_017, 10_411, 0, 0, 3_779_260]);
    let of_2025 = [14_065, 24_650, 24_306, 24_074, 9972, 9793, 16_588, 10_777, 15_387, 22_397, 23_525, 14_663, 13_678];
    check(&rows[3], [4096.0, 1.0], &of_2025);
    check(&rows[4], [1_048_576.0, 1024.0], &[859_037, 1_358_016, 1_449_306, 16_421_172, 15_936_521, 1_087_545]);
}

#[test]
fn values_without_a_blank_between_are_two() {
    let heading = OF_2010.lines().nth(1).expect("the test's own data");
    for row in [
        // A value of eight digits fills its column,
        "              64       81255491034572512 12516034 12199541122945211338782110415666",
        // or is wider than that.
        "              64       8 12554910 34572512 12516034 12199541 12294521 13387821 10415666",
    ] {
        let (rows, damages) = read(&format!("{heading}\n{row}\n"));
        assert_eq!(damages, vec![], "{row}");
        assert_eq!((rows.len(), rows[0].values.len()), (1, 7), "{row}");
        assert_eq!(rows[0].values[1], ("rewrite", 34_572_512.0), "{row}");
        assert_eq!(rows[0].values[4], ("random read", 12_294_521.0), "{row}");
    }
}

#[test]
fn tables_that_mail_programs_wrapped_are_put_together() {
    let text = "\
                                                            random
random    bkwd   record   stride
              KB  reclen   write rewrite    read    reread    read
write    read  rewrite     read
         1048576       4   73070   36713    75187    74916    1292
674   26724    45514     8491
         1048576       8   68777   34407    71162    73407    2703
1233   27800    42417     5548
";
    for quote in ["", "> ", ">>>> "] {
        let quoted: String = text.lines().map(|line| format!("{quote}{line}\n")).collect();
        let (rows, damages) = read(&quoted);
        assert_eq!((rows.len(), damages), (2, vec![]), "{quoted}");
        check(&rows[0], [1_048_576.0, 4.0], &[73_070, 36_713, 75_187, 74_916, 1292, 674, 26_724, 45_514, 8491]);
        check(&rows[1], [1_048_576.0, 8.0], &[68_777, 34_407, 71_162, 73_407, 2703, 1233, 27_800, 42_417, 5548]);
    }
    let cut = text.lines().take(5).collect::<Vec<_>>().join("\n") + "\n";
    let (rows, damages) = read(&cut);
    assert_eq!((rows.len(), damages.len()), (0, 1), "{damages:?}");
}

#[test]
fn a_row_that_is_moved_alone_is_read() {
    // The blanks before the first line of a selection get lost; so do those that are repeated.
    let line = |at| OF_2010.lines().nth(at).expect("the test's own data").to_owned();
    let alone = format!("{}\n{}\n", line(1), line(3).trim_start());
    let (rows, damages) = read(&alone);
    assert_eq!(damages, vec![]);
    check(&rows[0], [409_600.0, 64.0], &[31_782, 22_524, 0, 0, 816_017, 10_411, 0, 0, 3_779_260]);
    let words = |line: String| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let (rows, damages) = read(&format!("{}\n{}\n{}\n", words(line(1)), words(line(2)), words(line(3))));
    assert_eq!((rows.len(), damages.len()), (1, 1), "with blanks it cannot be said which tests the values are of");
    assert_eq!(rows[0].values.len(), 13);
}

#[test]
fn pages_around_a_table_do_not_hide_it() {
    let body: String = OF_2010.lines().map(|line| format!("{line}<br>\n")).collect();
    let page = format!(
        "<html><body>\n<pre>\tIozone: Performance Test of File I/O\n\t        Version $Revision: 3.397 $\n\
         \tFile size set to 409600 KB\n\tOutput is in Kbytes/sec\n{body}\niozone test complete.</pre>\n</body>\n"
    );
    let (rows, damages) = read(&page);
    assert_eq!((rows.len(), damages), (2, vec![]), "{page}");
    assert_eq!((rows[0].head.version.as_deref(), rows[0].head.file_bytes), (Some("3.397"), Some(409_600.0 * 1024.0)));
    assert_eq!((rows[0].values.len(), rows[1].values.len()), (13, 5));
}

#[test]
fn a_number_that_is_cut_is_not_another_one() {
    let block = "\tChildren see throughput for  6 initial writers \t=  151721.80 kB/sec\n\
                 \tParent sees throughput for  6 initial writers \t=  146366.56 kB/sec\n\
                 \tMin throughput per process \t\t\t=   24712.40 kB/sec \n\
                 \tMin xfer \t\t\t\t\t=  512.00 kB\n\
                 \tChild[0] xfer count =     512.00 kB, Throughput =   24712.40 kB/sec\n";
    // The numbers of each cut are those of the whole, or absent; and it is said that something is missing.
    let numbers = |text: &str| {
        let (readings, damages) = parse(text.as_bytes());
        let block = readings.into_iter().find_map(|reading| match reading.found {
            Content::Throughput(block) => Some(*block),
            _ => None,
        });
        let block = block.unwrap_or_default();
        let child = block.per_child.first().copied().unzip();
        (vec![block.children, block.parent, block.min, block.min_transfer, child.0, child.1], damages)
    };
    let (whole, damages) = numbers(block);
    assert!(whole.iter().all(Option::is_some) && damages.is_empty(), "{whole:?} {damages:?}");
    for end in 30..block.len() - 8 {
        let (found, damages) = numbers(&block[..end]);
        let right = found.iter().zip(&whole).all(|(found, whole)| found.is_none() || found == whole);
        assert!(right, "{:?}: {found:?}", &block[..end]);
        assert!(found == whole || !damages.is_empty() || block[..end].contains("Min xfer"), "{:?}", &block[..end]);
    }
}

#[test]
fn a_row_that_is_cut_keeps_what_is_whole() {
    for table in [OF_2005, OF_2010, OF_2025] {
        let line = table.lines().nth(2).expect("the test's own data");
        let head: String = table.lines().take(2).map(|line| format!("{line}\n")).collect();
        let (whole, _) = read(&format!("{head}{line}\n"));
        for end in 25..line.len() {
            let (rows, damages) = read(&format!("{head}{}", &line[..end]));
            let found = rows.first().map_or(&[][..], |row| &row.values);
            assert_eq!(found, &whole[0].values[..found.len()], "{}", &line[..end]);
            let ends_a_column = line.as_bytes()[line[..end].trim_end().len()] == b' ';
            assert_eq!(damages.is_empty(), ends_a_column || line[24..end].trim().is_empty(), "{}", &line[..end]);
        }
    }
}
