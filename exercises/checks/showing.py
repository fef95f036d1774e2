# SPDX-License-Identifier: MIT
"""What the checks share: running an answer where it can do no harm, and showing where it is wrong."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

CHECKS = Path(__file__).resolve().parent
FOURTH = CHECKS.parent.parent / "04_separate_files"
SHOWN = 5  # differences that are shown
_scratch = tempfile.TemporaryDirectory(prefix="exercises-")  # deleted when Python ends


class Wrong(Exception):
    """The answer is not right; the text says where."""


def ended(command: Sequence[object], seconds: int) -> subprocess.CompletedProcess:
    """Run an answer, and return its status and output. Wrong if it takes longer than so many seconds."""
    try:
        words = [str(word) for word in command]
        return subprocess.run(words, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Wrong(f"It has not ended after {seconds} s: is there a loop that never ends?") from None


def program(*sources: object, compiler: str = "g++", flags: Sequence[str] = ()) -> Path:
    """Return a program, or with -shared a library, built from sources. Wrong if they do not compile."""
    built = Path(tempfile.mkdtemp(dir=_scratch.name)) / "answer"
    command = [compiler, "-g", "-O1", "-Wall", *flags, *(str(source) for source in sources), "-o", str(built)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Wrong(f"It does not compile:\n\n{indented(done.stderr)}")
    return built


def extension(file: Path, *libraries: str) -> Path:
    """Return the folder of a Python module `answer`, built of one C++ file, with these libraries of torch."""
    include, lib = f"{os.environ['TORCH']}/include", f"{os.environ['TORCH']}/lib"
    flags = ["-std=c++20", "-shared", "-fPIC", "-DTORCH_EXTENSION_NAME=answer", f"-I{include}"]
    flags += [f"-I{include}/torch/csrc/api/include", f"-I{os.environ['PYTHON_INCLUDE']}"]
    links = [f"-L{lib}", *(f"-l{name}" for name in libraries)] if libraries else []
    return as_module(program(*flags, file, *links))


def operator(file: Path, *flags: str) -> Path:
    """Return the folder of a Python module `answer` that registers the operator of `file`."""
    flags += "-std=c17", "-shared", "-fPIC", "-fexceptions", f'-DANSWER="{file}"'
    flags += f"-I{FOURTH}", f"-I{os.environ['PYTHON_INCLUDE']}"
    links = f"-L{os.environ['TORCH']}/lib", "-ltorch_cpu"
    return as_module(program(*flags, CHECKS / "operator.c", *links, compiler="gcc"))


def as_module(built: Path) -> Path:
    built.rename(built.with_name("answer.so"))
    return built.parent


def python(what: str, expected: dict[str, str], code: str, *arguments: object) -> None:
    """Run Python code, in a process of its own, that prints a line `name;value` for each name in expected.

    Wrong if it raises or does not end, or if a value is another than expected; what crashes the process
    counts as one.
    """
    done = ended([sys.executable, "-c", code, *arguments], seconds=120)
    if done.returncode > 0:
        raise Wrong(f"Python ended with an error:\n\n{indented(done.stderr)}")
    values = dict(line.split(";", 1) for line in done.stdout.splitlines() if ";" in line)
    yours = [values.get(name, "") for name in expected]
    if done.returncode < 0:
        place = yours.index("") if "" in yours else -1
        yours[place:] = [f"crashed (signal {-done.returncode})"] + ["not reached"] * (len(yours[place:]) - 1)
    differ(what, list(expected), yours, list(expected.values()))


def indented(text: str, lines: int = 20) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines()[:lines])


def differ(what: str, names: Sequence, yours: Sequence, expected: Sequence) -> None:
    """Wrong if yours and expected differ anywhere, with the first differences as a table."""
    rows = [(n, y, e) for n, y, e in zip(names, yours, expected, strict=True) if y != e]
    if not rows:
        return
    table = [(what, "yours", "expected"), *((str(n), str(y), str(e)) for n, y, e in rows[:SHOWN])]
    widths = [max(len(row[k]) for row in table) + 3 for k in range(3)]
    text = "\n".join(
        "    " + "".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table
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
    for line in ended([answer, n, grid, block], seconds=10).stdout.splitlines():
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
