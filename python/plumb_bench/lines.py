"""The lines of ``--stream`` as typed data. docs/streams.md of plumb explains their members.

Members that this version does not know are left out; `Interval.members` has all of an interval.
"""

import json
from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple, Union

#: The schema of streams that is read here.
SCHEMA = 1


class LineError(ValueError):
    """This is not a line of a stream."""


class By(NamedTuple):
    """A number for each direction."""

    read: float
    write: float
    trim: float


@dataclass(frozen=True)
class StartedJob:
    """A job before it runs."""

    name: str
    workers: int
    engine: str
    iodepth: int
    direct: bool
    block_sizes: Mapping[str, Tuple[int, int]]
    workload: Optional[Mapping[str, Any]]


@dataclass(frozen=True)
class Start:
    """A run begins."""

    run: int
    title: Optional[str]
    program: str
    command: Tuple[str, ...]
    unix_ms: int
    environment: Mapping[str, Any]
    jobs: Tuple[StartedJob, ...]


@dataclass(frozen=True)
class Interval:
    """Counts between two samples, which are half a second apart."""

    run: int
    #: The time at its end.
    unix_ms: int
    from_ns: int
    until_ns: int
    #: Workers in the measured part of their job: none of them during a ramp.
    measuring: int
    bytes: By
    ios: By
    #: Of each device: reads, writes, busy_ms and so on.
    devices: Mapping[str, Mapping[str, Any]]
    #: All members of the line, as they came.
    members: Mapping[str, Any]

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.until_ns - self.from_ns) / 1e9

    @property
    def bytes_per_second(self) -> By:
        """Its rates; 0 in an interval of no length."""
        return self._rate(self.bytes)

    @property
    def iops(self) -> By:
        """I/Os per second; 0 in an interval of no length."""
        return self._rate(self.ios)

    def _rate(self, counts: By) -> By:
        seconds = self.seconds
        return By(*(count / seconds if seconds > 0 else 0.0 for count in counts))


@dataclass(frozen=True)
class Remark:
    """A sentence: of a check, or about something that happened."""

    run: int
    sentence: str
    check: Optional[str]
    grade: Optional[str]


@dataclass(frozen=True)
class Check:
    """The grade that a check gives: trusted, not_checked, valid_with_limits or not_a_storage_result."""

    run: int
    check: str
    grade: str


@dataclass(frozen=True)
class Direction:
    """The measured part of a direction of a job."""

    bytes: int
    ios: int
    runtime_ns: int
    bytes_per_second: Optional[int]
    iops: Optional[float]
    latency_mean_ns: Optional[float]
    latency_max_ns: Optional[int]
    #: Only percentiles with enough I/Os for them.
    latency_percentiles_ns: Mapping[float, int]


@dataclass(frozen=True)
class EndedJob:
    """A job that has ended; a direction without I/Os is None."""

    name: str
    workers: int
    forgiven_errors: int
    error: Optional[Mapping[str, Any]]
    read: Optional[Direction]
    write: Optional[Direction]
    trim: Optional[Direction]


@dataclass(frozen=True)
class End:
    """A run has ended, and the checks have judged it."""

    run: int
    unix_ms: int
    intervals: int
    bytes: By
    ios: By
    jobs: Tuple[EndedJob, ...]
    limited_by: Optional[str]
    ended_by_signal: Optional[int]
    #: Lines that a slow reader missed since the beginning of the stream.
    lost_lines: int


Line = Union[Start, Interval, Remark, Check, End]


def parse(line: str) -> Line:
    """Reads a line of a stream; raises LineError."""
    try:
        members = json.loads(line)
        return _READERS[members["type"]](members)
    except (KeyError, TypeError, ValueError) as error:
        raise LineError(f"not a line of plumb --stream ({error!r}): {line[:200]}") from error


def _start(of: Dict[str, Any]) -> Start:
    if of["stream_schema"] != SCHEMA:
        raise ValueError(f"stream_schema is {of['stream_schema']}, not {SCHEMA}: use the plumb_bench of that plumb")
    jobs = tuple(
        StartedJob(
            name=job["name"],
            workers=job["workers"],
            engine=job["engine"],
            iodepth=job["iodepth"],
            direct=job["direct"],
            block_sizes={way: (sizes[0], sizes[1]) for way, sizes in job["block_sizes"].items()},
            workload=job["workload"],
        )
        for job in of["jobs"]
    )
    return Start(of["run"], of.get("title"), of["program"], tuple(of["command"]), of["unix_ms"], of["environment"], jobs)


def _interval(of: Dict[str, Any]) -> Interval:
    devices = dict(zip(of["device_names"], of.get("devices", ())))
    return Interval(
        run=of["run"],
        unix_ms=of["unix_ms"],
        from_ns=of["from"],
        until_ns=of["until"],
        measuring=of["measuring"],
        bytes=By(*of["bytes"]),
        ios=By(*of["ios"]),
        devices=devices,
        members=of,
    )


def _remark(of: Dict[str, Any]) -> Remark:
    return Remark(of["run"], of["sentence"], of.get("check"), of.get("grade"))


def _check(of: Dict[str, Any]) -> Check:
    return Check(of["run"], of["check"], of["grade"])


def _direction(of: Optional[Dict[str, Any]]) -> Optional[Direction]:
    if of is None:
        return None
    return Direction(
        bytes=of["bytes"],
        ios=of["ios"],
        runtime_ns=of["runtime"],
        bytes_per_second=of.get("bytes_per_second"),
        iops=of.get("iops"),
        latency_mean_ns=of.get("latency_mean_ns"),
        latency_max_ns=of.get("latency_max_ns"),
        latency_percentiles_ns={percent: value for percent, value in of["latency_percentiles_ns"]},
    )


def _end(of: Dict[str, Any]) -> End:
    jobs = tuple(
        EndedJob(
            name=job["name"],
            workers=job["workers"],
            forgiven_errors=job["forgiven_errors"],
            error=job.get("error"),
            read=_direction(job.get("read")),
            write=_direction(job.get("write")),
            trim=_direction(job.get("trim")),
        )
        for job in of["jobs"]
    )
    return End(
        run=of["run"],
        unix_ms=of["unix_ms"],
        intervals=of["intervals"],
        bytes=By(*of["bytes"]),
        ios=By(*of["ios"]),
        jobs=jobs,
        limited_by=of.get("limited_by"),
        ended_by_signal=of.get("ended_by_signal"),
        lost_lines=of["lost_lines"],
    )


_READERS: Dict[str, Callable[[Dict[str, Any]], Line]] = {
    "start": _start,
    "interval": _interval,
    "remark": _remark,
    "check": _check,
    "end": _end,
}
