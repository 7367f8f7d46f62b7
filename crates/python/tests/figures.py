"""Costs of Python, Dask and pandas. Prints each bound next to the measured value.

The run without Python is the example `alone`, built beside the package: REDPOLL_ALONE is its path.
"""

import json
import os
import resource
import statistics
import subprocess
import tempfile
import time

import redpoll
from redpoll import Scenario

ROUNDS = 7


def say(what, asked, measured):
    print(f"{what:<52} asked {asked:<9} measured {measured}", flush=True)


def python_in_a_run():
    """Processor time of a run without Python (the whole process), and of the same run in Python
    (the whole call, with scenario and report). Both are the minimum of several runs, because
    other processes can only add time."""
    program = os.environ.get("REDPOLL_ALONE")
    if not program:
        print("left out: Python's part of a run, because REDPOLL_ALONE is not set (make pythontest sets it)")
        return
    changes = {"duration": "30 min"}
    own, python = [], []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        args = [program, "line-3", "30 min"]
        out = subprocess.run(args, capture_output=True, check=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        own.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        began = time.process_time()
        result = redpoll.run(Scenario("line-3", changes))
        python.append(time.process_time() - began)
    assert result.flows == json.loads(out)["flows"], "another version of the program"
    added = min(python) / min(own) - 1
    say("Python adds to a run", "<= 1 %", f"{100 * added:.2f} % of {min(own):.2f} s of processor")


def pandas_of_a_thousand_runs():
    import pandas

    scenario = Scenario("line-2", {"duration": "1 s"})
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "runs.sqlite")
        redpoll.sweep(scenario, seeds=1_000, results=path)
        began = time.perf_counter()
        sweep = redpoll.sweep(scenario, seeds=1_000, results=path)
        frame = pandas.DataFrame.from_arrow(sweep.flows)
        took = time.perf_counter() - began
    assert len(frame) == 1_000
    say("1,000 runs from the results file into pandas", "< 2 s", f"{took:.2f} s")


def cores():
    """Share of the cores' time that the runs of a sweep had. Other processes on the machine also
    take time, so their share according to the kernel is printed as well."""

    def others():
        with open("/proc/stat", encoding="ascii") as file:
            fields = [int(field) for field in file.readline().split()[1:9]]
        busy = sum(fields) - fields[3] - fields[4]
        return busy / os.sysconf("SC_CLK_TCK")

    scenario = Scenario("line-3", {"duration": "60 s"})
    count = os.cpu_count() or 1
    began, own, all_busy = time.perf_counter(), time.process_time(), others()
    redpoll.sweep(scenario, grid={"tcp.mss": ["2 frames", "5 frames"]}, seeds=50 * count)
    took = time.perf_counter() - began
    used = time.process_time() - own
    rest = others() - all_busy - used
    efficiency = used / (took * count)
    say("sweep, of the cores", ">= 95 %",
        f"{100 * efficiency:.1f} % of {count}; others had {100 * rest / (took * count):.1f} %")


def dask():
    """Processor time of all processes: this one, which contains Dask's scheduler, and the workers.
    The workers wake up many times a second even without work. On a busy machine these wake-ups cost
    additional processor time. `chrt -r 1` before the command, as root, prevents this cost."""
    try:
        import psutil
        from distributed import Client, LocalCluster
    except ImportError:
        print("left out: Dask is not installed")
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    scenario = Scenario("line-3", {"duration": "60 s"})
    grid = {"tcp.mss": ["2 frames", "5 frames"]}

    def processor():
        this = psutil.Process()
        times = [process.cpu_times() for process in [this, *this.children(recursive=True)]]
        return sum(time.user + time.system for time in times)

    def used(executor):
        # A first sweep does the one-time work, such as imports, before the measurement.
        redpoll.sweep(scenario, grid=grid, seeds=2, executor=executor)
        before = processor()
        redpoll.sweep(scenario, grid=grid, seeds=150, executor=executor)
        return processor() - before

    added = []
    for _ in range(3):
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
            by_processes = used(processes)
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, \
                Client(cluster) as client:
            added.append(used(client.get_executor()) / by_processes - 1)
    say("Dask adds to a sweep by two processes", "<= 5 %",
        f"{100 * statistics.median(added):.1f} % of processor (of three: "
        f"{', '.join(f'{100 * share:.1f}' for share in added)})")


if __name__ == "__main__":
    python_in_a_run()
    pandas_of_a_thousand_runs()
    cores()
    dask()
