//! House rules about structure: circles of imports within a crate, bool parameters, and who knows an engine's name.

use super::language::{Finding, fail_with, production};
use super::{check, code, sources};
use std::collections::{BTreeMap, BTreeSet};

/// The largest circle of files in a crate: files that all import each other, directly or through others.
const LARGEST_CIRCLE: usize = 4;

/// Files outside of crate engine that may name engines: they choose one for a job of their own, as a user would.
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

/// The modules of one crate: each file with the path of its module.
struct Modules {
    files: BTreeMap<Vec<String>, String>,
    /// Names that a module passes on (`pub use`), with the full path of what they stand for.
    passed_on: BTreeMap<Vec<String>, Vec<String>>,
}

/// The module path of a file, by its path below `src`.
fn module_of(file: &str) -> Vec<String> {
    let mut parts: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// The code of a file without comments, texts and test modules, and the test modules it declares.
fn production_code(text: &str) -> (String, Vec<String>) {
    let (mut kept, mut tests) = (String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("#[cfg(test)]") {
            let declared = lines
                .next()
                .and_then(|next| next.trim_start_matches("pub(crate) ").strip_prefix("mod "))
                .and_then(|next| next.strip_suffix(';'));
            match declared {
                Some(name) => tests.push(name.to_owned()),
                None => break,
            }
            continue;
        }
        kept.push_str(&code(line));
        kept.push('\n');
    }
    (kept, tests)
}

/// Every path that a tree of imports stands for: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn paths_of_tree(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let Some((start, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()];
    };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut depth, mut parts) = (0_usize, vec![String::new()]);
    for letter in inside.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if letter == ',' && depth == 0 {
            parts.push(String::new());
        } else {
            parts.last_mut().expect("never empty").push(letter);
        }
    }
    let full = |part: &String| paths_of_tree(&format!("{}{}", start.trim(), part.trim()));
    parts.iter().filter(|part| !part.trim().is_empty()).flat_map(full).collect()
}

/// The trees of all `use` items: whether the item passes its names on, and the tree.
fn imports(code: &str) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let line_start = rest[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = rest[line_start..at].trim();
        let after = &rest[at + 4..];
        let end = after.find(';').unwrap_or(after.len());
        if before.is_empty() || before.starts_with("pub") {
            found.push((before.starts_with("pub"), after[..end].replace('\n', " ")));
        }
        rest = &after[if before.is_empty() || before.starts_with("pub") { end } else { 0 }..];
    }
    found
}

/// Every path in the code outside of imports, `a::b::c`.
fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let words = code.split(|letter: char| !is_part(letter)).filter(|word| word.contains("::"));
    words.map(|word| word.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()).collect()
}

impl Modules {
    /// An absolute path within the crate for a path as written in a module; `None` for what is outside of the crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let (mut base, mut rest) = (module.to_vec(), path);
        match rest.first()?.as_str() {
            "crate" => (base, rest) = (Vec::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                let child = [base.as_slice(), &[first.to_owned()]].concat();
                if !self.files.contains_key(&child) {
                    return None;
                }
            }
        }
        Some([base.as_slice(), rest].concat())
    }

    /// The file that an absolute path leads to, through what modules pass on.
    fn file(&self, path: &[String]) -> Option<&Vec<String>> {
        let mut path = path.to_vec();
        for _ in 0..8 {
            let passed = (1..=path.len()).find_map(|end| self.passed_on.get(&path[..end]).map(|to| (end, to.clone())));
            let Some((end, to)) = passed else { break };
            path = [to.as_slice(), &path[end..]].concat();
        }
        (0..=path.len()).rev().find_map(|end| self.files.get_key_value(&path[..end]).map(|(module, _)| module))
    }

    /// Which file imports which. That a `mod.rs` uses the files of its own directory is how a module is divided, and no
    /// arrow.
    fn arrows(&self, codes: &BTreeMap<Vec<String>, String>) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
        let mut arrows = BTreeMap::new();
        for (module, code) in codes {
            let own = imports(code).into_iter().filter(|(passes_on, _)| !passes_on);
            let imported = own.flat_map(|(_, tree)| paths_of_tree(&tree));
            let paths = imported.chain(inline_paths(&without_imports(code)));
            let to = paths.filter_map(|path| self.file(&self.absolute(module, &path)?).cloned());
            let to: BTreeSet<Vec<String>> = to.filter(|to| !to.starts_with(module)).collect();
            arrows.insert(module.clone(), to);
        }
        arrows
    }
}

fn without_imports(code: &str) -> String {
    imports(code).iter().fold(code.replace('\n', " "), |code, (_, tree)| code.replace(tree.as_str(), ""))
}

/// The largest set of files of a crate that all reach each other.
fn largest_circle(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut modules = Modules { files: BTreeMap::new(), passed_on: BTreeMap::new() };
    let (mut codes, mut tests) = (BTreeMap::new(), BTreeSet::new());
    for (file, text) in files {
        let (code, declared) = production_code(text);
        let module = module_of(file);
        tests.extend(declared.into_iter().map(|name| [module.as_slice(), &[name]].concat()));
        modules.files.insert(module.clone(), file.clone());
        codes.insert(module, code);
    }
    let is_test = |module: &[String]| (1..=module.len()).any(|end| tests.contains(&module[..end]));
    modules.files.retain(|module, _| !is_test(module));
    codes.retain(|module, _| !is_test(module));
    let mut passed_on = BTreeMap::new();
    for (module, code) in &codes {
        for (_, tree) in imports(code).into_iter().filter(|(passes_on, _)| *passes_on) {
            for path in paths_of_tree(&tree) {
                let (Some(to), Some(name)) = (modules.absolute(module, &path), path.last()) else { continue };
                passed_on.insert([module.as_slice(), std::slice::from_ref(name)].concat(), to);
            }
        }
    }
    passed_on.retain(|from, to| from != to);
    modules.passed_on = passed_on;
    let arrows = modules.arrows(&codes);
    let reached = |from: &Vec<String>| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(next) = open.pop() {
            open.extend(arrows[next].iter().filter(|to| seen.insert((*to).clone())));
        }
        seen
    };
    let all: BTreeMap<_, _> = codes.keys().map(|module| (module, reached(module))).collect();
    let circle = |module: &Vec<String>| -> Vec<String> {
        let both = all[module].iter().filter(|other| all[*other].contains(module));
        both.map(|other| modules.files[other].clone()).collect()
    };
    codes.keys().map(circle).max_by_key(Vec::len).unwrap_or_default()
}

#[test]
fn no_circle_of_imports_has_more_than_four_files() {
    let mut crates: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (path, text) in sources() {
        let Some((name, file)) = path.strip_prefix("crates/").and_then(|path| path.split_once("/src/")) else {
            continue;
        };
        if !file.ends_with("tests.rs") && !file.contains("tests/") {
            crates.entry(name.to_owned()).or_default().insert(file.to_owned(), text);
        }
    }
    let mut wrong = Vec::new();
    for (name, files) in &crates {
        let circle = largest_circle(files);
        if circle.len() > LARGEST_CIRCLE {
            wrong.push(format!("{name}: {} files import each other: {}", circle.len(), circle.join(", ")));
        }
    }
    check(wrong);
}

/// The parameters of type `bool` of every function in these lines.
fn bool_parameters(path: &str, lines: &[(usize, String)]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (index, (at, line)) in lines.iter().enumerate() {
        let line = code(line);
        let before = line.split("fn ").next().unwrap_or_default().trim();
        let opens = ["", "pub", "const", "unsafe", "extern"].iter().any(|word| before.split(' ').next() == Some(*word));
        let opens = (opens || before.starts_with("pub(")) && line.contains("fn ") && !before.contains(['=', '(', ':'])
            || before.starts_with("pub(") && line.contains("fn ") && !before.contains(['=', ':']);
        if !opens {
            continue;
        }
        let signature: Vec<String> = lines[index..].iter().take(12).map(|(_, line)| code(line)).collect();
        let signature = signature.join(" ");
        let Some(open) = signature.find("fn ").and_then(|start| Some(start + signature[start..].find('(')?)) else {
            continue;
        };
        let (mut depth, mut end) = (0_i32, signature.len());
        for (place, letter) in signature[open..].char_indices() {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            if depth == 0 {
                end = open + place;
                break;
            }
        }
        for name in signature[open + 1..end].split(',').filter_map(|each| each.trim().strip_suffix(": bool")) {
            found.push(Finding {
                path: path.to_owned(),
                line: *at,
                what: format!("parameter `{name}: bool`: use an enum"),
            });
        }
    }
    found
}

#[test]
fn no_function_takes_a_bool() {
    let tests = test_files();
    let files = production().into_iter().filter(|(path, _)| !tests.contains(path));
    fail_with(files.flat_map(|(path, lines)| bool_parameters(&path, &lines)).collect());
}

/// The files that only tests have: those of modules declared under `#[cfg(test)]`.
pub(super) fn test_files() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, text) in sources() {
        let (directory, file) = path.rsplit_once('/').unwrap_or(("", &path));
        let stem = file.trim_end_matches(".rs");
        let room =
            if ["mod", "lib", "main"].contains(&stem) { directory.to_owned() } else { format!("{directory}/{stem}") };
        found.extend(production_code(&text).1.into_iter().map(|name| format!("{room}/{name}.rs")));
    }
    found
}

/// The names of all engines, as their own files declare them.
fn engine_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let inner = |path: &str| path.contains("/offload/");
    for (_, text) in sources().into_iter().filter(|(path, _)| path.starts_with("crates/engine/src/") && !inner(path)) {
        let constant = text.split_once("const NAME: &str = \"").and_then(|(_, rest)| rest.split('"').next());
        for part in text.split("EngineSpec {").skip(1) {
            let Some((_, value)) = part.split_once("name: ").filter(|(between, _)| between.trim().is_empty()) else {
                continue;
            };
            let name = value.strip_prefix('"').map_or(constant, |text| text.split('"').next());
            names.extend(name.map(str::to_owned));
        }
    }
    assert!(names.len() > 25, "the declarations are not found any more: {names:?}");
    names
}

#[test]
fn only_engines_know_their_names() {
    let (names, tests) = (engine_names(), test_files());
    let mut findings = Vec::new();
    for (path, lines) in production() {
        if path.starts_with("crates/engine/")
            || tests.contains(&path)
            || CHOOSES_ENGINES.iter().any(|(may, _)| *may == path)
        {
            continue;
        }
        for (at, line) in lines.iter().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let line = line.split(" // ").next().unwrap_or_default();
            let about = |name: &str| line.contains("engine") || !AMBIGUOUS.contains(&name);
            let literal = |name: &&String| line.contains(&format!("\"{name}\"")) && about(name);
            if let Some(name) = names.iter().find(literal) {
                let what = format!("\"{name}\": ask the engine's capabilities instead");
                findings.push(Finding { path: path.clone(), line: *at, what });
            }
        }
    }
    fail_with(findings);
}

#[test]
fn the_rules_of_structure_find_what_breaks_them() {
    let files = |files: &[(&str, &str)]| -> BTreeMap<String, String> {
        files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect()
    };
    let circle = |list: &[(&str, &str)]| largest_circle(&files(list));
    let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\n");
    assert_eq!(
        circle(&[lib, ("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { super::c::g() }"), ("c.rs", "")]),
        [""; 0]
    );
    let round =
        [lib, ("a.rs", "use crate::{b::B, x};"), ("b.rs", "fn f() { super::c::g() }"), ("c.rs", "use super::a;")];
    assert_eq!(circle(&round), ["a.rs", "b.rs", "c.rs"]);
    // A name that a module passes on leads to where it is declared.
    let room = ("a/mod.rs", "mod inner;\npub(crate) use inner::{X, Y};\n");
    assert_eq!(
        circle(&[lib, room, ("a/inner.rs", "use crate::b::B;"), ("b.rs", "use crate::a::X;"), ("c.rs", "")]).len(),
        2
    );
    assert_eq!(
        circle(&[lib, room, ("a/inner.rs", "use super::Y;"), ("b.rs", "use crate::a::X;"), ("c.rs", "")]).len(),
        0
    );
    let divided = ("a/mod.rs", "mod inner;\nfn f() { inner::g() }\n");
    assert_eq!(circle(&[lib, divided, ("a/inner.rs", "use super::f;"), ("b.rs", ""), ("c.rs", "")]).len(), 0);
    // Tests may use what they like.
    let tested = ("a.rs", "use crate::b::B;\n#[cfg(test)]\nmod tests {\n    use crate::c;\n}\n");
    assert_eq!(circle(&[lib, tested, ("b.rs", ""), ("c.rs", "use crate::a;")]).len(), 0);

    let lines = |text: &str| -> Vec<(usize, String)> {
        text.lines().enumerate().map(|(at, line)| (at + 1, line.to_owned())).collect()
    };
    let bools = |text: &str| bool_parameters("x", &lines(text)).len();
    assert_eq!(bools("pub(crate) fn f(\n    on: bool,\n    (a, b): (u8, bool),\n) {}\nfn g(x: bool) -> bool {}\n"), 2);
    assert_eq!(bools("fn f(set: fn(u8, bool), x: Option<bool>) {}\nlet f = |on: bool| on;\n// fn f(on: bool)\n"), 0);
}
