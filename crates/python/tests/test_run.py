"""Scenarios, runs and applications."""

import pathlib
import pickle
import re
import subprocess
import sys
import threading
import time

import pytest

import redpoll
from redpoll import App, Scenario, ScenarioError

PAIR = """
[topology]
kind = "line"
nodes = 2
spacing = "40 m"
[apps.sink]
type = "bulk-sink"
on = "node-1"
port = 5001
[apps.bulk]
type = "bulk-sender"
on = "node-2"
to = "node-1:5001"
"""


def test_the_version_is_that_of_the_project():
    root = pathlib.Path(__file__).parents[3]
    declared = {
        "Cargo.toml": r'(?m)^version = "(.*)"$',
        "CITATION.cff": r"(?m)^version: (.*)$",
    }
    for name, pattern in declared.items():
        assert re.findall(pattern, (root / name).read_text()) == [redpoll.__version__], name


def test_a_run_gives_the_same_as_the_same_run():
    scenario = Scenario("line-2", {"duration": "5 s", "tcp.mss": "3 frames"})
    one = redpoll.run(scenario, seed=3)
    again = redpoll.run(pickle.loads(pickle.dumps(scenario)), seed=3)
    other = redpoll.run(scenario, seed=4)
    assert one.ok and one.report["seed"] == 3
    for key in ("flows", "nodes", "events"):
        assert one.report[key] == again.report[key]
    assert one.report["events"] != other.report["events"]


def test_a_scenario_is_built_in_code_as_in_toml():
    built = {
        "topology": {"kind": "line", "nodes": 2, "spacing": "40 m"},
        "apps": {
            "sink": {"type": "bulk-sink", "on": "node-1", "port": 5001},
            "bulk": {"type": "bulk-sender", "on": "node-2", "to": "node-1:5001"},
        },
        "duration": "3 s",
    }
    of_code = redpoll.run(Scenario(built), seed=1)
    of_text = redpoll.run(Scenario.from_toml(PAIR).set("duration", "3 s"), seed=1)
    assert of_code.flows == of_text.flows
    assert of_code.flows[0]["delivered_bytes"] > 1_000


def test_what_is_wrong_has_its_key():
    with pytest.raises(ScenarioError) as wrong:
        Scenario("line-2", {"mac.min_be": 99})
    assert wrong.value.key == "mac.min_be"
    assert "allowed" in str(wrong.value)
    with pytest.raises(ScenarioError) as wrong:
        Scenario.from_toml('[tcp]\nmms = "1 frames"\n')
    assert wrong.value.key == "tcp.mms"
    assert isinstance(wrong.value, redpoll.Error)
    with pytest.raises(ScenarioError, match="nothing-there"):
        Scenario("nothing-there")
    assert pickle.loads(pickle.dumps(wrong.value)).key == "tcp.mms"


def test_a_series_is_that_of_the_program():
    series = redpoll.run(Scenario("line-2", {"duration": "4 s"}), series_s=0.5).series
    table = series.to_dict()
    assert len(series) == 9 * 4
    assert set(table["kind"]) == {"flow", "node"}
    last = [b for b, kind in zip(table["delivered_bytes"], table["kind"]) if kind == "flow"][-1]
    run = redpoll.run(Scenario("line-2", {"duration": "4 s"}))
    assert last == run.flows[0]["delivered_bytes"] > 0


class Upload(App):
    """Sends a number of bytes, then closes."""

    def __init__(self, to, total):
        self.to, self.left, self.events = to, total, []

    def start(self, node):
        node.wake_in(1.0)

    def on_timer(self, node):
        assert node.now >= 1.0
        self.connection = node.connect(self.to, 7000, flow="upload")

    def on_event(self, node, event, connection):
        self.events.append(event)
        if event in ("connected", "writable"):
            while self.left:
                sent = node.send(connection, bytes([self.left % 251]) * min(self.left, 400))
                self.left -= sent
                if sent == 0:
                    return
            node.close(connection)


class Sink(App):
    def __init__(self):
        self.got = 0

    def start(self, node):
        node.listen(7000, flow="upload")

    def on_event(self, node, event, connection):
        while data := node.recv(connection):
            self.got += len(data)
        if data is None and event == "peer_closed":
            node.close(connection)


def empty(name, duration):
    scenario = Scenario(name, {"duration": duration, "tcp.connections": 4})
    # The scenario's own app would start only after the end of the run.
    return scenario.set("apps.bulk.start", "1000 s")


def test_an_application_in_python_has_its_bytes_checked_and_measured():
    upload, sink = Upload("node-1", 5_000), Sink()
    result = redpoll.run(
        empty("line-2", "60 s"), apps=[("node-1", sink), ("node-3", upload)]
    )
    assert result.ok, result.report["oracle"]
    assert (sink.got, upload.left) == (5_000, 0)
    assert upload.events[0] == "connected" and upload.events[-1] == "closed"
    flows = {flow["name"]: flow for flow in result.flows}
    assert flows["upload"]["delivered_bytes"] == 5_000
    assert flows["upload"]["from"] == "node-3"
    assert flows["upload"]["rtt_ms"]["p50"] > 1


def test_what_an_application_raises_ends_the_run():
    class Broken(App):
        def start(self, node):
            self.node = node
            node.wake_in(2)

        def on_timer(self, node):
            with pytest.raises(ValueError, match="no node called"):
                node.connect("nobody", 1)
            raise KeyError("mine")

    broken = Broken()
    with pytest.raises(KeyError, match="mine"):
        redpoll.run(empty("line-2", "60 s"), apps=[("node-2", broken)])
    with pytest.raises(RuntimeError, match="only while its application is called"):
        broken.node.now
    with pytest.raises(ScenarioError, match="nobody"):
        redpoll.run(empty("line-2", "1 s"), apps=[("nobody", broken)])


def test_a_node_refuses_other_threads():
    said = []

    class Elsewhere(App):
        def start(self, node):
            def use():
                for call in (lambda: node.now, lambda: node.wake_in(1), lambda: node.listen(7)):
                    try:
                        call()
                    except RuntimeError as error:
                        said.append(str(error))

            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
            assert node.now == 0

    result = redpoll.run(empty("line-2", "1 s"), apps=[("node-2", Elsewhere())])
    assert result.ok
    assert said == ["a node can be used only on the thread that runs its application"] * 3


def test_an_application_has_the_methods_of_one():
    for wrong in (5, None, "app", object(), [], {"start": 1}):
        with pytest.raises(TypeError, match="as an application; allowed"):
            redpoll.run(empty("line-2", "1 s"), apps=[("node-2", wrong)])


def test_an_application_that_stops_time_ends_the_run():
    class Stuck(App):
        def start(self, node):
            node.wake_in(0)

        def on_timer(self, node):
            node.wake_in(0)

    result = redpoll.run(empty("line-2", "60 s"), apps=[("node-2", Stuck())])
    assert not result.ok
    [why] = result.report["oracle"]["violations"]
    assert "node-2 has an application that requested its timer 10000 times" in why
    assert result.report["simulated_s"] == 0


def test_ctrl_c_ends_a_run():
    code = "import redpoll; redpoll.run(redpoll.Scenario('grid-30', {'duration': '1000 h'}))"
    child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    time.sleep(2)
    child.send_signal(2)
    began = time.monotonic()
    _, err = child.communicate(timeout=20)
    assert b"KeyboardInterrupt" in err
    assert time.monotonic() - began < 5
