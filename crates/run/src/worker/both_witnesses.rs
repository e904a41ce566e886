//! Two witnesses of one load, for a job that asks for several records of its I/Os.

use load::{RecordFailure, Request, Witness};
use measure::Nanos;

/// Passes every call on to both.
#[derive(Debug)]
pub(super) struct Both(pub(super) Box<dyn Witness>, pub(super) Box<dyn Witness>);

impl Both {
    fn each(&mut self, call: impl Fn(&mut dyn Witness)) {
        call(self.0.as_mut());
        call(self.1.as_mut());
    }
}

impl Witness for Both {
    fn begin(&mut self, now: Nanos) {
        self.each(|witness| witness.begin(now));
    }

    fn issued(&mut self, now: Nanos, request: &Request) {
        self.each(|witness| witness.issued(now, request));
    }

    fn reviewed(&mut self, now: Nanos, request: &Request) {
        self.each(|witness| witness.reviewed(now, request));
    }

    fn completed(&mut self, request: &Request) {
        self.each(|witness| witness.completed(request));
    }

    fn failed(&mut self, request: &Request) {
        self.each(|witness| witness.failed(request));
    }

    fn waits(&mut self, now: Nanos, until: Nanos) {
        self.each(|witness| witness.waits(now, until));
    }

    fn note(&mut self, text: &str) {
        self.each(|witness| witness.note(text));
    }

    fn finish(&mut self, now: Nanos) -> Result<(), RecordFailure> {
        let first = self.0.finish(now);
        self.1.finish(now).and(first)
    }
}
