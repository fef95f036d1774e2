# SPDX-License-Identifier: MIT
"""Lines of each stage's own files, without blank ones, docstrings and comments of a line of their own."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = (".c", ".h", ".cu", ".cuh", ".cpp", ".py", ".toml")


def without_docstrings(text: str) -> str:
    """Return the text of a Python file with its docstrings emptied."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and ast.get_docstring(node) is not None
        ):
            first, last = node.body[0].lineno - 1, node.body[0].end_lineno
            lines[first:last] = [""] * (last - first)
    return "\n".join(lines)


def count(path: Path) -> int:
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    text = without_docstrings(text) if path.suffix == ".py" else text
    return sum(not re.match(r"\s*(//|#\s|$)", line) for line in text.splitlines())


def lines() -> dict[str, dict[str, int]]:
    """Return {folder: {file: lines}}; a file that a stage only links to counts where it is written."""
    stages = {}
    for folder in sorted(ROOT.glob("0*_*")):
        files = [path for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES]
        built = {path for name in ("build", "dist") for path in (folder / name).rglob("*")}
        own = [path for path in files if not path.is_symlink() and path not in built]
        stages[folder.name] = {str(path.relative_to(folder)): count(path) for path in own}
    return stages
