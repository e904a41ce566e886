//! The table as a whole: every default means what it says, every row is sound.

use super::{Context, Set, names, rows};
use crate::draft::Draft;
use crate::option::{Kind, Support};
use std::collections::BTreeSet;

#[test]
fn no_name_stands_for_two_options() {
    let mut seen = BTreeSet::new();
    let twice: Vec<&str> = names().filter(|name| !seen.insert(*name)).collect();
    assert_eq!(twice, Vec::<&str>::new());
}

#[test]
fn every_working_row_has_a_setter_of_its_kind() {
    for row in rows().filter(|row| row.spec.support == Support::Works) {
        let fits = match (row.spec.kind, row.set) {
            (_, Set::Text(_)) => true,
            (Kind::Word(_), Set::Word(_)) => true,
            (Kind::Integer { .. }, Set::Count(_) | Set::Number(_) | Set::Signed(_)) => true,
            (Kind::Size { percent: true }, Set::Amount(_)) => true,
            (Kind::Size { percent: false }, Set::Number(_)) => true,
            (Kind::ThreeWay, Set::Three(_)) | (Kind::Range, Set::Ranges(_)) => true,
            (Kind::Time(_), Set::Time(_)) | (Kind::Bool | Kind::Flag, Set::Switch(_)) => true,
            _ => false,
        };
        assert!(fits, "{}: {:?} with {:?}", row.spec.name, row.spec.kind, row.set);
    }
}

#[test]
fn every_default_is_what_holds_without_the_option() {
    let context = Context { cpus: 4, read: &|_| None };
    for row in rows().filter(|row| !matches!(row.set, Set::Nothing)) {
        let mut draft = Draft::default();
        if let Some(text) = row.spec.default {
            row.apply(&mut draft, Some(text), &context).expect(row.spec.name);
        } else if matches!(row.spec.kind, Kind::Flag | Kind::Bool) {
            row.apply(&mut draft, Some("0"), &context).expect(row.spec.name);
            // Said to be off is not the same as not said, but it must do the same.
            draft.buffers.refill = None;
        }
        assert_eq!(draft, Draft::default(), "{}", row.spec.name);
    }
}

#[test]
fn every_row_has_help_and_a_reason_if_it_is_refused() {
    for row in rows() {
        assert!(!row.spec.help.is_empty() && !row.spec.help.ends_with('.'), "{}", row.spec.name);
        if let Support::Refused(reason) = row.spec.support {
            assert!(!reason.is_empty(), "{}", row.spec.name);
        }
    }
}
