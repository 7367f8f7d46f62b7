"""Pictures and tables for notebooks."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import overload


class Picture:
    """A picture as SVG, which a notebook shows."""

    def __init__(self, name: str, note: str, svg: str) -> None:
        #: Name of the picture, as in `redpoll plot --picture`.
        self.name = name
        #: Names the omitted parts; empty if the picture is complete.
        self.note = note
        #: The picture as a self-contained SVG.
        self.svg = svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture as an SVG file, with its labels stored as text. `redpoll plot`
        stores labels as outlines, and can also write PNG files."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def __repr__(self) -> str:
        return f"<redpoll.Picture {self.name}>"

    def _repr_html_(self) -> str:
        # As an image, the picture's styles and names do not affect the notebook's page.
        data = base64.b64encode(self.svg.encode()).decode()
        note = f"<br><small>{escape(self.note)}</small>" if self.note else ""
        return (f'<img alt="{escape(self.name)}" style="max-width: 100%" '
                f'src="data:image/svg+xml;base64,{data}">{note}')


class Pictures(Sequence[Picture]):
    """Pictures, indexed by position or by name. A notebook shows all of them."""

    def __init__(self, pictures: Iterable[Picture]) -> None:
        self._pictures = list(pictures)

    @overload
    def __getitem__(self, which: int | str) -> Picture: ...
    @overload
    def __getitem__(self, which: slice) -> Pictures: ...
    def __getitem__(self, which: int | str | slice) -> Picture | Pictures:
        if isinstance(which, slice):
            return Pictures(self._pictures[which])
        if isinstance(which, int):
            return self._pictures[which]
        for picture in self._pictures:
            if picture.name == which:
                return picture
        raise KeyError(f"no picture {which!r}; there are: {', '.join(self.names)}")

    def __len__(self) -> int:
        return len(self._pictures)

    def __iter__(self) -> Iterator[Picture]:
        return iter(self._pictures)

    @property
    def names(self) -> list[str]:
        """The names of the pictures."""
        return [picture.name for picture in self._pictures]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes each picture to the file NAME.svg in a folder, which is created if it is missing."""
        os.makedirs(folder, exist_ok=True)
        for picture in self._pictures:
            picture.save(os.path.join(folder, f"{picture.name}.svg"))

    def __repr__(self) -> str:
        return f"<redpoll.Pictures {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        shown = "".join(f"<div>{picture._repr_html_()}</div>" for picture in self._pictures)
        return f'<div style="display: flex; flex-wrap: wrap; gap: 1em">{shown}</div>'


def chosen(drawn: Iterable[tuple[str, str, str]], names: Sequence[str]) -> Pictures:
    """The pictures with these names, in the order of the names; without names, all pictures."""
    pictures = Pictures(Picture(*one) for one in drawn)
    if not names:
        return pictures
    for name in names:
        if name not in pictures.names:
            raise ValueError(f"no data for the picture {name!r}; allowed: {', '.join(pictures.names)}")
    return Pictures(pictures[name] for name in names)


def shown(value: object) -> str:
    """The text of a value in a cell of a notebook's table."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return str(value)


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table for a notebook, with all texts escaped."""
    def cell(value: object) -> str:
        side = "right" if isinstance(value, (int, float)) and not isinstance(value, bool) else "left"
        return f'<td style="text-align: {side}">{escape(shown(value))}</td>'

    head = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(f"<tr>{''.join(cell(value) for value in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
