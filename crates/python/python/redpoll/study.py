"""Repetitions of published studies."""

from __future__ import annotations

import os
from collections.abc import Iterable

from . import _native
from ._native import Table
from .errors import StudyError


class Study:
    """A published study, such as `Study("kumar2020")`. An unknown name raises `StudyError`."""

    def __init__(self, name: str) -> None:
        if not hasattr(_native, "check_study"):
            raise StudyError(
                f"no study {name!r}: this extension was built without published studies; "
                "build it with the feature `studies`, which is on by default"
            )
        _native.check_study(name)
        self.name = name

    def run(
        self,
        figures: Iterable[str] = (),
        *,
        seeds: int = 5,
        results: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
    ) -> Table:
        """Runs `figures`, by default all, and returns a row for each number, with the number of
        the paper.

        The result of each run is kept in the file `results`, by default NAME.sqlite, as with
        `redpoll study`; runs in the file are not repeated.
        """
        path = os.fspath(results) if results is not None else f"{self.name}.sqlite"
        return _native.study_rows(self.name, list(figures), seeds, path, jobs)

    def __repr__(self) -> str:
        return f"<redpoll.Study {self.name}>"
