//! What the options ask of commands.

use super::command::{FUA, VERIFY, WRITE, WRITE_UNCORRECTABLE, WRITE_ZEROES, ZEROES_DEALLOCATE, ZONE_APPEND};
use super::protection::{ACT, CHECK_APPLICATION, CHECK_GUARD, CHECK_REFERENCE, Tags};
use measure::SplitMix;
use plan::EngineOptions;

/// The word of `write_mode` for appends to zones.
pub(super) const APPEND: &str = "zone_append";

/// Way of data to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    /// By address.
    Plain,
    /// By an iovec.
    Vectored,
    /// In a buffer that the kernel has mapped once.
    Fixed,
}

impl Transfer {
    pub(super) fn of(options: &EngineOptions) -> Transfer {
        match options.integer("nonvectored") {
            _ if options.is_on("fixedbufs") => Transfer::Fixed,
            Some(0) => Transfer::Vectored,
            _ => Transfer::Plain,
        }
    }
}

/// Options about the bits of a command.
#[derive(Debug)]
pub(super) struct Settings {
    /// Dword 12 of reads.
    pub(super) read_flags: u32,
    pub(super) writes: Writes,
    /// The device makes and takes away protection information.
    pub(super) act: bool,
    pub(super) tags: Tags,
    /// Bytes of metadata memory of each I/O.
    pub(super) metadata: u32,
}

impl Settings {
    /// Reads the options; `Err` says which value is wrong.
    pub(super) fn of(options: &EngineOptions) -> Result<Settings, String> {
        let small = |name: &str, default: u16| match options.integer(name) {
            None => Ok(default),
            Some(value) => u16::try_from(value).map_err(|_| format!("{name}={value:#x} has more than 16 bits")),
        };
        let tags = Tags {
            checks: checks(options.text("pi_chk").unwrap_or_default())?,
            application: small("apptag", 0x1234)?,
            mask: small("apptag_mask", 0xffff)?,
        };
        let fua = if options.is_on("writefua") { FUA } else { 0 };
        Ok(Settings {
            read_flags: if options.is_on("readfua") { FUA } else { 0 },
            writes: Writes::of(options.text("write_mode").unwrap_or("write"), fua, options.is_on("deac"))?,
            act: options.get("pi_act").is_none() || options.is_on("pi_act"),
            tags,
            metadata: options.integer("md_per_io_size").and_then(|size| u32::try_from(size).ok()).unwrap_or(0),
        })
    }

    /// Bits of dword 12 about protection information.
    pub(super) fn protection_flags(&self) -> u32 {
        self.tags.checks | if self.act { ACT } else { 0 }
    }
}

/// Parses `pi_chk`.
fn checks(text: &str) -> Result<u32, String> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(check).try_fold(0, |all, bit| Ok(all | bit?))
}

fn check(word: &str) -> Result<u32, String> {
    match word {
        "GUARD" => Ok(CHECK_GUARD),
        "REFTAG" => Ok(CHECK_REFERENCE),
        "APPTAG" => Ok(CHECK_APPLICATION),
        other => Err(format!("pi_chk: `{other}` is not one of GUARD, REFTAG, APPTAG")),
    }
}

/// The commands that write.
#[derive(Debug)]
pub(super) struct Writes {
    /// Opcode, dword 12, and the share of the writes up to this one, 0 to 100.
    kinds: Vec<(u8, u32, f64)>,
    random: SplitMix,
}

impl Writes {
    /// Parses `write_mode`: a word, or `word/percent:word/percent:...`, of which those without a number share the rest.
    fn of(text: &str, fua: u32, deallocate: bool) -> Result<Writes, String> {
        let deallocates = if deallocate { ZEROES_DEALLOCATE } else { 0 };
        let parts = text.split(':').filter(|part| !part.is_empty()).map(|part| {
            let (word, share) = part.split_once('/').unwrap_or((part, ""));
            let (operation, flags) = match word {
                "write" => (WRITE, fua),
                "zeroes" => (WRITE_ZEROES, fua | deallocates),
                "uncor" => (WRITE_UNCORRECTABLE, 0),
                "verify" => (VERIFY, fua),
                APPEND => (ZONE_APPEND, fua),
                other => {
                    return Err(format!("write_mode: `{other}` is not one of write, zeroes, uncor, verify, {APPEND}"));
                }
            };
            let wrong = || format!("write_mode: `{share}` is not a percentage");
            let share = if share.is_empty() { None } else { Some(share.parse::<u8>().map_err(|_| wrong())?) };
            Ok((operation, flags, share.map(f64::from)))
        });
        let parts: Vec<(u8, u32, Option<f64>)> = parts.collect::<Result<_, _>>()?;
        let given: f64 = parts.iter().filter_map(|part| part.2).sum();
        let open = parts.iter().filter(|part| part.2.is_none()).count();
        if given > 100.0 || open == 0 && given < 100.0 {
            return Err(format!("write_mode={text}: the shares sum to {given}, not to 100"));
        }
        let rest = (100.0 - given) / open.max(1) as f64;
        let mut until = 0.0;
        let kinds = parts.into_iter().map(|(operation, flags, share)| {
            until += share.unwrap_or(rest);
            (operation, flags, until)
        });
        Ok(Writes { kinds: kinds.collect(), random: SplitMix::new(1) })
    }

    /// True if some of the writes are appends to zones.
    pub(super) fn append(&self) -> bool {
        self.kinds.iter().any(|(operation, ..)| *operation == ZONE_APPEND)
    }

    /// Opcode and dword 12 of the next write.
    pub(super) fn next(&mut self) -> (u8, u32) {
        let drawn = if self.kinds.len() > 1 { self.random.fraction() * 100.0 } else { 0.0 };
        let kind = self.kinds.iter().find(|kind| drawn < kind.2).or(self.kinds.last());
        kind.map_or((WRITE, 0), |&(operation, flags, _)| (operation, flags))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::option::Value;

    #[test]
    fn a_mix_of_write_commands_keeps_its_shares() {
        let mut writes = Writes::of("write/50:zeroes/:uncor/", FUA, true).unwrap();
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            match writes.next() {
                (WRITE, FUA) => counts[0] += 1,
                (WRITE_ZEROES, flags) if flags == FUA | ZEROES_DEALLOCATE => counts[1] += 1,
                (WRITE_UNCORRECTABLE, 0) => counts[2] += 1,
                other => panic!("{other:?}"),
            }
        }
        for (count, share) in counts.into_iter().zip([5000, 2500, 2500]) {
            assert!(i32::abs(count - share) < 250, "{counts:?}");
        }
        assert_eq!(Writes::of("verify", 0, false).unwrap().next(), (VERIFY, 0));
        assert_eq!(Writes::of(APPEND, FUA, false).unwrap().next(), (ZONE_APPEND, FUA));
        for wrong in ["write/60:zeroes/50", "write/60:zeroes/30", "write/x", "nosuch"] {
            assert!(Writes::of(wrong, 0, false).is_err(), "{wrong}");
        }
    }

    #[test]
    fn checks_and_tags_are_read_and_wrong_ones_named() {
        let mut options = EngineOptions::default();
        options.set("pi_chk", Value::Text("GUARD,APPTAG".into()));
        options.set("apptag", Value::Integer(0x77));
        let settings = Settings::of(&options).unwrap();
        let tags = Tags { checks: CHECK_GUARD | CHECK_APPLICATION, application: 0x77, mask: 0xffff };
        assert_eq!((settings.tags, settings.protection_flags()), (tags, tags.checks | ACT));
        options.set("pi_act", Value::Flag(false));
        assert_eq!(Settings::of(&options).unwrap().protection_flags(), tags.checks);
        options.set("apptag", Value::Integer(0x1_0000));
        assert!(Settings::of(&options).unwrap_err().contains("apptag=0x10000"));
        assert!(checks("GUARD,guard").unwrap_err().contains("`guard`"));
    }
}
