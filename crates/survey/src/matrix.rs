//! From wishes to tests: levels, axes, rounds and their order.

use crate::axis::Axis;
use crate::kind::{FIO_SH, FULL, Kind, Levels, USUAL};
use crate::own::OwnTests;
use crate::test::Test;
use crate::wishes::Wishes;
use crate::word;

/// As many tests as one survey may have; more is a slip of the finger.
const MOST_TESTS: usize = 10_000;
const MOST_REPEATS: u32 = 1000;
/// fio.sh's writes go through the page cache, each with O_SYNC.
const FIO_SH_WRITES: [(&str, &str); 2] = [("sync", "sync"), ("direct", "0")];

/// Whether the target may be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// It is ours, or its owner said so.
    Allowed,
    /// Others have data there.
    Forbidden,
}

/// The tests of a survey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// In the order in which they run.
    pub tests: Vec<Test>,
    /// The engine that runs them.
    pub engine: String,
    /// Kinds that were left out because the target may not be written to.
    pub left_out: Vec<Kind>,
}

/// The tests that these wishes ask for, on a target that may or may not be written to.
///
/// # Errors
/// When nothing is left to measure, or far too much.
pub fn suite(wishes: &Wishes, writes: Writes) -> Result<Suite, String> {
    let levels = levels(wishes);
    let mut kinds: Vec<Kind> = Vec::new();
    for (kind, ..) in &levels {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    if !wishes.tests.is_empty() {
        kinds.clone_from(&wishes.tests);
    }
    let (left_out, kinds): (Vec<Kind>, Vec<Kind>) =
        kinds.into_iter().partition(|kind| kind.writes() && writes == Writes::Forbidden);
    let mut once = Vec::new();
    for kind in kinds {
        let own: Vec<Levels> = levels.iter().copied().filter(|(other, ..)| *other == kind).collect();
        once.extend(of_kind(kind, &own, wishes)?);
        too_many(once.len())?;
    }
    // Without what each of them would copy.
    let shared = Wishes { own: OwnTests::new(), ..wishes.clone() };
    for (name, own) in &wishes.own {
        if own.kind.writes() && writes == Writes::Forbidden {
            return Err(format!("`{name}` would overwrite data: survey a directory, or take the test out of the file"));
        }
        let tests = of_kind(own.kind, &[], &own.wishes(&shared))?;
        once.extend(tests.into_iter().map(|test| own.name(name, test)));
        too_many(once.len())?;
    }
    if once.is_empty() {
        let kinds: Vec<&str> = left_out.iter().map(|kind| kind.word()).collect();
        return Err(format!(
            "nothing is left to measure: {} would overwrite data; survey a directory, or read with --tests randread,read",
            kinds.join(" and ")
        ));
    }
    let deep = once.iter().any(|test| test.extras.iter().any(|(name, _)| name == "iodepth"));
    let usual = if deep { "libaio" } else { "psync" };
    let engine = wishes.engine.clone().unwrap_or_else(|| usual.to_owned());
    Ok(Suite { tests: in_rounds(&once, wishes)?, engine, left_out })
}

/// The levels before any wish about users and blocks.
fn levels(wishes: &Wishes) -> Vec<Levels> {
    let table = match wishes {
        Wishes { fio_sh: true, .. } => FIO_SH,
        Wishes { tests, vary, .. } if tests.is_empty() && vary.is_empty() => USUAL,
        _ => FULL,
    };
    // Who has tests of his own and names no others wants those.
    if wishes.tests.is_empty() && !wishes.own.is_empty() {
        return Vec::new();
    }
    let swept = wishes.tests.is_empty() && !wishes.vary.is_empty();
    let wanted = |kind: Kind| if swept { kind == Kind::RandomRead } else { true };
    table.iter().copied().filter(|(kind, ..)| wanted(*kind)).collect()
}

fn of_kind(kind: Kind, levels: &[Levels], wishes: &Wishes) -> Result<Vec<Test>, String> {
    let (mut users, mut blocks, mut sets) = (wishes.users.clone(), wishes.block_sizes.clone(), vec![None]);
    let mut extras = vec![Vec::new()];
    if wishes.fio_sh && kind == Kind::LogWrite {
        extras = vec![FIO_SH_WRITES.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()];
    }
    for axis in &wishes.vary {
        match axis.name.as_str() {
            "users" => users = word::user_counts(&axis.values.join(","))?,
            "bs" => blocks = word::block_sizes(&axis.values.join(","))?,
            "size" => sets = sizes(axis)?,
            _ => extras = crossed(&extras, axis)?,
        }
    }
    // A sweep varies what it names; everything else stays at one value.
    if !wishes.vary.is_empty() {
        users = if users.is_empty() { vec![1] } else { users };
        blocks = if blocks.is_empty() { vec![kind.usual_block()] } else { blocks };
    }
    let mut tests = Vec::new();
    for (block, users) in pairs(levels, &blocks, &users) {
        for &set in &sets {
            tests.extend(extras.iter().map(|extras| Test {
                name: None,
                kind,
                block,
                users,
                set,
                extras: extras.clone(),
                round: 1,
            }));
        }
        too_many(tests.len())?;
    }
    Ok(tests)
}

/// Block sizes with user counts: those of the levels, or every pair where a list was given.
fn pairs(levels: &[Levels], blocks: &[u32], users: &[u32]) -> Vec<(u32, u32)> {
    let distinct = |all: Vec<u32>| {
        let mut found: Vec<u32> = Vec::new();
        for each in all {
            if !found.contains(&each) {
                found.push(each);
            }
        }
        found
    };
    let cross = |blocks: &[u32], users: &[u32]| -> Vec<(u32, u32)> {
        blocks.iter().flat_map(|&block| users.iter().map(move |&user| (block, user))).collect()
    };
    if blocks.is_empty() && users.is_empty() {
        return levels.iter().flat_map(|(_, blocks, users)| cross(blocks, users)).collect();
    }
    let all_blocks = distinct(levels.iter().flat_map(|(_, blocks, _)| blocks.iter().copied()).collect());
    let all_users = distinct(levels.iter().flat_map(|(.., users)| users.iter().copied()).collect());
    cross(if blocks.is_empty() { &all_blocks } else { blocks }, if users.is_empty() { &all_users } else { users })
}

fn sizes(axis: &Axis) -> Result<Vec<Option<u64>>, String> {
    axis.values.iter().map(|value| word::size(value).map(Some)).collect()
}

type Options = Vec<(String, String)>;

fn crossed(so_far: &[Options], axis: &Axis) -> Result<Vec<Options>, String> {
    too_many(so_far.len().saturating_mul(axis.values.len()))?;
    let with = |options: &Options, value: &String| {
        let mut options = options.clone();
        options.push((axis.name.clone(), value.clone()));
        options
    };
    Ok(so_far.iter().flat_map(|options| axis.values.iter().map(move |value| with(options, value))).collect())
}

fn too_many(count: usize) -> Result<(), String> {
    match count {
        ..=MOST_TESTS => Ok(()),
        _ => Err(format!("this makes {count} tests and more; {MOST_TESTS} is the most, so sweep fewer values")),
    }
}

/// All rounds, each shuffled by itself, so that whatever drifts meets every test alike.
fn in_rounds(once: &[Test], wishes: &Wishes) -> Result<Vec<Test>, String> {
    let repeat = wishes.repeat.unwrap_or(1);
    if !(1..=MOST_REPEATS).contains(&repeat) {
        return Err(format!("repeat {repeat} is not from 1 to {MOST_REPEATS}"));
    }
    too_many(once.len().saturating_mul(repeat as usize))?;
    let mut draw = Draw(wishes.seed.unwrap_or(0));
    let mut tests = Vec::new();
    for round in 1..=repeat {
        let mut all: Vec<Test> = once.iter().map(|test| Test { round, ..test.clone() }).collect();
        if wishes.shuffle {
            for at in (1..all.len()).rev() {
                all.swap(at, draw.below(at + 1));
            }
        }
        tests.extend(all);
    }
    Ok(tests)
}

/// SplitMix64: an order that its seed repeats.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let share = u128::from(mixed ^ (mixed >> 31)) * bound as u128;
        usize::try_from(share >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(wishes: &Wishes) -> usize {
        suite(wishes, Writes::Allowed).unwrap().tests.len()
    }

    fn levels_of(tests: &[Test], kind: Kind) -> Vec<(u32, u32)> {
        tests.iter().filter(|test| test.kind == kind).map(|test| (test.block >> 10, test.users)).collect()
    }

    fn vary(text: &str) -> Wishes {
        let mut wishes = Wishes::default();
        for axis in text.split(' ') {
            wishes.add_axis(Axis::parse(axis).unwrap());
        }
        wishes
    }

    #[test]
    fn without_a_wish_the_usual_nine_tests_run() {
        assert_eq!(count(&Wishes::default()), 9);
        let quick = Wishes { quick: true, ..Wishes::default() };
        assert_eq!(count(&quick), 9);
    }

    #[test]
    fn all_tests_have_the_levels_of_the_field() {
        let tests = suite(&Wishes { tests: Kind::ALL.to_vec(), ..Wishes::default() }, Writes::Allowed).unwrap().tests;
        let users = [1, 8, 16, 32, 64];
        assert_eq!(levels_of(&tests, Kind::RandomRead), users.map(|users| (8, users)));
        assert_eq!(levels_of(&tests, Kind::Mixed), users.map(|users| (8, users)));
        let reads = [(8, 1), (32, 1), (128, 1), (1024, 1), (1024, 8), (1024, 16), (1024, 32), (1024, 64)];
        assert_eq!(levels_of(&tests, Kind::SequentialRead), reads);
        let writes = [1, 4, 8, 128].map(|block| [1, 4, 16].map(|users| (block, users)));
        assert_eq!(levels_of(&tests, Kind::LogWrite), writes.concat());
    }

    #[test]
    fn fio_sh_has_its_22_runs_and_the_mix_when_it_is_named() {
        let kinds = vec![Kind::RandomRead, Kind::LogWrite, Kind::SequentialRead];
        let tests = suite(&Wishes { fio_sh: true, tests: kinds, ..Wishes::default() }, Writes::Allowed).unwrap().tests;
        assert_eq!(tests.len(), 22);
        assert_eq!(tests[5].kind, Kind::LogWrite, "its order is random reads, writes, reads");
        assert_eq!(tests[5].extras, FIO_SH_WRITES.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn a_device_is_only_read_and_what_is_left_out_is_named() {
        let found = suite(&Wishes { tests: Kind::ALL.to_vec(), ..Wishes::default() }, Writes::Forbidden).unwrap();
        assert!(found.tests.iter().all(|test| !test.kind.writes()));
        assert_eq!(found.left_out, [Kind::LogWrite, Kind::Mixed]);
        let only = Wishes { tests: vec![Kind::LogWrite], ..Wishes::default() };
        assert!(suite(&only, Writes::Forbidden).unwrap_err().contains("write would overwrite"));
    }

    #[test]
    fn lists_replace_the_levels_in_every_pair() {
        let wishes = Wishes { tests: vec![Kind::LogWrite], users: vec![2], ..Wishes::default() };
        let found = suite(&wishes, Writes::Allowed).unwrap().tests;
        assert_eq!(levels_of(&found, Kind::LogWrite), [(1, 2), (4, 2), (8, 2), (128, 2)]);
        let both = Wishes { block_sizes: vec![4096, 65536], ..wishes };
        let found = suite(&both, Writes::Allowed).unwrap().tests;
        assert_eq!(levels_of(&found, Kind::LogWrite), [(4, 2), (64, 2)]);
    }

    #[test]
    fn a_sweep_varies_what_it_names_and_nothing_else() {
        let found = suite(&vary("bs=4k..16k iodepth=1,8"), Writes::Allowed).unwrap();
        assert_eq!((found.tests.len(), found.engine.as_str()), (6, "libaio"));
        assert!(found.tests.iter().all(|test| test.kind == Kind::RandomRead && test.users == 1));
        assert_eq!(found.tests[1].describe(), "4k rand read, 1 user, iodepth=8");
        let sizes = suite(&vary("size=16M..64M"), Writes::Allowed).unwrap().tests;
        assert_eq!(sizes.iter().map(|test| test.set).collect::<Vec<_>>(), [16, 32, 64].map(|mib| Some(mib << 20)));
        assert_eq!(count(&vary("users=1..64")), 7);
    }

    #[test]
    fn rounds_are_shuffled_each_by_itself_and_the_seed_repeats_them() {
        let wishes = Wishes { repeat: Some(3), shuffle: true, seed: Some(7), ..Wishes::default() };
        let (first, again) = (suite(&wishes, Writes::Allowed).unwrap(), suite(&wishes, Writes::Allowed).unwrap());
        assert_eq!(first, again);
        assert_eq!(first.tests.len(), 27);
        for (at, round) in first.tests.chunks(9).enumerate() {
            assert!(round.iter().all(|test| test.round as usize == at + 1));
            let kinds = |tests: &[Test]| tests.iter().map(Test::describe).collect::<std::collections::BTreeSet<_>>();
            assert_eq!(kinds(round), kinds(&first.tests[..9]), "each round has every test");
        }
        let order = |seed| suite(&Wishes { seed: Some(seed), ..wishes.clone() }, Writes::Allowed).unwrap().tests;
        assert_ne!(order(7), order(8));
    }

    #[test]
    fn too_much_is_refused() {
        let many = vary("bs=512..1g users=1..1024+1");
        assert!(suite(&many, Writes::Allowed).unwrap_err().contains("10000 is the most"));
        assert!(suite(&Wishes { repeat: Some(0), ..Wishes::default() }, Writes::Allowed).is_err());
    }
}
