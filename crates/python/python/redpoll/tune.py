"""Best values of a scenario's keys within limits."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from . import _native
from .scenario import Scenario, _document
from .sweep import _refuse_congestion


class Interval(NamedTuple):
    """A mean and the ends of its 95 % confidence interval."""

    value: float
    low: float
    high: float


class Tuned:
    """The result of a search, judged by runs with other seeds."""

    def __init__(self, scenario: Scenario, tuned: _native.Tuned) -> None:
        self._tuned = tuned
        #: The whole result, as `redpoll tune --json` writes it.
        self.report: dict[str, Any] = json.loads(tuned.report)
        #: The scenario with the found values.
        self.scenario: Scenario = scenario
        for key, value in tuned.changes[len(scenario.changes):]:
            self.scenario = self.scenario.set(key, value)

    @property
    def values(self) -> dict[str, str]:
        """The values found, by the names of the free keys."""
        return dict(self.report["found"]["values"])

    @property
    def figures(self) -> dict[str, Interval | None]:
        """Mean of each figure with the found values; `None` if fewer than two runs have a value."""
        figures = self.report["found"]["figures"]
        return {it["what"]: Interval(**it["mean"]) if it["mean"] else None for it in figures}

    @property
    def verdict(self) -> str:
        """Verdict on all limits together: "holds", "not sure" or "missed"."""
        return str(self.report["verdict"])

    @property
    def ok(self) -> bool:
        """True if every mean is within its limit."""
        return self._tuned.constants is not None

    @property
    def rust(self) -> str | None:
        """The source of a Rust module with the values that were found; `None` if a limit is missed."""
        return self._tuned.constants[0] if self._tuned.constants else None

    @property
    def c(self) -> str | None:
        """The values found as a C header; `None` if a limit is missed."""
        return self._tuned.constants[1] if self._tuned.constants else None

    def __repr__(self) -> str:
        values = ", ".join(f"{key} = {value}" for key, value in self.values.items())
        return f"<redpoll.Tuned {values}: {self.verdict}>"


def tune(
    scenario: Scenario | str,
    *,
    free: Mapping[str, Any],
    limits: Mapping[str, Any],
    minimize: str | None = None,
    maximize: str | None = None,
    points: int = 48,
    seeds: int = 8,
    rounds: int = 4,
    held_out: int = 12,
    results: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: Callable[[str], object] | None = None,
) -> Tuned:
    """Finds the values of `free` keys with which a figure is smallest or largest (`minimize` or
    `maximize`; by default, `current`, the highest mean current of all leaves, is minimized) within `limits`, as `redpoll tune` does.

    `free` maps a key to a list of values or to a range (`{"from": "0.25 s", "to": "30 s", "scale":
    "log"}`), or a name of your choice to several keys that get the same value
    (`{"keys": [...], "values": [...]}`). `limits` maps figures to values
    (`{"latency.p95 of readings": "3 s"}`). The search starts with at most `points` points and runs
    a point with at most `seeds` seeds. Then it tries neighbours of the best point in `rounds`
    rounds. `held_out` other seeds are used to judge the result.

    The result of each run is kept in the file `results` as soon as it is done, so the same call
    resumes a stopped search. Without a file, results are lost when the call returns. The runs are
    spread over this computer's cores (`jobs` at a time). `progress` is called with a line for each
    part of the search.
    """
    scenario = scenario if isinstance(scenario, Scenario) else Scenario(scenario)
    _refuse_congestion(scenario)
    plan: dict[str, Any] = {}
    if minimize is not None:
        plan["minimize"] = minimize
    if maximize is not None:
        plan["maximize"] = maximize
    plan["limits"] = dict(limits)
    plan["free"] = dict(free)
    plan["search"] = {"points": points, "seeds": seeds, "rounds": rounds, "held_out": held_out}
    with tempfile.TemporaryDirectory(prefix="redpoll-") as folder:
        path = os.path.join(folder, "tune.sqlite") if results is None else os.fspath(results)
        tuned = _native.tune(scenario._origin, scenario._text, scenario._changes,
                             _document(plan), path, jobs, progress)
    return Tuned(scenario, tuned)
