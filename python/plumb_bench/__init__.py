"""Runs plumb, and reads what it measures while it measures.

    import plumb_bench

    with plumb_bench.start("fio", "--name=a", "--rw=randread", "--size=1g", "--runtime=10", "--time_based") as run:
        for interval in run.intervals():
            print(interval.iops.read)
    print(run.outcome().jobs()[0].read.latency_percentiles_ns)

`start` runs a command that has ``--stream``: fio, survey, knee, iozone, watch. `run` waits for its end.
"""

from .lines import By, Check, Direction, End, EndedJob, Interval, Line, LineError, Remark, Start, StartedJob, parse
from .runs import Outcome, ProgramNotFound, Run, RunFailed, program, run, start

__all__ = [
    "By",
    "Check",
    "Direction",
    "End",
    "EndedJob",
    "Interval",
    "Line",
    "LineError",
    "Outcome",
    "ProgramNotFound",
    "Remark",
    "Run",
    "RunFailed",
    "Start",
    "StartedJob",
    "parse",
    "program",
    "run",
    "start",
]
