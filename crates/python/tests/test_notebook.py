"""The cells of the documents' notebooks run, and give the results that they state."""

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
NOTEBOOKS = [DOCS / "python.ipynb", *sorted((DOCS / "notebooks").glob("*.ipynb"))]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    pytest.importorskip("anywidget")
    monkeypatch.chdir(tmp_path)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    # The repository stores notebooks without outputs.
    assert not any(cell.get("outputs") for cell in notebook.cells)
    nbclient.NotebookClient(notebook, timeout=120).execute()
    shown = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.outputs]
    assert len(shown) >= 3
    kinds = {kind for cell in shown for output in cell.outputs for kind in output.get("data", {})}
    assert "text/html" in kinds
    if any(".map()" in cell.source for cell in notebook.cells):
        assert "application/vnd.jupyter.widget-view+json" in kinds
