//! The options: which letters take a value, and which plumb does not do, with the reason.

/// Letters that stand alone.
const ALONE: &str = "ZQNIBDGCTOMREWovAxamwphcezK";
/// Letters with a value, glued or in the next word.
const WITH_VALUE: &str = "JjkVrtsfFdluUSLH+PibXYgnyq";

/// Whether a letter takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// No value.
    Alone,
    /// A value.
    WithValue,
}

/// The shape of a letter; `None` where iozone does not know it.
pub(crate) fn shape(letter: char) -> Option<Shape> {
    if ALONE.contains(letter) {
        Some(Shape::Alone)
    } else if WITH_VALUE.contains(letter) {
        Some(Shape::WithValue)
    } else {
        None
    }
}

/// Plus options that take the next word.
const PLUS_WITH_VALUE: &str = "AbcHhiKmOPpQqRSwWyCaMx";

/// Plus options that stand alone.
const PLUS_ALONE: &str = "BdDEFJklLnNrstTuVXZz";

/// The shape of a plus option.
pub(crate) fn plus_shape(letter: char) -> Option<Shape> {
    if letter == 'M' || PLUS_ALONE.contains(letter) {
        Some(Shape::Alone)
    } else if PLUS_WITH_VALUE.contains(letter) {
        Some(Shape::WithValue)
    } else {
        None
    }
}

/// Why plumb refuses an option, by its name without the dash; `None` where it does it.
pub(crate) fn refused(name: &str) -> Option<&'static str> {
    let reason = match name {
        "+c" | "+i" | "+s" => {
            "members of a cluster talk through the remote shell that started them; -+m FILE alone is enough"
        }
        "+t" => "the network is not measured here; plumb fio --ioengine=net does it",
        "+H" | "+P" => "there is no time server; the clock of this machine is used, and its drift is checked",
        "+Q" => "the granule of deduplication changes nothing that iozone 3.489 writes; leave it out",
        _ => return None,
    };
    Some(reason)
}
