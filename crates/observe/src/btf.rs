//! Types of the running kernel (kernel doc: bpf/btf): arguments of tracepoints, and places of fields in structures.

use rustc_hash::FxHashMap;
use std::path::Path;

/// File with the types of the kernel without its modules.
pub(crate) const FILE: &str = "/sys/kernel/btf/vmlinux";
/// Begin of the names of tracepoints among the types, and of functions that name their arguments.
const TRACEPOINT: &str = "btf_trace_";
const NAMED: &str = "__traceiter_";
/// The enumeration of flags of the block layer, of which one is asked for.
const FLAGS: &str = "req_flag_bits";
/// Magic number at the begin.
const MAGIC: u16 = 0xeb9f;

/// Kinds of types.
mod kind {
    pub(super) const INT: u32 = 1;
    pub(super) const POINTER: u32 = 2;
    pub(super) const ARRAY: u32 = 3;
    pub(super) const STRUCT: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const ENUM: u32 = 6;
    pub(super) const TYPEDEF: u32 = 8;
    pub(super) const VOLATILE: u32 = 9;
    pub(super) const CONST: u32 = 10;
    pub(super) const RESTRICT: u32 = 11;
    pub(super) const FUNCTION: u32 = 12;
    pub(super) const PROTOTYPE: u32 = 13;
    pub(super) const VARIABLE: u32 = 14;
    pub(super) const SECTION: u32 = 15;
    pub(super) const DECLARATION_TAG: u32 = 17;
    pub(super) const TYPE_TAG: u32 = 18;
    pub(super) const ENUM_64: u32 = 19;
}

/// Number of a type.
type Id = u32;

/// Types of the kernel.
#[derive(Debug)]
pub(crate) struct Btf {
    bytes: Vec<u8>,
    strings: usize,
    /// Begin of each type among the bytes, by its number.
    types: Vec<usize>,
    tracepoints: FxHashMap<String, Id>,
    named: FxHashMap<String, Id>,
    flags: Option<Id>,
}

/// A type's head.
#[derive(Clone, Copy)]
struct Head {
    name: usize,
    kind: u32,
    /// Number of members, arguments or values.
    count: usize,
    /// Offsets of members have the sizes of bit fields in their upper 8 bits.
    has_bit_fields: bool,
    /// Size in bytes, or the type that this is made of.
    of: u32,
    /// Begin of what follows.
    rest: usize,
}

/// A tracepoint.
#[derive(Debug)]
pub(crate) struct Tracepoint {
    /// Number of its type.
    pub(crate) id: u32,
    arguments: Vec<Id>,
    names: Vec<String>,
}

/// A step to a value: a load from the address before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) offset: i16,
    pub(crate) size: u32,
}

impl Btf {
    /// Types of the running kernel; the reason if there are none.
    pub(crate) fn of_kernel() -> Result<Self, String> {
        let bytes = std::fs::read(Path::new(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
        Self::parse(bytes).ok_or_else(|| format!("{FILE} has another form"))
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let magic = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        let place = |at: usize| Some(word(&bytes, at)? as usize);
        let head = place(4).filter(|_| magic == MAGIC)?;
        let (begin, length, strings) = (head + place(8)?, place(12)?, head + place(16)?);
        let mut btf = Btf {
            strings,
            // Number 0 is void.
            types: vec![usize::MAX],
            tracepoints: FxHashMap::default(),
            named: FxHashMap::default(),
            flags: None,
            bytes,
        };
        let (mut at, end) = (begin, begin + length);
        while at < end {
            let (head, id) = (btf.head_at(at)?, Id::try_from(btf.types.len()).ok()?);
            match head.kind {
                kind::TYPEDEF => {
                    if let Some(name) = btf.after(head.name, TRACEPOINT) {
                        btf.tracepoints.insert(name, id);
                    }
                }
                kind::FUNCTION => {
                    if let Some(name) = btf.after(head.name, NAMED) {
                        btf.named.insert(name, head.of);
                    }
                }
                kind::ENUM if btf.after(head.name, FLAGS).is_some_and(|rest| rest.is_empty()) => btf.flags = Some(id),
                _ => {}
            }
            btf.types.push(at);
            at = head.rest.checked_add(following(head.kind, head.count)?)?;
        }
        Some(btf)
    }

    fn head_at(&self, at: usize) -> Option<Head> {
        let (name, info, of) = (word(&self.bytes, at)?, word(&self.bytes, at + 4)?, word(&self.bytes, at + 8)?);
        Some(Head {
            name: name as usize,
            kind: (info >> 24) & 0x1f,
            count: (info & 0xffff) as usize,
            has_bit_fields: info >> 31 != 0,
            of,
            rest: at + 12,
        })
    }

    fn head(&self, id: Id) -> Option<Head> {
        self.head_at(*self.types.get(id as usize)?)
    }

    fn text(&self, name: usize) -> Option<&[u8]> {
        let rest = self.bytes.get(self.strings.checked_add(name)?..)?;
        rest.get(..rest.iter().position(|letter| *letter == 0)?)
    }

    /// The rest of a name that begins so.
    fn after(&self, name: usize, begin: &str) -> Option<String> {
        let rest = self.bytes.get(self.strings.checked_add(name)?..)?;
        // Most names do not, so their ends are not looked for.
        rest.starts_with(begin.as_bytes()).then_some(())?;
        Some(String::from_utf8_lossy(&self.text(name)?[begin.len()..]).into_owned())
    }

    /// A type without its other names and qualifiers.
    fn plain(&self, mut id: Id) -> Option<Head> {
        const ANOTHER: [u32; 5] = [kind::TYPEDEF, kind::VOLATILE, kind::CONST, kind::RESTRICT, kind::TYPE_TAG];
        // No type has more than a few of them.
        for _ in 0..32 {
            let head = self.head(id)?;
            if !ANOTHER.contains(&head.kind) {
                return Some(head);
            }
            id = head.of;
        }
        None
    }

    fn arguments(&self, prototype: Head) -> Option<Vec<(usize, Id)>> {
        let place = |index: usize| prototype.rest + 8 * index;
        let argument = |index| Some((word(&self.bytes, place(index))? as usize, word(&self.bytes, place(index) + 4)?));
        // The first is of the tracepoint's user.
        (1..prototype.count).map(argument).collect()
    }

    /// A tracepoint by its name.
    pub(crate) fn tracepoint(&self, name: &str) -> Option<Tracepoint> {
        let id = *self.tracepoints.get(name)?;
        let prototype = |id: Id| self.plain(id).filter(|head| head.kind == kind::PROTOTYPE);
        let pointer = self.plain(id).filter(|head| head.kind == kind::POINTER)?;
        let arguments = self.arguments(prototype(pointer.of)?)?;
        let named = self.named.get(name).and_then(|id| self.arguments(prototype(*id)?)).unwrap_or_default();
        let text = |name: usize| Some(String::from_utf8_lossy(self.text(name)?).into_owned());
        let names = named.iter().map(|(name, _)| text(*name).unwrap_or_default()).collect();
        Some(Tracepoint { id, arguments: arguments.into_iter().map(|(_, of)| of).collect(), names })
    }

    /// The structure to which a type points.
    fn pointee(&self, id: Id) -> Option<Head> {
        let pointer = self.plain(id).filter(|head| head.kind == kind::POINTER)?;
        self.plain(pointer.of).filter(|head| head.kind == kind::STRUCT)
    }

    /// The first argument of a tracepoint that points to such a structure.
    pub(crate) fn argument(&self, tracepoint: &Tracepoint, structure: &str) -> Option<usize> {
        let is_it = |id: &Id| self.pointee(*id).and_then(|head| self.text(head.name)) == Some(structure.as_bytes());
        tracepoint.arguments.iter().position(is_it)
    }

    /// Loads that lead from an argument to a value: `bi_bdev->bd_dev`, `bi_iter.bi_sector`.
    pub(crate) fn path(&self, tracepoint: &Tracepoint, argument: usize, path: &str) -> Option<Vec<Load>> {
        let mut structure = self.pointee(*tracepoint.arguments.get(argument)?)?;
        let mut loads = Vec::new();
        let mut steps = path.split("->").peekable();
        while let Some(step) = steps.next() {
            let (mut bits, mut inner, mut last) = (0, structure, 0);
            for name in step.split('.') {
                let (offset, id) = self.member(inner, name)?;
                (bits, inner, last) = (bits + offset, self.plain(id)?, id);
            }
            let size = if inner.kind == kind::POINTER { 8 } else { inner.of };
            let is_number = matches!(inner.kind, kind::INT | kind::POINTER | kind::ENUM | kind::ENUM_64);
            loads.push(Load { offset: i16::try_from(bits / 8).ok()?, size });
            (is_number && bits.is_multiple_of(8) && matches!(size, 1 | 2 | 4 | 8)).then_some(())?;
            if steps.peek().is_some() {
                structure = self.pointee(last)?;
            }
        }
        Some(loads)
    }

    /// Offset in bits and type of a member, which may be in a structure or union without a name.
    fn member(&self, structure: Head, wanted: &str) -> Option<(u32, Id)> {
        if !matches!(structure.kind, kind::STRUCT | kind::UNION) {
            return None;
        }
        for index in 0..structure.count {
            let at = structure.rest + 12 * index;
            let (name, id) = (word(&self.bytes, at)? as usize, word(&self.bytes, at + 4)?);
            let place = word(&self.bytes, at + 8)?;
            let (offset, field) = if structure.has_bit_fields { (place & 0xff_ffff, place >> 24) } else { (place, 0) };
            if name == 0 {
                if let Some((inner, id)) = self.plain(id).and_then(|inner| self.member(inner, wanted)) {
                    return Some((offset + inner, id));
                }
            } else if self.text(name) == Some(wanted.as_bytes()) {
                return (field == 0).then_some((offset, id));
            }
        }
        None
    }

    /// The argument with a name.
    pub(crate) fn argument_named(&self, tracepoint: &Tracepoint, name: &str) -> Option<usize> {
        tracepoint.names.iter().position(|one| one == name).filter(|at| *at < tracepoint.arguments.len())
    }

    /// The number of a flag of the block layer.
    pub(crate) fn flag(&self, name: &str) -> Option<u32> {
        let flags = self.head(self.flags?)?;
        let value = |index: usize| {
            let at = flags.rest + 8 * index;
            let is_it = self.text(word(&self.bytes, at)? as usize)? == name.as_bytes();
            if is_it { word(&self.bytes, at + 4) } else { None }
        };
        (0..flags.count).find_map(value)
    }
}

/// Bytes behind the head of a type.
fn following(kind: u32, count: usize) -> Option<usize> {
    let bytes = match kind {
        kind::INT | kind::VARIABLE | kind::DECLARATION_TAG => 4,
        kind::ARRAY => 12,
        kind::STRUCT | kind::UNION | kind::SECTION | kind::ENUM_64 => 12 * count,
        kind::ENUM | kind::PROTOTYPE => 8 * count,
        1..=kind::ENUM_64 => 0,
        _ => return None,
    };
    Some(bytes)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types with these heads, each with what follows; and their names.
    fn file(types: &[&[u32]], names: &str) -> Vec<u8> {
        let words: Vec<u32> = types.concat();
        let number = |length: usize| u32::try_from(length).unwrap();
        let (length, strings) = (number(4 * words.len()), number(names.len()));
        let head = [0x1_eb9f_u32, 24, 0, length, length, strings];
        let bytes = head.iter().chain(&words).flat_map(|word| word.to_ne_bytes());
        bytes.chain(names.bytes()).collect()
    }

    const INT: &[u32] = &[0, kind::INT << 24, 4, 32];

    #[test]
    fn a_path_leads_through_pointers_and_members_without_names() {
        // Names: a at 1, b at 3, s at 5, btf_trace_x at 7.
        let names = "\0a\0b\0s\0btf_trace_x\0";
        let types: [&[u32]; 6] = [
            INT,
            // 2: a union without a name, with b.
            &[0, kind::UNION << 24 | 1, 4, 3, 1, 0],
            // 3: struct s { struct s *a; union { int b; }; }
            &[5, kind::STRUCT << 24 | 2, 16, 1, 4, 0, 0, 2, 64],
            &[0, kind::POINTER << 24, 3],
            &[0, kind::PROTOTYPE << 24 | 2, 0, 0, 0, 0, 4],
            &[7, kind::TYPEDEF << 24, 7],
        ];
        let pointer: &[u32] = &[0, kind::POINTER << 24, 5];
        let btf = Btf::parse(file(&[&types[..], &[pointer]].concat(), names)).unwrap();
        let tracepoint = btf.tracepoint("x").unwrap();
        assert_eq!((tracepoint.id, btf.argument(&tracepoint, "s")), (6, Some(0)));
        let load = |offset, size| Load { offset, size };
        assert_eq!(btf.path(&tracepoint, 0, "a->a->b"), Some(vec![load(0, 8), load(0, 8), load(8, 4)]));
        assert_eq!((btf.path(&tracepoint, 0, "b->a"), btf.path(&tracepoint, 0, "c")), (None, None));
        assert!(btf.tracepoint("y").is_none() && btf.argument(&tracepoint, "a").is_none());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_break_the_reader(words in proptest::collection::vec(0u32.., 0..64), cut in 0usize..300) {
            let mut bytes = file(&[&words], "\0btf_trace_x\0");
            bytes.truncate(cut);
            if let Some(tracepoint) = Btf::parse(bytes).as_ref().and_then(|btf| btf.tracepoint("x")) {
                let _ = tracepoint.names;
            }
        }
    }
}
