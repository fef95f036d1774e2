# SPDX-License-Identifier: MIT
"""Runs the notebooks from top to bottom, without Jupyter, and writes what came out into them.

notebooks.py [--check] [FILE ...]    --check: run, and write nothing

A notebook here has plain Python in its cells, so a fresh process per notebook can run them: what is
printed and each figure that plt.show() shows becomes the cell's output, as in Jupyter.
"""

import argparse
import base64
import contextlib
import io
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"


def to_text(notebook: dict) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def execute(path: Path, check: bool) -> int:
    """Run one notebook in this process; return 1 if a cell raised."""
    os.environ["MPLBACKEND"] = "agg"
    os.chdir(path.parent)
    sys.path.insert(0, str(path.parent))
    import lesson
    import matplotlib.pyplot as plt

    notebook, outputs, count = json.loads(path.read_text()), [], 0

    def printed(text: str) -> None:
        if outputs and outputs[-1]["output_type"] == "stream":
            text = "".join(outputs.pop()["text"]) + text
        lines = lesson.plain(text).splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines})

    class Cell(io.StringIO):
        def write(self, text: str) -> int:
            if text:
                printed(text)
            return len(text)

    def show() -> None:
        for number in plt.get_fignums():
            png = io.BytesIO()
            plt.figure(number).savefig(png, dpi=80, metadata={"Software": None})
            data = {"image/png": base64.b64encode(png.getvalue()).decode(), "text/plain": ["<Figure>"]}
            outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
        plt.close("all")

    plt.show = show
    namespace = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        outputs, count = [], count + 1
        try:
            with contextlib.redirect_stdout(Cell()):
                exec(compile("".join(cell["source"]), f"{path.name}[{count}]", "exec"), namespace)
        except BaseException:
            print(f"{path.name}: cell {count} raised", file=sys.stderr)
            traceback.print_exc()
            return 1
        cell["outputs"], cell["execution_count"] = outputs, count
    if not check:
        path.write_text(to_text(notebook))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the notebooks headless.")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # one notebook, this process
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    options = parser.parse_args()
    files = [file.resolve() for file in options.files] or sorted(NOTEBOOKS.glob("*.ipynb"))
    if missing := [str(file) for file in files if not file.exists()]:
        parser.error(f"no such notebook: {', '.join(missing)}")
    if options.here:
        return execute(files[0], options.check)
    failed = 0
    for file in files:
        print(f"{file.name} ...", flush=True)
        start = time.monotonic()
        flags = ["--check"] if options.check else []
        failed += subprocess.run([sys.executable, __file__, "--here", *flags, file]).returncode != 0
        print(f"{file.name}: {time.monotonic() - start:.1f} s", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
