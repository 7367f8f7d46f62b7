"""A widget for notebooks (anywidget) that shows a result over time on a map of the nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .scenario import Result

#: Columns of the series that the map shows, with their names in the widget.
_COLUMNS = {
    "queue_datagrams": "queue",
    "radio_transmit_share": "transmits",
    "frames_sent": "sent",
    "frame_retries": "retries",
    "collisions": "collisions",
}


def mesh(result: Result) -> dict[str, Any]:
    """The nodes, and the figures of each node at each time of the series, in the widget's format."""
    if result.series is None:
        raise ValueError("the result has no series, so there is nothing to show; call run with "
                         "series_s=1.0, for example")
    names = [node["name"] for node in result.nodes]
    place = {name: index for index, name in enumerate(names)}
    nodes = [
        {"name": node["name"], "role": node["role"], "x": node["position_m"][0],
         "y": node["position_m"][1], "parent": place.get(node.get("parent"), -1)}
        for node in result.nodes
    ]
    table = result.series.to_dict()
    times = sorted(set(table["t_s"]))
    row_of = {t: row for row, t in enumerate(times)}
    figures: dict[str, list[list[Any]]] = {
        short: [[0] * len(names) for _ in times] for short in _COLUMNS.values()
    }
    goodput = [0.0] * len(times)
    for index, (t, kind, name) in enumerate(zip(table["t_s"], table["kind"], table["name"])):
        row = row_of[t]
        if kind == "flow":
            goodput[row] += table["goodput_interval_kbps"][index] or 0
        elif name in place:
            for column, short in _COLUMNS.items():
                figures[short][row][place[name]] = table[column][index] or 0
    # Counters since the start of the run become numbers per interval.
    for short in ("sent", "retries", "collisions"):
        rows = figures[short]
        figures[short] = [
            [now - before for now, before in zip(row, rows[max(at - 1, 0)])]
            for at, row in enumerate(rows)
        ]
    head = f"{result.report['scenario']}, seed {result.report['seed']}"
    return {"title": head, "nodes": nodes, "times": times, "goodput": goodput, **figures}


def widget(result: Result) -> Any:
    """A widget that shows a result over time on a map. Needs the package anywidget."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError("the map of a notebook needs the package anywidget: "
                          "pip install anywidget") from error

    folder = Path(__file__).parent

    class Replay(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
        """The widget: a map of the nodes with a slider over the times of the series."""

        _esm = folder / "replay.js"
        _css = folder / "replay.css"
        #: The nodes and their numbers over time.
        mesh = traitlets.Dict().tag(sync=True)
        #: Index of the shown row of the series; Python can set it.
        at = traitlets.Int(0).tag(sync=True)

    return Replay(mesh=mesh(result))
