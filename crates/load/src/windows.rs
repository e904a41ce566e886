//! Windows of a region, used one after another. A window is a smaller region: positions are chosen in it as in any
//! other, until its amount is reached.

use plan::{Gap, Strides};

/// The windows of one region.
#[derive(Clone, Debug)]
pub(super) struct Strided {
    plan: Strides,
    start: u64,
    end: u64,
    /// Distance between the starts of two windows, in bytes.
    stride: u64,
    /// Bytes issued in the current window.
    done: u64,
}

impl Strided {
    pub(super) fn new(plan: Strides, start: u64, end: u64) -> Self {
        let skip = match plan.skip {
            Gap::Bytes(bytes) => bytes,
            Gap::Percent(percent) => {
                (end - start) / 100 * u64::from(percent) + (end - start) % 100 * u64::from(percent) / 100
            }
        };
        Strided { plan, start, end, stride: plan.window.max(1).saturating_add(skip), done: 0 }
    }

    /// The window that begins at `start`.
    pub(super) fn window(&self, start: u64) -> (u64, u64) {
        (start, start.saturating_add(self.plan.window).min(self.end))
    }

    /// The first window, with nothing issued in it yet.
    pub(super) fn first(&mut self) -> (u64, u64) {
        self.done = 0;
        self.window(self.start)
    }

    /// The window after the one that begins at `start`, once that one has reached its amount; the first follows the
    /// last.
    pub(super) fn next(&mut self, start: u64) -> Option<(u64, u64)> {
        if self.done < self.plan.amount {
            return None;
        }
        self.done = 0;
        let next = start.saturating_add(self.stride);
        Some(self.window(if next >= self.end { self.start } else { next }))
    }

    pub(super) fn issued(&mut self, bytes: u32) {
        self.done += u64::from(bytes);
    }

    /// The window at the end of the region, if it is smaller than the others.
    pub(super) fn tail(&self) -> Option<(u64, u64)> {
        let last = self.start + (self.end - self.start).saturating_sub(1) / self.stride * self.stride;
        let (start, end) = self.window(last);
        (end - start < self.plan.window && end > start).then_some((start, end))
    }

    /// True if the window that ends here is the last of the region.
    pub(super) const fn is_last(&self, window_end: u64) -> bool {
        window_end >= self.end
    }
}
