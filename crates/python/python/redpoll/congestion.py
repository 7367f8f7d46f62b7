"""Congestion control written in Python."""

from __future__ import annotations

from typing import NamedTuple

from ._native import CongestionNews


class Window(NamedTuple):
    """What a connection's window is from now on, in bytes; `None`: as RFC 5681 has it. The engine
    takes at least a segment, and at most 65,535 bytes, for that is all that a peer can offer."""

    cwnd: float | None = None
    ssthresh: float | None = None


class Congestion:
    """The congestion control of one connection, which sends from a node. A method that returns
    `None`, or that a class does not have, leaves it to RFC 5681 and 6582. An exception ends the
    run, and comes out of `redpoll.run` as a `CongestionError`.

    What finds losses and repairs them stays as it is: between `on_loss` and `on_recovered`
    proportional rate reduction (RFC 9937) leads cwnd to ssthresh, and `on_ack` is not called.
    """

    def on_start(self, news: CongestionNews) -> Window | None:
        """The connection is open."""

    def on_ack(self, news: CongestionNews) -> Window | None:
        """New data was acknowledged, `news.acked` bytes, while no loss is being repaired and
        without a mark. Usually the window stays as it is unless `news.is_filled`: one that is not
        used tells nothing of the path (RFC 7661)."""

    def on_loss(self, news: CongestionNews) -> Window | None:
        """A loss was found without a timeout. `ssthresh` is where recovery ends."""

    def on_rto(self, news: CongestionNews) -> Window | None:
        """The retransmission timer ran out, for the first time if `news.is_first`."""

    def on_ecn(self, news: CongestionNews) -> Window | None:
        """A router has marked a packet; at most once for each window."""

    def on_recovered(self, news: CongestionNews) -> Window | None:
        """What was lost without a timeout has arrived."""

    def on_undo(self, news: CongestionNews) -> Window | None:
        """The last loss was none: packets were late, or out of order."""

    def on_idle(self, news: CongestionNews) -> Window | None:
        """Data is to be sent after a pause longer than a retransmission timeout."""
