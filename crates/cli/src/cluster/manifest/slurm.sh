#!/bin/bash
# Made by plumb cluster manifest --slurm: sbatch FILE. The result is in the output of the job; -o FILE in front of fio writes it elsewhere.
#SBATCH --job-name=plumb
#SBATCH --ntasks=@MEMBERS@
@NODES@#SBATCH --exclusive
# plumb, plumb-mpi and the MPI of the site must be in the same places on all nodes: load their modules here, as in
#   module load openmpi
# Members work in the directory in which sbatch was called; --directory DIR in front of fio names another one.
# --cpu-bind=none: else all workers of a member share one processor. --mpi: srun --mpi=list shows what there is.
exec srun --mpi=pmix --cpu-bind=none plumb cluster --mpi @WORDS@
