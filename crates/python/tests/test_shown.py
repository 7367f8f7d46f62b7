"""How notebooks show scenarios, results, sweeps, tables and pictures."""

import base64
import json
import re
import xml.etree.ElementTree as xml

import pytest

import redpoll
from redpoll import Scenario
from redpoll.scenario import Result

HOSTILE = "<img src=x onerror=alert(1)>\"'&</svg><script>"


@pytest.fixture(scope="module")
def result():
    return redpoll.run(Scenario("line-2", {"duration": "3 s"}), series_s=0.5)


@pytest.fixture(scope="module")
def sweep():
    scenario = Scenario("line-2", {"duration": "2 s"})
    grid = {"mac.link_retry_delay": ["0 ms", "40 ms"], "tcp.mss": ["1 frames", "3 frames"]}
    return redpoll.sweep(scenario, grid=grid, seeds=3)


def pictures(html):
    """The pictures in a notebook's output."""
    found = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    return [xml.fromstring(base64.b64decode(data)) for data in found]


def test_pictures_of_a_result_are_those_of_the_program(result):
    names = result.plot().names
    assert names[:2] == ["topology", "goodput"]
    assert {"window", "round-trip", "queue", "radio", "flows", "charge"} <= set(names)
    one = result.plot("window")
    assert one.names == ["window"] and repr(one) == "<redpoll.Pictures window>"
    [picture] = pictures(one._repr_html_())
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(--" not in one[0].svg and "congestion window (bytes)" in one["window"].svg
    with pytest.raises(ValueError, match="no data for the picture 'windows'; allowed: topology, "):
        result.plot("windows")
    with pytest.raises(ValueError, match="no flow or node called \"nobody\""):
        result.plot(of=["nobody"])
    with pytest.raises(KeyError, match="no picture 'flows'; there are: window"):
        one["flows"]
    only = result.plot("queue", of=["node-2"])[0].svg
    assert "node-2" in only and "node-1" not in only


def test_a_result_without_series_has_its_totals():
    names = redpoll.run(Scenario("pair", {"duration": "1 s"})).plot().names
    assert names == ["topology", "flows", "duty-cycle", "charge"]


def test_pictures_are_saved(result, tmp_path):
    result.plot("goodput", "flows").save(tmp_path / "plots")
    files = sorted(path.name for path in (tmp_path / "plots").iterdir())
    assert files == ["flows.svg", "goodput.svg"]
    xml.parse(tmp_path / "plots" / "goodput.svg")


def test_a_sweep_has_means_with_intervals_over_a_key(sweep):
    svg = sweep.plot("goodput")[0].svg
    assert "mac.link_retry_delay (ms)" in svg and "tcp.mss = 3 frames" in svg
    assert svg.count('class="interval"') == 4
    assert "tcp.mss (frames)" in sweep.plot("goodput", over="tcp.mss")[0].svg
    # The radio of a router is always on.
    assert "duty-cycle" not in sweep.plot().names
    with pytest.raises(ValueError, match="the sweep does not vary \"seeds\"; allowed: mac"):
        sweep.plot(over="seeds")


def test_texts_are_short_and_have_the_outcome(result, sweep):
    rate = result.flows[0]["goodput_kbps"]
    assert repr(result) == f"<redpoll.Result of line-2, seed 1: 1 flow, {rate:.1f} kb/s>"
    assert repr(sweep) == "<redpoll.Sweep of 4 points, 3 seeds each>"
    html = result._repr_html_()
    assert "the oracle found no violation" in html and f"{result.flows[0]['delivered_bytes']}" in html
    table = sweep._repr_html_()
    assert table.count("<tr>") == 5 and "40 ms" in table
    scenario = Scenario("line-2", {"duration": "2 s"})
    assert "<strong>line-2</strong>: 3 nodes, 2 s" in scenario._repr_html_()
    rows = result.series._repr_html_()
    assert rows.count("<tr>") == 11 and "10 of 28 rows" in rows


def test_names_are_text_in_notebooks(result):
    report = json.loads(json.dumps(result.report))
    report["scenario"] = report["flows"][0]["name"] = report["nodes"][0]["name"] = HOSTILE
    report["oracle"] = {"ok": False, "violations": [HOSTILE]}
    hostile = Result(json.dumps(report))
    shown = [hostile._repr_html_(), hostile.flow_table._repr_html_(), hostile.plot()._repr_html_()]
    scenario = Scenario("pair")
    scenario.name = HOSTILE
    shown.append(scenario._repr_html_())
    for html in shown:
        assert "<img src=x" not in html and "<script" not in html
    # In the SVG of a picture, the name is a single text element.
    drawn = pictures(hostile.plot("topology")._repr_html_())[0]
    texts = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert HOSTILE in texts
    assert not list(drawn.iter("{http://www.w3.org/2000/svg}script"))
