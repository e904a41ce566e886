//! Many pictures at a time: drawn on several threads, and on sheets that are not too high.

use report::data::{Cdf, Distribution};
use report::page::{DrawingStyle, Picture, sheet, sheets};
use report::{Chart, ChartEngine, DrawRequest, Look, most_high};
use std::collections::BTreeSet;

fn pictures(count: u32) -> Vec<Picture> {
    let picture = |number: u32| {
        let points = vec![(50.0, 100.0 + f64::from(number)), (99.0, 250.0), (99.9, 1e4)];
        let systems = vec![Distribution { name: format!("disk {number}"), points }];
        let data = Cdf { title: format!("distribution {number}"), systems, ..Cdf::default() };
        let chart = Chart::named("cdf").expect("a chart");
        Picture {
            chart,
            title: data.title.clone(),
            heading: data.title.clone(),
            mark: None,
            size: chart.size,
            paper: chart.paper,
            data: serde_json::to_value(&data).expect("JSON"),
        }
    };
    (1..=count).map(picture).collect()
}

/// The identifiers of a drawing, each as often as it is there.
fn identifiers(svg: &str) -> Vec<&str> {
    svg.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn pictures_of_one_document_share_no_identifier() {
    let engine = ChartEngine::new().unwrap();
    let pictures = pictures(20);
    let orders =
        pictures.iter().map(|one| DrawRequest { chart: one.chart, data: &one.data, look: Look::of(one.chart) });
    let orders: Vec<DrawRequest<'_>> = orders.collect();
    let all = engine.all(&orders).unwrap();
    for (number, (one, order)) in all.iter().zip(&orders).enumerate() {
        let alone = engine.svg(order.chart, order.data, &order.look).unwrap();
        assert_eq!(*one, alone.replace("\"zr0-", &format!("\"zr{number}-")).replace("#zr0-", &format!("#zr{number}-")));
    }
    let together: Vec<&str> = all.iter().flat_map(|one| identifiers(one)).collect();
    assert!(together.len() >= 20, "{together:?}");
    assert_eq!(together.iter().collect::<BTreeSet<_>>().len(), together.len());
}

#[test]
fn pictures_too_high_for_one_sheet_are_on_several() {
    let engine = ChartEngine::new().unwrap();
    let pictures = pictures(7);
    let pictures: Vec<&Picture> = pictures.iter().collect();
    let style = DrawingStyle::default();
    // Each is 620 high, with 24 between two.
    let cut = |of_one, of_several| sheets(&engine, &pictures, &style, |_| (of_one, of_several)).unwrap();
    assert_eq!(cut(7 * 620 + 6 * 24, 1), [sheet(&engine, &pictures, &style).unwrap()], "there is room for all");
    for (most, expected) in [(620 * 3 + 48, vec![3, 3, 1]), (620 * 2 + 24, vec![2, 2, 2, 1]), (1, vec![1; 7])] {
        let sheets = cut(7 * 620, most);
        let on_each: Vec<usize> = sheets.iter().map(|sheet| sheet.matches(">distribution ").count()).collect();
        assert_eq!(on_each, expected, "{most}");
    }
}

#[test]
fn an_image_has_64_mi_pixels_and_a_page_8_ki_rows_at_most() {
    assert_eq!(most_high(1024, 1.0), (65_536, 8192));
    assert_eq!(most_high(1024, 2.0), (16_384, 4096));
    assert_eq!(most_high(8192, 4.0), (512, 512));
}
