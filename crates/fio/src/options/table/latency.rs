//! Options that control or end a job by its latency.

use super::row::rows;
use crate::error::Complaint;
use crate::options::values::{floats, span_of_time};
use measure::{Nanos, PerDirection};
use plan::option::TimeUnit;

fn share(text: &str) -> Result<f64, Complaint> {
    let share = floats(text, 1)?.first().copied().unwrap_or(100.0);
    if (0.0..=100.0).contains(&share) {
        return Ok(share);
    }
    Err(Complaint::new(format!("is a share of {share} percent"), "give 0 to 100"))
}

/// The longest latencies of reads, writes and trims; the last one given is that of the rest.
fn longest(text: &str) -> Result<PerDirection<Option<Nanos>>, Complaint> {
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err(Complaint::new("has more than three parts", "give one for reads, writes and trims each"));
    }
    let most = |index: usize| -> Result<Option<Nanos>, Complaint> {
        let part = parts.get(index).or(parts.last()).copied().unwrap_or_default();
        Ok(Some(span_of_time(part, TimeUnit::Microseconds)?).filter(|time| !time.is_zero()))
    };
    Ok(PerDirection { read: most(0)?, write: most(1)?, trim: most(2)? })
}

rows! {
    "latency_target": MICROSECONDS => Time(job.latency.target, |target| (!target.is_zero()).then_some(target));
        "Find the queue depth that meets this latency";
    "latency_window": MICROSECONDS => Time(job.latency.window); "Duration of each step of the latency_target search";
    "latency_percentile": floats(1), "100" => Text(job.latency.percentile, share);
        "Percentage of I/Os that must meet latency_target";
    "latency_run": BOOL, "0" => Switch(job.latency.keep_running); "Continue to adjust the depth until the job ends";
    "max_latency": TEXT => Text(job.latency.most, longest);
        "Fail the job if an I/O takes longer, for reads, writes, trims (us)";
}
