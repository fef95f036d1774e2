# SPDX-License-Identifier: MIT
"""Each exercise fails as handed out, passes with its solution, and not with the one before."""

import re
import shutil
import subprocess
import sys
from itertools import pairwise

import pytest
from copies import Copy
from stages import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from by_hand import environment

import exercises

EXERCISES = {exercise.name: exercise for exercise in exercises.every()}
NAMES = list(EXERCISES)
each_exercise = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def by_hand(monkeypatch):
    for variable, value in environment().items():
        monkeypatch.setenv(variable, value)


@each_exercise
def test_parts(name):
    """A gap in the file, none in the solution, a hint, a title, and a check that is there."""
    exercise = EXERCISES[name]
    handed_out, solution = (exercises.FOLDER / exercise.file).read_text(), exercise.solution.read_text()
    assert handed_out.count("TODO") == 1 and "TODO" not in solution
    assert exercise.title and exercise.module().HINT.strip()
    assert exercise.title in (exercises.FOLDER / "README.md").read_text()
    head = handed_out[: handed_out.index("TODO")].splitlines()[:-1]
    assert solution.splitlines()[: len(head) - 3] == head[:-3]  # the same file but for the gap


@pytest.mark.slow
@each_exercise
def test_fails_as_handed_out(name):
    """It fails, and says more than that."""
    exercise = EXERCISES[name]
    wrong = exercise.check(exercises.FOLDER / exercise.file)
    assert len(wrong.split()) > 5, wrong
    if exercise.file.endswith(".cu"):
        assert re.search(r"block 0 +([X#.] )*X", wrong) and "yours" in wrong and "expected" in wrong


@pytest.mark.slow
@each_exercise
def test_passes_with_its_solution(name):
    assert EXERCISES[name].check(EXERCISES[name].solution) == ""


@pytest.mark.slow
@pytest.mark.parametrize("before, name", list(pairwise(NAMES)))
def test_fails_with_the_solution_before(before, name, tmp_path):
    file = tmp_path / EXERCISES[name].file
    shutil.copyfile(EXERCISES[before].solution, file)
    assert EXERCISES[name].check(file)


def test_wrong_threads_are_marked():
    """The grid of a kernel that is wrong in one thread has one X, and says what it did."""
    sys.path.insert(0, str(exercises.FOLDER / "checks"))
    import showing

    file = exercises.FOLDER / "solutions" / "01_1_index.cu"
    with pytest.raises(showing.Wrong) as wrong:  # thread 3 is expected to do nothing
        showing.kernel(file, 5, 2, 4, lambda b, t: [] if (b, t) == (0, 3) else [4 * b + t])
    text = str(wrong.value)
    assert re.search(r"block 0 +# # # X\n +block 1 +# \. \. \.", text), text
    assert "block 0, thread 3" in text and "y[3] = 16" in text and "wrote nothing" in text


@pytest.mark.slow
def test_a_loop_that_never_ends(tmp_path):
    """A likely mistake in a loop is told like any other, soon."""
    answer = EXERCISES["01_3_grid_stride"]
    text, file = answer.solution.read_text(), tmp_path / answer.file
    assert text.count("i += ") == 1
    file.write_text(text.replace("i += ", "i += 0 * "))
    assert "a loop that never ends" in answer.check(file)


def test_list():
    """exercises/README.md ends with the list."""
    assert (exercises.FOLDER / "README.md").read_text().endswith(exercises.listing())


@pytest.fixture
def copy(tmp_path):
    copy = Copy(tmp_path / "copy")
    shutil.rmtree(copy.path / "exercises" / "mine", ignore_errors=True)
    return copy


def tool(copy, *words):
    result = copy.run(sys.executable, "tools/exercises.py", *words)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_a_reader_goes_through(copy):
    """The first is open; once it is solved, the second; handed out anew, the first again."""
    first, second = EXERCISES[NAMES[0]], EXERCISES[NAMES[1]]
    work = copy.path / "exercises" / "mine"
    assert f"0 of {len(NAMES)}" in tool(copy) and first.module().HINT.strip() in tool(copy, "--hint")
    shutil.copyfile(first.solution, work / first.file)
    text = tool(copy)
    assert f"1 of {len(NAMES)}" in text and f"edit   exercises/mine/{second.file}" in text
    assert f"checking {first.name}" not in tool(copy)  # passed, and nothing has changed
    assert second.module().HINT.strip() in tool(copy, "--hint")
    tool(copy, "--restart", first.name)
    assert (work / first.file).read_text() == (exercises.FOLDER / first.file).read_text()
    assert f"0 of {len(NAMES)}" in tool(copy)
    assert tool(copy, "--restart", "all").count("handed out anew") == len(NAMES)


@pytest.mark.slow
def test_one_by_name(copy):
    """One is checked although those before it are open, and counts; what is none is told."""
    last = EXERCISES["02_3_contiguous"]
    assert "edit   exercises/mine/02_3_contiguous.py" in tool(copy, last.name)
    shutil.copyfile(last.solution, copy.path / "exercises" / "mine" / last.file)
    assert f"1 of {len(NAMES)}" in (text := tool(copy, last.name)) and f"right: {last.name}" in text
    assert f"1 of {len(NAMES)}" in (text := tool(copy)) and f"edit   exercises/mine/{NAMES[0]}" in text
    result = copy.run(sys.executable, "tools/exercises.py", "02_9")
    assert result.returncode and "no exercise '02_9'; there are: 01_1_index" in result.stderr


def test_work_is_not_in_git():
    """What a reader writes into exercises/mine/ is nobody's change."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    ignored = subprocess.run(["git", "check-ignore", "-q", "exercises/mine/any"], cwd=ROOT)
    assert ignored.returncode == 0
