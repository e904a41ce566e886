//! `make install`, and the .deb of it: the tree under PREFIX, its links, man pages and completions. The released
//! packages are proved by tools/packages.

use crate::context::{PLUMB, place};
use house::{Place, Run};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// `make install` of the program that is tested, with these variables.
fn install(variables: &[String]) -> Run {
    let make = Run::new("make", Path::new(WORKSPACE)).words("--no-print-directory install");
    make.words([format!("PROGRAM={PLUMB}")]).words(variables).without_env("MAKEFLAGS")
}

/// All files and links below a directory, by their path from it.
fn tree(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found
}

/// A package's tree, installed two times.
fn installed() -> (Place, PathBuf) {
    let place = place();
    let variables = [format!("DESTDIR={}", place.path().display()), "PREFIX=/usr".to_owned()];
    install(&variables).succeeds();
    let first = tree(place.path());
    install(&variables).succeeds();
    assert_eq!(tree(place.path()), first, "another time changes nothing");
    let usr = place.file("usr");
    (place, usr)
}

#[test]
fn an_installed_plumb_is_whole_and_takes_no_foreign_name() {
    let (place, usr) = installed();
    let files = tree(place.path());
    let pages: BTreeSet<&str> = files.iter().filter_map(|path| path.strip_prefix("usr/share/man/man1/")).collect();
    assert!(pages.len() > 30 && pages.contains("plumb.1.gz") && pages.contains("plumb-survey.1.gz"), "{pages:?}");
    for path in [
        "usr/bin/plumb",
        "usr/lib/plumb/plumb-mpi",
        "usr/share/bash-completion/completions/plumb",
        "usr/share/zsh/site-functions/_plumb",
        "usr/share/fish/vendor_completions.d/plumb.fish",
        "usr/share/doc/plumb/LICENSE",
        "usr/share/doc/plumb/README.md",
        "usr/share/doc/plumb/docs/install.md",
        "usr/share/doc/plumb/docs/stream.schema.json",
    ] {
        assert!(files.contains(path), "{path} is not in {files:?}");
    }
    // Debian's fio, sysstat, iozone3 and bash-completion have programs, pages and completions of these names.
    let names = |path: &&String| {
        let name = path.rsplit('/').next().unwrap_or_default();
        ["fio", "iozone", "iostat", "_fio", "_iozone", "_iostat"].contains(&name.split('.').next().unwrap_or_default())
    };
    let own = |path: &&String| path.starts_with("usr/share/doc/plumb/");
    let taken: Vec<&String> = files.iter().filter(names).filter(|path| !own(path)).collect();
    assert!(taken.iter().all(|path| path.starts_with("usr/lib/plumb/bin/")) && taken.len() == 4, "{taken:?}");
    // The pages are those of this very program.
    let gunzipped = Run::new("gzip", &usr).words("-dc share/man/man1/plumb-fio.1.gz").stdout();
    let page = Run::new(usr.join("bin/plumb"), &usr).words("--generate man --page plumb-fio").stdout();
    assert!(page.len() > 10_000 && page == gunzipped);
}

#[test]
fn the_first_directory_of_path_decides_which_fio_runs() {
    let (place, usr) = installed();
    let other = place.directory("other");
    for name in ["fio", "iozone", "iostat"] {
        place.program(other.join(name), "#!/bin/sh\necho another\n");
    }
    let links = usr.join("lib/plumb/bin");
    let said = |name: &str, option: &str, first: &Path, second: &Path| {
        let path = format!("{}:{}:{}", first.display(), second.display(), std::env::var("PATH").unwrap());
        let script = format!("{name} {option}");
        Run::new("sh", &place).words(["-c", &script]).env("PATH", path).stdout()
    };
    for (name, option, says) in [("fio", "--version", "plumb"), ("iozone", "-v", "plumb"), ("iostat", "-V", "plumb")] {
        assert_eq!(said(name, option, &other, &links), "another\n", "{name}");
        let ours = said(name, option, &links, &other);
        assert!(ours.contains(says), "{name}: {ours}");
    }
}

#[test]
fn what_cannot_be_installed_is_refused_by_name() {
    let place = place();
    let directory = format!("DESTDIR={}", place.path().display());
    for (variables, says) in [
        (vec![directory.clone(), "PREFIX=usr".to_owned()], "PREFIX=usr is not absolute"),
        (vec![directory, "PROGRAM=/nowhere/plumb".to_owned()], "there is no /nowhere/plumb; make release builds it"),
    ] {
        install(&variables).fails().complains(says);
    }
    assert_eq!(tree(place.path()).len(), 0);
}

/// A .deb of the program that is tested, packed in a hurry.
fn packed(place: &Place) -> PathBuf {
    let dist = Run::new(Path::new(WORKSPACE).join("tools/dist"), place).words(["deb", PLUMB]).words([place.path()]);
    dist.env("DEB_COMPRESSION", "none").env("SOURCE_DATE_EPOCH", "1000000000").succeeds();
    place.file(place.names().into_iter().find(|name| name.ends_with(".deb")).expect("a package"))
}

/// Runs dpkg in a root where nothing is installed.
fn dpkg(root: &Path, words: &[&str]) -> String {
    let options = "--force-not-root,depends,bad-path,script-chrootless --log=/dev/null";
    Run::new("dpkg", root).words([format!("--root={}", root.display())]).words(options).words(words).stdout()
}

#[test]
fn the_debian_package_overwrites_nothing_and_purges_itself() {
    let place = place();
    let package = packed(&place);
    let root = place.file("root");
    std::fs::create_dir_all(root.join("var/lib/dpkg/updates")).unwrap();
    std::fs::create_dir_all(root.join("var/lib/dpkg/info")).unwrap();
    std::fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    dpkg(&root, &["--install", package.to_str().unwrap()]);
    let files: BTreeSet<String> = dpkg(&root, &["--listfiles", "plumb"]).lines().map(str::to_owned).collect();
    assert!(
        files.contains("/usr/bin/plumb") && files.contains("/usr/share/zsh/vendor-completions/_plumb"),
        "{files:?}"
    );
    let of_others = Run::new("dpkg", &place).words("--listfiles fio sysstat iozone3").stdout();
    let is_file = |path: &&str| files.contains(*path) && !root.join(path.trim_start_matches('/')).is_dir();
    assert!(of_others.contains("/usr/bin/fio\n") && of_others.contains("/usr/bin/iozone\n"), "{of_others}");
    assert_eq!(of_others.lines().filter(is_file).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(dpkg(&root, &["--verify", "plumb"]), "", "the sums in the package are those of its files");
    Run::new(root.join("usr/lib/plumb/bin/fio"), &root).words("--version").succeeds().prints("plumb");
    dpkg(&root, &["--purge", "plumb"]);
    assert!(tree(&root).iter().all(|path| path.starts_with("var/")), "{:?}", tree(&root));
}
