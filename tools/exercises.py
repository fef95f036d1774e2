# SPDX-License-Identifier: MIT
"""The exercises: how far you are, the next one, and what is still wrong with it.

exercises.py [NAME]             checks NAME, or all in order, up to the first that fails
exercises.py --hint [NAME]      the hint for the next one, or for NAME
exercises.py --restart [NAME]   hands the next one, or NAME, or `all` of them, out anew
exercises.py --list             the list that exercises/README.md has

You edit the files in exercises/mine/, which git does not see; those beside it stay as they are. What
passed is not run again until its file, or its check, has changed.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from by_hand import ROOT, environment

FOLDER = ROOT / "exercises"
WORK = FOLDER / "mine"
PASSED = WORK / ".passed.json"
sys.path.insert(0, str(FOLDER / "checks"))
from showing import Wrong


@dataclass(frozen=True)
class Exercise:
    """A file with a gap, exercises/NAME, and its check, exercises/checks/NAME.py."""

    file: str

    @property
    def name(self) -> str:
        return Path(self.file).stem

    @property
    def work(self) -> Path:
        return WORK / self.file

    @property
    def solution(self) -> Path:
        return FOLDER / "solutions" / self.file

    @property
    def title(self) -> str:
        """The second line of the file: what it is about."""
        return (FOLDER / self.file).read_text().splitlines()[1].strip(' /*"').rstrip(".")

    def module(self):
        path = FOLDER / "checks" / f"{self.name}.py"
        spec = importlib.util.spec_from_file_location(f"check_{self.name}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def check(self, file: Path) -> str:
        """Return what is wrong with `file` as the answer to this exercise, or nothing."""
        try:
            self.module().check(file)
        except Wrong as wrong:
            return str(wrong)
        return ""

    def fingerprint(self) -> str:
        """Return a hash of the answer and of its check: while it stays, the check is not run again."""
        files = [
            self.work,
            *sorted((FOLDER / "checks").glob("[a-z]*")),
            FOLDER / "checks" / f"{self.name}.py",
        ]
        return hashlib.sha256(b"".join(file.read_bytes() for file in files if file.is_file())).hexdigest()

    def hand_out(self) -> None:
        WORK.mkdir(exist_ok=True)
        shutil.copyfile(FOLDER / self.file, self.work)


def every() -> list[Exercise]:
    return [Exercise(path.name) for path in sorted(FOLDER.glob("0*_*"))]


def hand_out_missing() -> None:
    for exercise in every():
        if not exercise.work.exists():
            exercise.hand_out()


def passed() -> dict[str, str]:
    return json.loads(PASSED.read_text()) if PASSED.exists() else {}


def is_done(exercise: Exercise) -> bool:
    """Return whether it passed, and nothing has changed since."""
    return passed().get(exercise.name) == exercise.fingerprint()


def first_open(exercises: list[Exercise], show: Callable[[str], None]) -> tuple[Exercise | None, str]:
    """Return the first of them that does not pass and what is wrong, and remember those that do."""
    for exercise in exercises:
        if is_done(exercise):
            continue
        show(exercise.name)
        if wrong := exercise.check(exercise.work):
            return exercise, wrong
        PASSED.write_text(json.dumps(passed() | {exercise.name: exercise.fingerprint()}, indent=1))
    return None, ""


def bar(done: int, count: int) -> str:
    return f"[{'#' * done}{'.' * (count - done)}] {done} of {count} exercises"


def progress(exercises: list[Exercise]) -> int:
    found, wrong = first_open(exercises, lambda name: print(f"checking {name} ...", flush=True))
    done = [is_done(exercise) for exercise in every()]
    print(f"\n{bar(sum(done), len(done))}\n")
    if found is None:
        print("right: " + ", ".join(exercise.name for exercise in exercises))
        return 0
    print(f"{found.name}: {found.title}\nedit   exercises/mine/{found.file}\n\n{wrong}\n")
    name = f" NAME={found.name}" if len(exercises) == 1 else ""
    print(f"make exercises{name}   checks again;   make hint{name}   helps;   ", end="")
    print(f"make restart{name}   hands this one out anew")
    return 0


def named(words: list[str]) -> Exercise:
    """Return the exercise of that name, or else the first one that is open."""
    if words and words[0]:
        if found := next(
            (exercise for exercise in every() if words[0] in (exercise.name, exercise.file)), None
        ):
            return found
        sys.exit(f"exercises.py: no exercise {words[0]!r}; there are: " + ", ".join(e.name for e in every()))
    open_ = [exercise for exercise in every() if not is_done(exercise)]
    return open_[0] if open_ else sys.exit("exercises.py: all are done; name one with NAME=...")


def listing() -> str:
    text = ""
    for folder in sorted(path.name for path in ROOT.glob("0*_*")):
        mine = [exercise for exercise in every() if exercise.name.startswith(folder[:2])]
        if mine:
            text += f"\n## {folder}\n\n"
        text += "".join(f"- [{exercise.name}]({exercise.file}): {exercise.title}\n" for exercise in mine)
    return text


def main(arguments: list[str]) -> int:
    os.environ.update(environment())
    verb, *words = arguments or [""]
    if verb == "--list":
        print(listing(), end="")
        return 0
    hand_out_missing()
    if verb == "--hint":
        exercise = named(words)
        print(f"{exercise.name}: {exercise.module().HINT.strip()}")
    elif verb == "--restart":
        for exercise in every() if words == ["all"] else [named(words)]:
            exercise.hand_out()
            print(f"handed out anew: exercises/mine/{exercise.file}")
    elif not verb.startswith("-"):
        return progress([named([verb])] if verb else every())
    else:
        sys.exit(f"exercises.py: {verb!r} is none of --hint, --restart, --list")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
