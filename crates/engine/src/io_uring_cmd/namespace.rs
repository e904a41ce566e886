//! A namespace: its number and its format.

use super::command::Command;
use super::protection::Protection;
use crate::call;
use std::os::fd::RawFd;

/// `NVME_IOCTL_ID`: `_IO('N', 0x40)`.
const ID: libc::c_ulong = 0x4e40;
/// Kinds of Identify: of the namespace, and what the NVM command set adds.
const NAMESPACE: u32 = 0;
const NVM_NAMESPACE: u32 = 5;

/// A namespace that commands go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Namespace {
    pub(super) number: u32,
    pub(super) format: Format,
}

/// Blocks of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Bytes of data in a logical block.
    pub(super) data: u32,
    /// Bytes of metadata in one.
    pub(super) metadata: u32,
    /// Metadata follow the data of each block in the buffer of the data.
    pub(super) extended: bool,
    /// Protection information in the metadata.
    pub(super) protection: Option<Protection>,
}

impl Format {
    /// The same blocks as a job transfers them. With `act` the device makes protection information and takes it away,
    /// and metadata that are nothing else are not transferred.
    pub(super) fn transferred(self, act: bool) -> Format {
        match self.protection {
            Some(_) if act && self.metadata == Protection::BYTES => Format { metadata: 0, extended: false, ..self },
            _ => self,
        }
    }

    /// Bytes of a block in the buffer of an I/O.
    pub(super) fn block(&self) -> u32 {
        self.data + if self.extended { self.metadata } else { 0 }
    }

    /// Bytes of metadata of a block that have separate memory.
    pub(super) fn separate(&self) -> u32 {
        if self.extended { 0 } else { self.metadata }
    }
}

impl Namespace {
    /// Identifies the namespace behind a descriptor; `Err` is the reason why it cannot be used.
    pub(super) fn of(descriptor: RawFd) -> Result<Namespace, String> {
        // SAFETY: NVME_IOCTL_ID takes no argument; a descriptor of something else fails with ENOTTY.
        let number = call::finish(|| unsafe { libc::ioctl(descriptor, ID) as isize });
        let number = u32::try_from(number).ok().filter(|&number| number > 0).ok_or("is not an NVMe namespace")?;
        let mut page = vec![0_u8; 4096];
        let identify = Command::identify(number, NAMESPACE, &mut page);
        identify.execute(descriptor).map_err(|what| format!("does not answer Identify: {what}"))?;
        let mut more = vec![0_u8; 4096];
        // Older devices do not know this kind, and have guards of 16 bits alone.
        if Command::identify(number, NVM_NAMESPACE, &mut more).execute(descriptor).is_err() {
            more.fill(0);
        }
        Ok(Namespace { number, format: format_of(&page, &more)? })
    }
}

/// The format, from the Identify Namespace data (NVM Command Set Specification, figures of FLBAS, the LBA formats, DPS
/// and the extended LBA formats).
fn format_of(page: &[u8], more: &[u8]) -> Result<Format, String> {
    let flags = page[26];
    let index = usize::from(flags & 0xf | (flags >> 1) & 0x30);
    let entry = &page[128 + 4 * index..][..4];
    let shift = entry[2];
    if !(9..=16).contains(&shift) {
        return Err("says no size of its blocks".to_owned());
    }
    let metadata = u32::from(u16::from_le_bytes([entry[0], entry[1]]));
    let kind = page[29] & 7;
    let longer = &more[12 + 4 * index..][..4];
    let guard = u32::from_le_bytes([longer[0], longer[1], longer[2], longer[3]]) >> 7 & 3;
    if kind != 0 && guard != 0 {
        return Err("is formatted with guards of 32 or 64 bits, and plumb has those of 16 bits".to_owned());
    }
    let protection = Protection { kind, first: page[29] & 8 != 0 };
    Ok(Format {
        data: 1 << shift,
        metadata,
        extended: flags & 0x10 != 0,
        protection: (kind != 0 && metadata >= Protection::BYTES).then_some(protection),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer of a namespace with format 1: blocks of 4096 bytes, and these metadata.
    fn page(metadata: u8, extended: bool, protection: u8) -> Vec<u8> {
        let mut page = vec![0; 4096];
        page[26] = 1 | if extended { 0x10 } else { 0 };
        page[29] = protection;
        page[128 + 4..128 + 8].copy_from_slice(&[metadata, 0, 12, 0]);
        page
    }

    #[test]
    fn a_format_is_read_from_what_identify_answers() {
        let more = vec![0; 4096];
        let plain = Format { data: 4096, metadata: 0, extended: false, protection: None };
        assert_eq!(format_of(&page(0, false, 0), &more), Ok(plain));
        assert_eq!(format_of(&page(64, false, 0), &more), Ok(Format { metadata: 64, ..plain }));
        let extended = format_of(&page(8, true, 1 | 8), &more).unwrap();
        let protection = Some(Protection { kind: 1, first: true });
        assert_eq!(extended, Format { metadata: 8, extended: true, protection, ..plain });
        let mut odd = page(0, false, 0);
        odd[26] = 0;
        assert!(format_of(&odd, &more).is_err(), "no block of one byte");
        let mut long_guards = more;
        long_guards[12 + 4..12 + 6].copy_from_slice(&[0, 1]);
        assert!(format_of(&page(16, false, 1), &long_guards).unwrap_err().contains("16 bits"));
    }

    #[test]
    fn metadata_that_the_device_makes_are_not_transferred() {
        let format = |metadata, extended| Format {
            data: 512,
            metadata,
            extended,
            protection: Some(Protection { kind: 1, first: true }),
        };
        let sizes = |format: Format| (format.block(), format.separate());
        assert_eq!(sizes(format(8, true).transferred(true)), (512, 0));
        assert_eq!(sizes(format(8, true).transferred(false)), (520, 0));
        assert_eq!(sizes(format(8, false).transferred(false)), (512, 8));
        assert_eq!(sizes(format(64, false).transferred(true)), (512, 64));
    }
}
