"""Congestion control written in Python."""

from __future__ import annotations

from typing import NamedTuple

from ._native import CongestionUpdate


class Window(NamedTuple):
    """The new window of a connection in bytes; `None` selects the default. The engine limits it to
    at least a segment, and at most 65,535 bytes, the largest window that a peer can offer."""

    cwnd: float | None = None
    ssthresh: float | None = None


class Congestion:
    """The congestion control of the data that a node sends on one connection. If a method
    returns `None`, or if a class does not define it, RFC 5681 and RFC 6582 apply, and
    RFC 8511 after an ECN mark. An exception in a
    method ends the run, and `redpoll.run` raises a `CongestionError`.

    The detection and repair of losses do not change: between `on_loss` and `on_recovered`
    proportional rate reduction (RFC 9937) moves cwnd to ssthresh, and `on_ack` is not called.
    """

    def on_start(self, update: CongestionUpdate) -> Window | None:
        """The connection is open."""

    def on_ack(self, update: CongestionUpdate) -> Window | None:
        """`update.acked` bytes were newly acknowledged, with no loss under repair and no ECN
        mark. Usually leave the window unchanged unless `update.is_filled`: an unused window
        gives no information about the path (RFC 7661)."""

    def on_loss(self, update: CongestionUpdate) -> Window | None:
        """A loss was detected without a timeout. Recovery brings cwnd to `ssthresh`."""

    def on_rto(self, update: CongestionUpdate) -> Window | None:
        """The retransmission timer ran out, for the first time if `update.is_first`."""

    def on_ecn(self, update: CongestionUpdate) -> Window | None:
        """A router has marked a packet (ECN). Called at most once for each window of data."""

    def on_recovered(self, update: CongestionUpdate) -> Window | None:
        """All data whose loss was reported by `on_loss` have arrived."""

    def on_undo(self, update: CongestionUpdate) -> Window | None:
        """The last loss was spurious: packets were late, or out of order."""

    def on_idle(self, update: CongestionUpdate) -> Window | None:
        """Data is sent after a pause longer than a retransmission timeout."""
