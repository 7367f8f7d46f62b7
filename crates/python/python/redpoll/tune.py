"""Values of a scenario's keys that are best within limits."""

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
    """A mean, and the ends of the interval of 95 % around it."""

    value: float
    low: float
    high: float


class Tuned:
    """The result of a search, judged by runs that did not choose it."""

    def __init__(self, scenario: Scenario, tuned: _native.Tuned) -> None:
        self._tuned = tuned
        #: All of it, as `redpoll tune --json` writes it.
        self.report: dict[str, Any] = json.loads(tuned.report)
        #: The scenario with the values that were found.
        self.scenario: Scenario = scenario
        for key, value in tuned.changes[len(scenario.changes):]:
            self.scenario = self.scenario.set(key, value)

    @property
    def values(self) -> dict[str, str]:
        """The values found, by the names of the free keys."""
        return dict(self.report["found"]["values"])

    @property
    def figures(self) -> dict[str, Interval | None]:
        """The figures of what was found; `None` for one that too few of the runs have."""
        figures = self.report["found"]["figures"]
        return {it["what"]: Interval(**it["mean"]) if it["mean"] else None for it in figures}

    @property
    def verdict(self) -> str:
        """Of all limits together: "holds", "not sure" or "missed"."""
        return str(self.report["verdict"])

    @property
    def ok(self) -> bool:
        """Whether all limits are kept, in the mean."""
        return self._tuned.constants is not None

    @property
    def rust(self) -> str | None:
        """The values found as a module of Rust; `None` if a limit is missed."""
        return self._tuned.constants[0] if self._tuned.constants else None

    @property
    def c(self) -> str | None:
        """The same as a header for C."""
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
    """Finds the values of `free` keys with which a figure is least or most (`minimize`, without
    either the current) within `limits`, as `redpoll tune` does.

    `free` has a list of values for a key, or a range (`{"from": "0.25 s", "to": "30 s", "scale":
    "log"}`), or for a name of one's own several keys with the same value (`{"keys": [...],
    "values": [...]}`); `limits` have values for figures (`{"latency.p95 of readings": "3 s"}`).
    The first look has at most so many `points`, a point at most so many `seeds`, and after
    that come so many `rounds` among neighbours of the best; so many seeds are `held_out` and
    judge.

    The result of each run is kept in the file `results` as soon as it is done; the same call goes on
    where it was stopped. Without a file it is gone afterwards. The runs are spread over this
    computer's cores (`jobs` at once); `progress` hears a line for each part of the search.
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
