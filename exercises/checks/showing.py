# SPDX-License-Identifier: MIT
"""What the checks share: running an answer where it can do no harm, and showing where it is wrong."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

CHECKS = Path(__file__).resolve().parent
SHOWN = 5  # differences that are shown
_scratch = tempfile.TemporaryDirectory(prefix="exercises-")  # deleted when Python ends


class Wrong(Exception):
    """The answer is not right; the text says where."""


def run(*command: object, doing: str, cwd: Path | None = None, partial: bool = False) -> str:
    """Return what a command prints. Wrong if it fails, with the end of what it says; `partial`: not then."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, cwd=cwd, timeout=300
    )
    if done.returncode == 0 or partial:
        return done.stdout
    how = f"by signal {-done.returncode}" if done.returncode < 0 else f"with status {done.returncode}"
    lines = (done.stdout + done.stderr).strip().splitlines()
    raise Wrong(f"{doing} ended {how}:\n\n" + "\n".join(f"    {line}" for line in lines[:20]))


def program(*sources: object, compiler: str = "g++", flags: Sequence[str] = ()) -> Path:
    """Return a program, or with -shared a library, built from sources. Wrong if they do not compile."""
    built = Path(tempfile.mkdtemp(dir=_scratch.name)) / "answer"
    run(compiler, "-g", "-O1", "-Wall", *flags, *sources, "-o", built, doing="the compiler")
    return built


def python(code: str, *arguments: object) -> str:
    """Return what Python code prints, run in a process of its own."""
    return run(sys.executable, "-c", code, *arguments, doing="Python")


def differ(what: str, names: Sequence, yours: Sequence, expected: Sequence) -> None:
    """Wrong if yours and expected differ anywhere, with the first differences as a table."""
    rows = [(n, y, e) for n, y, e in zip(names, yours, expected, strict=True) if y != e]
    if not rows:
        return
    table = [(what, "yours", "expected"), *((str(n), str(y), str(e)) for n, y, e in rows[:SHOWN])]
    widths = [max(len(row[k]) for row in table) + 3 for k in range(3)]
    text = "\n".join(
        "    " + "".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in table
    )
    more = f"\n    and {len(rows) - SHOWN} more" * (len(rows) > SHOWN)
    raise Wrong(f"{len(rows)} of {len(names)} differ:\n\n{text}{more}")


Writes = dict[tuple[int, int], dict[int, float]]


def threads(file: Path, n: int, grid: int, block: int) -> tuple[Writes, tuple[int, int] | None]:
    """Run the kernel of `file`, one thread after the other, on x = 1, 2, ..., n.

    Return what each thread (block, thread) wrote, as {i: y[i]}, and the thread that crashed, if one did.
    """
    answer = program(f'-DANSWER="{file}"', CHECKS / "threads.cpp")
    writes: Writes = {}
    crashed = None
    for line in run(answer, n, grid, block, doing="", partial=True).splitlines():
        word, *numbers = line.split()
        if word == "thread":
            crashed = place = int(numbers[0]), int(numbers[1])
            writes[place] = {}
        elif word == "y":
            writes[place][int(numbers[0])] = float(numbers[1])
        elif word == "end":
            crashed = None
    return writes, crashed


def kernel(file: Path, n: int, grid: int, block: int, share: Callable[[int, int], Sequence[int]]) -> None:
    """Wrong unless each thread squares its share of n values: share(block, thread) gives the indices."""
    writes, crashed = threads(file, n, grid, block)
    places = [(b, t) for b in range(grid) for t in range(block)]
    right = {p: {i: float((i + 1) * (i + 1)) for i in share(*p) if i < n} for p in places}
    wrong = {p for p in places if writes.get(p) != right[p]}
    if not wrong and crashed is None:
        return
    marks = {p: "X" if p in wrong else "#" if right[p] else "." for p in places}
    text = f"n = {n}, a grid of {grid} blocks of {block} threads\n\n"
    for b in range(grid):
        text += f"    block {b}   " + " ".join(marks[b, t] for t in range(block)) + "\n"
    text += "\n    # squares its values   . has nothing to do   X is wrong\n"
    p = crashed or min(wrong)
    text += f"\nThe first wrong one, block {p[0]}, thread {p[1]}:\n\n"
    text += f"    yours      {'crashed' if p == crashed else written(writes[p], n)}\n"
    text += f"    expected   {written(right[p], n)}"
    memory = {i: value for p in places for i, value in writes.get(p, {}).items()}
    try:
        wanted = [(i + 1.0) ** 2 for i in range(n)]
        differ("element of y", range(n), [memory.get(i, "not written") for i in range(n)], wanted)
    except Wrong as elements:
        text += f"\n\nOf the elements, {elements}"
    raise Wrong(text)


def written(values: dict[int, float], n: int) -> str:
    """Return in words what a thread wrote."""
    places = (
        f"y[{i}]{' (outside!)' * (not 0 <= i < n)} = {value:g}" for i, value in sorted(values.items())[:SHOWN]
    )
    return ", ".join(places) or "wrote nothing"
