//! The one list of engines. Everything that must know them all goes through it.

use crate::contract::Engine;
use job::EngineSpec;

/// Something to be done with an engine's type, chosen by its name: the worker's loop, compiled once per engine.
pub trait Visitor {
    /// What comes out.
    type Out;
    /// Does it.
    fn visit<E: Engine>(self) -> Self::Out;
}

macro_rules! engines {
    ($($engine:ty),+ $(,)?) => {
        /// Every engine, for parser, help and docs.
        pub const ENGINES: &[EngineSpec] = &[$(<$engine as Engine>::SPEC),+];

        /// Calls `visitor` with the type of the engine called `name`; `None` when there is no such engine.
        pub fn dispatch<V: Visitor>(name: &str, visitor: V) -> Option<V::Out> {
            $(if name == <$engine as Engine>::SPEC.name {
                return Some(visitor.visit::<$engine>());
            })+
            None
        }
    };
}

engines! {
    crate::sync::Sync,
    crate::psync::Psync,
    crate::vsync::Vsync,
    crate::pvsync::Pvsync,
    crate::pvsync2::Pvsync2,
    crate::mmap::Mmap,
    crate::posixaio::PosixAio,
    crate::libaio::Libaio,
    crate::io_uring::IoUring,
    crate::io_uring_cmd::IoUringCmd,
    crate::splice::Splice,
    crate::net::Net,
    crate::net::NetSplice,
    crate::falloc::Falloc,
    crate::ftruncate::Ftruncate,
    crate::e4defrag::E4Defrag,
    crate::names::Names<crate::names::MakeFile>,
    crate::names::Names<crate::names::StatFile>,
    crate::names::Names<crate::names::RemoveFile>,
    crate::names::Names<crate::names::MakeDirectory>,
    crate::names::Names<crate::names::StatDirectory>,
    crate::names::Names<crate::names::RemoveDirectory>,
    crate::page_fault::PageFault,
    crate::sg::Sg,
    crate::mtd::Mtd,
    crate::cpuio::Cpuio,
    crate::exec::Exec,
    crate::null::Null,
    crate::sim::Sim,
}
