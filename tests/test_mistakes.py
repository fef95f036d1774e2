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
def copies(tmp_path_factory):
    """A copy that stays right and one for the changes, so that what a page has built serves the next."""
    folder = tmp_path_factory.mktemp("mistakes")
    return Copy(folder / "right").path, Copy(folder / "wrong").path


@pytest.fixture
def root(copies):
    return copies[1]


def every_text(root):
    files = (path for path in root.rglob("*") if not {"build", "__pycache__"} & set(path.parts))
    return {path: path.read_bytes() for path in files if path.is_file() and not path.is_symlink()}


@each_mistake
def test_undo(root, name):
    """A change that is made and undone leaves every file as it was."""
    before, mistake = every_text(root), MISTAKES[name]
    assert not mistake.made(root)
    for change in mistake.changes:
        change.turn(root, "after")
        assert change.state(root) == "after"
    assert mistake.made(root) and every_text(root) != before
    mistake.undo(root)
    assert every_text(root) == before


def test_refuses_a_changed_file(root):
    """A file that has neither of the two texts is left alone."""
    change = MISTAKES["01_no_guard"].changes[0]
    path = root / change.file
    before = path.read_text()
    path.write_text(before.replace("first + N <= n", "first + N < n + 1"))
    try:
        for wanted in "after", "before":
            with pytest.raises(SystemExit, match="changed by hand"):
                change.turn(root, wanted)
    finally:
        path.write_text(before)


@pytest.mark.slow
def test_a_reader_makes_one(tmp_path):
    """make mistake changes, runs and says what it saw; another one has to wait until make mend."""
    copy = Copy(tmp_path / "copy")
    before = every_text(copy.path)
    first = copy.make("mistake", "NAME=02_strided_as_dense")
    assert first.returncode == 0 and "seen     tensor([[ 0.,  1.]," in first.stdout, first.stderr
    assert "NOT SEEN" not in first.stdout and "(made:" in copy.make("mistakes").stdout
    second = copy.make("mistake", "NAME=02_wrong_dtype")
    assert second.returncode != 0 and "02_strided_as_dense is made" in second.stderr
    assert "undone: 02_strided_as_dense" in copy.make("mend").stdout
    assert "no mistake is made" in copy.make("mend").stdout
    assert "no mistake 'nothing'" in copy.make("mistake", "NAME=nothing").stderr
    assert every_text(copy.path) == before


@pytest.mark.long
@each_mistake
def test_symptom(copies, name):
    """What the page promises is not seen before the change, and is seen after it.

    Cases 12, 16, 20, 23, 27, 29 and 30 are among the pages. Cases 11, 14, 15, 17, 18, 32 and 33, which no
    test can show, are entries of the README's troubleshooting.

    A page may go on from there: what it promises after a second change is not seen after the first.
    """
    (right, wrong), mistake = copies, MISTAKES[name]
    if lacks := mistake.lacks():
        pytest.skip(f"{'GPU: ' if 'GPU' in lacks else ''}needs {lacks}")
    changed, output, earlier = False, "", ""  # what the commands said last, and before the last change
    try:
        for step in mistake.steps:
            if isinstance(step, mistakes.Change):
                step.turn(wrong, "after")
                changed, earlier = True, output
            elif not step.lacks():
                if step.promised and changed:
                    before = earlier or mistakes.run(step.commands, right)
                    assert step.unseen(before), f"seen before the change:\n{before[-4000:]}"
                output = mistakes.run(step.commands, wrong)
                assert not step.unseen(output), f"unseen: {step.unseen(output)} in\n{output[-4000:]}"
    finally:
        mistake.undo(wrong)
