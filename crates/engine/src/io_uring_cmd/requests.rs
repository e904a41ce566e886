//! Makes the commands of a job's I/Os, with their metadata.

use super::command::{
    COMPARE, Command, DATASET_MANAGEMENT, DEALLOCATE, FLUSH, READ, Range, WRITE, WRITE_UNCORRECTABLE, ZONE_APPEND,
    halves,
};
use super::namespace::{Format, Namespace};
use super::placement::Placement;
use super::protection::ACT;
use super::settings::{Settings, Transfer};
use crate::contract::{Io, Operation, Setup, Slots};
use std::os::fd::RawFd;

/// Makes the commands of one job.
#[derive(Debug)]
pub(super) struct Requests {
    slots: Slots,
    settings: Settings,
    transfer: Transfer,
    /// Reads compare what the buffer holds with the medium (`verify_mode=compare`).
    compares: bool,
    placement: Option<Placement>,
    /// Namespaces of the targets, with the format that is transferred.
    namespaces: Box<[Namespace]>,
    /// Sizes of the zones of the targets.
    zones: Box<[Option<u64>]>,
    /// By slot: first block of the zone of an append.
    appended: Box<[Option<u64>]>,
    /// By slot: Dataset Management range of a trim, iovec of a transfer, and metadata.
    ranges: Box<[Range]>,
    vectors: Box<[libc::iovec]>,
    metadata: Metadata,
}

/// Memory of metadata that are not in the buffers of data.
#[derive(Debug)]
struct Metadata {
    words: Box<[u64]>,
    /// Words of a slot.
    stride: usize,
}

impl Metadata {
    fn address(&mut self, slot: u32) -> *mut u8 {
        self.words.as_mut_ptr().wrapping_add(slot as usize * self.stride).cast()
    }
}

impl Requests {
    /// `Err` is the reason why the commands cannot be made for these namespaces.
    pub(super) fn new<C>(setup: &Setup<'_, C>, targets: &[(RawFd, Namespace)]) -> Result<Requests, String> {
        let settings = Settings::of(setup.options)?;
        let zones: Box<[Option<u64>]> = setup.targets.iter().map(|target| target.zone_size).collect();
        if settings.writes.append() && (zones.is_empty() || zones.contains(&None)) {
            return Err("write_mode=zone_append needs a zoned namespace and zonemode=zbd".to_owned());
        }
        let placement = setup.job.placement.map(|plan| Placement::of(plan, targets)).transpose()?;
        let transferred =
            |namespace: Namespace| Namespace { format: namespace.format.transferred(settings.act), ..namespace };
        let namespaces: Box<[Namespace]> = targets.iter().map(|(_, namespace)| transferred(*namespace)).collect();
        for format in namespaces.iter().map(|namespace| namespace.format) {
            enough_metadata(format, settings.metadata, setup.buffer_stride)?;
        }
        let (depth, stride) = (setup.depth as usize, settings.metadata.div_ceil(8) as usize);
        let no_vector = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Ok(Requests {
            slots: Slots::new(setup),
            settings,
            transfer: Transfer::of(setup.options),
            compares: setup.options.text("verify_mode") == Some("compare"),
            placement,
            namespaces,
            zones,
            appended: vec![None; depth].into(),
            ranges: vec![Range::default(); depth].into(),
            vectors: vec![no_vector; depth].into(),
            metadata: Metadata { words: vec![0; depth * stride].into(), stride },
        })
    }

    /// Way of data to the kernel.
    pub(super) fn transfer(&self) -> Transfer {
        self.transfer
    }

    /// The command of an I/O, and whether its address is that of an iovec; `None` if it is not made of whole blocks.
    pub(super) fn command(&mut self, io: &Io) -> Option<(Command, bool)> {
        let namespace = self.namespaces[io.target as usize];
        let base = Command { namespace: namespace.number, ..Command::default() };
        if matches!(io.operation, Operation::Sync | Operation::DataSync) {
            return Some((Command { operation: FLUSH, ..base }, false));
        }
        let (start, blocks) = range_of(io, namespace.format)?;
        if io.operation == Operation::Trim {
            let range = &mut self.ranges[io.slot as usize];
            *range = Range { attributes: 0, blocks, start };
            let address = std::ptr::from_mut(range).expose_provenance() as u64;
            let words = [0, DEALLOCATE, 0, 0, 0, 0];
            return Some((Command { operation: DATASET_MANAGEMENT, address, length: 16, words, ..base }, false));
        }
        self.appended[io.slot as usize] = None;
        let (operation, mut flags) = match io.operation {
            Operation::Write => self.settings.writes.next(),
            _ => (if self.compares { COMPARE } else { READ }, self.settings.read_flags),
        };
        let (mut placed, mut reference, mut tags) = (0, 0, 0);
        if let Some(placement) = self.placement.as_mut().filter(|_| operation == WRITE) {
            let (directive, identifier) = placement.next(io.target as usize, io.offset);
            (flags, placed) = (flags | directive, identifier);
        }
        // As fio: a device ignores it in a namespace without protection information.
        flags |= if self.settings.act { ACT } else { 0 };
        if let Some(protection) = namespace.format.protection.filter(|_| operation != WRITE_UNCORRECTABLE) {
            flags |= self.settings.protection_flags();
            reference = protection.reference(start);
            tags = u32::from(self.settings.tags.mask) << 16 | u32::from(self.settings.tags.application);
        }
        let zone = self.zones.get(io.target as usize).copied().flatten().filter(|_| operation == ZONE_APPEND);
        let zone = zone.map(|size| (io.offset - io.offset % size) / u64::from(namespace.format.block()));
        self.appended[io.slot as usize] = zone;
        let [low, high] = halves(zone.unwrap_or(start));
        let command = Command { operation, words: [low, high, (blocks - 1) | flags, placed, reference, tags], ..base };
        if !matches!(operation, WRITE | READ | COMPARE | ZONE_APPEND) {
            return Some((command, false));
        }
        if operation != READ {
            self.sign(io, namespace.format, start);
        }
        Some(self.with_memory(io, command, blocks * namespace.format.separate()))
    }

    /// The command with the memory of an I/O: of its data, and of this number of bytes of metadata.
    fn with_memory(&mut self, io: &Io, command: Command, metadata_length: u32) -> (Command, bool) {
        let vectored = self.transfer == Transfer::Vectored;
        let data = self.slots.vector(io);
        let (address, length) = if vectored {
            let vector = &mut self.vectors[io.slot as usize];
            *vector = data;
            (std::ptr::from_mut(vector).expose_provenance(), 1)
        } else {
            (data.iov_base.expose_provenance(), io.length)
        };
        let metadata = if metadata_length > 0 { self.metadata.address(io.slot).expose_provenance() } else { 0 };
        let (address, metadata) = (address as u64, metadata as u64);
        (Command { address, length, metadata, metadata_length, ..command }, vectored)
    }

    /// Writes the protection information of an I/O, unless the device does.
    fn sign(&mut self, io: &Io, format: Format, start: u64) {
        let Some(protection) = format.protection.filter(|_| !self.settings.act) else { return };
        let tags = self.settings.tags;
        self.each_block(io, format, |at, data, metadata| {
            protection.sign(tags, start + at, data, metadata);
            true
        });
    }

    /// True if the protection information of a read is right, or was checked by the device alone; of an append, if the
    /// block where the device has put it is in its zone.
    pub(super) fn holds(&mut self, io: &Io, place: u64) -> bool {
        if let Some(zone) = self.appended[io.slot as usize].take() {
            let size = self.zones[io.target as usize].unwrap_or(0);
            let blocks = size / u64::from(self.namespaces[io.target as usize].format.block());
            return (zone..zone + blocks).contains(&place);
        }
        let format = self.namespaces[io.target as usize].format;
        let Some(protection) = format.protection.filter(|_| !self.settings.act) else { return true };
        if io.operation != Operation::Read || self.compares {
            return true;
        }
        let (tags, Some((start, _))) = (self.settings.tags, range_of(io, format)) else { return true };
        self.each_block(io, format, |at, data, metadata| protection.holds(tags, start + at, data, metadata))
    }

    /// Calls `visit` with number, data and metadata of each block of an I/O; false as soon as that is.
    fn each_block(
        &mut self,
        io: &Io,
        format: Format,
        mut visit: impl FnMut(u64, &mut [u8], &mut [u8]) -> bool,
    ) -> bool {
        let (data, metadata) = (format.data as usize, format.metadata as usize);
        // SAFETY: the memory is part of the slot's buffer, which is the worker's until the engine is dropped and which
        // nothing else uses between the preparation of this I/O and its completion.
        let buffer = unsafe { std::slice::from_raw_parts_mut(self.slots.address(io), io.length as usize) };
        if format.extended {
            let mut blocks = buffer.chunks_exact_mut(data + metadata).map(|block| block.split_at_mut(data));
            return (0..).zip(&mut blocks).all(|(at, (data, metadata))| visit(at, data, metadata));
        }
        let length = io.length as usize / data * metadata;
        // SAFETY: `enough_metadata` has made sure that a slot has memory for the metadata of the largest I/O; the device
        // is not using it, as above.
        let memory = unsafe { std::slice::from_raw_parts_mut(self.metadata.address(io.slot), length) };
        let mut blocks = buffer.chunks_exact_mut(data).zip(memory.chunks_exact_mut(metadata));
        (0..).zip(&mut blocks).all(|(at, (data, metadata))| visit(at, data, metadata))
    }
}

/// First block and blocks of an I/O; `None` if it is not made of whole ones.
fn range_of(io: &Io, format: Format) -> Option<(u64, u32)> {
    let block = format.block();
    let whole = io.length > 0 && io.offset.is_multiple_of(u64::from(block)) && io.length.is_multiple_of(block);
    whole.then(|| (io.offset / u64::from(block), io.length / block))
}

/// Says what is missing for the metadata of the largest I/O.
fn enough_metadata(format: Format, given: u32, largest: usize) -> Result<(), String> {
    let wanted = largest as u64 / u64::from(format.data) * u64::from(format.separate());
    if u64::from(given) >= wanted {
        return Ok(());
    }
    Err(format!("has {} bytes of metadata per block of {}; give md_per_io_size={wanted}", format.metadata, format.data))
}

#[cfg(test)]
mod tests {
    use super::super::protection::{CHECK_GUARD, Protection};
    use super::*;
    use crate::contract::JobFacts;
    use measure::SystemClock;
    use plan::EngineOptions;
    use plan::option::Value;

    const BLOCK: Format = Format { data: 4096, metadata: 0, extended: false, protection: None };

    fn io(operation: Operation, offset: u64, length: u32) -> Io {
        Io { slot: 0, operation, target: 0, offset, length, buffer_offset: 0 }
    }

    /// The maker of commands for a namespace of this format, with a buffer of 64 KiB.
    fn requests(format: Format, values: &[(&'static str, Value)]) -> Result<Requests, String> {
        let mut options = EngineOptions::default();
        values.iter().for_each(|(name, value)| options.set(name, value.clone()));
        let buffer: &'static mut [u64] = vec![0; 8192].leak();
        let setup = Setup {
            options: &options,
            job: JobFacts::default(),
            targets: &[],
            depth: 1,
            buffers: buffer.as_mut_ptr().cast(),
            buffer_stride: 65536,
            clock: SystemClock::start(),
        };
        Requests::new(&setup, &[(-1, Namespace { number: 3, format })])
    }

    #[test]
    fn a_command_names_first_block_and_block_count_less_one() {
        let mut plain = requests(BLOCK, &[("writefua", Value::Flag(true))]).unwrap();
        let offset = (1_u64 << 32 | 5) * 4096;
        let (read, vectored) = plain.command(&io(Operation::Read, offset, 8192)).unwrap();
        let bytes = read.bytes();
        assert_eq!((bytes[0], bytes[4], vectored), (2, 3, false));
        assert_eq!(bytes[36..40], 8192_u32.to_le_bytes());
        assert_eq!([5_u32, 1, 1 | ACT].map(u32::to_le_bytes).concat(), bytes[40..52]);
        let (write, _) = plain.command(&io(Operation::Write, 0, 4096)).unwrap();
        assert_eq!((write.operation, write.words[2]), (1, 1 << 30 | ACT));
    }

    #[test]
    fn an_append_names_its_zone_and_must_be_in_it() {
        let append = [("write_mode", Value::Text("zone_append".into()))];
        assert!(requests(BLOCK, &append).unwrap_err().contains("zonemode=zbd"));
        let mut plain = requests(BLOCK, &[("writefua", Value::Flag(true))]).unwrap();
        plain.settings = Settings::of(&{
            let mut options = EngineOptions::default();
            options.set("write_mode", append[0].1.clone());
            options
        })
        .unwrap();
        plain.zones = [Some(1 << 20)].into();
        let write = io(Operation::Write, (3 << 20) + 8192, 4096);
        let (command, _) = plain.command(&write).unwrap();
        assert_eq!((command.operation, command.words[0], command.length), (0x7d, 3 << 8, 4096));
        assert!(plain.holds(&write, (3 << 8) + 255), "the last block of the zone");
        plain.command(&write).unwrap();
        assert!(!plain.holds(&write, 4 << 8), "the next zone");
    }

    #[test]
    fn a_trim_points_to_its_range_and_a_flush_to_nothing() {
        let mut plain = requests(BLOCK, &[]).unwrap();
        let (trim, _) = plain.command(&io(Operation::Trim, 8192, 65536)).unwrap();
        assert_eq!((trim.operation, trim.length, trim.words[1]), (9, 16, 4));
        assert_eq!(plain.ranges[0], Range { attributes: 0, blocks: 16, start: 2 });
        assert_eq!(trim.address, std::ptr::from_ref(&plain.ranges[0]).addr() as u64);
        let (flush, _) = plain.command(&io(Operation::Sync, 0, 0)).unwrap();
        assert_eq!(flush, Command { namespace: 3, ..Command::default() });
    }

    #[test]
    fn what_is_not_whole_blocks_is_not_a_command() {
        let mut plain = requests(BLOCK, &[]).unwrap();
        for (offset, length) in [(512, 4096), (0, 512), (0, 0)] {
            assert_eq!(plain.command(&io(Operation::Read, offset, length)), None);
        }
    }

    #[test]
    fn an_iovec_stands_for_the_data_and_zeroes_have_none() {
        let mut vectored = requests(BLOCK, &[("nonvectored", Value::Integer(0))]).unwrap();
        let (read, is_vectored) = vectored.command(&io(Operation::Read, 0, 8192)).unwrap();
        assert_eq!((is_vectored, read.length, vectored.vectors[0].iov_len), (true, 1, 8192));
        let mut zeroes =
            requests(BLOCK, &[("write_mode", Value::Text("zeroes".into())), ("deac", Value::Flag(true))]).unwrap();
        let (write, _) = zeroes.command(&io(Operation::Write, 0, 8192)).unwrap();
        assert_eq!((write.operation, write.address, write.length, write.words[2]), (8, 0, 0, 1 | 1 << 25 | ACT));
    }

    #[test]
    fn metadata_are_signed_and_checked_unless_the_device_does() {
        let protection = Some(Protection { kind: 1, first: true });
        let format = Format { metadata: 8, protection, ..BLOCK };
        let values = |act: bool| {
            let checks = Value::Text("GUARD,REFTAG".into());
            vec![("pi_act", Value::Flag(act)), ("pi_chk", checks), ("md_per_io_size", Value::Integer(128))]
        };
        let (write, read) = (io(Operation::Write, 8192, 8192), io(Operation::Read, 8192, 8192));
        for extended in [false, true] {
            let format = Format { extended, ..format };
            let block = format.block();
            let (write, read) = if extended {
                (
                    io(Operation::Write, 2 * u64::from(block), 2 * block),
                    io(Operation::Read, 2 * u64::from(block), 2 * block),
                )
            } else {
                (write, read)
            };
            let mut own = requests(format, &values(false)).unwrap();
            let (command, _) = own.command(&write).unwrap();
            assert_eq!(command.words, [2, 0, 1 | 5 << 26, 0, 2, 0xffff_1234]);
            assert_eq!(command.metadata_length, if extended { 0 } else { 16 });
            assert!(own.holds(&read, 0));
            assert!(!own.holds(&Io { offset: 0, ..read }, 0), "other blocks have other tags");
        }
        let mut devices = requests(format, &values(true)).unwrap();
        let (command, _) = devices.command(&write).unwrap();
        assert_eq!((command.metadata_length, command.words[2] & ACT), (0, ACT));
        assert!(command.words[2] & CHECK_GUARD != 0 && devices.holds(&read, 0));
    }

    #[test]
    fn missing_memory_for_metadata_is_named_with_its_size() {
        let format = Format { metadata: 64, ..BLOCK };
        assert!(requests(format, &[]).unwrap_err().contains("md_per_io_size=1024"));
        assert!(requests(format, &[("md_per_io_size", Value::Integer(1024))]).is_ok());
        assert!(requests(Format { extended: true, ..format }, &[]).is_ok());
    }
}
