//! `plumb cluster manifest`: what a scheduler takes to run a job on its nodes, with MPI or (`pods`) without. A text with comments, meant to be read and edited.

pub(super) mod pods;

use super::{ClusterArgs, ClusterCommand};
use crate::failure::Failure;
use crate::input;
use crate::members::carrier::Place;
use crate::members::program::{Job, Needs, Share, Work};
use crate::streams::Written;
use clap::{Args, Command, FromArgMatches};
use measure::text;
use pods::{NewVolume, Volume};
use std::ffi::OsString;
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
    #[arg(long, value_name = "CLASS:SIZE", value_parser = pods::new_volume, conflicts_with_all = ["slurm", "mpijob", "claim"])]
    volume: Option<NewVolume>,
    /// The volume is a device, /dev/plumb-volume, without a file system
    #[arg(long, requires = "volume", conflicts_with = "claim")]
    block: bool,
    #[command(flatten)]
    written: Written,
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

    /// Refuses tests of pods that are not of their volume, or whose result would be in the directory of the job files, which
    /// cannot be written.
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
        pods::indexed_job(self.members, self.image()?, volume, words, files)
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
