"""The notebook of examples/ runs from its first cell to its last, and shows what it says."""

from __future__ import annotations

import pathlib
import re

import nbclient
import nbformat

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples" / "notebook" / "first_steps.ipynb"


def test_AP_2_the_notebook_runs_and_shows_fifty_runs_of_one_line() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without results"
    # A cell of the test's own, behind them.
    notebook.cells.append(
        nbformat.v4.new_code_cell("assert len(chips) == 50 and set(chips['result']) == {'passed'}")
    )
    nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
    ).execute()  # raises where a cell does
    code = {cell.source: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}

    def shown(part: str) -> str:
        (outputs,) = [outputs for source, outputs in code.items() if part in source]
        texts = [output.get("text", "") or output.get("data", {}).get("text/html", "") for output in outputs]
        return "".join(texts)

    assert re.search(r"[0-9,]+ cycles, [0-9.]+% of the peak, passed: True", shown("tb.run("))
    assert "input_load" in shown("run.stalls")
    (line,) = [line for source in code for line in source.splitlines() if "tb.sweep(" in line]
    assert line.startswith("chips = tb.sweep(") and line.endswith(")"), "one line"
    assert shown("tb.sweep(").count("<tr") == 6, "a heading and the five best"
    pictures = [o for outputs in code.values() for o in outputs if "image/png" in o.get("data", {})]
    assert len(pictures) == 2
