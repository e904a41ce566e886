//! I/Os in the block layer: from its queue to their completion.
//!
//! The events name sectors, not objects. So an I/O ("bio") and the requests that carry parts of it are found by device,
//! sectors and direction, oldest first: merged, split and requeued requests need no separate case. An I/O that a
//! stacked device sends on is the parent of those below, and is where the latest change below it is.

use crate::event::{Name, Op, Span, Thread};
use crate::io::{Direction, Part};
use measure::Nanos;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use sys::devices::identity::DeviceNumber;

/// I/Os that are this old and not done are forgotten: their completion was not recorded.
const FORGOTTEN: Nanos = Nanos(300_000_000_000);

/// An I/O of the block layer by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BioId(u64);

/// From here on, the I/O is in this part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) at: Nanos,
    pub(crate) part: Part,
}

/// An I/O that is done.
#[derive(Debug)]
pub(crate) struct Track {
    pub(crate) id: BioId,
    pub(crate) span: Span,
    pub(crate) by: Thread,
    pub(crate) name: Name,
    pub(crate) queued: Nanos,
    pub(crate) done: Nanos,
    /// In the order of time.
    pub(crate) marks: Vec<Mark>,
}

impl Track {
    /// The part in which it was at this time; it must have been queued and not yet done.
    pub(crate) fn part(&self, at: Nanos) -> Part {
        let after = self.marks.partition_point(|mark| mark.at <= at);
        after.checked_sub(1).map_or(Part::Tags, |before| self.marks[before].part)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.span.sectors.saturating_mul(512)
    }

    pub(crate) fn direction(&self) -> Direction {
        match (self.span.op, self.span.sectors) {
            (_, 0) | (Op::Other, _) => Direction::Sync,
            (Op::Read, _) => Direction::Read,
            (Op::Write, _) => Direction::Write,
        }
    }
}

/// An I/O that is done at its device, which may be below another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) span: Span,
    pub(crate) queued: Nanos,
    /// When the driver got it; `None` on a device without requests.
    pub(crate) issued: Option<Nanos>,
    pub(crate) done: Nanos,
}

#[derive(Debug)]
struct Bio {
    span: Span,
    by: Thread,
    name: Name,
    queued: Nanos,
    /// When its own device's driver got the first of it.
    issued: Option<Nanos>,
    marks: Vec<Mark>,
    parent: Option<BioId>,
    /// True if it goes on below under another device, with no event for its own end.
    has_moved: bool,
    children: u32,
    /// Sectors that are in no request of the driver yet.
    unissued: u64,
    /// Sectors that are not done.
    left: u64,
    in_driver: u32,
}

impl Bio {
    /// True of a write after a flush that is in this part, and not in the driver.
    fn waits(&self, part: Part) -> bool {
        let is_write = self.span.is_after_flush && self.span.sectors > 0 && self.in_driver == 0;
        is_write && self.marks.last().is_some_and(|mark| mark.part == part)
    }
}

/// A request that the driver has.
#[derive(Debug)]
struct Request {
    span: Span,
    left: u64,
    carries: Vec<BioId>,
}

/// Where an I/O of a stacked device goes on.
#[derive(Debug)]
struct Link {
    device: DeviceNumber,
    sector: u64,
    parent: BioId,
}

/// A new I/O.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) id: BioId,
    /// False for one below a stacked device.
    pub(crate) is_first: bool,
}

/// How long a disk had requests, of any program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBusy {
    /// The disk.
    pub device: DeviceNumber,
    /// Time with at least one request in its driver.
    pub time: Nanos,
}

/// Time with a request in the driver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Busy {
    since: Option<Nanos>,
    sum: Nanos,
}

impl Busy {
    fn begins(&mut self, at: Nanos) {
        self.since.get_or_insert(at);
    }

    fn ends(&mut self, at: Nanos) {
        if let Some(since) = self.since.take() {
            self.sum += at.saturating_sub(since);
        }
    }

    /// The time until now.
    pub(crate) fn until(mut self, now: Nanos) -> Nanos {
        self.ends(now);
        self.sum
    }
}

/// All I/Os that are in flight.
#[derive(Debug, Default)]
pub(crate) struct Block {
    bios: FxHashMap<BioId, Bio>,
    /// By device, in the order in which they were queued.
    queues: FxHashMap<DeviceNumber, Vec<BioId>>,
    requests: FxHashMap<DeviceNumber, Vec<Request>>,
    links: Vec<Link>,
    /// The disk of each partition.
    pub(crate) wholes: FxHashMap<DeviceNumber, DeviceNumber>,
    next: u64,
    /// How long each device had a request.
    pub(crate) busy: FxHashMap<DeviceNumber, Busy>,
    /// I/Os that are done, of all devices of a stack; `None` if they are not wanted.
    pub(crate) ended: Option<Vec<Ended>>,
}

impl Block {
    /// One that keeps how its I/Os ended, for its user to take.
    pub(crate) fn with_ends(wholes: FxHashMap<DeviceNumber, DeviceNumber>) -> Self {
        Block { ended: Some(Vec::new()), ..Self::new(wholes) }
    }

    pub(crate) fn new(wholes: FxHashMap<DeviceNumber, DeviceNumber>) -> Self {
        Block { wholes, ..Block::default() }
    }

    fn whole(&self, device: DeviceNumber) -> DeviceNumber {
        self.wholes.get(&device).copied().unwrap_or(device)
    }

    pub(crate) fn queue(&mut self, span: Span, name: Name, at: Nanos, by: Thread) -> Queued {
        let parent = self.take_link(&span);
        let id = BioId(self.next);
        self.next += 1;
        if let Some(above) = parent.and_then(|parent| self.bios.get_mut(&parent)) {
            above.children += 1;
        }
        let bio = Bio {
            span,
            by,
            name,
            queued: at,
            issued: None,
            marks: Vec::with_capacity(3),
            parent,
            has_moved: false,
            children: 0,
            unissued: span.sectors,
            left: span.sectors,
            in_driver: 0,
        };
        self.bios.insert(id, bio);
        self.queues.entry(self.whole(span.device)).or_default().push(id);
        self.mark(id, at, Part::Tags);
        Queued { id, is_first: parent.is_none() }
    }

    fn take_link(&mut self, span: &Span) -> Option<BioId> {
        let device = self.whole(span.device);
        let at = self.links.iter().position(|link| link.device == device && link.sector == span.sector)?;
        Some(self.links.remove(at).parent)
    }

    /// Sets the part of an I/O and of all above it.
    fn mark(&mut self, id: BioId, at: Nanos, part: Part) {
        let mut next = Some(id);
        while let Some(bio) = next.and_then(|id| self.bios.get_mut(&id)) {
            if bio.marks.last().is_none_or(|mark| mark.part != part) {
                bio.marks.push(Mark { at, part });
            }
            next = bio.parent;
        }
    }

    /// I/Os on a device, oldest first, that a test accepts.
    fn matching(&self, device: DeviceNumber, accepts: impl Fn(&Bio) -> bool) -> Vec<BioId> {
        let queue = self.queues.get(&device).map_or(&[][..], Vec::as_slice);
        queue.iter().copied().filter(|id| self.bios.get(id).is_some_and(&accepts)).collect()
    }

    /// An I/O got a request, or became part of one.
    pub(crate) fn request(&mut self, span: Span, name: Name, at: Nanos, by: Thread) {
        let waits = |bio: &Bio| bio.marks.last().is_some_and(|mark| mark.part == Part::Tags);
        let same = |bio: &Bio| match (bio.span.sectors, span.sectors) {
            (0, 0) => true,
            _ => bio.span.op == span.op && bio.span.overlap(&span) > 0,
        };
        let device = self.whole(span.device);
        let found = self.matching(device, |bio| same(bio) && waits(bio)).first().copied();
        let found = found.or_else(|| {
            // It moved here from a stacked device, without being queued again.
            let linked = self.links.iter().find(|link| link.device == device && link.sector == span.sector)?.parent;
            self.bios.get_mut(&linked)?.has_moved = true;
            Some(self.queue(span, name, at, by).id)
        });
        if let Some(id) = found {
            self.mark(id, at, Part::Scheduler);
        }
    }

    /// The driver got a request.
    pub(crate) fn issue(&mut self, span: Span, at: Nanos) {
        let device = self.whole(span.device);
        if span.sectors == 0 {
            // A write that follows a flush has its request, and waits.
            for id in self.matching(device, |bio| bio.span.sectors == 0 || bio.waits(Part::Scheduler)) {
                self.mark(id, at, Part::Flush);
            }
            return;
        }
        let mut carries: Vec<BioId> = Vec::new();
        let fits = |bio: &Bio| {
            let overlap = bio.span.overlap(&span);
            overlap > 0 && bio.span.op == span.op && bio.unissued >= overlap
        };
        for id in self.matching(device, fits) {
            let own = self.bios[&id].span;
            // A request has no sector twice.
            if carries.iter().any(|carried| self.bios[carried].span.overlap(&own) > 0) {
                continue;
            }
            carries.push(id);
            if let Some(bio) = self.bios.get_mut(&id) {
                bio.unissued -= own.overlap(&span);
                bio.in_driver += 1;
                bio.issued.get_or_insert(at);
            }
            self.mark(id, at, Part::Device);
        }
        // Without any, all that it carries was queued before the recording began.
        if !carries.is_empty() {
            self.requests.entry(device).or_default().push(Request { span, left: span.sectors, carries });
            self.busy.entry(device).or_default().begins(at);
        }
    }

    /// The driver gave a request back.
    pub(crate) fn requeue(&mut self, span: Span, at: Nanos) {
        let device = self.whole(span.device);
        let Some(requests) = self.requests.get_mut(&device) else { return };
        let Some(index) =
            requests.iter().position(|request| request.span.op == span.op && request.span.overlap(&span) > 0)
        else {
            return;
        };
        let request = requests.remove(index);
        if requests.is_empty() {
            self.busy.entry(device).or_default().ends(at);
        }
        for id in request.carries {
            if let Some(bio) = self.bios.get_mut(&id) {
                bio.unissued += bio.span.overlap(&request.span).min(bio.left);
                bio.in_driver = bio.in_driver.saturating_sub(1);
                bio.issued = bio.issued.filter(|_| bio.in_driver > 0);
            }
            self.mark(id, at, Part::Scheduler);
        }
    }

    /// Sectors of a request are done; returns the I/Os that end by it.
    pub(crate) fn complete(&mut self, span: Span, at: Nanos) -> Vec<Arc<Track>> {
        let device = self.whole(span.device);
        if span.sectors == 0 {
            let flushes = self.matching(device, |bio| {
                bio.span.sectors == 0 && bio.marks.last().is_some_and(|mark| mark.part == Part::Flush)
            });
            for id in self.matching(device, |bio| bio.waits(Part::Flush)) {
                self.mark(id, at, Part::Scheduler);
            }
            return flushes.into_iter().filter_map(|id| self.finish(id, at)).collect();
        }
        let Some(requests) = self.requests.get_mut(&device) else { return Vec::new() };
        let holds = |request: &Request| request.span.op == span.op && request.span.overlap(&span) == span.sectors;
        let Some(index) = requests.iter().position(holds) else { return Vec::new() };
        let request = &mut requests[index];
        request.left = request.left.saturating_sub(span.sectors);
        let is_over = request.left == 0;
        let carries = if is_over { requests.remove(index).carries } else { request.carries.clone() };
        if requests.is_empty() {
            self.busy.entry(device).or_default().ends(at);
        }
        let mut ended = Vec::new();
        for id in carries {
            let Some(bio) = self.bios.get_mut(&id) else { continue };
            bio.left = bio.left.saturating_sub(bio.span.overlap(&span));
            if is_over {
                bio.in_driver = bio.in_driver.saturating_sub(1);
            }
            if bio.left == 0 {
                ended.extend(self.finish(id, at));
            } else if bio.in_driver == 0 {
                self.mark(id, at, Part::Scheduler);
            }
        }
        ended
    }

    /// An I/O of a device without requests is done.
    pub(crate) fn bio_complete(&mut self, span: Span, at: Nanos) -> Option<Arc<Track>> {
        let device = self.whole(span.device);
        let open = |bio: &Bio| bio.span.op == span.op && bio.in_driver == 0;
        let exact = |bio: &Bio| open(bio) && bio.span.sector == span.sector && bio.span.sectors == span.sectors;
        // Its remaining sectors may be named, which are none at the end.
        let within = |bio: &Bio| open(bio) && bio.span.sector <= span.sector && span.sector <= bio.span.end();
        let found = self.matching(device, exact).into_iter().chain(self.matching(device, within)).next()?;
        let bio = self.bios.get_mut(&found)?;
        if let [Mark { part, .. }] = bio.marks.as_mut_slice() {
            *part = Part::Device;
        }
        self.finish(found, at)
    }

    /// Ends an I/O, and those above that have no separate end; returns the one that a caller queued.
    fn finish(&mut self, id: BioId, at: Nanos) -> Option<Arc<Track>> {
        let bio = self.bios.remove(&id)?;
        if let Some(queue) = self.queues.get_mut(&self.whole(bio.span.device)) {
            queue.retain(|other| *other != id);
        }
        let Bio { span, by, name, queued, issued, marks, parent, .. } = bio;
        if let Some(ended) = &mut self.ended {
            ended.push(Ended { span, queued, issued, done: at });
        }
        let Some(parent) = parent else {
            return Some(Arc::new(Track { id, span, by, name, queued, done: at, marks }));
        };
        let above = self.bios.get_mut(&parent)?;
        above.children = above.children.saturating_sub(1);
        above.left = above.left.saturating_sub(span.sectors);
        match (above.children, above.has_moved && above.left == 0) {
            (0, true) => self.finish(parent, at),
            (0, false) => {
                self.mark(parent, at, Part::Stack);
                None
            }
            _ => None,
        }
    }

    /// An I/O goes on to another device, or to the disk of its partition.
    pub(crate) fn remap(&mut self, to: Span, from: DeviceNumber, from_sector: u64, at: Nanos) {
        let device = self.whole(to.device);
        let from = self.whole(from);
        if let Some(link) = self.links.iter_mut().find(|link| link.device == from && link.sector == from_sector) {
            (link.device, link.sector) = (device, to.sector);
            return;
        }
        let holds = |bio: &Bio| bio.span.op == to.op && bio.span.sector <= from_sector && from_sector < bio.span.end();
        let parents = if from == device { Vec::new() } else { self.matching(from, holds) };
        if let Some(parent) = parents.first().copied() {
            self.held(parent);
            self.mark(parent, at, Part::Stack);
            self.links.push(Link { device, sector: to.sector, parent });
        }
    }

    /// A stacked device sends an I/O on: until now it held it, and no queue did (dm-delay, dm-crypt).
    fn held(&mut self, id: BioId) {
        let Some(queued) = self.bios.get(&id).map(|bio| bio.queued) else { return };
        let mut next = Some(id);
        while let Some(bio) = next.and_then(|id| self.bios.get_mut(&id)) {
            match bio.marks.last_mut() {
                Some(mark) if mark.part == Part::Tags && mark.at == queued => mark.part = Part::Stack,
                _ => {}
            }
            next = bio.parent;
        }
    }

    /// Number of I/Os in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.bios.len()
    }

    /// Forgets all: events are missing.
    pub(crate) fn clear(&mut self) {
        self.bios.clear();
        self.queues.clear();
        self.requests.clear();
        self.links.clear();
        // When the last of them ended is not known: of that the device was not busy.
        self.busy.values_mut().for_each(|busy| busy.since = None);
    }

    /// Forgets what is so old that its end will not come.
    pub(crate) fn forget(&mut self, now: Nanos) {
        let is_old = |bio: &Bio| now.saturating_sub(bio.queued) > FORGOTTEN;
        self.bios.retain(|_, bio| !is_old(bio));
        let bios = &self.bios;
        self.queues.values_mut().for_each(|queue| queue.retain(|id| bios.contains_key(id)));
        self.links.retain(|link| bios.contains_key(&link.parent));
        let is_known = |request: &Request| request.carries.iter().any(|id| bios.contains_key(id));
        self.requests.values_mut().for_each(|requests| requests.retain(is_known));
    }
}
