# SPDX-License-Identifier: MIT
"""The notebooks run from top to bottom, show real files, and hold no path of anybody's machine."""

import json
import re
import sys

import pytest
from c_library import run
from stages import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
SOURCES = [
    path
    for folder in ("01_pure_cuda", "02_c_launcher", "03_load_inline", "04_separate_files", "05_setup_py")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".c", ".h", ".cu", ".cuh", ".cpp", ".py") and "build" not in path.parts
]


def cells(path, kind):
    found = json.loads(path.read_text())["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def test_six():
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05", "06"]


@pytest.mark.slow
@each_notebook
def test_runs(path):
    """Headless, on a fresh process, with a GPU or without."""
    pytest.importorskip("matplotlib")
    result = run(sys.executable, ROOT / "tools/notebooks.py", "--check", path, timeout=300)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-3000:]


@pytest.mark.slow
def test_runs_in_jupyter(monkeypatch):
    """Jupyter's own executor does the same as tools/notebooks.py."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOKS[0], as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(ROOT / "notebooks")}},
    )
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 4


@each_notebook
def test_committed_with_outputs(path):
    """Each code cell was run, in order, without an error; no path or name of a machine is in it."""
    code = cells(path, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    text = path.read_text()
    assert '"output_type": "error"' not in text
    assert not re.findall(r"(?<![\w.$])/(?:home|root|tmp|work|opt|usr/local|usr/lib)/[\w.]+", text)
    assert "Runs " in text


@each_notebook
def test_lesson(path):
    """A question first, predictions before results, a summary and the way on at the end."""
    texts = ["".join(cell["source"]) for cell in cells(path, "markdown")]
    assert re.match(r"# 0\d: .*\?", texts[0])
    assert sum("redict" in text for text in texts) >= 3
    assert "## What you can say now" in texts[-1] and "**Next:**" in texts[-1]


@each_notebook
def test_copies_no_code(path):
    """No line of a stage's source of any length stands in a cell: the files are shown from disk."""
    lines = {line.strip() for source in SOURCES for line in source.read_text().splitlines()}
    lines = {line for line in lines if len(line) > 40}
    for cell in cells(path, "code"):
        for line in "".join(cell["source"]).splitlines():
            assert line.strip() not in lines, line


def test_sectors():
    """The picture's numbers, counted by hand."""
    pytest.importorskip("matplotlib")
    sys.path.insert(0, str(ROOT / "notebooks"))
    import pictures

    assert pictures.sectors(4, 1, 0) == [4]
    assert pictures.sectors(4, 1, 4) == [5]
    assert pictures.sectors(4, 4, 0) == [16]
    assert len(pictures.sectors(4, 4, 4)) == 4
    assert pictures.sectors(1, 16, 1) == [16, 17]
    assert pictures.thread_of(17, 4, 4) == (1, 0)
