//! `--otlp`: sends the metrics to a receiver of OpenTelemetry, every 5 s and at the end.
//!
//! A forked process sends, so that a receiver that is slow or away holds nothing up. Sums are cumulative: what a failed
//! send lost, the next one has.

use super::forked::{Helper, HelperEnd};
use super::latest::{Latest, Reader};
use crate::failure::Failure;
use formats::openmetrics::RunMetrics;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Time between two sends.
const EVERY: Duration = Duration::from_secs(5);
/// Longest time of a send.
const PATIENCE: Duration = Duration::from_secs(5);
/// Where receivers take metrics, if the URL has no path.
const PATH: &str = "/v1/metrics";

pub(super) struct Sender {
    url: String,
    latest: Latest,
    /// The resource of each message.
    resource: Vec<(&'static str, String)>,
    forked: Helper,
    /// Failures, in words; none if all sends were taken.
    failures: Reader,
}

impl Sender {
    /// Starts the process; this one must have no threads.
    pub(super) fn open(given: &str) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::new(format!("--otlp {given}: {error}"));
        let url = endpoint(given).map_err(|why| failed(&why))?;
        let latest = Latest::new().map_err(|error| failed(&error))?;
        let reader = latest.reader().map_err(|error| failed(&error))?;
        let said = Latest::new().map_err(|error| failed(&error))?;
        let failures = said.reader().map_err(|error| failed(&error))?;
        let to = url.clone();
        let forked = Helper::start(move |gone| send_until(&gone, &reader, &to, said))?;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let resource = vec![
            ("service.name", "plumb".to_owned()),
            ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("host.name", host),
        ];
        Ok(Sender { url, latest, resource, forked, failures })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Replaces the message that is sent next.
    pub(super) fn write<'runs>(&mut self, runs: impl IntoIterator<Item = &'runs RunMetrics>) -> io::Result<()> {
        self.latest.write(&formats::otlp::request(runs, &self.resource, env!("CARGO_PKG_VERSION")))
    }

    /// The command has nothing more to say: the last message is sent.
    pub(super) fn finish(self) -> HelperEnd {
        self.forked.hang_up();
        let Sender { url, failures, forked, .. } = self;
        let complains = move || {
            let said = failures.read().ok()?;
            (!said.is_empty()).then(|| format!("plumb: --otlp {url}: {}", String::from_utf8_lossy(&said)))
        };
        HelperEnd { forked, longest: 2 * PATIENCE, says: None, complains: Some(Box::new(complains)) }
    }
}

/// The URL that messages go to.
fn endpoint(given: &str) -> Result<String, &'static str> {
    let Some(rest) = given.strip_prefix("http://") else {
        return Err(match given.strip_prefix("https://") {
            Some(_) => "https is not supported; send to a collector on this machine, which can",
            None => "write it like http://localhost:4318",
        });
    };
    match rest.split_once('/') {
        _ if rest.is_empty() || rest.starts_with('/') => Err("write it like http://localhost:4318"),
        None | Some((_, "")) => Ok(format!("http://{}{PATH}", rest.trim_end_matches('/'))),
        Some(_) => Ok(given.to_owned()),
    }
}

/// Sends what is new every 5 s, and once more when the command has ended. Returns the exit status.
fn send_until(gone: &UnixStream, reader: &Reader, url: &str, mut said: Latest) -> u8 {
    let agent = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build().new_agent();
    let (mut sends, mut failures, mut before) = (0_u64, 0_u64, Vec::new());
    loop {
        let mut sources = [PollFd::new(gone, PollFlags::IN)];
        let timeout = Timespec::try_from(EVERY).ok();
        if poll(&mut sources, timeout.as_ref()).is_err() {
            continue;
        }
        let is_over = !sources[0].revents().is_empty();
        let bytes = reader.read().unwrap_or_default();
        if !bytes.is_empty() && bytes != before {
            sends += 1;
            let sent = agent.post(url).header("Content-Type", "application/x-protobuf").send(&bytes[..]);
            if let Err(error) = sent {
                failures += 1;
                let line = format!("{failures} of {sends} messages were not taken; the last time: {error}");
                // If this fails, there is no other way to report it.
                let _ = said.write(line.as_bytes());
            }
            before = bytes;
        }
        if is_over {
            return u8::from(failures > 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_path_gets_the_usual_one() {
        assert_eq!(endpoint("http://a:4318").unwrap(), "http://a:4318/v1/metrics");
        assert_eq!(endpoint("http://a:4318/").unwrap(), "http://a:4318/v1/metrics");
        assert_eq!(endpoint("http://a/otlp/v1/metrics").unwrap(), "http://a/otlp/v1/metrics");
        for (wrong, says) in [("https://a", "not supported"), ("a:4318", "write it like"), ("http://", "write it like")]
        {
            assert!(endpoint(wrong).unwrap_err().contains(says), "{wrong}");
        }
    }
}
