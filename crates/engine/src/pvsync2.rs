//! `pvsync2`: one preadv2(2) or pwritev2(2) per I/O, with flags from the options.

use crate::call::{self, Transfer};
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted, descriptors};
use crate::kernel_version::of_this_kernel;
use crate::polling;
use crate::psync::SYNCHRONOUS;
use measure::{SplitMix, SystemClock};
use plan::option::{Effect, OptionSpec};
use plan::{Capabilities, EngineSpec, options};
use std::os::fd::RawFd;

/// The preadv2(2) and pwritev2(2) engine.
#[derive(Debug)]
pub(crate) struct Pvsync2 {
    slots: Slots,
    descriptors: Box<[RawFd]>,
    /// RWF_* flags of reads.
    read_flags: i32,
    /// RWF_* flags of writes.
    write_flags: i32,
    polled: Polled,
}

/// I/Os that are polled (RWF_HIPRI).
#[derive(Debug)]
enum Polled {
    All,
    None,
    /// A random fraction of them, 0 to 1.
    Share(f64, SplitMix),
}

impl Engine for Pvsync2 {
    type Clock = SystemClock;

    const OWN_LOOP: bool = true;

    const SPEC: EngineSpec = EngineSpec {
        name: "pvsync2",
        help: "preadv2(2) and pwritev2(2), with flags",
        capabilities: Capabilities { atomic_writes: true, ..SYNCHRONOUS },
        options: OPTIONS,
    };

    fn remark(&self) -> Option<String> {
        if matches!(self.polled, Polled::None) { None } else { polling::without_queue(of_this_kernel()) }
    }

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let options = setup.options;
        let flag = |name: &str, flag: i32| if options.is_on(name) { flag } else { 0 };
        let polled = match (options.is_on("hipri"), options.integer("hipri_percentage").unwrap_or(100)) {
            (false, _) | (true, ..=0) => Polled::None,
            (true, 100..) => Polled::All,
            (true, percent) => Polled::Share(percent as f64 / 100.0, SplitMix::new(1)),
        };
        let flags = flag("nowait", libc::RWF_NOWAIT) | flag("uncached", libc::RWF_DONTCACHE);
        Ok(Pvsync2 {
            slots: Slots::new(&setup),
            descriptors: descriptors(setup.targets),
            read_flags: flags,
            write_flags: call::write_flags(&setup.job, flags),
            polled,
        })
    }

    #[inline(always)]
    fn submit(&mut self, io: Io) -> Submitted {
        let descriptor = self.descriptors[io.target as usize];
        let transfer = |slots: &Slots| Transfer { descriptor, address: slots.address(&io), length: io.length as usize };
        let result = match io.operation {
            Operation::Read => {
                let flags = self.read_flags | self.polling();
                // SAFETY: the slot's buffer is the worker's until the engine is dropped and nothing else uses it while
                // this I/O is in flight, that is until this call returns (contract of Setup and Io).
                unsafe { transfer(&self.slots).read_vector_as(io.offset, flags) }
            }
            Operation::Write => {
                let flags = self.write_flags | self.polling();
                // SAFETY: as for the read.
                unsafe { transfer(&self.slots).write_vector_as(io.offset, flags) }
            }
            _ => call::without_data(descriptor, &io),
        };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

impl Pvsync2 {
    #[inline(always)]
    fn polling(&mut self) -> i32 {
        let polled = match &mut self.polled {
            Polled::None => false,
            Polled::All => true,
            Polled::Share(share, random) => random.fraction() < *share,
        };
        if polled { libc::RWF_HIPRI } else { 0 }
    }
}

const OPTIONS: &[OptionSpec] = options! {
    "hipri": FLAG, "0" => with(Effect::Polls); "RWF_HIPRI: poll the device for the completion";
    "hipri_percentage": between(0, 100), "100"; "Share of I/Os that hipri polls, in percent";
    "nowait": BOOL, "0"; "RWF_NOWAIT: an I/O that would block ends with EAGAIN";
    "uncached": BOOL, "0"; "RWF_DONTCACHE: buffered I/O that leaves nothing in the page cache";
};
