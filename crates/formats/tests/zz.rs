//! x
use plumb_formats::{stream::parse, sweep};
#[test] fn x() {
    let b = std::fs::read(std::env::var("ZZ").unwrap()).unwrap();
    let (r,d) = parse(&b);
    println!("{d:?}");
    let mut code = String::from(sweep::r_head()); let mut csv = sweep::csv_head(); let mut n=0;
    for x in &r { for l in [None, Some(sweep::LogKind::Bandwidth)] { for m in sweep::measurements(x, l) { let line = sweep::r_row(&m, n); println!("{n} {line:?}");  code += &line; csv += &sweep::csv_row(&m, "a \"b\", c", x.line); n+=1; } } }
    let (r2,d2) = parse((code.clone() + &sweep::r_tail(Some("a"))).as_bytes());
    println!("{} {} {:?}", n, r2.len(), d2);
    let (r2,d2) = parse(csv.as_bytes());
    println!("{} {} {:?}", n, r2.len(), d2);
}
