//! A real loop device, when the test may make one.

use measure::Nanos;
use model::TargetAccess;
use monitor::{Recorder, RunRecording, Target};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use sys::files::operations::{OpenFlags, open};

const SIZE: usize = 4 << 20;

/// A loop device over a file of zeros that were written; detached when dropped.
struct Loop {
    device: PathBuf,
    folder: tempfile::TempDir,
}

impl Loop {
    /// Needs root.
    fn attach() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let image = folder.path().join("image");
        fs::write(&image, vec![0; SIZE]).unwrap();
        File::open(&image).unwrap().sync_all().unwrap();
        Loop::over(&image, &["--direct-io=on"], folder)
    }

    fn over(image: &Path, options: &[&str], folder: tempfile::TempDir) -> Self {
        let made = Command::new("losetup").args(["--find", "--show"]).args(options).arg(image).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        Loop { device: PathBuf::from(String::from_utf8(made.stdout).unwrap().trim()), folder }
    }

    fn read_direct(&self) {
        let mut file = open(&self.device, OpenFlags::RDONLY | OpenFlags::DIRECT, 0).unwrap();
        let mut arena = sys::machine::buffers::Arena::new(&sys::machine::buffers::Source::Private, 1, SIZE, 0).unwrap();
        file.read_exact(&mut arena.slot_mut(0).unwrap()[..SIZE]).unwrap();
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

#[test]
fn a_loop_device_shows_reads_from_it_and_from_the_disk_below() {
    let root = Path::new("/");
    let target = Loop::attach();
    let name = target.device.file_name().unwrap().to_str().unwrap().to_owned();
    let recorder = Recorder::start(root, &[&target.device], Nanos::SECOND, Nanos::ZERO);
    let image = target.folder.path().join("image");
    target.read_direct();
    let RunRecording { devices, lowest_traffic, .. } = recorder.finish(Nanos::from_secs(1), &[]);
    let [usage] = &devices[..] else { panic!("the loop device alone") };
    assert_eq!((usage.name.as_str(), usage.sectors.map(|[read, _]| read)), (name.as_str(), Some((SIZE / 512) as u64)));
    assert!(usage.ios[0] > 0 && usage.elapsed_ms == Some(1000));
    // The disk below serves other processes, too, so it may have read more, but not less.
    if let Some(traffic) = lowest_traffic.filter(|_| open(&image, OpenFlags::RDONLY | OpenFlags::DIRECT, 0).is_ok()) {
        assert!(traffic.read_bytes >= SIZE as u64, "{traffic:?}");
    }
}

#[test]
fn a_loop_device_and_its_file_have_one_identity() {
    let target = Loop::attach();
    let image = target.folder.path().join("image");
    let mut recorder = Recorder::start(Path::new("/"), &[], Nanos::SECOND, Nanos::ZERO);
    let end = SIZE as u64 + 4096;
    let upon = |options: &[&str]| Loop::over(&target.device, options, tempfile::tempdir().unwrap());
    let (above, shifted) = (upon(&[]), upon(&["--offset=4096"]));
    let paths = [&target.device, &image, &above.device, &shifted.device];
    recorder.begin_targets(&paths.map(|path| Target { path: path.clone(), start: 0, end, access: TargetAccess::Both }));
    let found = recorder.finish(Nanos::SECOND, &[]).monitored.targets;
    assert!(found[0].identity.is_some() && found[0].identity == found[1].identity, "{found:?}");
    assert_eq!(found[2].identity, found[0].identity, "a loop device over it");
    assert_ne!(found[3].identity, found[0].identity, "one that starts elsewhere");
    assert_eq!((found[0].past_end_bytes, found[1].past_end_bytes), (None, Some(4096)));
}
