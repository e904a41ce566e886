//! The parts of the manifest for an Indexed Job: where the pods' volumes are from, and their command.

use super::{JOB, VOLUME, entries, filled, quoted};
use crate::failure::Failure;
use std::io::Read;

const INDEXED_JOB: &str = include_str!("kubernetes.yaml");
/// Where a pod has the secret.
const SECRET_PLACE: &str = "/secret";
/// Where a pod has its volume as a device.
const DEVICE: &str = "/dev/plumb-volume";
/// The name of the first pod.
const FIRST_POD: &str = "plumb-0.plumb";
/// How long pods wait for each other: an image may have to be fetched.
const JOIN_WITHIN: &str = "15m";
/// Bytes of a secret.
const SECRET: usize = 32;

/// A new volume for each pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cluster) struct NewVolume {
    class: String,
    size: String,
}

/// Reads `CLASS:SIZE`.
pub(in crate::cluster) fn new_volume(text: &str) -> Result<NewVolume, String> {
    let wrong = || format!("`{text}` is not CLASS:SIZE; write it like fast-ssd:20Gi");
    let (class, size) = text.rsplit_once(':').filter(|(class, _)| !class.is_empty()).ok_or_else(wrong)?;
    let digits = size.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let is_size = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let units = ["", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"];
    match is_size && units.contains(&&size[digits.len()..]) {
        true => Ok(NewVolume { class: class.to_owned(), size: size.to_owned() }),
        false => Err(wrong()),
    }
}

/// The volume that pods measure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Volume<'a> {
    /// A new one for each pod, with a file system.
    New(&'a NewVolume),
    /// A new one for each pod, as a device.
    NewDevice(&'a NewVolume),
    /// One for all, by its claim.
    Claim(&'a str),
}

/// The manifest. `words` are those of the user, for the leader.
pub(super) fn indexed_job(
    members: u32,
    image: &str,
    volume: Volume<'_>,
    words: &[String],
    files: &[(String, String)],
) -> Result<String, Failure> {
    let data = entries(files)?;
    let data = if data.is_empty() { "  {}\n" } else { &data };
    let (members, port) = (members.to_string(), cluster::LEADER_PORT.to_string());
    let note = match volume {
        Volume::NewDevice(_) => {
            " Before plumb writes to a device it asks wipefs (util-linux) what is on it; the image needs it."
        }
        Volume::New(_) | Volume::Claim(_) => "",
    };
    let (mount, source) = volume.parts()?;
    let values: [(&str, &str); 12] = [
        ("IMAGE_NOTE", note),
        ("DATA", data),
        ("SECRET", &quoted(&drawn_secret()?)?),
        ("PORT", &port),
        ("MEMBERS", &members),
        ("IMAGE", &quoted(image)?),
        ("JOB", JOB),
        ("COMMAND", &command(&members, volume, words)?),
        ("SECRET_PLACE", SECRET_PLACE),
        ("MOUNT", &mount),
        ("SOURCE", &source),
        ("VOLUME", VOLUME),
    ];
    Ok(filled(INDEXED_JOB, &values))
}

impl Volume<'_> {
    /// Lines of YAML: where a container has it, and where it is from.
    fn parts(self) -> Result<(String, String), Failure> {
        let mount = format!("            - name: data\n              mountPath: {VOLUME}\n");
        let device =
            format!("          volumeDevices:\n            - name: data\n              devicePath: {DEVICE}\n");
        let new = |volume: &NewVolume, mode: &str| {
            Ok::<_, Failure>(format!(
                "          ephemeral:\n            volumeClaimTemplate:\n              spec:\n                accessModes:\n                  - ReadWriteOnce\n                \
                 storageClassName: {}\n                volumeMode: {mode}\n                resources:\n                  requests:\n                    storage: {}\n",
                quoted(&volume.class)?,
                volume.size
            ))
        };
        Ok(match self {
            Volume::New(volume) => (mount, new(volume, "Filesystem")?),
            Volume::NewDevice(volume) => (device, new(volume, "Block")?),
            Volume::Claim(name) => {
                (mount, format!("          persistentVolumeClaim:\n            claimName: {}\n", quoted(name)?))
            }
        })
    }
}

/// The words of all pods, a line of YAML each.
fn command(members: &str, volume: Volume<'_>, words: &[String]) -> Result<String, Failure> {
    let common = ["plumb", "cluster", "--lead", members, "--join", FIRST_POD, "--rank", "$(RANK)"];
    let is_named = words.iter().any(|word| word == "--directory" || word.starts_with("--directory="));
    let directory: &[&str] = match volume {
        _ if is_named => &[],
        // The job files are where nothing can be written.
        Volume::NewDevice(_) => &["--directory", "/tmp"],
        Volume::New(_) | Volume::Claim(_) => &["--directory", VOLUME],
    };
    let patience = ["--join-within", JOIN_WITHIN];
    // Kubernetes replaces $(NAME), and takes $$(NAME) as it is.
    let own = words.iter().map(|word| word.replace("$(", "$$("));
    let all = common.iter().chain(&patience).chain(directory).map(|word| (*word).to_owned()).chain(own);
    all.map(|word| quoted(&word).map(|word| format!("            - {word}\n"))).collect()
}

/// A secret of random bytes, in hexadecimal.
fn drawn_secret() -> Result<String, Failure> {
    let mut bytes = [0; SECRET];
    let source = std::path::Path::new("/dev/urandom");
    std::fs::File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| Failure::at(source, error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_a_class_and_a_size_of_kubernetes() {
        for (text, expected) in [
            ("fast:20Gi", Some(("fast", "20Gi"))),
            ("a:b:1T", Some(("a:b", "1T"))),
            ("fast:20", Some(("fast", "20"))),
            ("fast", None),
            (":20Gi", None),
            ("fast:Gi", None),
            ("fast:20GB", None),
            ("fast:2 0", None),
        ] {
            let expected = expected.map(|(class, size)| NewVolume { class: class.to_owned(), size: size.to_owned() });
            assert_eq!(new_volume(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn secrets_differ_and_are_long_enough_for_the_members() {
        let (one, other) = (drawn_secret().unwrap(), drawn_secret().unwrap());
        assert!(one != other && one.len() == 64 && one.bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
    }
}
