//! Request → tests: levels, axes, repetitions and their order.

use crate::axis::Axis;
use crate::custom_tests::CustomTests;
use crate::error::SurveyError;
use crate::kind::{FIO_SH, FULL, Levels, TestKind, USUAL};
use crate::parse_values;
use crate::request::SurveyRequest;
use crate::test::SurveyTest;
use measure::{SplitMix, distinct};

/// Most tests in one survey; a larger number is most likely a typing error.
const MOST_TESTS: usize = 10_000;
const MOST_REPEATS: u32 = 1000;
/// fio.sh's writes are buffered, with O_SYNC.
const FIO_SH_WRITES: [(&str, &str); 2] = [("sync", "sync"), ("direct", "0")];

/// Permission to write to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// The target belongs to the survey, or the user consented.
    Allowed,
    /// The target holds other data.
    Forbidden,
}

/// The tests of a survey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Tests in the order in which they run.
    pub tests: Vec<SurveyTest>,
    /// The engine that runs them.
    pub engine: String,
    /// Test types skipped because the target may not be written to.
    pub left_out: Vec<TestKind>,
}

/// Builds the requested tests, on a target that may or may not be written to.
///
/// # Errors
/// There is nothing to measure, or there are too many tests.
pub fn suite(request: &SurveyRequest, writes: Writes) -> Result<Suite, SurveyError> {
    let levels = levels(request);
    let mut kinds: Vec<TestKind> = distinct(levels.iter().map(|(kind, ..)| *kind));
    if !request.tests.is_empty() {
        kinds.clone_from(&request.tests);
    }
    let (left_out, kinds): (Vec<TestKind>, Vec<TestKind>) =
        kinds.into_iter().partition(|kind| kind.writes() && writes == Writes::Forbidden);
    let mut once = Vec::new();
    for kind in kinds {
        let own: Vec<Levels> = levels.iter().copied().filter(|(other, ..)| *other == kind).collect();
        once.extend(of_kind(kind, &own, request)?);
        too_many(once.len())?;
    }
    // Without the custom tests, which each test would otherwise copy.
    let shared = SurveyRequest { own: CustomTests::new(), ..request.clone() };
    for (name, own) in &request.own {
        if own.kind.writes() && writes == Writes::Forbidden {
            return Err(SurveyError(format!(
                "`{name}` would overwrite data: survey a directory, or take the test out of the file"
            )));
        }
        let tests = of_kind(own.kind, &[], &own.request(&shared))?;
        once.extend(tests.into_iter().map(|test| own.name(name, test)));
        too_many(once.len())?;
    }
    if once.is_empty() {
        let kinds: Vec<&str> = left_out.iter().map(|kind| kind.word()).collect();
        return Err(SurveyError(format!(
            "nothing is left to measure: {} would overwrite data; survey a directory, or read with --tests randread,read",
            kinds.join(" and ")
        )));
    }
    let deep = once.iter().any(|test| test.extras.iter().any(|(name, _)| name == "iodepth"));
    let usual = if deep { "libaio" } else { "psync" };
    let engine = request.engine.clone().unwrap_or_else(|| usual.to_owned());
    Ok(Suite { tests: in_rounds(&once, request)?, engine, left_out })
}

/// Default levels, before the request's users and block sizes are applied.
fn levels(request: &SurveyRequest) -> Vec<Levels> {
    let table = match request {
        SurveyRequest { fio_sh: true, .. } => FIO_SH,
        SurveyRequest { tests, vary, .. } if tests.is_empty() && vary.is_empty() => USUAL,
        _ => FULL,
    };
    // Custom tests without any named test: only the custom ones run.
    if request.tests.is_empty() && !request.own.is_empty() {
        return Vec::new();
    }
    let swept = request.tests.is_empty() && !request.vary.is_empty();
    let wanted = |kind: TestKind| if swept { kind == TestKind::RandomRead } else { true };
    table.iter().copied().filter(|(kind, ..)| wanted(*kind)).collect()
}

fn of_kind(kind: TestKind, levels: &[Levels], request: &SurveyRequest) -> Result<Vec<SurveyTest>, SurveyError> {
    let (mut users, mut blocks, mut sets) = (request.users.clone(), request.block_sizes.clone(), vec![None]);
    let mut extras = vec![Vec::new()];
    if request.fio_sh && kind == TestKind::LogWrite {
        extras = vec![FIO_SH_WRITES.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()];
    }
    for axis in &request.vary {
        match axis.name.as_str() {
            "users" => users = parse_values::user_counts(&axis.values.join(","))?,
            "bs" => blocks = parse_values::block_sizes(&axis.values.join(","))?,
            "size" => sets = sizes(axis)?,
            _ => extras = crossed(&extras, axis)?,
        }
    }
    // A sweep varies only its axes; all other levels have a single value.
    if !request.vary.is_empty() {
        users = if users.is_empty() { vec![1] } else { users };
        blocks = if blocks.is_empty() { vec![kind.usual_block()] } else { blocks };
    }
    let mut tests = Vec::new();
    for (block, users) in pairs(levels, &blocks, &users) {
        for &set in &sets {
            tests.extend(extras.iter().map(|extras| SurveyTest {
                set,
                extras: extras.clone(),
                ..SurveyTest::at(kind, block, users)
            }));
        }
        too_many(tests.len())?;
    }
    Ok(tests)
}

/// Block size and user count pairs: those of the levels, or every combination if a list was given.
fn pairs(levels: &[Levels], blocks: &[u32], users: &[u32]) -> Vec<(u32, u32)> {
    let cross = |blocks: &[u32], users: &[u32]| -> Vec<(u32, u32)> {
        blocks.iter().flat_map(|&block| users.iter().map(move |&user| (block, user))).collect()
    };
    if blocks.is_empty() && users.is_empty() {
        return levels.iter().flat_map(|(_, blocks, users)| cross(blocks, users)).collect();
    }
    let all_blocks = distinct(levels.iter().flat_map(|(_, blocks, _)| blocks.iter().copied()));
    let all_users = distinct(levels.iter().flat_map(|(.., users)| users.iter().copied()));
    cross(if blocks.is_empty() { &all_blocks } else { blocks }, if users.is_empty() { &all_users } else { users })
}

fn sizes(axis: &Axis) -> Result<Vec<Option<u64>>, SurveyError> {
    axis.values.iter().map(|value| parse_values::size(value).map(Some)).collect()
}

type Options = Vec<(String, String)>;

fn crossed(so_far: &[Options], axis: &Axis) -> Result<Vec<Options>, SurveyError> {
    too_many(so_far.len().saturating_mul(axis.values.len()))?;
    let with = |options: &Options, value: &String| {
        let mut options = options.clone();
        options.push((axis.name.clone(), value.clone()));
        options
    };
    Ok(so_far.iter().flat_map(|options| axis.values.iter().map(move |value| with(options, value))).collect())
}

fn too_many(count: usize) -> Result<(), SurveyError> {
    match count {
        ..=MOST_TESTS => Ok(()),
        _ => Err(SurveyError(format!(
            "this makes {count} tests and more; {MOST_TESTS} is the most, so sweep fewer values"
        ))),
    }
}

/// All repetitions, each shuffled separately, so that drift over time affects all tests alike.
fn in_rounds(once: &[SurveyTest], request: &SurveyRequest) -> Result<Vec<SurveyTest>, SurveyError> {
    let repeat = request.repeat.unwrap_or(1);
    if !(1..=MOST_REPEATS).contains(&repeat) {
        return Err(SurveyError(format!("repeat {repeat} is not from 1 to {MOST_REPEATS}")));
    }
    too_many(once.len().saturating_mul(repeat as usize))?;
    let mut draw = SplitMix::new(request.seed.unwrap_or(0));
    let mut tests = Vec::new();
    for round in 1..=repeat {
        let mut all: Vec<SurveyTest> = once.iter().map(|test| SurveyTest { round, ..test.clone() }).collect();
        if request.shuffle {
            for at in (1..all.len()).rev() {
                all.swap(at, draw_below(&mut draw, at + 1));
            }
        }
        tests.extend(all);
    }
    Ok(tests)
}

/// Draws a number below a bound; a seed always yields the same order.
fn draw_below(draws: &mut SplitMix, bound: usize) -> usize {
    let share = u128::from(draws.next_word()) * bound as u128;
    usize::try_from(share >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::report_card::{Need, TESTS, runs};
    use model::Measurement;

    fn count(request: &SurveyRequest) -> usize {
        suite(request, Writes::Allowed).unwrap().tests.len()
    }

    fn levels_of(tests: &[SurveyTest], kind: TestKind) -> Vec<(u32, u32)> {
        tests.iter().filter(|test| test.kind == kind).map(|test| (test.block >> 10, test.users)).collect()
    }

    fn vary(text: &str) -> SurveyRequest {
        let mut request = SurveyRequest::default();
        for axis in text.split(' ') {
            request.add_axis(Axis::parse(axis).unwrap());
        }
        request
    }

    #[test]
    fn without_a_wish_the_usual_ten_tests_run() {
        assert_eq!(count(&SurveyRequest::default()), 10);
        let quick = SurveyRequest { quick: true, ..SurveyRequest::default() };
        assert_eq!(count(&quick), 10);
    }

    #[test]
    fn the_default_tests_are_those_that_a_report_card_needs() {
        let tests = suite(&SurveyRequest::default(), Writes::Allowed).unwrap().tests;
        let row = |test: &SurveyTest| Measurement {
            test: test.kind.pattern().into(),
            users: Some(test.users.into()),
            block: Some((test.block.into(), test.block.into())),
            ..Measurement::default()
        };
        let rows: Vec<Measurement> = tests.iter().map(row).collect();
        for test in TESTS.iter().filter(|test| test.need == Need::Always) {
            let runs = runs(&rows, test);
            let loads = [runs.base, runs.more].map(|run| run.map(|run| run.load));
            assert_eq!(loads, [Some(test.users), Some(test.more_users)], "{}", test.range());
        }
    }

    #[test]
    fn all_tests_have_the_levels_of_the_field() {
        let tests =
            suite(&SurveyRequest { tests: TestKind::ALL.to_vec(), ..SurveyRequest::default() }, Writes::Allowed)
                .unwrap()
                .tests;
        let users = [1, 8, 16, 32, 64];
        assert_eq!(levels_of(&tests, TestKind::RandomRead), users.map(|users| (8, users)));
        assert_eq!(levels_of(&tests, TestKind::Mixed), users.map(|users| (8, users)));
        let reads = [(8, 1), (32, 1), (128, 1), (1024, 1), (1024, 8), (1024, 16), (1024, 32), (1024, 64)];
        assert_eq!(levels_of(&tests, TestKind::SequentialRead), reads);
        let writes = [1, 4, 8, 128].map(|block| [1, 4, 16].map(|users| (block, users)));
        assert_eq!(levels_of(&tests, TestKind::LogWrite), writes.concat());
    }

    #[test]
    fn fio_sh_has_its_22_runs_and_the_mix_when_it_is_named() {
        let kinds = vec![TestKind::RandomRead, TestKind::LogWrite, TestKind::SequentialRead];
        let tests = suite(&SurveyRequest { fio_sh: true, tests: kinds, ..SurveyRequest::default() }, Writes::Allowed)
            .unwrap()
            .tests;
        assert_eq!(tests.len(), 22);
        assert_eq!(tests[5].kind, TestKind::LogWrite, "its order is random reads, writes, reads");
        assert_eq!(tests[5].extras, FIO_SH_WRITES.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn a_device_is_only_read_and_what_is_left_out_is_named() {
        let found =
            suite(&SurveyRequest { tests: TestKind::ALL.to_vec(), ..SurveyRequest::default() }, Writes::Forbidden)
                .unwrap();
        assert!(found.tests.iter().all(|test| !test.kind.writes()));
        assert_eq!(found.left_out, [TestKind::LogWrite, TestKind::Mixed]);
        let only = SurveyRequest { tests: vec![TestKind::LogWrite], ..SurveyRequest::default() };
        assert!(suite(&only, Writes::Forbidden).unwrap_err().to_string().contains("write would overwrite"));
    }

    #[test]
    fn lists_replace_the_levels_in_every_pair() {
        let request = SurveyRequest { tests: vec![TestKind::LogWrite], users: vec![2], ..SurveyRequest::default() };
        let found = suite(&request, Writes::Allowed).unwrap().tests;
        assert_eq!(levels_of(&found, TestKind::LogWrite), [(1, 2), (4, 2), (8, 2), (128, 2)]);
        let both = SurveyRequest { block_sizes: vec![4096, 65536], ..request };
        let found = suite(&both, Writes::Allowed).unwrap().tests;
        assert_eq!(levels_of(&found, TestKind::LogWrite), [(4, 2), (64, 2)]);
    }

    #[test]
    fn a_sweep_varies_what_it_names_and_nothing_else() {
        let found = suite(&vary("bs=4k..16k iodepth=1,8"), Writes::Allowed).unwrap();
        assert_eq!((found.tests.len(), found.engine.as_str()), (6, "libaio"));
        assert!(found.tests.iter().all(|test| test.kind == TestKind::RandomRead && test.users == 1));
        assert_eq!(found.tests[1].describe(), "4k rand read, 1 user, iodepth=8");
        let sizes = suite(&vary("size=16M..64M"), Writes::Allowed).unwrap().tests;
        assert_eq!(sizes.iter().map(|test| test.set).collect::<Vec<_>>(), [16, 32, 64].map(|mib| Some(mib << 20)));
        assert_eq!(count(&vary("users=1..64")), 7);
    }

    #[test]
    fn rounds_are_shuffled_each_by_itself_and_the_seed_repeats_them() {
        let request = SurveyRequest { repeat: Some(3), shuffle: true, seed: Some(7), ..SurveyRequest::default() };
        let (first, again) = (suite(&request, Writes::Allowed).unwrap(), suite(&request, Writes::Allowed).unwrap());
        assert_eq!(first, again);
        assert_eq!(first.tests.len(), 30);
        for (at, round) in first.tests.chunks(10).enumerate() {
            assert!(round.iter().all(|test| test.round as usize == at + 1));
            let kinds = |tests: &[SurveyTest]| {
                tests.iter().map(SurveyTest::describe).collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(kinds(round), kinds(&first.tests[..10]), "each round has every test");
        }
        let order =
            |seed| suite(&SurveyRequest { seed: Some(seed), ..request.clone() }, Writes::Allowed).unwrap().tests;
        assert_ne!(order(7), order(8));
    }

    #[test]
    fn too_much_is_refused() {
        let many = vary("bs=512..1g users=1..1024+1");
        assert!(suite(&many, Writes::Allowed).unwrap_err().to_string().contains("10000 is the most"));
        assert!(suite(&SurveyRequest { repeat: Some(0), ..SurveyRequest::default() }, Writes::Allowed).is_err());
    }
}
