//! The launcher that started this process, by the variables that it sets: how many processes it says that there are,
//! and which library it goes with.

/// Libraries, in the order in which they are tried: Open MPI's, MPICH's and those with its ABI, the standard ABI.
const OPEN_MPI_FIRST: &[&str] = &["libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.1", "libmpi.so"];
const MPICH_FIRST: &[&str] = &["libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.1", "libmpi.so.40", "libmpi.so"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// mpirun of Open MPI.
    OpenMpi,
    /// mpirun of MPICH and its kin, or srun with PMI.
    Pmi,
    Slurm,
    /// None, or one that is not known.
    Unknown,
}

/// The launcher, as its variables describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launcher {
    kind: Kind,
    /// Number of processes that it started; `None` if it does not say.
    size: Option<u32>,
    rank: Option<u32>,
    /// True if it gave this process a way to find the others: PMIx or PMI.
    has_contact: bool,
}

impl Launcher {
    pub(super) fn here() -> Self {
        Self::of(&|name| std::env::var(name).ok())
    }

    fn of(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| variable(name).and_then(|text| text.trim().parse().ok());
        // srun sets its own for what mpirun starts within it, too, so it is the last one.
        let kinds = [
            (Kind::OpenMpi, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
            (Kind::Pmi, "PMI_SIZE", "PMI_RANK"),
            (Kind::Slurm, "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
        ];
        let found = kinds.into_iter().find_map(|(kind, size, rank)| Some((kind, number(size)?, number(rank))));
        let has_contact = ["PMIX_RANK", "PMI_RANK", "PMI_FD"].iter().any(|name| variable(name).is_some());
        match found {
            Some((kind, size, rank)) => Launcher { kind, size: Some(size), rank, has_contact },
            None => Launcher { kind: Kind::Unknown, size: None, rank: None, has_contact },
        }
    }

    pub(super) fn libraries(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Pmi => MPICH_FIRST,
            Kind::OpenMpi | Kind::Slurm | Kind::Unknown => OPEN_MPI_FIRST,
        }
    }

    /// True for one process of the launcher, which speaks for all of them.
    pub(super) fn is_first(&self) -> bool {
        self.rank.is_none_or(|rank| rank == 0)
    }

    /// A sentence before MPI is initialised if it may not find the other processes: Open MPI ends the process then.
    pub(super) fn doubt(&self) -> Option<String> {
        let started = self.size.filter(|size| *size > 1)?;
        let is_alone = self.kind == Kind::Slurm && !self.has_contact;
        is_alone.then(|| {
            format!("srun started {started} tasks without PMIx or PMI, by which they find each other; if they do not: srun --mpi=pmix")
        })
    }

    /// A sentence if MPI knows another number of processes than the launcher has started.
    pub(super) fn contradiction(&self, size: u32, library: &str) -> Option<String> {
        let started = self.size.filter(|&started| started != size)?;
        let ranks = if size == 1 { "rank" } else { "ranks" };
        let knows = format!("{library} knows {size} {ranks}");
        Some(match self.kind {
            Kind::Slurm => format!(
                "srun started {started} tasks, but {knows}: use srun --mpi=pmix (srun --mpi=list shows what there is)"
            ),
            Kind::OpenMpi => format!(
                "mpirun of Open MPI started {started} processes, but {knows}: name the library of this mpirun with --mpi=LIBRARY"
            ),
            Kind::Pmi | Kind::Unknown => {
                format!(
                    "mpirun started {started} processes, but {knows}: it is the mpirun of another MPI; use the one of this library, or name the library of this mpirun with --mpi=LIBRARY"
                )
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launcher(variables: &[(&str, &str)]) -> Launcher {
        let variables: Vec<(String, String)> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Launcher::of(&|name| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
    }

    #[test]
    fn a_launcher_with_another_number_than_mpi_is_named() {
        let slurm = launcher(&[("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "3")]);
        assert_eq!(slurm.contradiction(8, "Open MPI 4.1.4"), None);
        let text = slurm.contradiction(1, "Open MPI 4.1.4").unwrap();
        assert!(
            text.starts_with("srun started 8 tasks, but Open MPI 4.1.4 knows 1 rank: use srun --mpi=pmix"),
            "{text}"
        );
        assert!(!slurm.is_first());
        assert!(slurm.doubt().unwrap().contains("without PMIx or PMI"));
        let with_pmix = launcher(&[("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "3"), ("PMIX_RANK", "3")]);
        assert_eq!((with_pmix.doubt(), launcher(&[]).doubt()), (None, None));
        let pmi = launcher(&[("PMI_SIZE", "4"), ("PMI_RANK", "0")]);
        let text = pmi.contradiction(1, "Open MPI 4.1.4").unwrap();
        assert!(text.contains("mpirun started 4 processes") && text.contains("of another MPI"), "{text}");
        assert!(pmi.is_first() && pmi.libraries()[0] == "libmpich.so.12");
        assert_eq!(launcher(&[]).contradiction(1, "MPICH 4.0.2"), None, "one rank without a launcher");
    }

    #[test]
    fn mpirun_within_a_job_of_slurm_is_the_launcher() {
        let found =
            launcher(&[("SLURM_STEP_NUM_TASKS", "1"), ("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "2")]);
        assert_eq!(found.contradiction(4, "Open MPI"), None);
        assert!(found.contradiction(1, "MPICH 4").unwrap().contains("mpirun of Open MPI started 4"));
    }
}
