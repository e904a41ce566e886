//! The position of the next I/O: sequential positions, random blocks, and the rest of each target in this pass.

mod in_zones;

use super::distribution::Skew;
use super::lfsr::{self, Lfsr, Permutation};
use super::limits::is_time_based;
use super::map::BlockMap;
use super::random::{Purpose, Random, Tausworthe, stream_seed};
use super::shared_zones::SharedZones;
use super::sizes::{SizeSteps, Sizes};
use super::sprandom::Sprandom;
use super::windows::Strided;
use super::zones::{Course, ZoneMap, ZoneUse};
use super::{LoadError, LoadSetup, Reach, Region, ZoneAction};
use in_zones::{Meant, zone_use};
use measure::{Direction, PerDirection, split_mix};
use plan::{Distribution, Generator, LoadPlan, Step, ZonePlan};

/// Checks that there is a block to do I/O on. Fails if there is none.
pub(super) fn check(setup: &LoadSetup<'_>) -> Result<(), LoadError> {
    let block = setup.job.load.smallest();
    match setup.regions.iter().map(Region::bytes).max() {
        None => Err(setup.error("there is no file to do I/O on; name one with filename= or give size=")),
        Some(largest) if largest < u64::from(block) => Err(setup.error(format!(
            "a block of {block} bytes fits into no file's region, the largest has {largest} bytes; use a smaller bs= \
             or a larger size="
        ))),
        Some(largest) => check_sprandom(setup, largest).and_then(|()| check_sequence(setup)),
    }
}

/// Checks that every block of a sequence is in every region.
fn check_sequence(setup: &LoadSetup<'_>) -> Result<(), LoadError> {
    let plan = &setup.job.load;
    let Distribution::Sequence(list) = &plan.distribution else { return Ok(()) };
    if !plan.random || plan.sequence_strides {
        return Ok(());
    }
    let unit = plan.align.read.into_iter().chain(plan.align.write).chain([plan.smallest()]).max().unwrap_or(1);
    let blocks = setup.regions.iter().map(|region| region.bytes() / u64::from(unit)).min().unwrap_or(0);
    match list.iter().max() {
        Some(&block) if block >= blocks => Err(setup.error(format!(
            "random_distribution=sequence names block {block}, and the smallest region has {blocks} blocks; give \
             smaller numbers or a larger size="
        ))),
        _ => Ok(()),
    }
}

fn check_sprandom(setup: &LoadSetup<'_>, size: u64) -> Result<(), LoadError> {
    let Some(plan) = &setup.job.load.sprandom else { return Ok(()) };
    let (bytes, regions) = (plan.region_bytes(size), plan.regions);
    if bytes <= plan.cache_bytes || bytes < u64::from(setup.job.load.smallest()) {
        return Err(setup.error(format!(
            "sprandom's {regions} regions have {bytes} bytes each, which is not more than spr_cs or less than a block; \
             give a smaller spr_num_regions="
        )));
    }
    Ok(())
}

/// All targets of a worker, and the random streams that choose among their blocks.
#[derive(Clone, Debug)]
pub(super) struct Targets {
    pub(super) each: Vec<Target>,
    pub(super) draws: Draws,
    rules: Rules,
}

/// The random streams of a pass; restarted with each pass if the plan says so.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    pub(super) offset: Tausworthe,
    skewed: Random,
    size: Random,
    sequential: Random,
    /// Number of I/Os that still belong to the last random draw.
    of_draw: u32,
    /// Number of I/Os of each direction, in a job that goes by a list of blocks. It goes on over passes.
    listed: PerDirection<u64>,
}

/// The settings of all targets.
#[derive(Clone, Debug)]
struct Rules {
    random: bool,
    sizes: PerDirection<Sizes>,
    /// Sizes of I/Os that are sequential.
    sequential: PerDirection<Sizes>,
    /// Per direction: the block alignment if given, otherwise the smallest size. Offsets are multiples of it.
    units: PerDirection<u32>,
    percent_random: PerDirection<u8>,
    step: Step,
    /// True if a target that is used up starts over by itself.
    restarts: bool,
    /// True if sequential positions start over by themselves (the only target of a time-based job).
    wraps: bool,
    repeat: bool,
    seed: u64,
    number: u32,
    zones: ZoneUse,
    wide: bool,
    /// The blocks of a sequence, in turn.
    sequence: Option<Sequence>,
}

/// A list of blocks that all targets go by.
#[derive(Clone, Debug)]
struct Sequence {
    blocks: Box<[u64]>,
    /// Blocks between the starts of two rounds.
    stride: u64,
}

impl Sequence {
    fn of(plan: &LoadPlan) -> Option<Self> {
        let Distribution::Sequence(blocks) = &plan.distribution else { return None };
        let stride = if plan.sequence_strides { blocks.len() as u64 } else { 0 };
        plan.random.then(|| Sequence { blocks: blocks.as_slice().into(), stride })
    }

    /// The block of I/O `number`.
    fn block(&self, number: u64) -> u64 {
        let length = self.blocks.len() as u64;
        let place = usize::try_from(number % length).unwrap_or(usize::MAX);
        self.blocks.get(place).map_or(0, |block| block.saturating_add((number / length).saturating_mul(self.stride)))
    }
}

/// One target.
#[derive(Clone, Debug)]
pub(super) struct Target {
    start: u64,
    end: u64,
    /// Bytes of its region, of which a window is a part.
    whole_bytes: u64,
    reach: Reach,
    /// Start of the next sequential I/O of each direction.
    next: PerDirection<u64>,
    /// Start of the last I/O of each direction in this pass.
    last: PerDirection<Option<u64>>,
    /// Number of possible start positions for each direction.
    blocks: PerDirection<u64>,
    order: BlockOrder,
    key: u64,
    /// The block that was trimmed and is not written yet.
    trimmed: Option<(u64, u32)>,
    over: bool,
    zones: Option<Box<Zones>>,
}

/// Zones of a target.
#[expect(clippy::large_enum_variant, reason = "a target has a pointer to it")]
#[derive(Clone, Debug)]
enum Zones {
    /// Windows, and the order of blocks in the smaller window at the end (or in the other windows, while that one is in
    /// use).
    Strided { windows: Strided, tail: Option<(BlockOrder, PerDirection<u64>)>, in_tail: bool },
    /// The map, and the I/O that waits for its zone.
    Zoned(ZoneMap, Option<(Direction, Meant)>),
}

/// The method of choosing random blocks.
#[derive(Clone, Debug)]
pub(super) enum BlockOrder {
    /// Independent draws.
    Free,
    /// Each block once, by a permutation; `used` of them are used up.
    Permuted { permutation: Permutation, used: u64, blocks: u64 },
    /// Each block once, by a shift register.
    Register(Lfsr),
    /// Each block once, by a map because sizes differ; `unit` is the number of bytes per bit.
    Mapped { map: BlockMap, unit: u64 },
    /// A non-uniform distribution.
    Skewed(Skew),
    /// The blocks of the job's sequence.
    Listed,
    /// Writes that precondition an SSD.
    Sprandom(Box<Sprandom>),
}

/// The result of asking a target for a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// This range.
    Bytes { offset: u64, length: u32 },
    /// The target starts over: ask again.
    Restarted,
    /// Nothing is left in this pass.
    Over,
    /// Its zone is taken: ask again.
    Busy,
    /// First act on the zone that begins here. A trim has this length.
    Act { offset: u64, length: u32, action: ZoneAction },
}

fn exceeds_32_bits(plan: &LoadPlan, region: &Region) -> bool {
    region.bytes() / u64::from(plan.smallest()).max(1) > 1 << 32
}

/// True if a job that asks for 32-bit draws gets wider ones in this region, because of its number of blocks.
pub fn draws_wide(plan: &LoadPlan, region: &Region) -> bool {
    plan.random && plan.generator == Generator::Tausworthe && exceeds_32_bits(plan, region)
}

impl Targets {
    pub(super) fn new(setup: &LoadSetup<'_>) -> Result<Self, LoadError> {
        let plan = &setup.job.load;
        let seed = plan.seed.unwrap_or(setup.system_seed);
        let time_based = is_time_based(setup.job);
        let sizes = PerDirection::each(|direction| Sizes::new(&plan.block_size[direction], SizeSteps::of(plan)));
        let (sizes, sequential) = if plan.sizes_by_order {
            let PerDirection { read, write, .. } = sizes;
            (PerDirection::all(write), PerDirection::all(read))
        } else {
            (sizes.clone(), sizes)
        };
        let units = PerDirection::each(|direction| plan.align[direction].unwrap_or(sizes[direction].least()));
        let rules = Rules {
            random: plan.random,
            sizes,
            sequential,
            units,
            percent_random: plan.percent_random,
            step: plan.step,
            restarts: time_based,
            wraps: time_based && setup.regions.len() == 1,
            repeat: plan.repeat_per_loop,
            seed,
            number: setup.number,
            zones: zone_use(setup),
            wide: plan.generator == Generator::Tausworthe64
                || setup.regions.iter().any(|region| exceeds_32_bits(plan, region)),
            sequence: Sequence::of(plan),
        };
        let shared = setup.zones.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let each = (0u64..)
            .zip(setup.regions.iter().zip(shared))
            .map(|(index, (region, shared))| {
                let key = split_mix(stream_seed(seed, setup.number, Purpose::Permutation) ^ index);
                Target::new(plan, *region, shared, &rules, key)
            })
            .collect::<Result<Vec<Target>, NoMap>>();
        let each = each.map_err(|NoMap { blocks }| {
            setup.error(format!(
                "there is no memory for a random map of {blocks} blocks; use norandommap, softrandommap=1, or one \
                 block size"
            ))
        })?;
        Ok(Targets { each, draws: rules.draws(), rules })
    }

    /// The next I/O in `direction` on a target.
    #[inline]
    pub(super) fn take(&mut self, target: usize, direction: Direction) -> Offer {
        let Targets { each, draws, rules } = self;
        each[target].take(direction, draws, rules)
    }

    /// True if the random map of the only target has no block left.
    pub(super) fn only_is_used_up(&self) -> bool {
        matches!(&self.each[0].order, BlockOrder::Mapped { map, .. } if map.is_full())
    }

    /// The next random block of the only target, and its length; `None` if there is none.
    pub(super) fn draw_only(&mut self, direction: Direction) -> Option<(u64, u32)> {
        let Targets { each, draws, rules } = self;
        match each[0].take_random(direction, draws, rules) {
            Offer::Bytes { offset, length } => Some((offset, length)),
            _ => None,
        }
    }

    /// True if a pass over this target ends by itself; false if only an amount or a time ends it.
    pub(super) fn comes_to_an_end(&self, target: usize) -> bool {
        let (target, rules) = (&self.each[target], &self.rules);
        let drawn = match target.order {
            BlockOrder::Free | BlockOrder::Skewed(_) | BlockOrder::Listed => rules.random,
            BlockOrder::Permuted { .. } | BlockOrder::Register(_) | BlockOrder::Mapped { .. } => rules.restarts,
            BlockOrder::Sprandom(_) => true,
        };
        rules.step == Step::Plain && !drawn && !matches!(target.zones.as_deref(), Some(Zones::Strided { .. }))
    }

    /// Starts one target over while the others continue.
    pub(super) fn start_over(&mut self, target: usize) {
        let target = &mut self.each[target];
        target.begin_pass();
        target.renew_order();
    }

    /// Begins a new pass over all targets.
    pub(super) fn restart(&mut self) {
        if self.rules.repeat {
            self.draws = Draws { listed: self.draws.listed, ..self.rules.draws() };
        }
        for target in &mut self.each {
            target.begin_pass();
            if self.rules.repeat { target.repeat_order() } else { target.renew_order() }
        }
    }
}

impl Rules {
    /// Number of positions in a region of this size at which an I/O of each direction may start.
    fn blocks(&self, bytes: u64) -> PerDirection<u64> {
        PerDirection::each(|direction| {
            let room = bytes.checked_sub(u64::from(self.sizes[direction].least().max(1)));
            room.map_or(0, |room| room / u64::from(self.units[direction].max(1)) + 1)
        })
    }

    fn draws(&self) -> Draws {
        let seed = |purpose| stream_seed(self.seed, self.number, purpose);
        let offset = seed(Purpose::Offset);
        Draws {
            offset: if self.wide { Tausworthe::bits64(offset) } else { Tausworthe::bits32(offset) },
            skewed: Random::new(offset),
            size: Random::new(seed(Purpose::Size)),
            sequential: Random::new(seed(Purpose::Sequential)),
            of_draw: 0,
            listed: PerDirection::default(),
        }
    }
}

impl Target {
    fn new(
        plan: &LoadPlan,
        region: Region,
        shared: Option<&SharedZones>,
        rules: &Rules,
        key: u64,
    ) -> Result<Self, NoMap> {
        let (mut start, mut end) = (region.start, region.end.max(region.start));
        let whole_bytes = end - start;
        let zones = match plan.zones {
            ZonePlan::None => None,
            ZonePlan::Strided(strides) => {
                let mut windows = Strided::new(strides, start, end);
                let tail = match windows.tail() {
                    Some((start, end)) => {
                        let blocks = rules.blocks(end - start);
                        Some((BlockOrder::new(plan, end - start, blocks, rules, split_mix(key))?, blocks))
                    }
                    None => None,
                };
                (start, end) = windows.first();
                let in_tail = windows.is_last(end) && tail.is_some();
                Some(Zones::Strided { windows, tail, in_tail })
            }
            ZonePlan::Zoned(zoned) => {
                Some(Zones::Zoned(ZoneMap::new(zoned, start..end, plan.smallest(), shared, rules.zones), None))
            }
        };
        let blocks = rules.blocks(end - start);
        let order = BlockOrder::new(plan, end - start, blocks, rules, key)?;
        let next = PerDirection::all(start);
        let reach = region.reach;
        let zones = zones.map(Box::new);
        let last = PerDirection::default();
        let (trimmed, over) = (None, false);
        Ok(Target { start, end, whole_bytes, reach, next, last, blocks, order, key, trimmed, over, zones })
    }

    /// True if nothing is left of it in this pass.
    pub(super) const fn is_over(&self) -> bool {
        self.over
    }

    /// Bytes of its region.
    pub(super) const fn whole_bytes(&self) -> u64 {
        self.whole_bytes
    }

    pub(super) fn finish(&mut self) {
        self.over = true;
    }

    pub(super) fn order_mut(&mut self) -> &mut BlockOrder {
        &mut self.order
    }

    /// True if it had any I/O in this pass.
    pub(super) fn has_moved(&self) -> bool {
        Direction::ALL.into_iter().any(|direction| self.last[direction].is_some())
    }

    pub(super) fn has_trimmed(&self) -> bool {
        self.trimmed.is_some()
    }

    pub(super) fn remember_trimmed(&mut self, offset: u64, length: u32) {
        self.trimmed = Some((offset, length));
    }

    pub(super) fn position(&self, direction: Direction) -> u64 {
        self.next[direction]
    }

    pub(super) fn advance_to(&mut self, direction: Direction, position: u64) {
        self.next[direction] = position;
    }

    pub(super) const fn start(&self) -> u64 {
        self.start
    }

    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    fn take(&mut self, direction: Direction, draws: &mut Draws, rules: &Rules) -> Offer {
        if self.zones.is_some() {
            if let Some(meant) = self.waiting(direction) {
                let offer = Offer::Bytes { offset: meant.offset, length: meant.length };
                let offer = self.in_zone(offer, direction, meant.course);
                return self.moved_to(offer, direction);
            }
            self.enter_window();
        }
        let random = rules.random
            && rules.step.draws(&mut draws.of_draw)
            && match rules.percent_random[direction] {
                100.. => true,
                percent => draws.sequential.below(100) < u64::from(percent),
            };
        let offer = if random {
            self.take_random(direction, draws, rules)
        } else {
            match self.take_sequential(direction, draws, rules) {
                // A random job whose sequential run reached the end of the region continues at a random block.
                Offer::Over if rules.random => self.take_random(direction, draws, rules),
                Offer::Over if self.writes_remainder() && self.next[direction] < self.end => {
                    let offset = self.next[direction];
                    let length = u32::try_from(self.end - offset).unwrap_or(u32::MAX);
                    Offer::Bytes { offset, length }
                }
                offer => offer,
            }
        };
        let course = if random { Course::Random } else { Course::Sequential };
        let offer = if self.zones.is_some() { self.in_zone(offer, direction, course) } else { offer };
        if rules.sequence.is_some() {
            draws.listed[direction] += 1;
        }
        self.moved_to(offer, direction)
    }

    #[inline(always)]
    fn moved_to(&mut self, offer: Offer, direction: Direction) -> Offer {
        let end = match offer {
            Offer::Bytes { offset, length } => Some((offset, length)),
            Offer::Act { offset, length, action } if action.is_trim() => Some((offset, length)),
            _ => None,
        };
        if let Some((offset, length)) = end {
            self.next[direction] = offset + u64::from(length);
            self.last[direction] = Some(offset);
        }
        offer
    }

    /// The offset of a sequential I/O.
    fn following(&self, direction: Direction, step: Step) -> u64 {
        let next = self.next[direction];
        match (step, self.last[direction]) {
            (Step::Skip(bytes @ 0..), Some(_)) => next.saturating_add(bytes.unsigned_abs()),
            // A backward skip over the start continues from the end.
            (Step::Skip(bytes), Some(_)) => {
                let back = bytes.unsigned_abs();
                if next >= self.start.saturating_add(back) { next - back } else { self.end.saturating_sub(back) }
            }
            (Step::Repeat(_), Some(last)) => last,
            _ => next,
        }
    }

    /// True if a skip that leaves the target from before its end wraps to its start, as in fio. After a block at the
    /// very end the target is used up instead.
    fn comes_round(&self, direction: Direction, step: Step, offset: u64) -> bool {
        let skips = matches!(step, Step::Skip(0..)) && self.last[direction].is_some();
        skips && self.reach == Reach::Whole && self.next[direction] < self.end && offset >= self.end
    }

    fn take_sequential(&mut self, direction: Direction, draws: &mut Draws, rules: &Rules) -> Offer {
        let mut offset = self.following(direction, rules.step).max(self.start);
        if self.comes_round(direction, rules.step, offset) {
            offset = self.start;
        }
        match rules.sequential[direction].draw(&mut draws.size, self.end.saturating_sub(offset)) {
            Some(length) => Offer::Bytes { offset, length },
            None if self.window_comes_round() => {
                let length = rules.sequential[direction].draw(&mut draws.size, self.end - self.start);
                length.map_or(Offer::Over, |length| Offer::Bytes { offset: self.start, length })
            }
            None if rules.wraps
                && self.last[direction].is_some()
                && (offset >= self.end || rules.step != Step::Plain) =>
            {
                self.next[direction] = self.start;
                self.last[direction] = None;
                Offer::Restarted
            }
            None => Offer::Over,
        }
    }

    fn take_random(&mut self, direction: Direction, draws: &mut Draws, rules: &Rules) -> Offer {
        let size = self.end - self.start;
        let unit = u64::from(rules.units[direction]);
        let blocks = self.blocks[direction];
        if blocks == 0 {
            return Offer::Over;
        }
        let block = match &mut self.order {
            BlockOrder::Free => Some(draws.offset.below(blocks)),
            BlockOrder::Permuted { permutation, used, blocks } => (*used < *blocks).then(|| {
                *used += 1;
                permutation.at(*used - 1)
            }),
            BlockOrder::Register(register) => register.next_block(),
            BlockOrder::Skewed(skew) => Some(skew.draw(&mut draws.skewed, direction, blocks)),
            BlockOrder::Listed => {
                let block = rules.sequence.as_ref().map_or(0, |sequence| sequence.block(draws.listed[direction]));
                // With a stride, the first block outside ends the job.
                return self.block_at(direction, block, draws, rules);
            }
            BlockOrder::Sprandom(_) if direction != Direction::Write => Some(draws.offset.below(blocks)),
            BlockOrder::Sprandom(writes) => writes.next_block(),
            BlockOrder::Mapped { map, unit: bit } => {
                match take_mapped(map, *bit, size, unit, blocks, &rules.sizes[direction], draws) {
                    Some((offset, length)) => return Offer::Bytes { offset: self.start + offset, length },
                    None => None,
                }
            }
        };
        let Some(block) = block else {
            if self.window_comes_round() {
                self.renew_order();
                return self.take_random(direction, draws, rules);
            }
            return self.used_up(rules);
        };
        self.block_at(direction, block, draws, rules)
    }

    /// The offset of the next block of a distribution; the start if the order is another. All blocks have `length`
    /// bytes.
    #[inline]
    pub(super) fn skewed_offset(&mut self, direction: Direction, length: u32, draws: &mut Draws) -> u64 {
        let blocks = self.blocks[direction];
        match &mut self.order {
            BlockOrder::Skewed(skew) => {
                self.start + skew.draw(&mut draws.skewed, direction, blocks) * u64::from(length)
            }
            _ => self.start,
        }
    }

    fn block_at(&self, direction: Direction, block: u64, draws: &mut Draws, rules: &Rules) -> Offer {
        let offset = block.checked_mul(u64::from(rules.units[direction])).and_then(|at| at.checked_add(self.start));
        let Some(offset) = offset.filter(|&offset| offset < self.end) else { return Offer::Over };
        match rules.sizes[direction].draw(&mut draws.size, self.end - offset) {
            Some(length) => Offer::Bytes { offset, length },
            None => Offer::Over,
        }
    }

    fn used_up(&mut self, rules: &Rules) -> Offer {
        if !rules.restarts {
            return Offer::Over;
        }
        self.renew_order();
        Offer::Restarted
    }

    fn begin_pass(&mut self) {
        if let Some(Zones::Zoned(zones, waiting)) = self.zones.as_deref_mut() {
            zones.begin_pass();
            *waiting = None;
        }
        self.first_window();
        self.next = PerDirection::all(self.start);
        self.last = PerDirection::default();
        self.trimmed = None;
        self.over = false;
    }

    /// True if a window that is used up before its amount is reached starts over; the last window of the region does
    /// not.
    fn window_comes_round(&self) -> bool {
        match self.zones.as_deref() {
            Some(Zones::Strided { windows, .. }) => !windows.is_last(self.end) && self.end > self.start,
            _ => false,
        }
    }

    /// Moves to the next window when the current one has reached its amount.
    fn enter_window(&mut self) {
        let Some(Zones::Strided { windows, .. }) = self.zones.as_deref_mut() else { return };
        if let Some(window) = windows.next(self.start) {
            self.set_window(window.0, window.1);
            self.renew_order();
        }
    }

    fn first_window(&mut self) {
        if let Some(Zones::Strided { windows, .. }) = self.zones.as_deref_mut() {
            let window = windows.first();
            self.set_window(window.0, window.1);
        }
    }

    fn set_window(&mut self, start: u64, end: u64) {
        (self.start, self.end) = (start, end);
        self.next = PerDirection::all(start);
        self.last = PerDirection::default();
        let Some(Zones::Strided { windows, tail: Some(tail), in_tail }) = self.zones.as_deref_mut() else { return };
        if windows.is_last(end) != *in_tail {
            *in_tail = !*in_tail;
            std::mem::swap(&mut self.order, &mut tail.0);
            std::mem::swap(&mut self.blocks, &mut tail.1);
        }
    }

    /// Starts the same order of blocks again.
    fn repeat_order(&mut self) {
        match &mut self.order {
            BlockOrder::Permuted { used, .. } => *used = 0,
            BlockOrder::Register(register) => register.restart(),
            BlockOrder::Mapped { map, .. } => map.clear(),
            BlockOrder::Sprandom(writes) => writes.restart(),
            BlockOrder::Free | BlockOrder::Skewed(_) | BlockOrder::Listed => {}
        }
    }

    /// Starts another order of all blocks, if the method has one.
    fn renew_order(&mut self) {
        if let BlockOrder::Permuted { permutation, blocks, .. } = &mut self.order {
            self.key = split_mix(self.key);
            *permutation = Permutation::new(*blocks, self.key);
        }
        self.repeat_order();
    }
}

impl BlockOrder {
    fn new(
        plan: &LoadPlan,
        size: u64,
        by_direction: PerDirection<u64>,
        rules: &Rules,
        key: u64,
    ) -> Result<Self, NoMap> {
        let unit = plan.smallest();
        let blocks = size / u64::from(unit);
        if !plan.random {
            return Ok(BlockOrder::Free);
        }
        if let Some(sprandom) = &plan.sprandom {
            let unit = plan.block_size.write.smallest().max(1);
            return Ok(BlockOrder::Sprandom(Box::new(Sprandom::new(sprandom, size / u64::from(unit), unit, key))));
        }
        if rules.sequence.is_some() {
            return Ok(BlockOrder::Listed);
        }
        if let Some(skew) = Skew::new(&plan.distribution, by_direction, rules.units, key) {
            return Ok(BlockOrder::Skewed(skew));
        }
        // A register enumerates blocks; with a larger alignment (blockalign) positions are drawn instead.
        let register = plan.generator == Generator::Lfsr
            && plan.step == Step::Plain
            && blocks <= lfsr::BLOCKS_MAX
            && plan.sized_by().all(|direction| rules.units[direction] == unit);
        Ok(match single_size(plan) {
            Some(_) if register => BlockOrder::Register(Lfsr::new(blocks, key)),
            // The blocks that follow a draw may overlap others, so no map can be kept.
            _ if !plan.cover_all || plan.step != Step::Plain => BlockOrder::Free,
            // A write that a zone has no room for is shorter than the blocks that a map would take for it, so the zones
            // would not be filled.
            None if matches!(plan.zones, ZonePlan::Zoned(_)) && plan.mix.contains(Direction::Write) => BlockOrder::Free,
            Some(_) => BlockOrder::Permuted { permutation: Permutation::new(blocks, key), used: 0, blocks },
            None => match BlockMap::new(blocks) {
                Some(map) => BlockOrder::Mapped { map, unit: u64::from(unit) },
                None if plan.soft_map => BlockOrder::Free,
                None => return Err(NoMap { blocks }),
            },
        })
    }
}

/// A map of this number of blocks does not fit into memory.
#[derive(Clone, Copy, Debug)]
struct NoMap {
    blocks: u64,
}

/// The frequency of random draws.
trait Rhythm {
    /// True if the next I/O is a new draw; `of_draw` counts the I/Os that still belong to the last one.
    fn draws(self, of_draw: &mut u32) -> bool;
}

impl Rhythm for Step {
    #[inline]
    fn draws(self, of_draw: &mut u32) -> bool {
        let (Step::Run(length) | Step::Repeat(length)) = self else { return true };
        if *of_draw == 0 {
            *of_draw = length.saturating_sub(1);
            return true;
        }
        *of_draw -= 1;
        false
    }
}

/// A free block, with as many bytes as are free after it, up to the drawn size.
fn take_mapped(
    map: &mut BlockMap,
    bit: u64,
    size: u64,
    unit: u64,
    blocks: u64,
    sizes: &Sizes,
    draws: &mut Draws,
) -> Option<(u64, u32)> {
    let drawn = draws.offset.below(blocks) * unit / bit;
    let free = map.next_free(drawn)?;
    let offset = free * bit;
    let wanted = sizes.draw(&mut draws.size, size - offset).map_or(size - offset, u64::from);
    let bits = map.free_run(free, wanted.div_ceil(bit));
    map.take(free, bits);
    Some((offset, u32::try_from(wanted.min(bits * bit)).unwrap_or(u32::MAX)))
}

/// The size of all I/Os, if there is only one.
pub(super) fn single_size(plan: &LoadPlan) -> Option<u32> {
    let mut sizes = plan.sized_by().map(|direction| Sizes::new(&plan.block_size[direction], SizeSteps::of(plan)));
    let Some(Sizes::Fixed(first)) = sizes.next() else { return None };
    sizes.all(|sizes| matches!(sizes, Sizes::Fixed(size) if size == first)).then_some(first)
}
