# SPDX-License-Identifier: MIT
"""The notebooks run from top to bottom, show real files, and hold no path of anybody's machine."""

import ast
import json
import re
import sys

import pytest
import torch
from c_library import run
from stages import ROOT, gpu

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "notebooks")]
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


def in_jupyter(path, monkeypatch):
    """The outputs of each code cell, from Jupyter's own executor."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.delenv("MPLBACKEND", raising=False)
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(ROOT / "notebooks")}}
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where)
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def kinds(outputs):
    """The kinds of a cell's outputs in order; text that comes in pieces counts once."""
    found = [output["output_type"] for output in outputs]
    return [kind for k, kind in enumerate(found) if kind != "stream" or found[k - 1 : k] != ["stream"]]


@pytest.mark.slow
def test_runs_in_jupyter(monkeypatch):
    """In Jupyter each cell of a notebook puts out what is committed: text, pictures, values."""
    path = NOTEBOOKS[0]
    committed = [kinds(cell["outputs"]) for cell in cells(path, "code")]
    assert [kinds(outputs) for outputs in in_jupyter(path, monkeypatch)] == committed


TRIAL = {
    "print('a', end=''); print('b')\n6 * 7": ["stream", "execute_result"],
    "{'key': [1, 2]}": ["execute_result"],
    "6 * 7;": [],
    "x = 3\nNone": [],
    "import matplotlib.pyplot as plt\nprint(x)\nplt.plot([1, 2])\nplt.show()\nprint(x)": [
        "stream",
        "display_data",
        "stream",
    ],
}


@pytest.mark.slow
def test_as_jupyter(tmp_path, monkeypatch):
    """tools/notebooks.py puts out what Jupyter does, value by value."""
    pytest.importorskip("matplotlib")
    code = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    trial = [code | {"id": f"cell-{k}", "source": source} for k, source in enumerate(TRIAL)]
    path = tmp_path / "trial.ipynb"
    path.write_text(json.dumps({"cells": trial, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    result = run(sys.executable, ROOT / "tools/notebooks.py", path)
    assert result.returncode == 0, result.stderr
    ours = [cell["outputs"] for cell in cells(path, "code")]
    assert [kinds(outputs) for outputs in ours] == list(TRIAL.values())

    def texts(outputs):
        return [
            "".join(output["text"] if "text" in output else output["data"]["text/plain"])
            for output in outputs
            if output["output_type"] != "display_data"
        ]

    theirs = in_jupyter(path, monkeypatch)
    assert [kinds(outputs) for outputs in theirs] == list(TRIAL.values())
    assert ["".join(texts(outputs)) for outputs in ours] == ["".join(texts(outputs)) for outputs in theirs]


@pytest.mark.slow
def test_a_cell_that_raises(tmp_path):
    """The notebook stays as it was, and the status tells."""
    pytest.importorskip("matplotlib")
    cell = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": "1 / 0"}
    path = tmp_path / "trial.ipynb"
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    before = path.read_text()
    result = run(sys.executable, ROOT / "tools/notebooks.py", path)
    assert result.returncode == 1 and "ZeroDivisionError" in result.stderr
    assert path.read_text() == before


@each_notebook
def test_files_are_shown_as_they_are(path, monkeypatch):
    """A recorded listing is the file's text of today; if not, tools/notebooks.py --files mends it."""
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "agg")
    import notebooks

    def text(outputs):
        return ["".join(output["text"]) for output in outputs if output["output_type"] == "stream"]

    for count, cell in enumerate(cells(path, "code"), 1):
        assert text(notebooks.shown_again(cell, count)) == text(cell["outputs"])


@each_notebook
def test_committed_with_outputs(path):
    """Each code cell was run, in order, without an error; no path or name of a machine is in it."""
    code = cells(path, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    text = path.read_text()
    assert '"output_type": "error"' not in text
    assert not re.findall(r"(?<![\w.$])/(?:home|root|tmp|work|opt|mnt|data|srv|var|usr/\w+)/[\w.]+", text)
    assert not re.findall(r"\b\w[\w-]*\.(?:local|internal|lan)\b", text)  # names of hosts
    assert "Runs " in text


def test_show_finds_its_lines():
    """A text that is in the file no more is an error, and not a listing of another part."""
    import lesson

    for begin, end in ("no such text", None), (None, "no such text"), ("int main", "#include"):
        with pytest.raises(ValueError, match="has no line with"):
            lesson.show("01_pure_cuda/square.cu", begin, end)


PREPARES = ("import ", "lesson.show(", "lesson.make(", "square = lesson.stage(")  # no results


@each_notebook
def test_lesson(path):
    """A question first, predictions before results, a summary and the way on at the end."""
    texts = ["".join(cell["source"]) for cell in cells(path, "markdown")]
    assert re.match(r"# 0\d: .*\?", texts[0])
    assert sum("redict" in text for text in texts) >= 3
    assert "## What you can say now" in texts[-1] and "**Next:**" in texts[-1]
    before = ""
    for cell in json.loads(path.read_text())["cells"][2:]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            before = source
        elif not all(ast.unparse(node).startswith(PREPARES) for node in ast.parse(source).body):
            assert "redict" in before, f"{cell['id']}: a result without a prediction"


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
    import pictures

    assert pictures.sectors(4, 1, 0) == [4]
    assert pictures.sectors(4, 1, 4) == [5]
    assert pictures.sectors(4, 4, 0) == [16]
    assert len(pictures.sectors(4, 4, 4)) == 4
    assert pictures.sectors(1, 16, 1) == [16, 17]
    assert pictures.thread_of(17, 4, 4) == (1, 0)


def test_owners():
    """The picture's numbers are this tensor's, and its handle is gone afterwards."""
    pytest.importorskip("matplotlib")
    import pictures

    x = torch.rand(7)
    python, cxx, handle, pointer = pictures.owned(x, 1)
    assert (python[2], cxx[2], pointer[2]) == (id(x), x._cdata, x.data_ptr())
    assert handle[3] == "owners with it: 2; deleted: 1" and pointer[3].startswith("28 bytes")
    assert x._use_count() == 1


def test_recorded_timeline():
    """What is drawn where there is no GPU was recorded on one, of programs that are still there."""
    pytest.importorskip("matplotlib")
    import timelines

    data = json.loads(timelines.RECORDED.read_text())
    assert data["gpu"] and data["programs"]
    assert list(data["programs"]) == list(timelines.PROGRAMS)
    for program in data["programs"].values():
        assert all(first < last for _, _, first, last in program["bars"])
        assert {row for row, *_ in program["bars"]} > {"host"}


@pytest.mark.parametrize("how", ("recorded", pytest.param("measured", marks=gpu)))
def test_timelines(how):
    """Calls are back before the work is done, and without a wait the square comes too early."""
    pytest.importorskip("matplotlib")
    import timelines

    recorded = json.loads(timelines.RECORDED.read_text())["programs"]
    programs = recorded if how == "recorded" else timelines.measure()["programs"]
    at_end, at_end_small, each, early, right = programs.values()

    def ends(program, row):
        return [last for where, name, _, last in program["bars"] if where == row and name != "wait"]

    assert ends(at_end, "host")[-1] < ends(at_end, "device")[0]
    assert ends(each, "device")[-1] > ends(at_end_small, "device")[-1]
    assert early["y"] == [0.0] and right["y"] == [9.0]
    assert ends(early, "current stream")[-1] < ends(early, "side stream")[-1]
    assert ends(right, "current stream")[-1] > ends(right, "side stream")[-1]
