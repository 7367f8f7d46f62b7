"""Values of keys that are best within the limits."""

import pytest

import redpoll
from redpoll import Interval, Scenario, ScenarioError

FREE = {"mac.link_retry_delay": ["0 ms", "20 ms", "40 ms"]}
SHORT = {"points": 3, "seeds": 2, "rounds": 1, "held_out": 3}


def scenario():
    return Scenario("line-2", {"duration": "10 s"})


def test_what_is_best_within_limits_is_found(tmp_path):
    heard = []
    kept = tmp_path / "tune.sqlite"
    tuned = redpoll.tune(
        scenario(), free=FREE, maximize="goodput", limits={"goodput": "1 kb/s"}, results=kept,
        progress=heard.append, **SHORT,
    )
    assert tuned.ok and tuned.verdict == "holds"
    assert tuned.values["mac.link_retry_delay"] in FREE["mac.link_retry_delay"]
    assert heard[0].startswith("first pass: 3 points, 2 seeds; 6 runs left")
    assert heard[-1].startswith("judging: ")
    # Runs of the found scenario give the reported values.
    mean = tuned.figures["goodput"]
    assert isinstance(mean, Interval) and mean.low <= mean.value <= mean.high
    seeds = tuned.report["held_out_seeds"]
    runs = [redpoll.run(tuned.scenario, seed=seed).flows[0]["goodput_kbps"] for seed in seeds]
    assert abs(sum(runs) / len(runs) - mean.value) < 0.01
    assert "MAC_LINK_RETRY_DELAY: Duration" in tuned.rust
    assert "#define RP_MAC_LINK_RETRY_DELAY_US" in tuned.c
    assert "holds" in repr(tuned)

    # A second search with the same file repeats no run.
    heard.clear()
    again = redpoll.tune(
        scenario(), free=FREE, maximize="goodput", limits={"goodput": "1 kb/s"}, results=kept,
        progress=heard.append, **SHORT,
    )
    assert again.report == tuned.report
    assert all(line.endswith("; 0 runs left") for line in heard)


def test_what_misses_its_limit_has_no_constants():
    tuned = redpoll.tune(
        scenario(), free=FREE, maximize="goodput", limits={"goodput": "1000 kb/s"}, **SHORT
    )
    assert not tuned.ok and tuned.verdict == "missed"
    assert tuned.rust is None and tuned.c is None


def test_what_is_wrong_is_said_before_the_first_run(tmp_path):
    def wrong(**keywords):
        given = {"free": FREE, "maximize": "goodput", "limits": {"goodput": "1 kb/s"}, **SHORT}
        with pytest.raises(ScenarioError) as raised:
            redpoll.tune(scenario(), **{**given, **keywords}, results=tmp_path / "x.sqlite")
        return raised.value

    assert wrong(free={"mac.mn_be": [1, 2]}).key == "mac.mn_be"
    assert "there is no figure" in str(wrong(maximize="beauty"))
    # Without limits, a node that sends nothing would have the longest lifetime.
    assert "limits" in str(wrong(maximize="lifetime of node-3", limits={}))
    assert "allowed: a list" in str(wrong(free={"mac.min_be": 3}))
    assert "search.seeds" in str(wrong(seeds=0))
    assert not (tmp_path / "x.sqlite").exists()


def test_what_progress_raises_ends_it():
    def stop(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        redpoll.tune(
            scenario(), free=FREE, maximize="goodput", limits={"goodput": "1 kb/s"},
            progress=stop, **SHORT,
        )
