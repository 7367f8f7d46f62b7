"""Exceptions."""

from __future__ import annotations


class Error(Exception):
    """Anything that Redpoll refuses or cannot do."""

    def __init__(self, text: str, key: str = "") -> None:
        super().__init__(text, key)
        self.text = text

    def __str__(self) -> str:
        return self.text


class ScenarioError(Error):
    """A scenario that cannot be used. `key` is the dotted path of the key that is to blame,
    or empty."""

    def __init__(self, text: str, key: str = "") -> None:
        super().__init__(text, key)
        self.key = key


class ResultsError(Error):
    """A results file that cannot be used, read or written."""


class RunError(Error):
    """A run that could not be done."""


class CongestionError(RunError):
    """A congestion control has raised something, which is the `__cause__`: that of a connection
    of the node `node`, at `time_s` seconds of the node's clock."""

    def __init__(self, text: str, node: str = "", time_s: float = 0.0) -> None:
        super().__init__(text)
        self.args = (text, node, time_s)
        self.node, self.time_s = node, time_s


class StudyError(Error):
    """There is no such study or figure."""


class OracleWarning(UserWarning):
    """Of a sweep's runs there are some of which a byte or a frame is unaccounted for."""
