"""Exceptions."""

from __future__ import annotations


class Error(Exception):
    """Base class of all errors of Redpoll."""

    def __init__(self, text: str, key: str = "") -> None:
        super().__init__(text, key)
        self.text = text

    def __str__(self) -> str:
        return self.text


class ScenarioError(Error):
    """A scenario that cannot be used. `key` is the dotted path of the wrong key, or empty."""

    def __init__(self, text: str, key: str = "") -> None:
        super().__init__(text, key)
        self.key = key


class ResultsError(Error):
    """A results file that cannot be used, read or written."""


class RunError(Error):
    """A run that failed."""


class CongestionError(RunError):
    """A congestion control raised an exception, which is the `__cause__`. `node` is the name of the
    node whose connection it controls, and `time_s` the time of that node's clock in seconds."""

    def __init__(self, text: str, node: str = "", time_s: float = 0.0) -> None:
        super().__init__(text)
        self.args = (text, node, time_s)
        self.node, self.time_s = node, time_s


class StudyError(Error):
    """No study or figure has this name."""


class OracleWarning(UserWarning):
    """The oracle found a violation in at least one run of a sweep."""
