"""Redpoll's simulator: whole nodes with TCP over IEEE 802.15.4, in virtual time.

>>> import redpoll
>>> result = redpoll.run(redpoll.Scenario("line-2"), seed=1)
>>> result.ok
True
"""

from ._native import VERSION as __version__
from ._native import CongestionUpdate, Node, Table
from .app import App
from .congestion import Congestion, Window
from .errors import (
    CongestionError,
    Error,
    OracleWarning,
    ResultsError,
    RunError,
    ScenarioError,
    StudyError,
)
from .picture import Picture, Pictures
from .scenario import Result, Scenario, run
from .study import Study
from .sweep import Sweep, sweep
from .tune import Interval, Tuned, tune

__all__ = [
    "App",
    "Congestion",
    "CongestionError",
    "CongestionUpdate",
    "Error",
    "Interval",
    "Node",
    "OracleWarning",
    "Picture",
    "Pictures",
    "Result",
    "ResultsError",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Study",
    "StudyError",
    "Sweep",
    "Table",
    "Tuned",
    "Window",
    "__version__",
    "run",
    "sweep",
    "tune",
]
