"""Redpoll's simulator: whole nodes with TCP over IEEE 802.15.4, in virtual time.

>>> import redpoll
>>> result = redpoll.run(redpoll.Scenario("line-2"), seed=1)
>>> result.ok
True
"""

from ._native import Node, Table
from .app import App
from .errors import Error, ResultsError, RunError, ScenarioError, StudyError
from .scenario import Result, Scenario, run
from .study import Study
from .sweep import Sweep, sweep

__all__ = [
    "App",
    "Error",
    "Node",
    "Result",
    "ResultsError",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Study",
    "StudyError",
    "Sweep",
    "Table",
    "run",
    "sweep",
]
