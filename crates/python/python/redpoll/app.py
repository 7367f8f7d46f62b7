"""Applications written in Python."""

from __future__ import annotations

from ._native import Node


class App:
    """An application on a node. Each method gets the node that it runs on, which can be used
    until the method returns. An exception ends the run, and comes out of `redpoll.run`."""

    def start(self, node: Node) -> None:
        """The run begins."""

    def on_event(self, node: Node, event: str, connection: int) -> None:
        """Something has happened to a connection: "accepted", "connected", "readable",
        "writable" (after `send` took less than it was offered), "peer_closed", "closed",
        "failed" or "trouble"."""

    def on_timer(self, node: Node) -> None:
        """The time of `node.wake_in` has come."""
