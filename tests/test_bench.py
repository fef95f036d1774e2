# SPDX-License-Identifier: MIT
"""The benchmark's arithmetic, its report from a result, and its refusals; no figure is tested here."""

import json
import re
import sys

import pytest
from c_library import run
from stages import ROOT

BENCH = ROOT / "bench"
sys.path.insert(0, str(BENCH))
import goals
import lines
import measure
import report

RESULTS = sorted((BENCH / "results").glob("*.json"))
MACHINE = {
    "processor": "a processor",
    "threads": 2,
    "torch": "2.14.1",
    "python": "3.11.7",
    "compiler": "gcc 12",
    "nvcc": None,
    "date": "2026-01-01",
    "gpu": None,
}


def result():
    """A result with one case of each section, whose ratios are known."""

    def case(late, ours, theirs):
        us = {"05": [ours] * 3, "04": [ours] * 3, "torch.square": [theirs] * 3, "copy": [9.0] * 3}
        size = 1 << 28
        return {
            "dtype": "float32",
            "n": size // 4,
            "bytes_in": size,
            "bytes_out": size,
            "late": late,
            "us": us,
        }

    ns = {"05: square(x)": [120.0], "torch.square": [100.0]}
    ns |= {"05 forward and backward": [300.0], "torch.square forward and backward": [200.0]}
    cpu_us = {"05": [1.0], "torch.square": [10.0]}
    return {
        "machine": MACHINE,
        "bandwidth": {"cases": [case(0, 10.0, 11.0), case(1, 10.0, 20.0)]},
        "call": {"cpu": {"n": 16, "ns": ns}},
        "cpu": {"cases": [{"dtype": "int8", "n": 1 << 16, "threads": 1, "us": cpu_us}]},
        "build": {
            "import_torch": 1.0,
            "seconds": {
                "03: load_inline": {"cold": [21.0], "warm": [2.0]},
                "04: load()": {"cold": [3.0], "warm": [2.0]},
            },
        },
    }


def test_quartiles():
    assert measure.quartiles([5.0]) == (5.0, 5.0, 5.0)
    assert measure.quartiles([4.0, 1.0, 3.0, 2.0, 5.0]) == (2.0, 3.0, 4.0)


def test_rounds_interleave():
    """Each contender has a sample in each round, and the rounds differ in their order."""
    seen = []
    contenders = {name: lambda name=name: seen.append(name) or 1.0 for name in "abcd"}
    samples = measure.rounds(contenders, 10, seed=1, failed={})
    assert all(len(values) == 10 for values in samples.values())
    turns = [tuple(seen[i : i + 4]) for i in range(0, 40, 4)]
    assert all(sorted(turn) == list("abcd") for turn in turns)
    assert len(set(turns)) > 3


def test_goals():
    """Each goal is the worst of its ratios, and one that is missed says so."""
    text = goals.table(result())
    assert (
        "| GPU, `torch.square` / ours, from 2^20 bytes on | ≥ 1.00 | 1.100 | float32, 2^28 bytes | yes |"
        in text
    )
    assert "| CPU, a call, ours / `torch.square` | ≤ 1.30 | 1.200 | n = 16 | yes |" in text
    assert "| GPU, bandwidth / that of a copy, from 2^28 bytes on | ≥ 0.99 | 0.900 |" in text
    assert text.count("no, in 1 of 1 cases") == 2  # those against the copy
    assert "| cold build, 04 / 03 | ≤ 0.10 | 0.100 |" in text


def test_overlap_counts_as_equal():
    close = goals.ratio([99.0, 100.0, 101.0], [100.0, 101.0, 102.0], "")
    assert close.overlap and goals.reached(close, 1.00, more=True)
    apart = goals.ratio([98.9, 99.0, 99.1], [100.9, 101.0, 101.1], "")
    assert not apart.overlap and not goals.reached(apart, 1.00, more=True)


def test_fill():
    """What stands between the markers is replaced, the rest stays; a missing marker is an error."""
    text = "a\n<!-- bench:lines -->old<!-- /bench:lines -->\nz\n"
    once = report.fill(text, {"lines": "new"})
    assert once == "a\n<!-- bench:lines -->\nnew\n<!-- /bench:lines -->\nz\n"
    assert report.fill(once, {"lines": "new"}) == once
    with pytest.raises(ValueError, match="bench:call"):
        report.fill(text, {"call": "new"})


def test_lines(tmp_path):
    """Code is what is left without docstrings, comments of their own and blank lines; strings are code."""
    (tmp_path / "a.py").write_text('"""A "quoted" word."""\n\n# why\nx = """\ny\n"""  # what\n')
    (tmp_path / "a.c").write_text("/* two\n * lines */\n#include <a.h>\n// one\nint x; /* why */\n\n")
    assert [lines.count(tmp_path / name) for name in ("a.py", "a.c")] == [3, 2]
    files = lines.lines()["04_separate_files"]
    assert "torch_tensor.h" in files and "square_launch.h" not in files  # written here; a link


def test_json_keeps_figures():
    assert json.loads(report.to_json(result())) == result()


def test_report(tmp_path):
    """Charts and tables from a file alone, twice the same."""
    pytest.importorskip("matplotlib")
    (tmp_path / "a.json").write_text(report.to_json(result()))
    readme = tmp_path / "README.md"
    markers = "goals bandwidth call cpu build lines".split()
    readme.write_text("\n".join(f"<!-- bench:{m} --><!-- /bench:{m} -->" for m in markers))
    texts = []
    for _ in range(2):
        done = run(sys.executable, BENCH / "report.py", "--readme", readme, "--results", tmp_path)
        assert done.returncode == 0, done.stderr
        texts.append([path.read_bytes() for path in [readme, *sorted(tmp_path.glob("*.svg"))]])
    assert texts[0] == texts[1]
    assert {path.name for path in tmp_path.glob("*.png")} >= {"a-bandwidth.png", "a-cpu.png", "a-build.png"}
    assert report.lines_table() in readme.read_text()


@pytest.mark.skipif(not RESULTS, reason="no result is committed")
def test_a_bar_ends_at_its_number():
    """Also where a layer was measured dearer than the one that contains it."""
    pytest.importorskip("matplotlib").use("agg")
    import charts

    ns = {"02: C": [20.0], "04: operator": [90.0], "05: square(x)": [70.0], "05: with gradient": [400.0]}
    (ax,) = charts.call({"call": {"cpu": {"n": 16, "ns": ns}}}).axes
    bars = [(round(bar.get_y() + bar.get_height() / 2), bar.get_x() + bar.get_width()) for bar in ax.patches]
    assert [max(end for row, end in bars if row == k) for k in range(4)] == [20.0, 90.0, 70.0, 400.0]


def test_readme_has_the_tables():
    """The README's tables are those of the committed figures and files; if not: make bench-report."""
    found = report.newest(BENCH / "results")
    text = (ROOT / "README.md").read_text()
    assert report.fill(text, report.sections(found)) == text


def test_counters_are_quoted():
    """The table in the README of stage 01 is what make profile printed, and a link to the glossary."""
    counters = (BENCH / "results" / "nvidia-h200-counters.md").read_text()
    page = (ROOT / "01_pure_cuda" / "README.md").read_text()
    assert counters in re.sub(r"\[(\w+)\]\([^)]*glossary[^)]*\)", r"\1", page)


def test_refusals(tmp_path):
    done = run(sys.executable, BENCH / "bench.py", "--only", "call,speed")
    assert done.returncode == 2 and "there is no section speed" in done.stderr
    done = run(sys.executable, BENCH / "report.py", "--results", tmp_path)
    assert done.returncode == 1 and str(tmp_path) in done.stderr
