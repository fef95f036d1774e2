# SPDX-License-Identifier: MIT
"""Mistakes on purpose: each page's change shows what the page promises, and nothing shows it before."""

import sys

import pytest
from copies import Copy
from stages import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import mistakes

MISTAKES = {mistake.name: mistake for mistake in mistakes.every()}
PARTS = ("**What you see.**", "**Why.**", "**How to notice it earlier.**")
each_mistake = pytest.mark.parametrize("name", MISTAKES)


def text(name):
    return (ROOT / "mistakes" / f"{name}.md").read_text()


@each_mistake
def test_page(name):
    """A title, a change, commands with a promise, and the three paragraphs in their order."""
    mistake, page = MISTAKES[name], text(name)
    assert page.startswith("# ") and mistake.title
    assert mistake.changes and any(run.promised for run in mistake.runs)
    places = [page.find(part) for part in PARTS]
    assert -1 not in places and places == sorted(places)
    assert name.split("_")[0] in mistakes.STAGES


def test_list():
    """mistakes/README.md is made from the pages."""
    assert (ROOT / "mistakes" / "README.md").read_text() == mistakes.page()


def test_readmes_link():
    """Each stage's README leads to the mistakes of the stage."""
    for folder in {mistakes.STAGES[name.split("_")[0]] for name in MISTAKES}:
        assert f"(../mistakes/README.md#{folder})" in (ROOT / folder / "README.md").read_text(), folder


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """One copy for all pages: what one has built, the next need not."""
    return Copy(tmp_path_factory.mktemp("mistakes") / "copy")


def every_text(root):
    files = (path for path in root.rglob("*") if not {"build", "__pycache__"} & set(path.parts))
    return {path: path.read_bytes() for path in files if path.is_file() and not path.is_symlink()}


@each_mistake
def test_undo(copy, name):
    """A change that is made and undone leaves every file as it was."""
    before, mistake = every_text(copy.path), MISTAKES[name]
    assert not mistake.made(copy.path)
    for change in mistake.changes:
        change.turn(copy.path, "after")
        assert change.state(copy.path) == "after"
    assert mistake.made(copy.path) and every_text(copy.path) != before
    for change in reversed(mistake.changes):
        change.turn(copy.path, "before")
    assert every_text(copy.path) == before


def test_refuses_a_changed_file(copy):
    """A file that has neither of the two texts is left alone."""
    change = MISTAKES["01_no_guard"].changes[0]
    path = copy.path / change.file
    before = path.read_text()
    path.write_text(before.replace("first + N <= n", "first + N < n + 1"))
    try:
        for wanted in "after", "before":
            with pytest.raises(SystemExit, match="changed by hand"):
                change.turn(copy.path, wanted)
    finally:
        path.write_text(before)


@pytest.mark.slow
@each_mistake
def test_symptom(copy, name):
    """What the page promises is not seen before the change, and is seen after it."""
    mistake = MISTAKES[name]
    if lacks := mistake.lacks():
        pytest.skip(f"{'GPU: ' if 'GPU' in lacks else ''}needs {lacks}")
    runs = [run for run in mistake.runs if not run.lacks()]
    outputs = {run: mistakes.run(run.commands, copy.path) for run in runs}
    for run in runs:
        assert not run.promised or run.unseen(outputs[run]), f"seen before the change:\n{outputs[run]}"
    try:
        for step in mistake.steps:
            if isinstance(step, mistakes.Change):
                step.turn(copy.path, "after")
            elif step in runs:
                output = mistakes.run(step.commands, copy.path)
                assert not step.unseen(output), f"unseen: {step.unseen(output)} in\n{output[-4000:]}"
    finally:
        for change in reversed(mistake.changes):
            change.turn(copy.path, "before")
