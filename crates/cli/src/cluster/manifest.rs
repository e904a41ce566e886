//! `plumb cluster manifest`: what a scheduler takes to run a job on its nodes, with MPI or without. A text with
//! comments, meant to be read and edited.

use super::{ClusterArgs, ClusterCommand};
use crate::failure::Failure;
use crate::input;
use crate::members::carrier::Place;
use crate::members::program::{Job, Needs, Share, Work};
use crate::streams::OutputArgs;
use clap::{Args, Command, FromArgMatches};
use measure::text;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Largest number of members.
const MOST_MEMBERS: i64 = 4096;
/// Where a pod has the job files.
const JOB: &str = "/job";
/// Where a pod has the volume, unless --directory names another place.
const VOLUME: &str = "/data";

const SLURM: &str = include_str!("manifest/slurm.sh");
const MPI_JOB: &str = include_str!("manifest/mpijob.yaml");

/// Print a job for a scheduler: a script for Slurm, or manifests for Kubernetes
#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("scheduler").required(true).args(["slurm", "mpijob", "kubernetes"]),
    after_help = "\
Examples:
  plumb cluster manifest --slurm --members 64 --nodes 8 -- fio job.fio > run.sh; sbatch run.sh
  plumb cluster manifest --mpijob --members 4 --image r/plumb:1 --claim data -- fio job.fio
  plumb cluster manifest --kubernetes --members 4 --image r/plumb --volume fast:20Gi -- fio job.fio
  plumb cluster manifest --slurm --members 8 -- survey --quick /scratch

After -- comes a command line of plumb cluster: options of the run, then fio, iozone, survey or
knee with its options.
It prints; nothing is submitted."
)]
pub(super) struct ManifestArgs {
    /// A script for sbatch
    #[arg(long)]
    slurm: bool,
    /// An MPIJob (v2beta1) of Kubeflow's MPI operator
    #[arg(long)]
    mpijob: bool,
    /// An Indexed Job of Kubernetes, without an operator and without MPI
    #[arg(long)]
    kubernetes: bool,
    /// Number of members
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_MEMBERS))]
    members: u32,
    /// Number of nodes, or of pods with --mpijob [default: Slurm decides; a pod for each member]
    #[arg(long, value_name = "N", conflicts_with = "kubernetes", value_parser = clap::value_parser!(u32).range(1..=MOST_MEMBERS))]
    nodes: Option<u32>,
    /// Image with plumb, for pods; with plumb-mpi, Open MPI and sshd, too, for --mpijob
    #[arg(long, value_name = "IMAGE", conflicts_with = "slurm")]
    image: Option<String>,
    /// Claim of the volume to measure, mounted at /data in all pods
    #[arg(long, value_name = "NAME", conflicts_with = "slurm")]
    claim: Option<String>,
    /// A new volume of this class and size for each pod, mounted at /data, for --kubernetes
    #[arg(long, value_name = "CLASS:SIZE", value_parser = read_volume, conflicts_with_all = ["slurm", "mpijob", "claim"])]
    volume: Option<NewVolume>,
    /// The volume is a device, /dev/plumb-volume, without a file system
    #[arg(long, requires = "volume", conflicts_with = "claim")]
    block: bool,
    #[command(flatten)]
    written: OutputArgs,
    /// Command line of plumb cluster, without `plumb cluster`
    #[arg(last = true, required = true, value_name = "WORD")]
    words: Vec<OsString>,
}

impl ManifestArgs {
    /// Prints the manifest. The words are read as the leader will, so that a mistake is found here.
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let words = input::words(&self.words)?;
        let files = self.checked(&words)?;
        let mut out = self.written.open()?;
        let text = match (self.slurm, self.mpijob) {
            (true, _) => self.slurm_script(&words),
            (_, true) => self.mpi_job(&words, &files)?,
            (false, false) => self.indexed_job(&words, &files)?,
        };
        out.write(&text)?;
        Ok(0)
    }

    /// The files that the words name, with their content.
    fn checked(&self, words: &[String]) -> Result<Vec<(String, String)>, Failure> {
        let members = self.members.to_string();
        let carrier: &[&str] = if self.kubernetes { &["--lead", &members] } else { &["--mpi"] };
        let all = ["plumb"].iter().chain(carrier).map(|word| (*word).to_owned()).chain(words.iter().cloned());
        let wrong = |error: clap::Error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Failure::new(format!("cluster manifest: the words after --: {first}"))
        };
        let matches = ClusterArgs::augment_args(Command::new("plumb")).try_get_matches_from(all).map_err(wrong)?;
        let args = ClusterArgs::from_arg_matches(&matches).map_err(wrong)?;
        if self.kubernetes {
            args.lead.check_pods()?;
        }
        let Some(ClusterCommand::Program(program, words)) = &args.command else {
            return Err(Failure::new(
                "cluster manifest: after -- are options of a run, then fio, iozone, survey or knee and its own",
            ));
        };
        match program.work(words)? {
            Work::Job(job) => {
                self.job_files(&*job, &Share { wears_out: false, spread: None, ..args.lead.share("/".to_owned()) })
            }
            Work::Tests(tests) => {
                args.lead.check(*program)?;
                let needs = tests.needs(self.members)?;
                self.check_places(&needs)?;
                let text = |path: PathBuf| {
                    let text = String::from_utf8(input::read_bytes(&path)?);
                    Ok((path.to_string_lossy().into_owned(), text.map_err(|_| Failure::at(&path, "is not text"))?))
                };
                needs.files.into_iter().map(text).collect()
            }
        }
    }

    /// The files that a job's words name.
    fn job_files(&self, job: &dyn Job, share: &Share) -> Result<Vec<(String, String)>, Failure> {
        let node = |rank: u32| Place::Host(format!("node{}", rank % self.nodes.unwrap_or(self.members)));
        let places: Vec<Place> = (0..self.members).map(node).collect();
        let tasks = job.tasks(&places, share)?;
        Ok(tasks.into_iter().next().map(|task| task.files).unwrap_or_default())
    }

    /// Refuses tests of pods that are not of their volume, or whose result would be in the directory of the job files,
    /// which cannot be written.
    fn check_places(&self, needs: &Needs) -> Result<(), Failure> {
        if self.slurm {
            return Ok(());
        }
        if let Some(target) = needs.targets.iter().find(|target| target.is_relative()) {
            let target = target.display();
            return Err(Failure::new(format!(
                "cluster manifest: a pod begins in {JOB}, where {target} is not; name the volume: survey {VOLUME}"
            )));
        }
        let is_elsewhere = |path: &PathBuf| path.is_absolute() || path.as_os_str() == "-";
        if needs.results.as_ref().is_none_or(|results| results.iter().any(is_elsewhere)) {
            return Ok(());
        }
        Err(Failure::new(format!(
            "cluster manifest: the result would be in {JOB}, where a pod cannot write; after survey give -o - for its log, or -o {VOLUME}/result.json"
        )))
    }

    fn slurm_script(&self, words: &[String]) -> String {
        let nodes = self.nodes.map_or(String::new(), |nodes| format!("#SBATCH --nodes={nodes}\n"));
        let words: Vec<String> = words.iter().map(|word| text::shell_word(word)).collect();
        let members = self.members.to_string();
        filled(SLURM, &[("MEMBERS", &members), ("NODES", &nodes), ("WORDS", &words.join(" "))])
    }

    fn image(&self) -> Result<&str, Failure> {
        self.image.as_deref().ok_or_else(|| Failure::new("cluster manifest: pods need --image IMAGE"))
    }

    fn indexed_job(&self, words: &[String], files: &[(String, String)]) -> Result<String, Failure> {
        let volume = match (&self.claim, &self.volume) {
            (Some(name), _) => Volume::Claim(name),
            (None, Some(volume)) if self.block => Volume::NewDevice(volume),
            (None, Some(volume)) => Volume::New(volume),
            (None, None) => {
                return Err(Failure::new(
                    "cluster manifest: --kubernetes needs --volume CLASS:SIZE, a new volume for each pod, or --claim NAME, one for all",
                ));
            }
        };
        pods_job(self.members, self.image()?, volume, words, files)
    }

    fn mpi_job(&self, words: &[String], files: &[(String, String)]) -> Result<String, Failure> {
        let image = self.image()?;
        let missing = || Failure::new("cluster manifest: --mpijob needs --claim NAME");
        let claim = self.claim.as_deref().ok_or_else(missing)?;
        let pods = self.nodes.unwrap_or(self.members);
        if !self.members.is_multiple_of(pods) {
            return Err(Failure::new(format!(
                "cluster manifest: --members {} cannot be spread over --nodes {pods} pods equally, and the operator gives each as many",
                self.members
            )));
        }
        let (data, command) = (entries(files)?, self.pod_command(words)?);
        let (slots, pods) = ((self.members / pods).to_string(), pods.to_string());
        let data = if data.is_empty() { "  {}\n" } else { &data };
        let values: [(&str, &str); 8] = [
            ("SLOTS", &slots),
            ("PODS", &pods),
            ("IMAGE", &quoted(image)?),
            ("CLAIM", &quoted(claim)?),
            ("JOB", JOB),
            ("VOLUME", VOLUME),
            ("COMMAND", &command),
            ("DATA", data),
        ];
        Ok(filled(MPI_JOB, &values))
    }

    /// The words that start all members in pods, a line of YAML each.
    fn pod_command(&self, words: &[String]) -> Result<String, Failure> {
        let members = self.members.to_string();
        let launcher = ["mpirun", "-n", &members, "--bind-to", "none", "-wdir", JOB];
        let plumb = ["plumb", "cluster", "--mpi"];
        let is_named = words.iter().any(|word| word == "--directory" || word.starts_with("--directory="));
        let directory: &[&str] = if is_named { &[] } else { &["--directory", VOLUME] };
        let all = launcher.iter().chain(&plumb).chain(directory).copied().chain(words.iter().map(String::as_str));
        all.map(|word| quoted(word).map(|word| format!("                - {word}\n"))).collect()
    }
}

/// The job files as entries of a ConfigMap.
fn entries(files: &[(String, String)]) -> Result<String, Failure> {
    let entry = |(name, text): &(String, String)| {
        let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || name.contains('/') {
            return Err(Failure::new(format!(
                "cluster manifest: {name}: a pod has the job files in one directory; call it by its name, from its directory"
            )));
        }
        Ok(format!("  {}: {}\n", quoted(name)?, quoted(text)?))
    };
    files.iter().map(entry).collect()
}

/// A template with values in the places of their names, `@NAME@`.
fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    // Text and names take turns. A value is not searched for names.
    let parts = template.split('@').enumerate();
    parts.map(|(place, part)| if place % 2 == 0 { part } else { value(part).unwrap_or_default() }).collect()
}

/// A text as YAML reads it back: JSON's strings are YAML's.
fn quoted(text: &str) -> Result<String, Failure> {
    Ok(serde_json::to_string(text)?)
}

const INDEXED_JOB: &str = include_str!("manifest/kubernetes.yaml");
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
struct NewVolume {
    class: String,
    size: String,
}

/// Reads `CLASS:SIZE`.
fn read_volume(text: &str) -> Result<NewVolume, String> {
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
enum Volume<'a> {
    /// A new one for each pod, with a file system.
    New(&'a NewVolume),
    /// A new one for each pod, as a device.
    NewDevice(&'a NewVolume),
    /// One for all, by its claim.
    Claim(&'a str),
}

/// The manifest. `words` are those of the user, for the leader.
fn pods_job(
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
        ("COMMAND", &member_command(&members, volume, words)?),
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
fn member_command(members: &str, volume: Volume<'_>, words: &[String]) -> Result<String, Failure> {
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
            assert_eq!(read_volume(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn secrets_differ_and_are_long_enough_for_the_members() {
        let (one, other) = (drawn_secret().unwrap(), drawn_secret().unwrap());
        assert!(one != other && one.len() == 64 && one.bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
    }
}
