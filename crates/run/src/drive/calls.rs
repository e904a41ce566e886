//! What the worker's loop calls of an engine: directly, or through a pointer.
//!
//! A loop for each engine took 2.4 MB of the program; with one for the engines that people compare
//! ([`Engine::OWN_LOOP`]) and one for all others it is 0.8 MB. Calls through a pointer cost 28 instructions more per
//! I/O (callgrind, a record of iozone with the engine sync: 302 instead of 274).

use engine::{Completion, Engine, EngineClock, EngineError, Io, Submitted};
use measure::Nanos;
use plan::EngineSpec;
use sys::processes::usage::Usage;

/// Declares the trait with the methods of [`Engine`] that are listed, for every engine and for a pointer to one.
macro_rules! calls {
    ($($name:ident(& $($mutable:ident)? $(, $argument:ident: $type:ty)*) -> $out:ty;)+) => {
        /// The methods of [`Engine`] that the loop calls.
        pub(super) trait Calls {
            /// [`Engine::Clock`].
            type Clock: EngineClock;

            /// [`Engine::SPEC`]; a constant in a loop that only this engine uses.
            fn spec(&self) -> &'static EngineSpec;

            $(fn $name(& $($mutable)? self $(, $argument: $type)*) -> $out;)+
        }

        impl<E: Engine> Calls for E {
            type Clock = E::Clock;

            #[inline(always)]
            fn spec(&self) -> &'static EngineSpec {
                const { &E::SPEC }
            }

            $(#[inline(always)]
            fn $name(& $($mutable)? self $(, $argument: $type)*) -> $out {
                Engine::$name(self $(, $argument)*)
            })+
        }

        impl<C: EngineClock> Calls for Box<dyn Calls<Clock = C>> {
            type Clock = C;

            fn spec(&self) -> &'static EngineSpec {
                (**self).spec()
            }

            $(fn $name(& $($mutable)? self $(, $argument: $type)*) -> $out {
                (**self).$name($($argument),*)
            })+
        }
    };
}

calls! {
    submit(&mut, io: Io) -> Submitted;
    flush(&mut) -> Result<u32, EngineError>;
    reap(&mut, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError>;
    reap_within(&mut, longest: Nanos, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError>;
    flush_and_reap(&mut, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<(u32, u32), EngineError>;
    is_over(&) -> bool;
    rest_after(&) -> Nanos;
    made_call(&) -> bool;
    priorities(&) -> &[u16];
    priority_of(&, slot: u32) -> usize;
    kernel_cpu(&) -> Option<Nanos>;
    stamps(&, slot: u32) -> Option<(Nanos, Nanos)>;
    helpers_usage(&) -> Option<Usage>;
    note(&) -> Option<String>;
}
