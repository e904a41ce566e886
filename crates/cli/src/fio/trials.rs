//! Tests of this machine in place of a run: verify digests, memory copies, the CPU's clock.

use crate::failure::Failure;
use crate::output::Output;
use fio::{Copying, Trial};
use measure::{Clock, ClockSource, Nanos, SplitMix, SystemClock};
use std::fmt::Write;
use std::hint::black_box;

/// Size of one digested buffer in bytes, as in fio's test.
const PIECE: usize = 128 << 10;
/// Time for which each item is measured.
const SPAN: Nanos = Nanos::from_millis(50);
/// Time for which the clock is observed.
const WATCH: std::time::Duration = std::time::Duration::from_millis(500);
/// Maximum drift of a good clock against the kernel's, in parts per million.
const DRIFT_PPM: f64 = 500.0;
/// Copy sizes in bytes.
const COPIES: [usize; 11] = [8, 16, 96, 128, 256, 512, 2 << 10, 8 << 10, 128 << 10, 256 << 10, 512 << 10];

/// Runs the test and prints the outcome. The status is 0 unless the clock cannot be trusted.
pub(crate) fn run(trial: &Trial, out: &mut Output) -> Result<u8, Failure> {
    let clock = SystemClock::start();
    match trial {
        Trial::Digests(list) => {
            let piece = random(PIECE);
            for &(word, digest) in list {
                let rate = rate(&clock, PIECE, || {
                    black_box(load::verify::digest_of(digest, black_box(&piece)));
                });
                out.write(&format!("{:<9} {rate:9.2} MiB/sec\n", format!("{word}:")))?;
            }
            Ok(0)
        }
        Trial::Copies(list) => list.iter().try_for_each(|&way| out.write(&copies(way, &clock))).map(|()| 0),
        Trial::Clock => check_clock(out),
    }
}

/// Rate in MiB/s of an operation that processes `bytes` per call.
fn rate(clock: &SystemClock, bytes: usize, mut once: impl FnMut()) -> f64 {
    once();
    let rounds = (PIECE / bytes).max(1);
    let (began, mut done) = (clock.now(), 0_u32);
    loop {
        (0..rounds).for_each(|_| once());
        done += 1;
        let took = clock.now().saturating_sub(began);
        if took >= SPAN {
            let (bytes, seconds) = ((bytes * rounds) as f64, took.get() as f64 / 1e9);
            return bytes * f64::from(done) / seconds / f64::from(1 << 20);
        }
    }
}

fn copies(way: Copying, clock: &SystemClock) -> String {
    let mut text = format!("{}\n", way.word());
    for size in COPIES {
        let (from, mut to) = (random(size), vec![0; 2 * size]);
        let rate = rate(clock, size, || {
            match way {
                Copying::Apart => to[..size].copy_from_slice(black_box(&from)),
                Copying::Overlapping => to.copy_within(..size, size / 2),
                Copying::Simple => {
                    for (to, from) in to.iter_mut().zip(&from) {
                        *to = black_box(*from);
                    }
                }
            }
            black_box(&mut to);
        });
        let _: std::fmt::Result = writeln!(text, "\t{size} bytes:\t{rate:9.2} MiB/sec");
    }
    text
}

/// Pseudorandom bytes that do not repeat.
fn random(bytes: usize) -> Vec<u8> {
    let mut words = SplitMix::new(0);
    (0..bytes).map(|_| words.next_word().to_be_bytes()[0]).collect()
}

/// Prints if the kernel considers the CPU's counter stable, and its drift against the kernel's clock.
fn check_clock(out: &mut Output) -> Result<u8, Failure> {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let clock = SystemClock::calibrate(std::fs::read_to_string(source).unwrap_or_default().trim());
    std::thread::sleep(WATCH);
    let report = clock.report();
    let drift = report.drift_ppm.unwrap_or_default();
    let (answer, why) = match (report.source, report.why_not_tsc) {
        (ClockSource::Tsc, _) if drift.abs() < DRIFT_PPM => ("yes", format!("it drifts by {drift:.1} ppm")),
        (ClockSource::Tsc, _) => ("no", format!("it drifts by {drift:.1} ppm against the kernel's clock")),
        (ClockSource::Monotonic, why) => ("no", why.unwrap_or("the processor has none").to_owned()),
    };
    out.write(&format!("cs: reliable_tsc: {answer}\ncs: {why}\n"))?;
    Ok(u8::from(answer == "no"))
}
