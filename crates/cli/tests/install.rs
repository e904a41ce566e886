//! `make install`, and the .deb of it: the tree under PREFIX, its links, man pages and completions. The released packages are
//! proved by tools/packages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs `make install` of the program that is tested, with these variables.
fn install(variables: &[String]) -> Output {
    let mut make = Command::new("make");
    make.args(["--no-print-directory", "-C", WORKSPACE, "install"]);
    make.arg(concat!("PROGRAM=", env!("CARGO_BIN_EXE_plumb"))).args(variables).env_remove("MAKEFLAGS");
    make.output().unwrap()
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

fn succeeds(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{error}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A package's tree, installed two times.
fn installed() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let variables = [format!("DESTDIR={}", place.path().display()), "PREFIX=/usr".to_owned()];
    succeeds(&install(&variables));
    let first = tree(place.path());
    succeeds(&install(&variables));
    assert_eq!(tree(place.path()), first, "another time changes nothing");
    let usr = place.path().join("usr");
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
    let gunzipped = Command::new("gzip").args(["-dc"]).arg(usr.join("share/man/man1/plumb-fio.1.gz")).output().unwrap();
    let page = Command::new(usr.join("bin/plumb")).args(["--generate", "man", "--page", "plumb-fio"]).output().unwrap();
    assert!(page.stdout.len() > 10_000 && page.stdout == gunzipped.stdout);
}

#[test]
fn the_first_directory_of_path_decides_which_fio_runs() {
    let (place, usr) = installed();
    let other = place.path().join("other");
    std::fs::create_dir(&other).unwrap();
    for name in ["fio", "iozone", "iostat"] {
        std::fs::write(other.join(name), "#!/bin/sh\necho another\n").unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(other.join(name), executable).unwrap();
    }
    let links = usr.join("lib/plumb/bin");
    let said = |name: &str, option: &str, first: &Path, second: &Path| {
        let path = format!("{}:{}:{}", first.display(), second.display(), std::env::var("PATH").unwrap());
        let script = format!("{name} {option}");
        succeeds(&Command::new("sh").args(["-c", &script]).env("PATH", path).output().unwrap())
    };
    for (name, option, says) in [("fio", "--version", "plumb"), ("iozone", "-v", "plumb"), ("iostat", "-V", "plumb")] {
        assert_eq!(said(name, option, &other, &links), "another\n", "{name}");
        let ours = said(name, option, &links, &other);
        assert!(ours.contains(says), "{name}: {ours}");
    }
}

#[test]
fn what_cannot_be_installed_is_refused_by_name() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let directory = format!("DESTDIR={}", place.path().display());
    for (variables, says) in [
        (vec![directory.clone(), "PREFIX=usr".to_owned()], "PREFIX=usr is not absolute"),
        (vec![directory, "PROGRAM=/nowhere/plumb".to_owned()], "there is no /nowhere/plumb; make release builds it"),
    ] {
        let output = install(&variables);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(says), "{variables:?}: {error}");
    }
    assert_eq!(tree(place.path()).len(), 0);
}

/// A .deb of the program that is tested, packed in a hurry.
fn packed(place: &Path) -> PathBuf {
    let mut dist = Command::new(Path::new(WORKSPACE).join("tools/dist"));
    dist.args(["deb", env!("CARGO_BIN_EXE_plumb")]).arg(place);
    succeeds(&dist.env("DEB_COMPRESSION", "none").env("SOURCE_DATE_EPOCH", "1000000000").output().unwrap());
    let named = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "deb");
    let found = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path()).find(named);
    found.expect("a package")
}

/// Runs dpkg in a root where nothing is installed.
fn dpkg(root: &Path, words: &[&str]) -> String {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", root.display())).arg("--force-not-root,depends,bad-path,script-chrootless");
    succeeds(&dpkg.arg("--log=/dev/null").args(words).output().unwrap())
}

#[test]
fn the_debian_package_overwrites_nothing_and_purges_itself() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let package = packed(place.path());
    let root = place.path().join("root");
    std::fs::create_dir_all(root.join("var/lib/dpkg/updates")).unwrap();
    std::fs::create_dir_all(root.join("var/lib/dpkg/info")).unwrap();
    std::fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    dpkg(&root, &["--install", package.to_str().unwrap()]);
    let files: BTreeSet<String> = dpkg(&root, &["--listfiles", "plumb"]).lines().map(str::to_owned).collect();
    assert!(
        files.contains("/usr/bin/plumb") && files.contains("/usr/share/zsh/vendor-completions/_plumb"),
        "{files:?}"
    );
    let of_others = Command::new("dpkg").args(["--listfiles", "fio", "sysstat", "iozone3"]).output().unwrap();
    let of_others = succeeds(&of_others);
    let is_file = |path: &&str| files.contains(*path) && !root.join(path.trim_start_matches('/')).is_dir();
    assert!(of_others.contains("/usr/bin/fio\n") && of_others.contains("/usr/bin/iozone\n"), "{of_others}");
    assert_eq!(of_others.lines().filter(is_file).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(dpkg(&root, &["--verify", "plumb"]), "", "the sums in the package are those of its files");
    let version = Command::new(root.join("usr/lib/plumb/bin/fio")).arg("--version").output().unwrap();
    assert!(succeeds(&version).contains("plumb"));
    dpkg(&root, &["--purge", "plumb"]);
    assert!(tree(&root).iter().all(|path| path.starts_with("var/")), "{:?}", tree(&root));
}
