# SPDX-License-Identifier: MIT
"""Mistakes on purpose: each page in mistakes/ is a small change to a real file, and what becomes of it.

mistakes.py          the list
mistakes.py NAME     makes the change, runs the page's commands, and looks for what the page promises
mistakes.py --mend   undoes every change that is made
mistakes.py --page   mistakes/README.md, which is made from the pages

A page is read from top to bottom. A block `diff` is a change: the first line names the file, @@ stands
between two places in it. A block `sh` is run in the root of the repository; words behind `sh` are what
it needs: cuda, gpu, gpus2, torch<2.14. Each line of the block `text` behind it has to be a line of its
output, where ... stands for anything.
"""

import functools
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from by_hand import ROOT, environment, toolchain

PAGES = ROOT / "mistakes"
NEEDS = {"cuda": "a CUDA toolkit", "gpu": "a GPU", "gpus2": "two GPUs", "torch<2.14": "PyTorch 2.13 or older"}
STAGES = {path.name[:2]: path.name for path in sorted(ROOT.glob("0*_*"))} | {"bench": "bench"}


@dataclass(frozen=True)
class Change:
    """Whole lines of a file and what they become; without `old`, a new file."""

    file: str
    old: str
    new: str

    def state(self, root: Path) -> str:
        """Return "before", "after", or "neither" if the file has none of the two texts once."""
        path = root / self.file
        if not self.old:
            made = path.read_text() if path.exists() else None
            return "before" if made is None else "after" if made == self.new else "neither"
        text = "\n" + path.read_text()
        before, after = text.count(f"\n{self.old}"), text.count(f"\n{self.new}")
        if before == after == 1:  # lines that stay are in both: the longer text decides
            before, after = self.new in self.old, self.old in self.new
        return {(1, 0): "before", (0, 1): "after"}.get((before, after), "neither")

    def turn(self, root: Path, wanted: str) -> None:
        """Bring the file to the state "before" or "after"; SystemExit if it is in neither."""
        path, state = root / self.file, self.state(root)
        if state == "neither":
            sys.exit(f"mistakes.py: {self.file} is in neither state of this mistake; it was changed by hand")
        if state == wanted:
            return
        old, new = (self.old, self.new) if wanted == "after" else (self.new, self.old)
        if self.old:
            path.write_text(f"\n{path.read_text()}".replace(f"\n{old}", f"\n{new}")[1:])
        elif wanted == "after":
            path.write_text(new)
        else:
            path.unlink()


@dataclass(frozen=True)
class Run:
    """Commands for bash, what they need, and lines that their output has to have."""

    commands: str
    needs: tuple[str, ...]
    promised: tuple[str, ...]

    def lacks(self) -> str:
        """Return in words what this machine lacks, or nothing."""
        return " and ".join(NEEDS[need] for need in self.needs if need not in here())

    def unseen(self, output: str) -> list[str]:
        """Return the promised lines that the output does not have."""
        lines = [line.strip() for line in output.splitlines()]
        return [p for p in self.promised if not any(re.fullmatch(pattern(p), line) for line in lines)]


@functools.cache
def here() -> set[str]:
    """Return which of NEEDS this machine has."""
    torch = tuple(int(number) for number in toolchain.torch_versions()[0].split(".")[:2])
    has = {"cuda": toolchain.can_build_cuda(), "torch<2.14": torch < (2, 14)}
    has |= {"gpu": toolchain.gpus() > 0, "gpus2": toolchain.gpus() > 1}
    return {need for need in NEEDS if has[need]}


def pattern(line: str) -> str:
    """Return the regular expression of a promised line."""
    return ".*".join(re.escape(part) for part in line.strip().split("..."))


@dataclass(frozen=True)
class Mistake:
    name: str
    title: str
    steps: tuple[Change | Run, ...]

    @property
    def changes(self) -> list[Change]:
        return [step for step in self.steps if isinstance(step, Change)]

    @property
    def runs(self) -> list[Run]:
        return [step for step in self.steps if isinstance(step, Run)]

    def made(self, root: Path) -> bool:
        return any(change.state(root) == "after" for change in self.changes)

    def undo(self, root: Path) -> None:
        """Turn back what was changed, the last change first."""
        for change in reversed(self.changes):
            if change.state(root) == "after":
                change.turn(root, "before")

    def lacks(self) -> str:
        """Return what is lacking if no run can show anything here, or nothing."""
        lacks = [run.lacks() for run in self.runs if run.promised]
        return "" if "" in lacks else lacks[0]


def read(path: Path) -> Mistake:
    """Return what a page says. ValueError if a block is not as the head of this file says."""
    text = path.read_text()
    steps: list[Change | Run] = []
    for info, body in re.findall(r"^```(\w.*)\n([\s\S]*?)^```$", text, re.MULTILINE):
        kind, *words = info.split()
        if kind == "diff":
            steps += changes(path, body)
        elif kind == "sh" and set(words) <= set(NEEDS):
            steps.append(Run(body, tuple(words), ()))
        elif kind == "text" and steps and isinstance(steps[-1], Run):
            last = steps.pop()
            steps.append(Run(last.commands, last.needs, tuple(body.strip().splitlines())))
        else:
            raise ValueError(f"{path.name}: a block {info!r} in a place where it means nothing")
    return Mistake(path.stem, text.splitlines()[0].removeprefix("# "), tuple(steps))


def changes(path: Path, body: str) -> list[Change]:
    head, _, body = body.partition("\n")
    if not head.startswith("--- "):
        raise ValueError(f"{path.name}: a diff has to begin with '--- ' and a file")
    found = []
    for hunk in re.split(r"^@@.*\n", body, flags=re.MULTILINE):
        lines = hunk.splitlines()
        old = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
        new = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
        if not new:
            raise ValueError(f"{path.name}: what is only taken out needs a line that stays beside it")
        found.append(Change(head[4:], old, new))
    return found


def every() -> list[Mistake]:
    return [read(path) for path in sorted(PAGES.glob("*.md")) if path.name != "README.md"]


def run(commands: str, root: Path, show=lambda line: None, **variables: str) -> str:
    """Run commands in root as a reader would, show each line as it comes; return them, the status last."""
    process = subprocess.Popen(
        ["bash", "-c", f'{commands}\necho "[status $?]"'],
        cwd=root,
        env={**environment(), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    lines = []
    for line in process.stdout:
        show(line)
        lines.append(line)
    process.wait()
    return "".join(lines)


def listing() -> None:
    for mistake in every():
        lacks = mistake.lacks()
        notes = " (made: make mend undoes it)" * mistake.made(ROOT) + f" (needs {lacks})" * bool(lacks)
        print(f"{mistake.name:34}{mistake.title}{notes}")
    print("\nmake mistake NAME=...   makes one and runs what shows it;   make mend   undoes it")


def page() -> str:
    """Return mistakes/README.md."""
    text = (PAGES / "head.txt").read_text()
    for number, folder in STAGES.items():
        pages = [mistake for mistake in every() if mistake.name.startswith(number)]
        if pages:
            text += f"\n## {folder}\n\n"
        for mistake in pages:
            needs = set.intersection(*(set(run.needs) for run in mistake.runs if run.promised)) - {"cuda"}
            needed = "; needs " + " and ".join(NEEDS[need] for need in sorted(needs))
            text += f"- [{mistake.title}]({mistake.name}.md){needed * bool(needs)}\n"
    return text


def make(name: str) -> int:
    mistakes = {mistake.name: mistake for mistake in every()}
    if name not in mistakes:
        sys.exit(f"mistakes.py: no mistake {name!r}; make mistakes lists them")
    mistake = mistakes[name]
    if other := next((m.name for m in every() if m.made(ROOT) and m.name != name), None):
        sys.exit(f"mistakes.py: {other} is made; undo it first: make mend")
    mistake.undo(ROOT)  # and from the beginning
    if lacks := mistake.lacks():
        sys.exit(f"mistakes.py: {name} needs {lacks}; nothing was changed. Read it: mistakes/{name}.md")
    missed = 0
    print(f"{mistake.title}\n")
    for step in mistake.steps:
        if isinstance(step, Change):
            step.turn(ROOT, "after")
            gone, come = (text.splitlines() for text in (step.old, step.new))
            print(f"--- {step.file}")
            print("".join(f"-{line}\n" for line in gone if line not in come), end="")
            print("".join(f"+{line}\n" for line in come if line not in gone))
            continue
        print("".join(f"$ {line}\n" for line in step.commands.splitlines()), end="", flush=True)
        if lacks := step.lacks():
            print(f"(not run: it needs {lacks})\n")
            continue
        unseen = step.unseen(run(step.commands, ROOT, lambda line: print(f"| {line}", end="", flush=True)))
        for line in step.promised:
            print(f"{'NOT SEEN' if line in unseen else 'seen':9}{line}")
        print()
        missed += len(unseen)
    print(f"Why, and how to notice it earlier: mistakes/{name}.md")
    print("The change is still there; make mend undoes it.")
    return int(missed > 0)


def mend() -> None:
    made = [mistake for mistake in every() if mistake.made(ROOT)]
    for mistake in made:
        mistake.undo(ROOT)
        print(f"undone: {mistake.name}")
    if not made:
        print("no mistake is made")
    changed = {mistake.changes[0].file for mistake in every() if mistake.changes[0].state(ROOT) == "neither"}
    for file in sorted(changed):
        print(f"{file} was changed by hand: lines of it that a mistake changes are not as they were")


def main(arguments: list[str]) -> int:
    os.chdir(ROOT)
    if arguments == ["--mend"]:
        mend()
    elif arguments == ["--page"]:
        print(page(), end="")
    elif arguments and arguments[0]:
        return make(arguments[0])
    else:
        listing()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
