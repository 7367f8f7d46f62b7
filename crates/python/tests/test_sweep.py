"""Sweeps: every combination runs once, even if workers or processes die."""

import contextlib
import json
import os
import signal
import sqlite3
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

import redpoll
from redpoll import RunError, Scenario, ScenarioError

GRID = {"mac.link_retry_delay": ["0 ms", "40 ms"], "tcp.mss": ["2 frames", "5 frames"]}


def short(duration="1 s"):
    return Scenario("line-2", {"duration": duration})


def rows(sweep):
    table = sweep.flows.to_dict()
    return sorted(zip(table["point"], table["seed"], table["delivered_bytes"]))


def pool():
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


def test_threads_processes_and_the_program_s_own_cores_give_the_same(tmp_path):
    own = redpoll.sweep(short(), grid=GRID, seeds=3)
    assert len(own.points) == 4 and len(own.flows) == 12
    told = []
    with pool() as processes:
        of_processes = redpoll.sweep(
            short(), grid=GRID, seeds=3, executor=processes, results=tmp_path / "p.sqlite",
            progress=lambda done, all: told.append((done, all)),
        )
    with ThreadPoolExecutor(2) as threads:
        of_threads = redpoll.sweep(short(), grid=GRID, seeds=3, executor=threads)
    assert rows(own) == rows(of_processes) == rows(of_threads)
    assert told[-1] == (12, 12)

    # With more seeds, only the new runs are performed.
    with ThreadPoolExecutor(1) as threads:
        told.clear()
        more = redpoll.sweep(
            short(), grid=GRID, seeds=4, executor=threads, results=tmp_path / "p.sqlite",
            progress=lambda done, all: told.append((done, all)),
        )
    assert told[-1] == (4, 4)
    assert rows(more)[:3] == rows(own)[:3]


def test_progress_is_told_without_an_executor_too():
    told = []
    redpoll.sweep(
        short(), grid=GRID, seeds=2, progress=lambda done, all: told.append((done, all))
    )
    assert told[-1] == (8, 8)
    assert [done for done, _ in told] == sorted({done for done, _ in told})

    def stop(done, everything):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        redpoll.sweep(short(), grid=GRID, seeds=2, progress=stop)


def test_what_the_oracle_objects_to_is_warned_of_and_counted():
    class Doubting(ThreadPoolExecutor):
        """One of the returned reports states that a byte is missing."""

        def submit(self, work, *args):
            def doubted():
                done = work(*args)
                if done[0][0] == 0:
                    number, report, cpu_s = done[0]
                    report = json.loads(report)
                    report["oracle"]["ok"] = False
                    report["oracle"]["violations"] = ["a byte is missing"]
                    done[0] = (number, json.dumps(report), cpu_s)
                return done

            return super().submit(doubted)

    with Doubting(1) as threads, pytest.warns(redpoll.OracleWarning, match="in 1 of the runs"):
        swept = redpoll.sweep(short(), grid=GRID, executor=threads)
    assert swept.objections == 1 and not swept.ok
    assert swept.flows.column("oracle_ok").count(False) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", redpoll.OracleWarning)
        assert redpoll.sweep(short(), grid=GRID).ok


def test_wrong_keys_are_named_before_the_first_run(tmp_path):
    with pytest.raises(ScenarioError) as wrong:
        redpoll.sweep(short(), grid={"mac.mn_be": [1]}, results=tmp_path / "x.sqlite")
    assert wrong.value.key == "mac.mn_be"
    assert not (tmp_path / "x.sqlite").exists()
    drawn = {"points": 3, "keys": {"mac.link_retry_delay": {"from": "1 ms", "to": "9 ms"}}}
    sweep = redpoll.sweep(short(), random=drawn)
    assert len({point["mac.link_retry_delay"] for point in sweep.points}) == 3


def kept_once(path, runs):
    rows = sqlite3.connect(path).execute("SELECT case_key, seed FROM runs").fetchall()
    assert len(rows) == len(set(rows)) == runs


def test_a_process_that_is_killed_takes_nothing_along(tmp_path):
    pools = []

    def make():
        pools.append(pool())
        return pools[-1]

    def kill(done, everything):
        if done >= 4 and len(pools) == 1 and not killed:
            killed.append(next(iter(pools[0]._processes)))
            os.kill(killed[0], signal.SIGKILL)

    killed = []
    path = tmp_path / "k.sqlite"
    sweep = redpoll.sweep(
        short("20 s"), grid=GRID, seeds=8, executor=make, results=path, progress=kill
    )
    assert killed and len(pools) == 2
    assert rows(sweep) == rows(redpoll.sweep(short("20 s"), grid=GRID, seeds=8))
    kept_once(path, 32)


def test_a_pool_that_is_broken_is_said_to_be(tmp_path):
    processes = pool()

    def kill(done, everything):
        # The executor still reports finished runs of workers that were killed afterwards.
        for worker in list(processes._processes):
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

    with pytest.raises(RunError, match="creates an executor"):
        redpoll.sweep(short("20 s"), grid=GRID, seeds=50, executor=processes, progress=kill)


def test_dask_loses_nothing_and_doubles_nothing_when_a_worker_is_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        killed = threading.Event()

        def kill(done, everything):
            if done >= everything // 3 and not killed.is_set():
                killed.set()
                pids = client.run(os.getpid)
                os.kill(next(iter(pids.values())), signal.SIGKILL)

        path = tmp_path / "d.sqlite"
        began = time.monotonic()
        sweep = redpoll.sweep(
            short("20 s"), grid=GRID, seeds=10, executor=client.get_executor(), results=path,
            progress=kill,
        )
        assert killed.is_set() and time.monotonic() - began < 120
    kept_once(path, 40)
    assert rows(sweep) == rows(redpoll.sweep(short("20 s"), grid=GRID, seeds=10))


def test_a_study_s_figure_has_rows(tmp_path):
    study = redpoll.Study("kumar2020")
    with pytest.raises(redpoll.StudyError, match="unknown figure"):
        study.run(["no-such"], seeds=1, results=tmp_path / "s.sqlite")
    with pytest.raises(redpoll.StudyError, match="unknown study"):
        redpoll.Study("nobody1999")


def test_an_extension_without_studies_names_the_feature(monkeypatch):
    monkeypatch.delattr("redpoll._native.check_study")
    with pytest.raises(redpoll.StudyError, match="feature `studies`"):
        redpoll.Study("kumar2020")


def test_a_study_s_figure_is_run_and_kept(tmp_path):
    path = tmp_path / "s.sqlite"
    table = redpoll.Study("kumar2020").run(["4a"], seeds=1, results=path)
    rows = table.to_dict()
    assert len(table) > 1 and set(rows["figure"]) == {"4a"}
    beside = [
        (value, paper)
        for value, paper in zip(rows["value"], rows["paper"])
        if value is not None and paper is not None
    ]
    assert beside and all(0.5 * paper < value < 2 * paper for value, paper in beside)

    def kept():
        return sqlite3.connect(path).execute("SELECT case_key, seed FROM runs").fetchall()

    before = kept()
    assert before
    again = redpoll.Study("kumar2020").run(["4a"], seeds=1, results=path)
    assert again.to_dict() == rows and kept() == before


def test_batches_are_as_long_as_asking_costs_and_end_together():
    from redpoll.sweep import _size, _workers

    # Long runs are assigned singly, short ones in batches of half a second, smaller near the end.
    assert _size(2.0, 1_000, 2) == 1
    assert _size(0.01, 10_000, 2) == 50
    assert _size(0.01, 200, 2) == 25
    assert _size(0.01, 8, 2) == 10
    with ThreadPoolExecutor(3) as threads:
        assert _workers(threads) == 3
    assert _workers(object()) == 32


def test_short_runs_go_in_few_batches():
    class Counting(ThreadPoolExecutor):
        submitted = 0

        def submit(self, *args, **keywords):
            Counting.submitted += 1
            return super().submit(*args, **keywords)

    with Counting(2) as threads:
        swept = redpoll.sweep(short(), grid=GRID, seeds=50, executor=threads)
    assert len(swept.flows) == 200
    assert Counting.submitted < 40
