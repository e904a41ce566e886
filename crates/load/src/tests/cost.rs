//! The cost of a decision. Printed, not checked: `cargo test --release -p load --lib cost -- --nocapture`.

use super::*;
use std::hint::black_box;
use std::time::Instant;

fn print_cost(name: &str, change: impl FnOnce(&mut JobPlan), sizes: &[u64]) {
    let mut job = job();
    job.limits.runtime = Some(Nanos(u64::MAX / 2));
    job.limits.time_based = true;
    change(&mut job);
    let mut load = load(&job, &regions(sizes));
    let mut cheapest = f64::MAX;
    for _ in 0..5 {
        const CALLS: u32 = 200_000;
        let start = Instant::now();
        for call in 0..u64::from(CALLS) {
            use_up(load.next(black_box(Nanos(call))));
        }
        cheapest = cheapest.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
    }
    println!("{cheapest:6.1} ns  {name}");
}

/// Reads a decision field by field, as the worker's loop does.
#[inline]
fn use_up(next: Next) {
    if let Next::Issue(request) = next {
        black_box(request.operation as u8);
        black_box(request.target);
        black_box(request.offset);
        black_box(request.length);
    }
}

/// The cost of the measuring loop by itself.
fn print_floor() {
    const CALLS: u32 = 1_000_000;
    let start = Instant::now();
    for call in 0..u64::from(CALLS) {
        let request = Request::new(Operation::Read, 0, black_box(call), 4096);
        use_up(Next::Issue(request));
    }
    println!("{:6.1} ns  the loop by itself", start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
}

#[test]
fn a_decision_costs_some_nanoseconds() {
    print_floor();
    let file = [256 << 20];
    print_cost("sequential", |_| (), &file);
    let random = |job: &mut JobPlan| job.load.random = true;
    print_cost("random, each block once, 2^16 blocks", random, &file);
    print_cost("random, each block once, 40000 blocks", random, &[40_000 * 4 * K]);
    print_cost(
        "random, lfsr",
        |job| {
            random(job);
            job.load.generator = Generator::Lfsr;
        },
        &file,
    );
    let free = |job: &mut JobPlan| {
        random(job);
        job.load.cover_all = false;
    };
    print_cost("random, no map", free, &file);
    print_cost(
        "random, no map, 64 bits",
        |job| {
            free(job);
            job.load.generator = Generator::Tausworthe64;
        },
        &file,
    );
    let mixed = |job: &mut JobPlan| {
        random(job);
        job.load.mix = Mix::ReadWrite;
        job.load.read_percent = 70;
    };
    print_cost("random 70/30", mixed, &file);
    print_cost(
        "random 70/30, three sizes, map",
        |job| {
            mixed(job);
            job.load.block_size = alike(BlockSize::Split(vec![(4096, 60), (8192, 20), (65536, 20)]));
        },
        &file,
    );
    print_cost("sequential, four files", |_| (), &[64 << 20; 4]);
    print_cost("sequential, a rate", |job| job.pace.iops.read = Some(u64::MAX / 2), &file);
    let skewed =
        |distribution| move |job: &mut JobPlan| (job.load.random, job.load.distribution) = (true, distribution);
    print_cost("zipf", skewed(Distribution::Zipf(1.2, None)), &file);
    print_cost("pareto", skewed(Distribution::Pareto(0.2, None)), &file);
    print_cost("normal", skewed(Distribution::Normal(10.0, None)), &file);
}
