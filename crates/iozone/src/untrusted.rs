//! Restrictions of `--untrusted` on files named by iozone's options.
//!
//! Arguments on the command line are trusted. A telemetry file (-X, -Y) contains only numbers and is not restricted.

use crate::refusal::Refusal;
use crate::settings::Settings;
use fio::untrusted::leads_outside;

/// The parts of a command line that were read from files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FromFiles {
    /// True if the cluster machines came from a file.
    pub(crate) members: bool,
    /// True if the names of the children's files came from a file.
    pub(crate) names: bool,
}

/// Rejects cluster machines from a file, and file names from a file that point outside of the current directory.
pub(crate) fn check(settings: &Settings, from: FromFiles) -> Result<(), Refusal> {
    if from.members {
        let why =
            "--untrusted: the file of -+m names programs that are run on other machines; leave one of the two out";
        return Err(Refusal::NotBuilt(why.to_owned()));
    }
    let outside = |path: &&std::path::PathBuf| leads_outside(&path.to_string_lossy());
    match settings.files.iter().find(outside).filter(|_| from.names) {
        Some(path) => Err(Refusal::NotBuilt(format!(
            "--untrusted: the file of -+R names {path:?}, which leads out of this directory; name files in it or below it"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(text: &str) -> Result<Settings, Refusal> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        crate::argv::read("iozone", &words)
    }

    #[test]
    fn files_from_others_name_no_machines_and_nothing_outside() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name).display().to_string()
        };
        let (hosts, names) = (file("hosts", "node1 /data /bin/plumb\n"), file("names", "a\n../b\n"));
        for text in [format!("--untrusted -+m {hosts} -t 1 -i 0"), format!("-t 2 -+R {names} -i 0 --untrusted")] {
            let refused = read_words(&text);
            assert!(
                matches!(&refused, Err(Refusal::NotBuilt(why)) if why.starts_with("--untrusted: ")),
                "{text}: {refused:?}"
            );
        }
        let harmless = file("harmless", "a\nsub/b\n");
        assert!(read_words(&format!("--untrusted -t 2 -+R {harmless} -i 0")).is_ok());
        assert!(read_words("--untrusted -i 0 -t 1 -F /data/of/my/own").is_ok());
    }
}
