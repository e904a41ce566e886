//! The words by which a user names one block device and no other, so that it may be overwritten.
//!
//! Kernel names move between boots, and a size fits many devices. A word is therefore an identity that the device
//! itself has: its own serial number, WWID or UUID. If another device of this machine has the same one, it does not count.

use crate::devices::identity::{BlockDevice, all};
use crate::machine::text::word;
use std::path::Path;
use std::process::Command;

/// The words that name a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnWords {
    /// Each names this device alone; the best first.
    words: Vec<String>,
    /// Identities of this device that others have, too.
    shared: Vec<Shared>,
    /// Its serial number, if others share its controller.
    controller: Option<String>,
    name: String,
    size: Option<u64>,
}

/// An identity of several devices.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shared {
    word: String,
    /// Name of another device that has it.
    other: String,
}

impl OwnWords {
    /// The words of this device. Reads sysfs, and for a partition its table (blkid(8)) if the kernel does not show it.
    pub fn of(root: &Path, device: &BlockDevice) -> Self {
        let (mut words, mut shared): (Vec<String>, Vec<Shared>) = (Vec::new(), Vec::new());
        let candidates = identities(root, device);
        let others = if candidates.is_empty() { Vec::new() } else { others(root, device) };
        for word in candidates {
            match others.iter().find(|(_, theirs)| theirs.contains(&word)) {
                Some((other, _)) => shared.push(Shared { word, other: other.clone() }),
                None if words.contains(&word) => {}
                None => words.push(word),
            }
        }
        let (name, size) = (device.name().to_owned(), device.size());
        OwnWords { words, shared, controller: controller_serial(&device.whole()), name, size }
    }

    /// True if this word names the device and no other. Its size does so only if it has no identity at all.
    pub fn fits(&self, given: &str) -> bool {
        let given = tidy(given);
        let nothing_else = self.has_nothing_else() && self.sizes().contains(&given);
        nothing_else || self.words.contains(&given)
    }

    /// The word to repeat, with what the user must know about it.
    pub fn best(&self) -> String {
        match (self.words.first(), self.shared.first(), self.size) {
            (Some(word), ..) => word.clone(),
            (None, Some(Shared { word, other }), _) => {
                format!("(none: no word names it alone, for {other} has the identity {word}, too)")
            }
            (None, None, Some(size)) => {
                format!("{size} (only its size: it has no serial number, WWID or UUID, so the word fits others, too)")
            }
            (None, None, None) => "(none: the kernel shows neither an identity nor a size)".to_owned(),
        }
    }

    /// All words that fit: `S4EV or naa.5000c5003a`. A device without identity goes by its name and size, or its size.
    pub fn all(&self) -> String {
        match self.sizes().join(" or ") {
            sizes if self.has_nothing_else() && !sizes.is_empty() => {
                format!("{sizes} (it has no serial number, WWID or UUID)")
            }
            _ if self.words.is_empty() => self.best(),
            _ => self.words.join(" or "),
        }
    }

    /// Why a word that does not fit does not.
    pub fn why_not(&self, given: &str) -> String {
        let word = tidy(given);
        let shared = self.shared.iter().find(|shared| shared.word == word);
        if let Some(Shared { other, .. }) = shared {
            return format!("{given} is an identity of {other}, too");
        }
        if self.controller.as_ref() == Some(&word) {
            return format!("{given} is the serial number of its controller, which all namespaces have");
        }
        if self.sizes().contains(&word) {
            return format!("{given} is its size, which fits other devices, too");
        }
        format!("{given} is another device")
    }

    fn has_nothing_else(&self) -> bool {
        self.words.is_empty() && self.shared.is_empty()
    }

    fn sizes(&self) -> Vec<String> {
        let size = self.size.filter(|&size| size > 0);
        size.map(|size| vec![format!("{}:{size}", self.name), size.to_string()]).unwrap_or_default()
    }
}

/// Identities of all other devices that could be taken for this one, by name.
fn others(root: &Path, device: &BlockDevice) -> Vec<(String, Vec<String>)> {
    let disks = all(root).unwrap_or_default();
    let others: Vec<BlockDevice> = match device.partition_number() {
        None => disks.into_iter().filter(|other| other != device && !are_paths_of_one(other, device)).collect(),
        // A copy of a table has the same identities for partitions of the same number.
        Some(number) => {
            let partitions = disks.into_iter().filter(|disk| !are_paths_of_one(disk, &device.whole()));
            let partitions = partitions.flat_map(|disk| disk.partitions()).filter(|other| other != device);
            let alike =
                |other: &BlockDevice| other.partition_number() == Some(number) || other.whole() == device.whole();
            partitions.filter(alike).collect()
        }
    };
    others.iter().map(|other| (other.name().to_owned(), identities(root, other))).collect()
}

/// True if a multipath device is built on both: they lead to the same storage.
fn are_paths_of_one(one: &BlockDevice, other: &BlockDevice) -> bool {
    let of_paths =
        |holder: &BlockDevice| word(&holder.directory().join("dm/uuid")).is_some_and(|uuid| uuid.starts_with("mpath-"));
    one != other
        && one.holders().iter().filter(|holder| of_paths(holder)).any(|holder| other.holders().contains(holder))
}

/// Identities of a device, the best first: of a partition its own UUID, then those of its disk with `-partN`.
fn identities(root: &Path, device: &BlockDevice) -> Vec<String> {
    let Some(number) = device.partition_number() else { return of_disk(root, device) };
    let of_disk = of_disk(root, &device.whole()).into_iter().map(|word| format!("{word}-part{number}"));
    partition_uuid(root, device).into_iter().chain(of_disk).collect()
}

fn of_disk(root: &Path, disk: &BlockDevice) -> Vec<String> {
    let file = |name: &str| std::fs::read(disk.directory().join(name)).ok();
    let mut found: Vec<Option<String>> = Vec::new();
    if disk.name().starts_with("nvme") {
        // The serial number is the controller's.
        let numbered = |number: String| Some(format!("{}-ns{number}", controller_serial(disk)?));
        found.extend([
            file("wwid").and_then(|bytes| text(&bytes)),
            file("uuid").and_then(|bytes| text(&bytes)),
            file("nguid").and_then(|bytes| text(&bytes)),
            file("eui").and_then(|bytes| text(&bytes)).map(|eui| eui.replace('-', "")),
            file("nsid").and_then(|bytes| text(&bytes)).and_then(numbered),
        ]);
    } else {
        found.push(file("serial").and_then(|bytes| text(&bytes)));
        found.push(file("device/vpd_pg80").and_then(|page| serial_of_page(&page)));
        if disk.name().starts_with("mmcblk") {
            found.extend(mmc(disk));
        } else {
            found.push(file("device/serial").and_then(|bytes| text(&bytes)));
        }
        for name in ["wwid", "device/wwid"] {
            found.extend(file(name).and_then(|bytes| text(&bytes)).map(forms_of_wwid).unwrap_or_default());
        }
        let page = file("device/vpd_pg83").unwrap_or_default();
        found.extend(designators(&page).into_iter().flat_map(forms_of_wwid));
        found.extend(usb(disk));
        found.push(file("dm/uuid").and_then(|bytes| text(&bytes)));
        found.extend(md(root, disk));
    }
    let mut words: Vec<String> = Vec::new();
    for word in found.into_iter().flatten() {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// The serial number of an NVMe controller; `None` for other devices.
fn controller_serial(disk: &BlockDevice) -> Option<String> {
    let file = disk.name().starts_with("nvme").then(|| disk.directory().join("device/serial"))?;
    text(&std::fs::read(file).ok()?)
}

/// A WWID, and as lsblk(8) and udev print it: `naa.5000c5003a` is also 0x5000c5003a.
fn forms_of_wwid(wwid: String) -> Vec<Option<String>> {
    let number = wwid.strip_prefix("naa.").map(|digits| format!("0x{digits}"));
    vec![Some(wwid), number]
}

/// Card number and serial number of a memory card. Its boot partitions are separate devices with the same ones.
fn mmc(disk: &BlockDevice) -> Vec<Option<String>> {
    let Some(rest) = disk.name().strip_prefix("mmcblk") else { return Vec::new() };
    let part = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let part = if part.is_empty() { String::new() } else { format!("-{part}") };
    let of = |name: &str| Some(text(&std::fs::read(disk.directory().join(name)).ok()?)? + &part);
    vec![of("device/cid"), of("device/serial")]
}

/// The serial number of the USB device that a disk is, alone and with target and number of the unit.
fn usb(disk: &BlockDevice) -> Vec<Option<String>> {
    let above = || disk.directory().ancestors().find(|folder| folder.join("idVendor").exists());
    let serial = above().and_then(|folder| text(&std::fs::read(folder.join("serial")).ok()?));
    let unit = std::fs::canonicalize(disk.directory().join("device")).ok();
    let unit = unit.and_then(|unit| {
        let mut numbers = unit.file_name()?.to_str()?.rsplit(':');
        let (unit, target) = (numbers.next()?, numbers.next()?);
        Some(format!("{}-{target}:{unit}", serial.clone()?))
    });
    vec![serial, unit]
}

/// The UUID of an md array, also in the form of mdadm(8); older kernels do not show it, but udev's link does.
fn md(root: &Path, disk: &BlockDevice) -> Vec<Option<String>> {
    if !disk.name().starts_with("md") {
        return Vec::new();
    }
    let shown = std::fs::read(disk.directory().join("md/uuid")).ok().and_then(|bytes| text(&bytes));
    let linked = || link_to(root, "dev/disk/by-id", disk.name(), "md-uuid-");
    let Some(shown) = shown.or_else(linked) else { return Vec::new() };
    let digits: Vec<char> = shown.chars().filter(char::is_ascii_hexdigit).collect();
    let groups: Vec<String> = digits.chunks(8).map(|group| group.iter().collect()).collect();
    vec![Some(shown), Some(groups.join(":"))]
}

/// The rest after `prefix` of the name of the first link in a directory that leads to the device of this name.
fn link_to(root: &Path, directory: &str, name: &str, prefix: &str) -> Option<String> {
    let leads_there = |link: &Path| std::fs::read_link(link).is_ok_and(|to| to.file_name() == Some(name.as_ref()));
    let entries = std::fs::read_dir(root.join(directory)).ok()?.flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| leads_there(&entry.path()))
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_prefix(prefix)?.to_owned()))
        .collect();
    names.sort();
    text(names.first()?.as_bytes())
}

/// The UUID of a partition in its table: as the kernel shows it, as udev's link does, or as libblkid reads it.
fn partition_uuid(root: &Path, partition: &BlockDevice) -> Option<String> {
    let event = word(&partition.directory().join("uevent")).unwrap_or_default();
    let shown = event.lines().find_map(|line| line.strip_prefix("PARTUUID="));
    let linked = || link_to(root, "dev/disk/by-partuuid", partition.name(), "");
    shown.and_then(|uuid| text(uuid.as_bytes())).or_else(linked).or_else(|| uuid_in_table(root, partition))
}

/// Paths of the tool: the PATH of a user often lacks the sbin directories.
const TOOLS: &[&str] = &["blkid", "/usr/sbin/blkid", "/sbin/blkid"];

/// Reads the partition's entry of the table with blkid(8) of util-linux; with these options it only reads.
fn uuid_in_table(root: &Path, partition: &BlockDevice) -> Option<String> {
    let node = root.join("dev").join(partition.name());
    let ask = |tool: &&str| Command::new(tool).args(["-p", "-s", "PART_ENTRY_UUID", "-o", "value"]).arg(&node).output();
    let answer = TOOLS.iter().find_map(|tool| ask(tool).ok()).filter(|answer| answer.status.success())?;
    let uuid = text(&answer.stdout)?;
    uuid.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-').then_some(uuid)
}

/// The serial number in page 0x80 of a SCSI device's vital product data (SPC-5, 7.7.19): four bytes, of which the last
/// two are the length, and the number.
fn serial_of_page(page: &[u8]) -> Option<String> {
    let (&[_, 0x80, high, low], rest) = page.split_first_chunk::<4>()? else { return None };
    let length = usize::from(u16::from_be_bytes([high, low]));
    text(&rest[..length.min(rest.len())])
}

/// Names of the logical unit in page 0x83 (SPC-5, 7.7.6): NAA, EUI-64 and SCSI names. A designator is its code set, its
/// association and type, a reserved byte, its length, and its bytes.
fn designators(page: &[u8]) -> Vec<String> {
    const NAA: u8 = 3;
    const EUI: u8 = 2;
    const NAME: u8 = 8;
    let mut names = Vec::new();
    let Some((&[_, 0x83, high, low], rest)) = page.split_first_chunk::<4>() else { return names };
    let mut rest = &rest[..usize::from(u16::from_be_bytes([high, low])).min(rest.len())];
    while let Some((&[_, kind, _, length], after)) = rest.split_first_chunk::<4>() {
        let Some((bytes, next)) = after.split_at_checked(usize::from(length)) else { break };
        rest = next;
        let of_unit = kind & 0x30 == 0;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match kind & 0x0f {
            NAA if of_unit => names.extend(text(format!("naa.{digits}").as_bytes())),
            EUI if of_unit => names.extend(text(format!("eui.{digits}").as_bytes())),
            NAME if of_unit => names.extend(text(bytes)),
            _ => {}
        }
    }
    names
}

/// Printable text of a device's bytes, as one word; `None` if nothing is left that could tell devices apart.
fn text(bytes: &[u8]) -> Option<String> {
    let printable: String =
        bytes.iter().filter(|byte| (b' '..=b'~').contains(*byte)).map(|&byte| char::from(byte)).collect();
    let word = tidy(&printable);
    let differs = |letter: char| letter.is_ascii_alphanumeric() && letter != '0';
    word.chars().any(differs).then_some(word)
}

/// A word without blanks and commas, which separate words.
fn tidy(text: &str) -> String {
    text.split([' ', '\t', '\n', ',']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}
