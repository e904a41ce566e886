//! House rules about structure: circles of imports within a crate, parameters, and who knows an engine's name.

use super::check;
use super::source::{Kind, Named, Path, Source, production_sources, read_all};
use std::collections::{BTreeMap, BTreeSet};

/// The largest circle of files in a crate (files that all import each other, directly or through others; that a
/// `mod.rs` uses its own files counts), and the largest circle of its folders, in which all files of a folder are one.
/// The numbers fall.
const CIRCLES: &[(&str, usize, usize)] = &[
    ("analysis", 44, 7),
    ("cli", 5, 2),
    ("cluster", 9, 2),
    ("engine", 9, 0),
    ("fio", 15, 4),
    ("formats", 8, 2),
    ("iozone", 3, 3),
    ("load", 4, 3),
    ("measure", 2, 2),
    ("model", 2, 2),
    ("monitor", 2, 2),
    ("report", 11, 0),
    ("run", 4, 0),
    ("session", 4, 4),
    ("survey", 5, 5),
    ("sys", 3, 4),
];

/// Files outside of crate engine that may name engines: they choose one for their own job, as a user would.
const CHOOSES_ENGINES: &[(&str, &str)] = &[
    ("crates/cli/src/calibrate.rs", "the engines that are calibrated if none is named"),
    ("crates/cli/src/capacity/search.rs", "the tester without a target"),
    ("crates/fio/src/known_engines.rs", "fio's engines that are refused, with reasons"),
    ("crates/iozone/src/passes.rs", "iozone's options for other ways of doing I/O"),
    ("crates/plan/src/engine.rs", "the default engine"),
    ("crates/run/src/calibration/setups.rs", "what does nothing on the way of an engine to the kernel"),
    ("crates/survey/src/open_loop.rs", "the engines of an open loop"),
    ("crates/survey/src/suite.rs", "the survey's usual engines, by depth"),
];

/// Names of engines that are words of options or messages, too: they count on lines about engines only.
const AMBIGUOUS: &[&str] = &["exec", "ftruncate", "mmap", "net", "null", "splice", "sync"];

/// The crate of a file, and the file's path below `src`.
fn in_crate(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("crates/")?.split_once("/src/")
}

/// The module path of a file, by its path below `src`.
fn module_of(file: &str) -> Path {
    let mut parts: Path = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// The modules of one crate: each file with the path of its module.
struct Modules<'s> {
    files: BTreeMap<Path, &'s Source>,
    /// Names that a module imports, for itself or others, with the full path of what they stand for; `None` for what is
    /// of another crate.
    passed_on: BTreeMap<Path, Option<Path>>,
}

impl<'s> Modules<'s> {
    fn new(files: impl Iterator<Item = (Path, &'s Source)>) -> Self {
        let mut modules = Modules { files: files.collect(), passed_on: BTreeMap::new() };
        let mut passed_on = BTreeMap::new();
        for (module, source) in &modules.files {
            for import in &source.imports {
                let from = [module.as_slice(), std::slice::from_ref(&import.name)].concat();
                let to = modules.absolute(module, &import.path);
                if to.as_ref() != Some(&from) {
                    passed_on.insert(from, to);
                }
            }
        }
        modules.passed_on = passed_on;
        modules
    }

    /// An absolute path within the crate for a path as written in a module; `None` for what is outside of the crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Path> {
        let above = path.iter().take_while(|part| *part == "super").count();
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (module, &path[1..]),
            "super" => (&module[..module.len().saturating_sub(above)], &path[above..]),
            first => {
                let child = [module, &[first.to_owned()]].concat();
                (self.files.contains_key(&child).then_some(module)?, path)
            }
        };
        Some([base, rest].concat())
    }

    /// The module that an absolute path leads to, through what modules pass on.
    fn leads_to(&self, path: &[String]) -> Option<&Path> {
        let mut path = path.to_vec();
        for _ in 0..8 {
            let passed = (1..=path.len()).find_map(|end| self.passed_on.get(&path[..end]).map(|to| (end, to)));
            let Some((end, to)) = passed else { break };
            path = [to.as_ref()?, &path[end..]].concat();
        }
        (0..=path.len()).rev().find_map(|end| self.files.get_key_value(&path[..end]).map(|(module, _)| module))
    }

    /// Which module imports which.
    fn arrows(&self) -> BTreeMap<Path, BTreeSet<Path>> {
        let to = |module: &Path, source: &Source| -> BTreeSet<Path> {
            let imported = source.imports.iter().filter(|import| !import.is_public).map(|import| &import.path);
            let absolute = imported.chain(&source.paths).filter_map(|path| self.absolute(module, path));
            absolute.filter_map(|path| self.leads_to(&path).cloned()).filter(|to| to != module).collect()
        };
        self.files.iter().map(|(module, source)| (module.clone(), to(module, source))).collect()
    }
}

/// The arrows between the folders and files that a crate begins with; its root is none of them.
fn of_folders(arrows: &BTreeMap<Path, BTreeSet<Path>>) -> BTreeMap<Path, BTreeSet<Path>> {
    let mut found: BTreeMap<Path, BTreeSet<Path>> = BTreeMap::new();
    for (from, to) in arrows.iter().filter(|(from, _)| !from.is_empty()) {
        let to = to.iter().filter(|to| !to.is_empty() && to[0] != from[0]).map(|to| to[..1].to_vec());
        found.entry(from[..1].to_vec()).or_default().extend(to);
    }
    found
}

/// The largest set of modules that all reach each other.
fn largest_circle(arrows: &BTreeMap<Path, BTreeSet<Path>>) -> Vec<String> {
    let mut all: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    for from in arrows.keys() {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(next) = open.pop() {
            open.extend(arrows.get(next).into_iter().flatten().filter(|to| seen.insert(*to)));
        }
        all.insert(from, seen);
    }
    let circle = |module: &&Path| -> Vec<String> {
        let both = all[*module].iter().filter(|other| all.get(*other).is_some_and(|back| back.contains(*module)));
        both.map(|other| if other.is_empty() { "the root".to_owned() } else { other.join("::") }).collect()
    };
    all.keys().map(circle).max_by_key(Vec::len).unwrap_or_default()
}

/// The crates with the modules of each.
fn crates(sources: &[Source]) -> BTreeMap<&str, Modules<'_>> {
    let mut files: BTreeMap<&str, Vec<(Path, &Source)>> = BTreeMap::new();
    for source in sources {
        let Some((name, file)) = in_crate(&source.path) else { continue };
        files.entry(name).or_default().push((module_of(file), source));
    }
    files.into_iter().map(|(name, files)| (name, Modules::new(files.into_iter()))).collect()
}

#[test]
fn circles_of_imports_do_not_grow() {
    let mut wrong = Vec::new();
    for (name, modules) in crates(production_sources()) {
        let arrows = modules.arrows();
        let (_, files, folders) =
            CIRCLES.iter().find(|(limited, ..)| *limited == name).copied().unwrap_or((name, 0, 0));
        for (kind, most, circle) in
            [("files", files, largest_circle(&arrows)), ("folders", folders, largest_circle(&of_folders(&arrows)))]
        {
            if circle.len() > most {
                wrong.push(format!(
                    "{name}: {} {kind} import each other, {most} at most: {}",
                    circle.len(),
                    circle.join(", ")
                ));
            }
        }
    }
    check(wrong);
}

fn findings(source: &Source, found: impl Iterator<Item = (usize, String)>) -> Vec<String> {
    found.map(|(line, what)| format!("{}:{line}: {what}", source.path)).collect()
}

/// The functions of a file that take a tuple.
fn tuple_parameters(source: &Source) -> impl Iterator<Item = &Named> {
    let takes_tuple = |parameters: &[(String, Kind)]| parameters.iter().any(|(_, kind)| *kind == Kind::Tuple);
    source.functions.iter().filter(move |function| takes_tuple(&function.parameters)).map(|function| &function.name)
}

/// The parts of a tuple have no names where they are given.
#[test]
fn no_function_takes_a_tuple() {
    let of = |source: &Source| {
        findings(source, tuple_parameters(source).map(|function| (function.line, function.name.clone())))
    };
    check(production_sources().iter().flat_map(of).collect());
}

/// Calls of functions with a parameter of type `bool` in which it is `true` or `false`: what it means is not seen
/// there.
fn nameless_bools(sources: &[Source]) -> Vec<String> {
    let takes_bool = |parameters: &[(String, Kind)]| parameters.iter().any(|(_, kind)| *kind == Kind::Bool);
    let functions = sources.iter().flat_map(|source| &source.functions);
    let named: BTreeSet<&str> = functions
        .filter(|function| takes_bool(&function.parameters))
        .map(|function| function.name.name.as_str())
        .collect();
    let calls = |source: &Source| {
        let ours = source.calls_with_bools.iter().filter(|call| named.contains(call.name.as_str()));
        findings(source, ours.map(|call| (call.line, format!("{}(true or false): give it a name", call.name))))
    };
    sources.iter().flat_map(calls).collect()
}

#[test]
fn no_call_says_only_true_or_false() {
    check(nameless_bools(production_sources()));
}

/// Enums that are a `bool` with a longer name.
fn yes_or_no(sources: &[Source]) -> Vec<String> {
    let is_bool =
        |variants: &[String]| variants.len() == 2 && variants.iter().all(|name| ["Yes", "No"].contains(&name.as_str()));
    let of = |source: &Source| {
        let enums = source.enums.iter().filter(|(_, variants)| is_bool(variants));
        findings(
            source,
            enums.map(|(name, _)| (name.line, format!("{} is Yes or No: a bool of this name says it", name.name))),
        )
    };
    sources.iter().flat_map(of).collect()
}

#[test]
fn no_enum_is_yes_or_no() {
    check(yes_or_no(production_sources()));
}

/// The names of all engines, as their own files declare them.
fn engine_names() -> BTreeSet<&'static str> {
    let of_engines =
        |source: &&Source| source.path.starts_with("crates/engine/src/") && !source.path.contains("/offload/");
    let names = |source: &'static Source| {
        let given = source.fields.iter().filter(|field| field.of == "EngineSpec" && field.name == "name");
        given.filter_map(|field| match source.constants.get(&field.value) {
            Some(constant) => Some(constant.as_str()),
            None if field.value.contains(char::is_uppercase) => None,
            None => Some(field.value.as_str()),
        })
    };
    let names: BTreeSet<&str> = production_sources().iter().filter(of_engines).flat_map(names).collect();
    assert!(names.len() > 25, "the declarations are not found any more: {names:?}");
    names
}

#[test]
fn only_engines_know_their_names() {
    let names = engine_names();
    let may = |source: &Source| {
        source.path.starts_with("crates/engine/") || CHOOSES_ENGINES.iter().any(|(path, _)| *path == source.path)
    };
    let found = |source: &Source| {
        let lines: Vec<&str> = source.text.lines().collect();
        let about = |literal: &Named| {
            !AMBIGUOUS.contains(&literal.name.as_str())
                || lines.get(literal.line - 1).is_some_and(|line| line.contains("engine"))
        };
        let literals = source.literals.iter().filter(|literal| names.contains(literal.name.as_str()) && about(literal));
        let what = |name: &str| format!("\"{name}\": ask the engine's capabilities instead");
        findings(source, literals.map(|literal| (literal.line, what(&literal.name))))
    };
    check(production_sources().iter().filter(|source| !may(source)).flat_map(found).collect());
}

/// Sources of a crate `x` with these files.
fn read(files: &[(&str, &str)]) -> Vec<Source> {
    read_all(files.iter().map(|(file, text)| (format!("crates/x/src/{file}"), (*text).to_owned())))
}

#[test]
fn circles_are_found() {
    let circle = |files: &[(&str, &str)]| largest_circle(&crates(&read(files))["x"].arrows());
    let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\n");
    let none = [lib, ("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { super::c::g() }"), ("c.rs", "")];
    assert_eq!(circle(&none), [""; 0]);
    let round =
        [lib, ("a.rs", "use crate::{b::B, x};"), ("b.rs", "fn f() { super::c::g() }"), ("c.rs", "use super::a;")];
    assert_eq!(circle(&round), ["a", "b", "c"]);
    let in_macro =
        [lib, ("a.rs", "fn f() { assert!(crate::b::g(), \"{}\", 1) }"), ("b.rs", "use crate::a;"), ("c.rs", "")];
    assert_eq!(circle(&in_macro), ["a", "b"]);
    // A name that a module passes on leads to where it is declared.
    let room = ("a/mod.rs", "mod inner;\npub(crate) use inner::{X, Y};\n");
    assert_eq!(
        circle(&[lib, room, ("a/inner.rs", "use crate::b::B;"), ("b.rs", "use crate::a::X;"), ("c.rs", "")]),
        ["a::inner", "b"]
    );
    assert_eq!(
        circle(&[lib, room, ("a/inner.rs", "use super::Y;"), ("b.rs", "use crate::a::X;"), ("c.rs", "")]),
        [""; 0]
    );
    // The file of a folder counts like any other.
    let divided = ("a/mod.rs", "mod inner;\nfn f() { inner::g() }\n");
    assert_eq!(circle(&[lib, divided, ("a/inner.rs", "use super::f;"), ("b.rs", ""), ("c.rs", "")]), ["a", "a::inner"]);
    // Tests may use what they like.
    let tested = ("a.rs", "use crate::b::B;\n#[cfg(test)]\nmod tests {\n    use crate::c;\n}\n");
    assert_eq!(circle(&[lib, tested, ("b.rs", ""), ("c.rs", "use crate::a;")]), [""; 0]);
    let apart = ("a.rs", "#[cfg(test)]\nmod proofs;\n");
    assert_eq!(
        circle(&[lib, apart, ("a/proofs.rs", "use crate::c;"), ("b.rs", ""), ("c.rs", "use crate::a;")]),
        [""; 0]
    );
}

#[test]
fn circles_of_folders_are_found() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a/mod.rs", "mod one;\nmod two;\n"),
        ("a/one.rs", "use crate::b::B;"),
        ("a/two.rs", "pub(crate) struct Two;"),
        ("b.rs", "use crate::a::two::Two;"),
    ];
    let arrows = crates(&read(&files))["x"].arrows();
    assert_eq!(largest_circle(&arrows), [""; 0]);
    assert_eq!(largest_circle(&of_folders(&arrows)), ["a", "b"]);
}

#[test]
fn tuples_bools_and_their_enums_are_found() {
    let text = "fn f((a, b): (u8, bool), c: &(u8, u8)) {}\nfn g(x: ()) {}\nimpl T { fn h(&self, x: (u8, u8)) {} }\n\
                fn on(is_on: bool) {}\nfn z() { on(true); on(is_on); Some(true); a.on(false); g(true) }\n\
                enum Queued { Yes, No }\nenum Kind { Yes, No, Perhaps }\n";
    let sources = read(&[("lib.rs", text)]);
    let tuples: Vec<&str> = tuple_parameters(&sources[0]).map(|function| function.name.as_str()).collect();
    assert_eq!(tuples, ["f", "h"]);
    assert_eq!(nameless_bools(&sources).len(), 2);
    assert_eq!(yes_or_no(&sources), ["crates/x/src/lib.rs:6: Queued is Yes or No: a bool of this name says it"]);
}
