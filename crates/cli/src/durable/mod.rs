//! `plumb durable`: what of acknowledged writes is there after a power cut.
//!
//! Owns the command line and the exit status. `writer` writes and `witness` keeps the acknowledgements in another
//! machine; `after_cut` reads back what `records` finds. `analysis::durability` judges, `shown` shows it.

mod after_cut;
mod records;
mod shown;
mod witness;
mod writer;

use crate::failure::Failure;
use crate::streams::OutputArgs;
use analysis::durability::{Way, is_record};
use measure::Nanos;
use measure::text;
use std::path::PathBuf;

/// See what a power cut loses of writes that were acknowledged: fsync, FUA and others
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "plumb durable PATH|DEVICE --witness ADDRESS|PATH [OPTIONS]\n       plumb durable --serve FILE [--cut COMMAND] [OPTIONS]\n       plumb durable --after-cut FILE [PATH|DEVICE] [OPTIONS]",
    long_about = "\
Writes records in each way of making a write durable, and sends an acknowledgement of each to a witness in another machine, until the power is cut. After the cut it reads back what is there, and answers yes, no or cannot tell: lost, torn and reordered, for each way.",
    after_help = "\
Examples:
  plumb durable --serve acks                 on the witness; port 8766
  plumb durable /data --witness otherhost    where the power will be cut
  plumb durable --after-cut acks             there, with that file, afterwards

  plumb durable --serve acks --cut 'ipmitool -H bmc power cycle'
  plumb durable /dev/sdb --overwrite SERIAL --witness otherhost --way fsync,fua
  plumb durable /data --witness /dev/ttyS0              by a serial line
  plumb durable --serve acks --listen /dev/ttyUSB0      and its other end

The writer does not end by itself. On a device it overwrites 44 MiB;
in a directory the files are in plumb-durable-NUMBER, until the next writer.
More: docs/durable.md
Exit status: 0 yes; 1 no; 2 cannot tell; 3 an error; 128 + signal"
)]
pub(crate) struct DurableArgs {
    /// Directory or block device whose promises are tried
    #[arg(value_name = "PATH|DEVICE", required_unless_present_any = ["serve", "after_cut"], conflicts_with = "serve")]
    target: Option<PathBuf>,
    /// Write, and send the acknowledgements to this witness: HOST, HOST:PORT, or the path of a serial line or pipe
    #[arg(long, value_name = "ADDRESS|PATH", conflicts_with_all = ["serve", "after_cut"], required_unless_present_any = ["serve", "after_cut"])]
    witness: Option<String>,
    /// Be the witness: keep the acknowledgements of writers in this file
    #[arg(long, value_name = "FILE", conflicts_with = "after_cut")]
    serve: Option<PathBuf>,
    /// Read back what is there, and compare it with this file of a witness; - is standard input
    #[arg(long, value_name = "FILE")]
    after_cut: Option<PathBuf>,
    /// Ways to write: fsync, fdatasync, o_dsync, fua, atomic, append, create, rename, direct, sync_file_range, none
    /// [default: all that are there]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = way, requires = "witness")]
    way: Vec<Way>,
    /// Size of a record, a multiple of 4096 [default: 16k]
    #[arg(long, value_name = "SIZE", value_parser = record, requires = "witness")]
    record: Option<u64>,
    /// Allow writes to the device with this serial number, WWID or UUID
    #[arg(long, value_name = "IDENTITY", requires = "witness")]
    overwrite: Option<String>,
    /// Where --serve waits: HOST:PORT, :PORT, or the path of a serial line or pipe [default: all addresses, port 8766]
    #[arg(long, value_name = "ADDRESS|PATH", requires = "serve")]
    listen: Option<String>,
    /// Command of a shell that cuts the power, started once for each writer
    #[arg(long, value_name = "COMMAND", requires = "serve")]
    cut: Option<String>,
    /// Time from the first acknowledgement of a writer to --cut; it is drawn between this and half as much again
    /// [default: 10s]
    #[arg(long, value_name = "TIME", requires = "cut", value_parser = crate::members::time)]
    cut_after: Option<Nanos>,
    /// Judge although this machine did not go down: only the storage lost its power
    #[arg(long, requires = "after_cut")]
    storage_only: bool,
    /// Secret of writer and witness: both ends prove it and encrypt their messages [default: PLUMB_SECRET_FILE]
    #[arg(long, value_name = "FILE", conflicts_with = "after_cut")]
    secret_file: Option<PathBuf>,
    #[command(flatten)]
    written: OutputArgs,
}

/// Exit status after an error. 1 and 2 are answers.
pub(crate) const ERROR: u8 = 3;

/// Writes, keeps or judges.
pub(crate) fn run(args: &DurableArgs) -> Result<u8, Failure> {
    let done = match (&args.serve, &args.after_cut, &args.target) {
        (Some(file), ..) => witness::serve(args, file),
        (None, Some(file), _) => after_cut::judge(args, file),
        (None, None, Some(target)) => writer::write(args, target),
        // clap requires one of them.
        (None, None, None) => Err(Failure::new("durable: name a directory or a device")),
    };
    done.map_err(|failure| failure.with_status(ERROR))
}

fn way(word: &str) -> Result<Way, String> {
    Way::named(word).ok_or_else(|| {
        let known = analysis::durability::WAYS.map(Way::name).join(", ");
        format!("{word} is not a way to write; there are {known}")
    })
}

fn record(word: &str) -> Result<u64, String> {
    text::bytes(word)
        .filter(|size| is_record(*size))
        .ok_or_else(|| format!("{word} is not the size of a record; write a multiple of 4k up to 1m, like 16k"))
}
