"""Congestion control written in Python."""

import gc
import pickle
import weakref

import pytest

import redpoll
from redpoll import Congestion, CongestionError, Scenario, ScenarioError, Window


class OneSegment(Congestion):
    """At most one segment is in flight."""

    def on_start(self, update):
        return Window(cwnd=update.mss)

    on_ack = on_loss = on_rto = on_ecn = on_recovered = on_undo = on_idle = on_start


class Gentle(Congestion):
    """A loss leaves three quarters of the window."""

    def on_loss(self, update):
        return Window(ssthresh=update.cwnd * 0.75)


def line(congestion, name="mine", **changes):
    keys = {"duration": "20 s", "tcp.congestion": name, **changes}
    return Scenario("line-2", keys, congestion=congestion)


#: Settings with lossy links and a single link-layer retry.
BAD = {"medium.success_ratio_rx": "80 %", "mac.max_frame_retries": 1, "duration": "60 s"}


def goodput(scenario):
    result = redpoll.run(scenario, seed=1)
    assert result.ok
    return result.flows[0]["goodput_kbps"]


def test_a_class_is_the_congestion_control_of_a_scenario():
    usual = goodput(Scenario("line-2", {"duration": "20 s"}))
    one = goodput(line({"mine": OneSegment}))
    assert one < 0.9 * usual
    # With a class without methods, the engine's own congestion control remains.
    assert goodput(line({"mine": Congestion})) == usual
    assert goodput(line({"mine": object})) == usual
    # A single node can also select a congestion control by name; the other nodes keep the default.
    of_sink = line({"mine": OneSegment}, "newreno", **{"nodes.node-1.congestion": "mine"})
    assert goodput(of_sink) == usual
    of_sender = of_sink.set("nodes.node-3.congestion", "mine")
    assert goodput(of_sender) == one
    assert goodput(pickle.loads(pickle.dumps(of_sender))) == one


def test_what_it_hears():
    heard = []

    class Hears:
        def __getattr__(self, name):
            if not name.startswith("on_"):
                raise AttributeError(name)

            def hear(update):
                heard.append((name, update))

            return hear

    redpoll.run(line({"mine": Hears}, **BAD), seed=1)
    names = [name for name, _ in heard]
    assert names.count("on_start") == 2
    assert {"on_ack", "on_loss", "on_rto", "on_recovered"} <= set(names), set(names)
    sender = [(name, update) for name, update in heard if update.node == "node-3"]
    times = [update.now for _, update in sender]
    assert times == sorted(times) and 0 <= times[0] and times[-1] <= 60.1
    for name, update in sender:
        assert 0 < update.mss <= 1_220 and 0 <= update.flight < 65_536
        assert update.usual[0] >= update.mss and update.cwnd > 0 and update.ssthresh > 0
        assert update.acked == 0 or name in ("on_ack", "on_undo")
        assert update.srtt_ms is None or update.srtt_ms > 0
    assert any(update.is_first for name, update in heard if name == "on_rto")
    # Without losses, the window grows until the data in the send buffer no longer fill it.
    heard.clear()
    redpoll.run(line({"mine": Hears}), seed=1)
    filled = [update.is_filled for name, update in heard if name == "on_ack"]
    assert filled[0] and not filled[-1]
    assert "node-" in repr(heard[0][1]) and "start" in repr(heard[0][1])


def test_a_loss_leaves_what_it_says():
    after = []

    class Tells(Gentle):
        def on_loss(self, update):
            self.expected = max(int(update.cwnd * 0.75), update.mss)
            return super().on_loss(update)

        def on_recovered(self, update):
            after.append((update.ssthresh, self.expected))

    redpoll.run(line({"mine": Tells}, **BAD), seed=1)
    assert after and all(got == expected for got, expected in after)


def test_what_it_raises_ends_the_run_with_node_and_time():
    class Broken(Congestion):
        def on_ack(self, update):
            if update.now > 5:
                raise KeyError("mine")

    with pytest.raises(CongestionError, match=r"node-3 at 5\.\d+ s: KeyError: 'mine'") as raised:
        redpoll.run(line({"mine": Broken}), seed=1)
    error = raised.value
    assert error.node == "node-3" and 5 < error.time_s < 6
    assert isinstance(error.__cause__, KeyError) and isinstance(error, redpoll.RunError)
    again = pickle.loads(pickle.dumps(error))
    assert (again.node, again.time_s, str(again)) == (error.node, error.time_s, str(error))


@pytest.mark.parametrize("answer", ["much", 1_000, (1, 2, 3), Window(cwnd=-1), (float("nan"), 1)])
def test_what_is_no_window_is_refused(answer):
    class Says(Congestion):
        def on_start(self, update):
            return answer

    with pytest.raises(CongestionError, match="on_start: .*allowed"):
        redpoll.run(line({"mine": Says}), seed=1)


def test_a_class_that_cannot_be_made_is_said_to_be():
    class Wants:
        def __init__(self, something):
            pass

    with pytest.raises(CongestionError, match="something"):
        redpoll.run(line({"mine": Wants}), seed=1)

    class Stops(Congestion):
        def on_start(self, update):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        redpoll.run(line({"mine": Stops}), seed=1)


def test_any_window_is_held_within_what_the_engine_can_have():
    seen = []

    class Huge(Congestion):
        def on_start(self, update):
            return Window(float("inf"), float("inf"))

        def on_ack(self, update):
            seen.append(update.cwnd)
            return Window(0, 0)

    assert redpoll.run(line({"mine": Huge}), seed=1).ok
    assert seen[0] == 65_535
    assert len(seen) > 2


def test_names_are_checked():
    with pytest.raises(ScenarioError, match="newreno, cubic, off, mine") as wrong:
        line({"mine": OneSegment}, "yours")
    assert wrong.value.key == "tcp.congestion"
    with pytest.raises(ScenarioError, match="got the congestion control"):
        line({"cubic": OneSegment}, "cubic")
    with pytest.raises(TypeError, match="allowed: a class"):
        line({"mine": OneSegment()})
    with pytest.raises(ScenarioError, match="results file"):
        redpoll.sweep(line({"mine": OneSegment}), seeds=2)


def test_nothing_is_left_of_a_run():
    made = weakref.WeakSet()

    class Counted(OneSegment):
        def __init__(self):
            made.add(self)

    redpoll.run(line({"mine": Counted}), seed=1)
    gc.collect()
    assert len(made) == 0
