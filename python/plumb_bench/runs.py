"""Commands of plumb as processes, whose stream is read through a pipe.

The program measures and judges; here its lines are only read. A reader that is slow does not slow the run: it loses lines,
and `Outcome.lost_lines` counts them.
"""

import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from types import TracebackType
from typing import IO, TYPE_CHECKING, Iterator, List, Optional, Sequence, Tuple, Type, TypeVar

from .lines import Check, End, EndedJob, Interval, Line, Remark, Start, parse

if TYPE_CHECKING:
    import pandas

_Of = TypeVar("_Of", Start, Interval, Remark, Check, End)


class ProgramNotFound(RuntimeError):
    """There is no plumb where one is looked for."""


class RunFailed(RuntimeError):
    """plumb could not measure, or found what its options forbid. `outcome` has what there is."""

    def __init__(self, outcome: "Outcome") -> None:
        super().__init__(f"plumb ended with status {outcome.status}: {outcome.errors.strip()}")
        self.outcome = outcome


@dataclass(frozen=True)
class Outcome:
    """Everything that a command said."""

    #: Exit status; below 0 the signal that ended it.
    status: int
    #: Standard output, like fio's report or the table of a survey.
    output: str
    #: Standard error.
    errors: str
    lines: Tuple[Line, ...]

    @property
    def intervals(self) -> Tuple[Interval, ...]:
        """Of all runs, in the order of time."""
        return self._of(Interval)

    @property
    def remarks(self) -> Tuple[Remark, ...]:
        """Of all runs."""
        return self._of(Remark)

    @property
    def checks(self) -> Tuple[Check, ...]:
        """The grade of each check of each run."""
        return self._of(Check)

    @property
    def starts(self) -> Tuple[Start, ...]:
        """The beginning of each run."""
        return self._of(Start)

    @property
    def ends(self) -> Tuple[End, ...]:
        """The end of each run that could measure."""
        return self._of(End)

    @property
    def lost_lines(self) -> int:
        """Lines that were lost because they were not read in time."""
        return max((end.lost_lines for end in self.ends), default=0)

    def jobs(self, run: int = 1) -> Tuple[EndedJob, ...]:
        """The jobs of a run."""
        return next(end.jobs for end in self.ends if end.run == run)

    def frame(self) -> "pandas.DataFrame":
        """The intervals as a DataFrame, one a row; needs pandas."""
        titles = {start.run: start.title for start in self.starts}
        rows = [_row(interval, titles.get(interval.run)) for interval in self.intervals]
        return _frame(rows, "time")

    def results(self) -> "pandas.DataFrame":
        """The measured part of each direction of each job as a DataFrame; needs pandas."""
        titles = {start.run: start.title for start in self.starts}
        rows: "List[dict[str, object]]" = []
        for end in self.ends:
            for job in end.jobs:
                for way, found in (("read", job.read), ("write", job.write), ("trim", job.trim)):
                    if found is None:
                        continue
                    row: "dict[str, object]" = {"run": end.run, "title": titles.get(end.run), "job": job.name, "direction": way}
                    row.update((name, value) for name, value in vars(found).items() if name != "latency_percentiles_ns")
                    row.update((f"latency_p{percent:g}_ns", value) for percent, value in found.latency_percentiles_ns.items())
                    rows.append(row)
        return _frame(rows, None)

    def _of(self, kind: Type[_Of]) -> Tuple[_Of, ...]:
        return tuple(line for line in self.lines if isinstance(line, kind))


def _row(interval: Interval, title: Optional[str]) -> "dict[str, object]":
    row: "dict[str, object]" = {"time": interval.unix_ms, "run": interval.run, "title": title, "seconds": interval.seconds}
    for way in ("read", "write", "trim"):
        row[f"{way}_bytes"] = getattr(interval.bytes, way)
        row[f"{way}_ios"] = getattr(interval.ios, way)
        row[f"{way}_bytes_per_second"] = getattr(interval.bytes_per_second, way)
        row[f"{way}_iops"] = getattr(interval.iops, way)
    return row


def _frame(rows: "Sequence[dict[str, object]]", time: Optional[str]) -> "pandas.DataFrame":
    try:
        import pandas
    except ImportError as error:
        raise ImportError("DataFrames need pandas: pip install plumb-bench[pandas]") from error
    frame: "pandas.DataFrame" = pandas.DataFrame(list(rows))
    if time is not None and rows:
        frame[time] = pandas.to_datetime(frame[time], unit="ms", utc=True)
    return frame


def program() -> str:
    """The plumb that is run: that of this environment, else the first one in PATH."""
    for scheme in (None, f"{os.name}_user"):
        scripts = sysconfig.get_path("scripts") if scheme is None else sysconfig.get_path("scripts", scheme)
        found = shutil.which("plumb", path=scripts)
        if found is not None:
            return found
    found = shutil.which("plumb")
    if found is None:
        raise ProgramNotFound("there is no plumb in this environment nor in PATH; name one: start(..., program_path=PATH)")
    return found


class Run:
    """A command that measures. Leaving its `with` block before its end interrupts it, as Ctrl-C does."""

    def __init__(self, words: Sequence[str], program_path: str, directory: Optional[str]) -> None:
        if not words:
            raise ValueError("which command? start('fio', ...), start('survey', ...)")
        reader, writer = os.pipe()
        # Files, not pipes: nothing has to be read for the run to go on.
        self._output: IO[str] = tempfile.TemporaryFile("w+", errors="replace")
        self._errors: IO[str] = tempfile.TemporaryFile("w+", errors="replace")
        self._lines: List[Line] = []
        self._outcome: Optional[Outcome] = None
        command = [program_path, words[0], f"--stream=fd:{writer}", *words[1:]]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._errors,
                pass_fds=(writer,),
                cwd=directory,
            )
        except BaseException:
            os.close(reader)
            self._output.close()
            self._errors.close()
            raise
        finally:
            os.close(writer)
        self._stream = os.fdopen(reader, encoding="utf-8")

    def __enter__(self) -> "Run":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._process.poll() is None and self._outcome is None:
            self.interrupt()
        self._finish()

    def __iter__(self) -> Iterator[Line]:
        """Lines as they come."""
        if self._stream.closed:
            return
        for text in self._stream:
            line = parse(text)
            self._lines.append(line)
            yield line

    def intervals(self) -> Iterator[Interval]:
        """Intervals as they come, every half a second."""
        for line in self:
            if isinstance(line, Interval):
                yield line

    def interrupt(self) -> None:
        """Ends the run in order: what was measured until now is its result."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def outcome(self) -> Outcome:
        """Waits for the end. Raises RunFailed if the exit status is not 0."""
        found = self._finish()
        if found.status != 0:
            raise RunFailed(found)
        return found

    def _finish(self) -> Outcome:
        if self._outcome is None:
            for _ in self:
                pass
            status = self._process.wait()
            self._stream.close()
            self._outcome = Outcome(status, _all(self._output), _all(self._errors), tuple(self._lines))
        return self._outcome


def _all(file: IO[str]) -> str:
    with file:
        file.seek(0)
        return file.read()


def start(*words: str, program_path: Optional[str] = None, directory: Optional[str] = None) -> Run:
    """Starts a command: ``start("fio", "--name=a", ...)``. `program_path` is the plumb, `directory` where it runs."""
    return Run(words, program_path or program(), directory)


def run(*words: str, program_path: Optional[str] = None, directory: Optional[str] = None) -> Outcome:
    """Runs a command to its end. Raises RunFailed if the exit status is not 0."""
    with start(*words, program_path=program_path, directory=directory) as running:
        return running.outcome()
