//! Tests of the whole table: every default has the effect it states, every row is consistent.

use super::{Context, Set, find, names, rows};
use crate::options::draft::Draft;
use crate::options::values::UnitBase;
use plan::option::{Kind, Support};
use plan::{Digest, VerifyMethod};
use std::collections::BTreeSet;

#[test]
fn no_name_stands_for_two_options() {
    let mut seen = BTreeSet::new();
    let twice: Vec<&str> = names().filter(|name| !seen.insert(*name)).collect();
    assert_eq!(twice, Vec::<&str>::new());
}

#[test]
fn every_working_row_has_a_setter_of_its_kind() {
    for row in rows().filter(|row| !matches!(row.set, Set::Refused(_) | Set::Never(_))) {
        let fits = matches!(
            (row.spec.kind, row.set),
            (_, Set::Text(_) | Set::NoEffect)
                | (Kind::Word(_), Set::Word(_))
                | (Kind::Integer { .. }, Set::Count(_) | Set::Small(_) | Set::Number(_) | Set::Signed(_))
                | (Kind::Size { percent: true }, Set::Amount(_))
                | (Kind::Size { percent: false }, Set::Number(_))
                | (Kind::ThreeWay, Set::Three(_))
                | (Kind::Range, Set::Ranges(_))
                | (Kind::Time(_), Set::Time(_))
                | (Kind::Bool | Kind::Flag, Set::Switch(_))
        );
        assert!(fits, "{}: {:?} with {:?}", row.spec.name, row.spec.kind, row.set);
    }
}

#[test]
fn every_default_is_what_holds_without_the_option() {
    let context = Context { cpus: 4, unit_base: UnitBase::Binary, read: &|_| None };
    for row in rows().filter(|row| !matches!(row.set, Set::Refused(_))) {
        let mut draft = Draft::default();
        if let Some(text) = row.spec.default {
            row.apply(&mut draft, Some(text), &context).expect(row.spec.name);
        } else if matches!(row.spec.kind, Kind::Flag | Kind::Bool) {
            row.apply(&mut draft, Some("0"), &context).expect(row.spec.name);
            // `refill_buffers=0` is not the same as an absent option, but must have the same effect.
            draft.buffers.refill = None;
        }
        assert_eq!(draft, Draft::default(), "{}", row.spec.name);
    }
}

#[test]
fn what_adds_up_in_fio_adds_up() {
    let context = Context { cpus: 4, unit_base: UnitBase::Binary, read: &|_| None };
    let draft = |option: &str, values: &[&str]| {
        let (mut draft, row) = (Draft::default(), find(option).expect(option));
        values.iter().for_each(|value| row.apply(&mut draft, Some(value), &context).expect(option));
        draft
    };
    let at_once = [
        ("filename", &["a:b", "c", "a"][..], "a:b:c:a"),
        ("opendir", &["a", "b:c"], "a:b:c"),
        ("sync_file_range", &["wait_before:2", "write:4"], "wait_before,write:4"),
        ("ignore_error", &["EIO", ",ENOSPC"], "EIO,ENOSPC"),
        ("bs", &["4k,8k", ",16k"], "4k,16k,16k"),
    ];
    for (option, values, together) in at_once {
        assert_eq!(draft(option, values), draft(option, &[together]), "{option}");
    }
    let by_last = [
        ("directory", ["a", "b"]),
        ("read_iolog", ["a", "b"]),
        ("exec_prerun", ["a", "b"]),
        ("write_bw_log", ["a", "b"]),
        ("percentile_list", ["50:60:70", "90"]),
        ("cpus_allowed", ["0", "1"]),
        ("bssplit", ["4k/50:8k/50", "16k/100"]),
    ];
    for (option, values) in by_last {
        assert_eq!(draft(option, &values), draft(option, &values[1..]), "{option}");
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

#[test]
fn verify_words_are_ready_to_be_switched_on() {
    let context = Context { cpus: 4, unit_base: UnitBase::Binary, read: &|_| None };
    let mut draft = Draft::default();
    for (name, value) in
        [("verify", "sha3-256"), ("verify_pattern", "0xab"), ("verify_backlog", "1k"), ("verify_interval", "512")]
    {
        let row = super::find(name).expect(name);
        row.apply(&mut draft, Some(value), &context).expect(name);
    }
    assert_eq!(draft.verify.method, Some(VerifyMethod::Digest(Digest::Sha3_256)));
    assert_eq!(
        (draft.verify.plan.pattern.bytes, draft.verify.plan.backlog, draft.verify.plan.interval),
        (vec![0xab], Some(1024), Some(512))
    );
}
