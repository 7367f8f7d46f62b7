"""The part of the package that is written in Rust."""

from collections.abc import Callable
from typing import Any, final

__all__ = [
    "CongestionUpdate",
    "Kept",
    "Node",
    "Ran",
    "Table",
    "Tuned",
    "VERSION",
    "built_in",
    "check",
    "check_study",
    "report_pictures",
    "report_table",
    "run",
    "study_rows",
    "tune",
]

_Changes = list[tuple[str, str]]
# The name of a picture, its omitted parts, and its SVG.
_Drawn = tuple[str, str, str]

VERSION: str

def check(
    name: str, text: str, changes: _Changes, given: list[str]
) -> tuple[str, int, float, list[str]]: ...
def built_in(name: str) -> str | None: ...
def run(
    name: str,
    text: str,
    changes: _Changes,
    seed: int,
    apps: list[tuple[str, object]],
    interval_s: float | None = None,
    congestion: list[tuple[str, object]] = ...,
) -> Ran: ...
def report_pictures(
    report: str, series: Table | None = None, of: list[str] = ...
) -> list[_Drawn]: ...
def report_table(text: str, part: str) -> Table: ...
def check_study(name: str) -> None: ...
def study_rows(
    name: str, figures: list[str], seeds: int, path: str, at_once: int | None = None
) -> Table: ...
def tune(
    name: str,
    text: str,
    changes: _Changes,
    plan: str,
    path: str,
    at_once: int | None = None,
    progress: Callable[[str], object] | None = None,
) -> Tuned: ...
@final
class Tuned:
    @property
    def report(self) -> str: ...
    @property
    def changes(self) -> _Changes: ...
    @property
    def constants(self) -> tuple[str, str] | None: ...

@final
class Ran:
    @property
    def report(self) -> str: ...
    @property
    def series(self) -> Table | None: ...

@final
class Table:
    """A table with named columns. `pyarrow.table` takes it without copying;
    `polars.DataFrame` copies texts, and `pandas.DataFrame.from_arrow` copies numbers."""

    @property
    def columns(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def column(self, name: str) -> list[Any]: ...
    def to_dict(self) -> dict[str, list[Any]]: ...
    def _repr_html_(self) -> str: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Node:
    """A node, which can be used while a method of its application runs."""

    @property
    def name(self) -> str:
        """Name of the node."""
    @property
    def now(self) -> float:
        """Time in seconds since the start of the run, by the node's clock."""
    def wake_in(self, seconds: float) -> None:
        """Calls `on_timer` once after `seconds`; a later call replaces the timer."""
    def listen(self, port: int, flow: str = "python") -> None:
        """Accepts connections at a port. Their data are measured as the flow `flow`."""
    def connect(self, to: str, port: int, flow: str = "python") -> int:
        """Opens a connection to a node's port and returns its number."""
    def send(self, conn: int, data: bytes) -> int:
        """Sends bytes on a connection and returns how many bytes the connection accepted."""
    def recv(self, conn: int, most: int = 65_536) -> bytes | None:
        """Receives at most `most` bytes: `b""` if no bytes are waiting, `None` after the end of
        the stream."""
    def close(self, conn: int) -> None:
        """Closes the sending direction of a connection."""

@final
class CongestionUpdate:
    """An event of a connection, and the state of the connection. Windows are in bytes."""

    @property
    def node(self) -> str:
        """Name of the node whose connection this is."""
    @property
    def now(self) -> float:
        """Time of the event in seconds, by the node's clock."""
    @property
    def mss(self) -> int:
        """Payload of a full segment in bytes."""
    @property
    def cwnd(self) -> int:
        """Congestion window before the event."""
    @property
    def ssthresh(self) -> int:
        """Slow start threshold before the event."""
    @property
    def usual(self) -> tuple[int, int]:
        """Congestion window and slow start threshold after the event, according to RFC 5681,
        and RFC 8511 after an ECN mark."""
    @property
    def flight(self) -> int:
        """Bytes in flight: sent and not yet acknowledged."""
    @property
    def acked(self) -> int:
        """Bytes of new data that the event acknowledges."""
    @property
    def srtt_ms(self) -> int | None:
        """Smoothed round-trip time in milliseconds; `None` before the first measurement."""
    @property
    def is_filled(self) -> bool:
        """For an acknowledgement: whether the application fills at least half of the window."""
    @property
    def is_first(self) -> bool:
        """For a timeout: whether it is the first since new data was acknowledged."""

@final
class Kept:
    def __new__(
        cls, name: str, text: str, changes: _Changes, plan: str, path: str
    ) -> Kept: ...
    @property
    def points(self) -> list[_Changes]: ...
    @property
    def seeds(self) -> list[int]: ...
    @property
    def todo(self) -> list[tuple[int, _Changes, int]]: ...
    def put(self, number: int, report: str, cpu_s: float) -> None: ...
    def conduct(
        self, at_once: int | None = None, progress: Callable[[int, int], object] | None = None
    ) -> None: ...
    def flows(self) -> tuple[Table, int]: ...
    def nodes(self) -> Table: ...
    def pictures(self, over: str | None = None) -> list[_Drawn]: ...
