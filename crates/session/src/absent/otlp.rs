//! `--otlp` in a build without the feature `otlp`: refused by name.

use super::forked::HelperEnd;
use crate::failure::Failure;
use formats::openmetrics::RunMetrics;
use std::convert::Infallible;
use std::io;

/// Never there.
pub(super) struct Sender(Infallible);

impl Sender {
    pub(super) fn open(url: &str) -> Result<Self, Failure> {
        Err(Failure::not_built(&format!("--otlp {url}"), "otlp"))
    }

    pub(super) fn write<'runs>(&mut self, _: impl IntoIterator<Item = &'runs RunMetrics>) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn url(&self) -> &str {
        match self.0 {}
    }

    pub(super) fn finish(self) -> HelperEnd {
        match self.0 {}
    }
}
