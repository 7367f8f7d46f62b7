"""Runs of a scenario for many values of its keys, on this computer or on an executor's workers."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from html import escape
from typing import Any

from . import _native
from ._native import Table
from .errors import Error, OracleWarning, RunError, ScenarioError
from .picture import Pictures, chosen, html_table
from .scenario import Scenario, _document

#: Maximum number of attempts at a run.
TRIES = 4
#: Longest and shortest duration of a batch in seconds. Each request for a batch also takes time.
BATCH_S, LEAST_S = 0.5, 0.1
#: Number of batches assigned to each worker: one that runs, and one that waits.
AHEAD = 2
#: A batch has at most 1/SHARE of a worker's part of the remaining runs: all workers end together.
SHARE = 4
#: Number of workers that is assumed if the executor does not state it.
WORKERS = 32

_Changes = list[tuple[str, str]]
_ToDo = tuple[int, _Changes, int]
_Done = tuple[int, str, float]


def _work(origin: str, text: str, runs: Sequence[_ToDo]) -> list[_Done]:
    """The job of a worker: a batch of runs."""
    done = []
    for number, changes, seed in runs:
        began = time.process_time()
        ran = _native.run(origin, text, changes, seed, [], None)
        done.append((number, ran.report, time.process_time() - began))
    return done


class Sweep:
    """The runs of a sweep."""

    def __init__(self, kept: _native.Kept, folder: Any) -> None:
        self._kept, self._folder = kept, folder
        self._flows, self._objections = kept.flows()

    @property
    def points(self) -> list[dict[str, str]]:
        """The points, each with its keys and their values."""
        return [dict(point) for point in self._kept.points]

    @property
    def flows(self) -> Table:
        """A row for each run and flow: `point` (from 1), `seed`, the keys, the figures."""
        return self._flows

    @property
    def objections(self) -> int:
        """Number of runs in which the oracle found a violation. The rows of these runs in `flows`
        have `oracle_ok` false."""
        return self._objections

    @property
    def ok(self) -> bool:
        """True if the oracle found no violation in any run."""
        return self._objections == 0

    @property
    def nodes(self) -> Table:
        """A row for each run and node."""
        return self._kept.nodes()

    def plot(self, *names: str, over: str | None = None) -> Pictures:
        """Pictures of means over the seeds with 95 % confidence intervals. The x axis has the
        values of the key `over`, by default the key with the most values. `names` selects pictures:
        `goodput`, `loss`, `round-trip`, `retransmissions`, `duty-cycle` and `charge`. A picture is
        left out if its mean is the same at all points of the sweep."""
        return chosen(self._kept.pictures(over), names)

    def __repr__(self) -> str:
        points, seeds = len(self._kept.points), len(self._kept.seeds)
        return f"<redpoll.Sweep of {points} points, {seeds} seeds each>"

    def _repr_html_(self) -> str:
        points = self.points
        keys = list(points[0]) if points else []
        goodput: dict[tuple[int, int], float] = {}
        if "goodput_kbps" in self._flows.columns:
            columns = (self._flows.column(name) for name in ("point", "seed", "goodput_kbps"))
            for point, seed, rate in zip(*columns):
                goodput[point, seed] = goodput.get((point, seed), 0) + (rate or 0)
        rows = []
        for at, values in enumerate(points, 1):
            runs = [rate for (point, _), rate in goodput.items() if point == at]
            figures = (sum(runs) / len(runs), min(runs), max(runs)) if runs else (None, None, None)
            rows.append((*(values[key] for key in keys), *figures))
        heads = (*keys, "goodput of all flows (kb/s)", "least", "greatest")
        return f"<p>{escape(repr(self)[1:-1])}</p>" + html_table(heads, rows)


def sweep(
    scenario: Scenario | str,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    random: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = 1,
    results: str | os.PathLike[str] | None = None,
    executor: Executor | Callable[[], Executor] | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Runs a scenario for every combination of `grid`'s values, or for points drawn at `random`
    (`{"points": 20, "seed": 1, "keys": {"mac.link_retry_delay": {"from": "1 ms", "to":
    "100 ms"}}}`). Each point is run with every seed of `seeds`, a number of seeds or a list.

    Everything is checked before the first run. The result of each run is kept in the file
    `results` as soon as it is done, so the same call resumes a stopped sweep. Without a file,
    results are kept as long as the `Sweep` exists.

    Without an `executor` the runs are spread over this computer's cores (`jobs` at a time). With
    an executor (`concurrent.futures`), batches of runs go to its workers. If a worker dies, its
    batch is assigned to another one, and no run is kept twice. A `ProcessPoolExecutor` cannot be
    used after a worker has died. It is replaced if `executor` is a function that creates one.

    `progress` is called with the number of finished runs and of all runs. If the oracle finds a
    violation, the sweep warns (`OracleWarning`) and counts the run in `objections`.
    """
    scenario = scenario if isinstance(scenario, Scenario) else Scenario(scenario)
    _refuse_congestion(scenario)
    plan: dict[str, Any] = {"seeds": seeds if isinstance(seeds, int) else list(seeds)}
    if grid:
        plan["grid"] = {key: list(values) for key, values in grid.items()}
    if random:
        plan["random"] = dict(random)
    folder = None
    if results is None:
        folder = tempfile.TemporaryDirectory(prefix="redpoll-")
        path = os.path.join(folder.name, "sweep.sqlite")
    else:
        path = os.fspath(results)
    kept = _native.Kept(scenario._origin, scenario._text, scenario._changes, _document(plan), path)
    if executor is None:
        kept.conduct(jobs, progress)
    else:
        _spread(scenario, kept, executor, progress)
    swept = Sweep(kept, folder)
    if swept.objections:
        warnings.warn(f"the oracle reports violations in {swept.objections} of the runs", OracleWarning,
                      stacklevel=2)
    return swept


def _refuse_congestion(scenario: Scenario) -> None:
    """Refuses a scenario with congestion control in Python. A results file identifies a run by its
    scenario, and the scenario does not contain the Python code."""
    if scenario._congestion:
        names = ", ".join(scenario._congestion)
        raise ScenarioError(
            f"runs with congestion control in Python ({names}) cannot be kept in a results file; "
            "allowed: redpoll.run", "tcp.congestion")


def _spread(
    scenario: Scenario,
    kept: _native.Kept,
    executor: Executor | Callable[[], Executor],
    progress: Callable[[int, int], None] | None,
) -> None:
    """Distributes the jobs to an executor's workers."""
    make = None if isinstance(executor, Executor) or hasattr(executor, "submit") else executor
    pool: Any = make() if make else executor
    waiting: list[_ToDo] = list(reversed(kept.todo))
    everything = len(waiting)
    done = 0
    tries = dict.fromkeys((number for number, _, _ in waiting), 0)
    under_way: dict[Future[list[_Done]], list[_ToDo]] = {}
    workers, size = _workers(pool), 1

    def again(batch: Iterable[_ToDo], error: BaseException) -> None:
        for item in batch:
            if tries[item[0]] >= TRIES:
                raise RunError(f"a run failed {TRIES} times: {error}") from error
            waiting.append(item)

    try:
        while waiting or under_way:
            broken: BaseException | None = None
            while waiting and len(under_way) < AHEAD * workers:
                batch = [waiting.pop() for _ in range(min(size, len(waiting)))]
                try:
                    future = pool.submit(_work, scenario._origin, scenario._text, batch)
                except RuntimeError as error:
                    # The pool is broken or shut down, and accepts no more work.
                    waiting.extend(reversed(batch))
                    broken = error
                    break
                for number, _, _ in batch:
                    tries[number] += 1
                under_way[future] = batch
            if under_way:
                finished, _ = _first(under_way)
                for future in finished:
                    batch = under_way.pop(future)
                    try:
                        got = future.result()
                    except Error:
                        # Do not repeat the run: an error of the scenario occurs in each attempt.
                        raise
                    except Exception as error:  # a worker, its computer, or the network
                        again(batch, error)
                        broken = error if _is_broken(pool, error) else broken
                        continue
                    for number, report, cpu_s in got:
                        kept.put(number, report, cpu_s)
                    done += len(got)
                    took = sum(cpu_s for _, _, cpu_s in got) / len(got)
                    size = _size(took, len(waiting), workers)
                    if progress:
                        progress(done, everything)
            if broken is not None and (waiting or under_way):
                if make is None:
                    raise RunError(f"the executor accepts no more runs: {broken}; allowed: a "
                                   "function that creates an executor, which is called again") \
                        from broken
                for future, batch in list(under_way.items()):
                    if future.done() and future.exception() is None:
                        continue
                    del under_way[future]
                    again(batch, broken)
                pool.shutdown(wait=False)
                pool = make()
                workers = _workers(pool)
    finally:
        for future in under_way:
            future.cancel()
        if make:
            pool.shutdown(wait=True, cancel_futures=True)


def _workers(pool: Any) -> int:
    """Number of runs that an executor performs in parallel; `WORKERS` if it states none."""
    try:
        client = getattr(pool, "_client", None)
        count = sum(client.nthreads().values()) if client else getattr(pool, "_max_workers", 0)
        return int(count) or WORKERS
    except Exception:  # an executor may use these names for other values
        return WORKERS


def _size(took: float, left: int, workers: int) -> int:
    """Number of runs of the next batch, from the seconds that a run takes and the number of runs left."""
    took = max(took, 1e-4)
    even = left // (SHARE * workers)
    return max(1, int(LEAST_S / took), min(int(BATCH_S / took), even))


def _first(under_way: Mapping[Future[Any], Any]) -> tuple[set[Future[Any]], set[Future[Any]]]:
    """Waits for one of the futures. Dask's futures are compatible with `concurrent.futures`."""
    finished, rest = wait(under_way, return_when=FIRST_COMPLETED)
    return set(finished), set(rest)


def _is_broken(pool: Any, error: BaseException) -> bool:
    from concurrent.futures import BrokenExecutor

    return isinstance(error, BrokenExecutor)
