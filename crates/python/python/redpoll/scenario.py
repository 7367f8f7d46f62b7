"""Scenarios, and runs of a scenario."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from html import escape
from typing import Any

from . import _native, replay
from ._native import Table
from .errors import ScenarioError
from .picture import Pictures, chosen, html_table


def _written(value: object) -> str:
    """Return a value as the text that `--set KEY=VALUE` takes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return _toml(list(value))
    raise TypeError(f"not a value of a scenario: {value!r}")


def _toml(value: object) -> str:
    """A value as TOML."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    return _written(value)


def _document(table: Mapping[str, Any], path: str = "") -> str:
    """A dictionary as a TOML document."""
    lines = [f"[{path}]"] if path else []
    inner = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            inner.append(_document(value, f"{path}.{json.dumps(key)}" if path else json.dumps(key)))
        else:
            lines.append(f"{json.dumps(key)} = {_toml(value)}")
    return "\n".join(lines + inner)


class Scenario:
    """A mesh, its conditions and its traffic. The constructor checks them.

    `source` is the name of a built-in scenario, the path of a TOML file, or a dictionary with
    its keys. `changes` are overrides by dotted path. `congestion` maps names, which
    `tcp.congestion` and `nodes.NAME.congestion` can then use, to congestion controls: classes
    (`Congestion`), or functions that create an object for a connection.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Mapping[str, Any],
        changes: Mapping[str, Any] | None = None,
        *,
        congestion: Mapping[str, Callable[[], object]] | None = None,
    ) -> None:
        if isinstance(source, Mapping):
            name, text = "python", _document(source)
        else:
            name = os.fspath(source)
            try:
                with open(name, encoding="utf-8") as file:
                    text = file.read()
            except OSError as error:
                built_in = _native.built_in(name)
                if built_in is None:
                    raise ScenarioError(f"{name}: {error.strerror}; allowed: a TOML file, or a "
                                        "name from `redpoll list`") from error
                text = built_in
        written = [(key, _written(value)) for key, value in (changes or {}).items()]
        self._fill(name, text, written, congestion or {})

    @classmethod
    def from_toml(
        cls,
        text: str,
        name: str = "python",
        *,
        congestion: Mapping[str, Callable[[], object]] | None = None,
    ) -> Scenario:
        """A scenario from TOML text."""
        scenario = cls.__new__(cls)
        scenario._fill(name, text, [], congestion or {})
        return scenario

    def _fill(
        self,
        origin: str,
        text: str,
        changes: list[tuple[str, str]],
        congestion: Mapping[str, Callable[[], object]],
    ) -> None:
        self._origin, self._text, self._changes = origin, text, changes
        self._congestion = dict(congestion)
        for name, make in self._congestion.items():
            if not callable(make):
                raise TypeError(f"congestion: {name}: got {make!r}; allowed: a class, or a "
                                "function that creates an object")
        checked = _native.check(origin, text, changes, list(self._congestion))
        self.name, self.seed, self.duration_s, self.nodes = checked

    def set(self, key: str, value: Any) -> Scenario:
        """A copy of the scenario with another value for the key at a dotted path."""
        scenario = Scenario.__new__(Scenario)
        changes = [*self._changes, (key, _written(value))]
        scenario._fill(self._origin, self._text, changes, self._congestion)
        return scenario

    @property
    def toml(self) -> str:
        """The scenario's TOML text, without overrides."""
        return self._text

    @property
    def changes(self) -> list[tuple[str, str]]:
        """The overrides of the scenario, as pairs of a key and its value."""
        return list(self._changes)

    def __repr__(self) -> str:
        return f"<redpoll.Scenario {self.name}, {len(self.nodes)} nodes, {self.duration_s:g} s>"

    def _repr_html_(self) -> str:
        text = f"{len(self.nodes)} nodes, {self.duration_s:g} s, seed {self.seed}"
        changes = html_table(("changed key", "value"), self._changes) if self._changes else ""
        return f"<p><strong>{escape(self.name)}</strong>: {text}</p>{changes}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._origin, self._text, self._changes, self._congestion)


def _again(
    origin: str,
    text: str,
    changes: list[tuple[str, str]],
    congestion: Mapping[str, Callable[[], object]],
) -> Scenario:
    scenario = Scenario.__new__(Scenario)
    scenario._fill(origin, text, changes, congestion)
    return scenario


class Result:
    """The result of a run."""

    def __init__(self, text: str, series: Table | None = None) -> None:
        self._text = text
        #: State of flows and nodes over time; `None` if `run` was called without `series_s`.
        self.series = series

    @cached_property
    def report(self) -> dict[str, Any]:
        """The whole result, as `redpoll run --json` writes it."""
        report: dict[str, Any] = json.loads(self._text)
        return report

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The flows."""
        flows: list[dict[str, Any]] = self.report["flows"]
        return flows

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """The nodes."""
        nodes: list[dict[str, Any]] = self.report["nodes"]
        return nodes

    @cached_property
    def flow_table(self) -> Table:
        """A table with a row for each flow; nested figures have names with dots, such as `rtt_ms.p50`."""
        return _native.report_table(self._text, "flows")

    @cached_property
    def node_table(self) -> Table:
        """A table with a row for each node."""
        return _native.report_table(self._text, "nodes")

    @property
    def ok(self) -> bool:
        """True if the oracle found no violation."""
        return bool(self.report["oracle"]["ok"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the result as JSON, for `redpoll report`, `plot` and `compare`."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._text + "\n")

    def plot(self, *names: str, of: Iterable[str] = ()) -> Pictures:
        """The pictures of `redpoll plot` with these names, by default all: `topology`,
        `flows`, `duty-cycle` and `charge`; with a series also `goodput`, `window`,
        `round-trip`, `in-flight`, `retransmissions`, `queue`, `radio` and `current`.

        `of` names the flows and nodes to show, by default the busiest ones. The pictures are SVG and
        need no other package. For other pictures, pass `series` and the tables to a plotting library.
        """
        return chosen(_native.report_pictures(self._text, self.series, list(of)), names)

    def map(self) -> Any:
        """The mesh over time as a widget of a notebook: which nodes transmit, their queues and
        their collisions, with a slider over the rows of the series.

        Needs a result with a series (`series_s` of `run`) and the package anywidget.
        """
        return replay.widget(self)

    def __repr__(self) -> str:
        report = self.report
        count = len(self.flows)
        rate = sum(flow["goodput_kbps"] or 0 for flow in self.flows)
        flows = f"{count} flow{'' if count == 1 else 's'}, {rate:.1f} kb/s"
        verdict = "" if self.ok else ", the oracle reports violations"
        return f"<redpoll.Result of {report['scenario']}, seed {report['seed']}: {flows}{verdict}>"

    def _repr_html_(self) -> str:
        report = self.report
        head = f"{report['scenario']}, seed {report['seed']}"
        verdict = "the oracle found no violation" if self.ok else "the oracle found violations"
        heads = ("flow", "from", "to", "delivered (bytes)", "goodput (kb/s)", "lost (%)", "RTT p50 (ms)")
        flows = [
            (flow["name"], flow["from"], flow["to"], flow["delivered_bytes"], flow["goodput_kbps"],
             100 * flow["segment_loss"], (flow["rtt_ms"] or {}).get("p50"))
            for flow in self.flows
        ]
        violations = "".join(f"<li>{escape(text)}</li>" for text in report["oracle"]["violations"])
        return (f"<p><strong>{escape(head)}</strong>, {report['simulated_s']:g} s of virtual time: "
                f"{verdict}</p>{f'<ul>{violations}</ul>' if violations else ''}"
                + html_table(heads, flows))


def run(
    scenario: Scenario | str,
    *,
    seed: int | None = None,
    apps: Iterable[tuple[str, object]] = (),
    series_s: float | None = None,
) -> Result:
    """Runs a scenario.

    `apps` are pairs of a node's name and an application (`App`). With `series_s` the result
    has a series with rows this many seconds apart.
    """
    scenario = scenario if isinstance(scenario, Scenario) else Scenario(scenario)
    if series_s is not None and not 0.001 <= series_s <= 86_400:
        raise ValueError("series_s: allowed: 0.001 to 86400")
    seed = scenario.seed if seed is None else seed
    ran = _native.run(scenario._origin, scenario._text, scenario._changes, seed, list(apps),
                      series_s, list(scenario._congestion.items()))
    return Result(ran.report, ran.series)
