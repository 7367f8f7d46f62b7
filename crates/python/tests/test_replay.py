"""The map of a result in a notebook: its data. `web/test/access.mjs` tests the drawing in a browser."""

import json

import pytest

import redpoll
from redpoll import Scenario, replay
from redpoll.scenario import Result


@pytest.fixture(scope="module")
def result():
    return redpoll.run(Scenario("line-3", {"duration": "10 s"}), series_s=0.5)


def test_the_data_are_those_of_the_series(result):
    mesh = replay.mesh(result)
    assert mesh["title"] == "line-3, seed 1"
    assert mesh["times"] == sorted(set(result.series.to_dict()["t_s"])) and len(mesh["times"]) == 21
    assert [node["name"] for node in mesh["nodes"]] == ["node-1", "node-2", "node-3", "node-4"]
    assert [node["parent"] for node in mesh["nodes"]] == [-1, 0, 1, 2]
    assert {node["role"] for node in mesh["nodes"]} == {"router"}
    # The numbers of all intervals add up to the number of the whole run.
    for short, key in [("sent", "frames_sent"), ("retries", "frame_retries")]:
        sums = [sum(row[index] for row in mesh[short]) for index in range(4)]
        assert sums == [node[key] for node in result.nodes]
        assert min(min(row) for row in mesh[short]) >= 0
    assert all(0 <= share <= 1 for row in mesh["transmits"] for share in row)
    assert max(max(row) for row in mesh["transmits"]) > 0.1
    assert max(mesh["goodput"]) > 20
    json.dumps(mesh)


def test_a_result_without_a_series_has_no_replay(result):
    with pytest.raises(ValueError, match="series_s=1.0"):
        Result(json.dumps(result.report)).map()


def test_a_widget_shows_it(result):
    pytest.importorskip("anywidget")
    shown = result.map()
    assert shown.mesh == replay.mesh(result) and shown.at == 0
    assert "application/vnd.jupyter.widget-view+json" in shown._repr_mimebundle_()[0]
    script = shown._esm if isinstance(shown._esm, str) else str(shown._esm)
    assert "export default" in script and "innerHTML" not in script


def test_without_anywidget_the_remedy_is_named(result, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    with pytest.raises(ImportError, match="pip install anywidget"):
        result.map()
