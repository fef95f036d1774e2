# SPDX-License-Identifier: MIT
"""Lines of each stage's own files, without blank ones and comments of a line of their own."""

import re

from contenders import FOLDERS, ROOT

SUFFIXES = (".c", ".h", ".cu", ".cuh", ".cpp", ".py", ".toml")


def lines(quick: bool) -> dict:
    """Return {folder: {file: lines}}; a file that a stage only links to counts where it is written."""
    stages = {}
    for folder in ("01_pure_cuda", *FOLDERS.values()):
        counts = {}
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_symlink() or path.suffix not in SUFFIXES or {"build", "dist"} & set(path.parts):
                continue
            text = re.sub(r'/\*.*?\*/|^\s*"""[^"]*?"""', "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
            code = [line for line in text.splitlines() if not re.match(r"\s*(//|#\s|$)", line)]
            counts[str(path.relative_to(ROOT / folder))] = len(code)
        stages[folder] = counts
    return stages
