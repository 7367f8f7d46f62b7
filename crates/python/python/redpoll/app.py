"""Applications written in Python."""

from __future__ import annotations

from ._native import Node


class App:
    """An application on a node. Each method receives the node, and can use it until the method
    returns. An exception in a method ends the run, and `redpoll.run` raises it."""

    def start(self, node: Node) -> None:
        """Called at the start of the run."""

    def on_event(self, node: Node, event: str, connection: int) -> None:
        """Called when a connection changes: "accepted", "connected", "readable", "writable" (after
        `send` accepted fewer bytes than offered), "peer_closed", "closed", "failed" or "trouble"
        (a problem that does not end the connection)."""

    def on_timer(self, node: Node) -> None:
        """Called when the time set by `node.wake_in` has come."""
