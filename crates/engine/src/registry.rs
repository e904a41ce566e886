//! The list of all engines, used by everything that needs every engine.

use crate::contract::Engine;
use crate::io_uring::SharedRing;
use crate::null::SharedNull;
use crate::turns::{Lane, SharedQueue};
use plan::EngineSpec;

/// An operation on the type of an engine that is selected by name, such as the worker loop, which is compiled once per
/// engine.
///
/// ```
/// use engine::{ENGINES, Engine, Visitor, dispatch};
///
/// struct Stamps;
/// impl Visitor for Stamps {
///     type Out = bool;
///     fn visit<E: Engine>(self) -> bool {
///         E::STAMPS
///     }
/// }
/// assert!(ENGINES.iter().any(|spec| spec.name == "io_uring"));
/// assert_eq!(dispatch("psync", Stamps), Some(false));
/// assert_eq!(dispatch("warp", Stamps), None);
/// ```
pub trait Visitor {
    /// Result of the operation.
    type Out;
    /// Runs the operation.
    fn visit<E: Engine>(self) -> Self::Out;
}

macro_rules! engines {
    (jobs { $($engine:ty),+ $(,)? } calibration { $($inner:ty),+ $(,)? }) => {
        /// Specifications of all engines of jobs, for parsing, help and documentation.
        pub const ENGINES: &[EngineSpec] = &[$(<$engine as Engine>::SPEC),+];

        /// Specifications of the engines of the calibration, which no job can name.
        const OF_CALIBRATION: &[EngineSpec] = &[$(<$inner as Engine>::SPEC),+];

        /// Calls `visitor` with the type of the engine `name`, one of the calibration included; `None` if there is no
        /// such engine.
        pub fn dispatch<V: Visitor>(name: &str, visitor: V) -> Option<V::Out> {
            $(if name == <$engine as Engine>::SPEC.name {
                return Some(visitor.visit::<$engine>());
            })+
            $(if name == <$inner as Engine>::SPEC.name {
                return Some(visitor.visit::<$inner>());
            })+
            None
        }
    };
}

/// As [`dispatch`], with the type of a job's part of the queue that the jobs of its thread share; `None` if no queue of
/// this engine can be shared.
pub fn dispatch_shared<V: Visitor>(name: &str, visitor: V) -> Option<V::Out> {
    match name {
        _ if name == SharedRing::SPEC.name => Some(visitor.visit::<Lane<SharedRing>>()),
        _ if name == SharedNull::SPEC.name => Some(visitor.visit::<Lane<SharedNull>>()),
        _ => None,
    }
}

/// Name, help, capabilities and options of the engine `name`, one of the calibration included.
pub fn spec(name: &str) -> Option<&'static EngineSpec> {
    ENGINES.iter().chain(OF_CALIBRATION).find(|engine| engine.name == name)
}

engines! {
jobs {
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
    crate::names::Names<0>,
    crate::names::Names<1>,
    crate::names::Names<2>,
    crate::names::Names<3>,
    crate::names::Names<4>,
    crate::names::Names<5>,
    crate::page_fault::PageFault,
    crate::sg::Sg,
    crate::mtd::Mtd,
    crate::cpuio::Cpuio,
    crate::exec::Exec,
    crate::null::Null,
    crate::sim::Sim,
}
calibration {
    crate::io_uring::Nops,
    crate::io_uring::Timeouts,
    crate::nothing::EmptyReads,
    crate::nothing::Sleeps<measure::SystemClock>,
    crate::nothing::Sleeps<measure::VirtualClock>,
}
}

/// Names of the engines of the calibration, and of their options.
pub mod calibration {
    use super::Engine;
    /// NOPs through a ring.
    pub const NOPS: &str = <crate::io_uring::Nops as Engine>::SPEC.name;
    /// Timeouts of a ring.
    pub const TIMEOUTS: &str = <crate::io_uring::Timeouts as Engine>::SPEC.name;
    /// System calls that do nothing.
    pub const EMPTY_READS: &str = <crate::nothing::EmptyReads as Engine>::SPEC.name;
    /// Sleeps in real time.
    pub const SLEEPS: &str = <crate::nothing::Sleeps<measure::SystemClock> as Engine>::SPEC.name;
    /// Sleeps in virtual time.
    pub const VIRTUAL_SLEEPS: &str = <crate::nothing::Sleeps<measure::VirtualClock> as Engine>::SPEC.name;
    pub use crate::nothing::{AFTER_NS, SPIN_NS};
}
