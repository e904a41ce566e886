//! The tables: each row is a test with a name, made when the program starts (`house::run_all`).
//!
//! `cargo test -p cli --test cases faults::` runs one table, `... differential::clones` one row, `-- --list` shows all
//! names, `-- --ignored` also what takes long.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by its panic and prints for a person"
)]

mod block_trace;
mod capacity;
mod checks;
#[path = "../context.rs"]
#[allow(dead_code, reason = "the other test program uses the rest")]
mod context;
mod device;
mod differential;
mod elsewhere;
mod examples;
mod faults;
mod gate;
mod guest;
mod iostat;
mod iozone_differential;
mod load;
mod members;
mod mpi;
mod orders;
mod paragraphs;
mod predictions;
mod programs;
mod r;
mod seeds;
mod seen;
mod servers;
mod soak;
mod store;
mod truths;
mod watched;

fn main() -> std::process::ExitCode {
    let tables = [
        differential::groups(),
        iozone_differential::groups(),
        iostat::groups(),
        examples::groups(),
        faults::groups(),
        checks::groups(),
        device::groups(),
        elsewhere::groups(),
        seeds::groups(),
        servers::groups(),
        soak::groups(),
        load::groups(),
        programs::groups(),
        seen::groups(),
        block_trace::groups(),
        mpi::groups(),
        orders::groups(),
        members::groups(),
        r::groups(),
        store::groups(),
        gate::groups(),
        capacity::groups(),
        truths::groups(),
        watched::groups(),
        predictions::groups(),
        // Its guest needs a processor: when it runs the tests that wait have ended.
        guest::groups(),
    ];
    let mut tables: Vec<house::Cases> = tables.into_iter().flatten().collect();
    let listed = tables.iter().flat_map(house::Cases::names).map(str::to_owned).collect();
    tables.push(paragraphs::group(&listed));
    house::run_all(tables)
}
