//! Fields of an event, as the kernel describes them in its `format` files: offsets differ between kernels.

/// Place of a number or text in the bytes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) offset: usize,
    pub(crate) size: usize,
    is_signed: bool,
}

impl Field {
    /// The number; `None` if the bytes end before it.
    pub(crate) fn number(self, bytes: &[u8]) -> Option<i64> {
        let part = self.bytes(bytes)?;
        let number = match (part.len(), self.is_signed) {
            (1, true) => i64::from(i8::from_ne_bytes(part.try_into().ok()?)),
            (1, false) => i64::from(u8::from_ne_bytes(part.try_into().ok()?)),
            (2, true) => i64::from(i16::from_ne_bytes(part.try_into().ok()?)),
            (2, false) => i64::from(u16::from_ne_bytes(part.try_into().ok()?)),
            (4, true) => i64::from(i32::from_ne_bytes(part.try_into().ok()?)),
            (4, false) => i64::from(u32::from_ne_bytes(part.try_into().ok()?)),
            (8, _) => i64::from_ne_bytes(part.try_into().ok()?),
            _ => return None,
        };
        Some(number)
    }

    /// The number without its sign.
    pub(crate) fn unsigned(self, bytes: &[u8]) -> Option<u64> {
        self.number(bytes).map(i64::cast_unsigned)
    }

    /// Its bytes.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Option<&[u8]> {
        bytes.get(self.offset..self.offset.checked_add(self.size)?)
    }
}

/// A `format` file, or `events/header_page`.
#[derive(Debug)]
pub(crate) struct Format {
    /// Number by which records name the event; 0 in `header_page`.
    pub(crate) id: u16,
    fields: Vec<Named>,
}

#[derive(Debug)]
struct Named {
    name: String,
    field: Field,
}

impl Format {
    /// Reads lines like `field:sector_t sector; offset:16; size:8; signed:0;`. Others say nothing about fields.
    pub(crate) fn parse(text: &str) -> Self {
        let id = text.lines().find_map(|line| line.strip_prefix("ID: ")?.trim().parse().ok()).unwrap_or(0);
        Format { id, fields: text.lines().filter_map(named).collect() }
    }

    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|named| named.name == name).map(|named| named.field)
    }
}

fn named(line: &str) -> Option<Named> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declaration = parts.next()?;
    let name = declaration.split_once('[').map_or(declaration, |(before, _)| before).rsplit([' ', '*']).next()?;
    let mut value = |key: &str| parts.next()?.strip_prefix(key)?.parse::<usize>().ok();
    let (offset, size, signed) = (value("offset:")?, value("size:")?, value("signed:")?);
    Some(Named { name: name.to_owned(), field: Field { offset, size, is_signed: signed == 1 } })
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: &str = "name: block_bio_queue\nID: 2097\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:const char * vec;\toffset:24;\tsize:8;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:28;\tsize:10;\tsigned:0;\n\nprint fmt: \"%d\", 1\n";

    #[test]
    fn a_format_has_its_number_and_fields() {
        let format = Format::parse(QUEUE);
        assert_eq!(format.id, 2097);
        assert_eq!(format.field("sector"), Some(Field { offset: 16, size: 8, is_signed: false }));
        assert_eq!(format.field("common_pid").unwrap().offset, 4);
        assert_eq!(format.field("rwbs").unwrap().size, 10);
        assert_eq!(format.field("vec").unwrap().offset, 24);
        assert_eq!(format.field("absent"), None);
    }

    #[test]
    fn numbers_have_their_sign_and_end_with_the_bytes() {
        let field = |offset, size, is_signed| Field { offset, size, is_signed };
        let bytes = [0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0];
        assert_eq!(field(0, 4, true).number(&bytes), Some(-1));
        assert_eq!(field(0, 4, false).number(&bytes), Some(i64::from(u32::MAX)));
        assert_eq!(field(2, 8, false).number(&bytes), Some(0x1_ffff));
        assert_eq!(field(3, 8, false).number(&bytes), None);
        assert_eq!(field(usize::MAX, 8, false).number(&bytes), None);
        assert_eq!(field(0, 3, false).number(&bytes), None);
    }
}
