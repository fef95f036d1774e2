# SPDX-License-Identifier: MIT
"""Runs the notebooks from top to bottom, without Jupyter, and writes what came out into them.

notebooks.py [--check | --files] [FILE ...]

--check: run, and write nothing.
--files: run nothing that computes; bring up to date what an output shows of files: listings, and the
charts of bench/results, pictures that no machine has a part in. The rest stays as it was recorded, so
this needs no GPU.

A notebook here has plain Python in its cells, so a fresh process per notebook can run them. What is
printed, each figure that plt.show() shows and the value of a last line become the cell's output, as in
Jupyter.
"""

import argparse
import ast
import base64
import contextlib
import io
import json
import os
import pprint
import re
import subprocess
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"


def to_text(notebook: dict) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def run_cell(source: str, namespace: dict, count: int) -> list[dict]:
    """Run one cell's source in namespace and return its outputs; what it raises is passed on."""
    import lesson
    import matplotlib.pyplot as plt

    outputs = []

    class Printed(io.StringIO):
        def write(self, text: str) -> int:
            before = ""
            if outputs and outputs[-1]["output_type"] == "stream":
                before = "".join(outputs.pop()["text"])
            if before + text:
                lines = lesson.plain(before + text).splitlines(keepends=True)
                outputs.append({"name": "stdout", "output_type": "stream", "text": lines})
            return len(text)

    def show() -> None:
        for number in plt.get_fignums():
            png = io.BytesIO()
            plt.figure(number).savefig(png, dpi=80, bbox_inches="tight", metadata={"Software": None})
            data = {"image/png": base64.b64encode(png.getvalue()).decode(), "text/plain": ["<Figure>"]}
            outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
        plt.close("all")

    plt.show = show
    tree = ast.parse(source)
    quiet = source.rstrip().endswith(";") or not tree.body or not isinstance(tree.body[-1], ast.Expr)
    last = None if quiet else ast.Expression(tree.body.pop().value)
    with contextlib.redirect_stdout(Printed()):
        exec(compile(tree, f"cell {count}", "exec"), namespace)
        value = eval(compile(last, f"cell {count}", "eval"), namespace) if last else None
    if value is not None:
        text = lesson.plain(pprint.pformat(value, sort_dicts=False)).splitlines(keepends=True)
        result = {"data": {"text/plain": text}, "execution_count": count, "metadata": {}}
        outputs.append(result | {"output_type": "execute_result"})
    return outputs


def calls(source: str, name: str) -> list[ast.Call]:
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return sorted((node for node in found if ast.unparse(node.func) == name), key=lambda node: node.lineno)


def shown_again(cell: dict, count: int) -> list[dict]:
    """Return a cell's recorded outputs with its listings, or its chart, as the files are now."""
    import lesson
    import pictures

    source, namespace = "".join(cell["source"]), {"lesson": lesson, "pictures": pictures}
    statements = ast.parse(source).body
    drawn = sum(len(calls(source, f"pictures.{name}")) for name in ("measured", "threads", "transactions"))
    if len(statements) == drawn == 1:  # from bench/results, or from numbers in the call
        return run_cell(source, namespace, count)
    outputs = json.loads(json.dumps(cell["outputs"]))  # a copy
    pending = calls(source, "lesson.show")
    for stream in (output["text"] for output in outputs if output["output_type"] == "stream"):
        k = 0
        while pending and k < len(stream):
            header = f"---- {re.escape(pending[0].args[0].value)}, lines (\\d+) to (\\d+)\n"
            if found := re.match(header, stream[k]):
                (new,) = run_cell(ast.unparse(pending.pop(0)), namespace, count)
                stream[k : k + int(found[2]) - int(found[1]) + 2] = new["text"]
                k += len(new["text"])
            else:
                k += 1
    if pending:
        raise ValueError(f"no listing of {pending[0].args[0].value} is recorded; run the notebook")
    return outputs


def execute(path: Path, mode: str) -> int:
    """Run one notebook in this process; return 1 if a cell raised."""
    os.environ["MPLBACKEND"] = "agg"
    if mode == "write":
        os.environ["SQUARE_RECORD"] = "1"  # timelines.py keeps what it measured on a GPU
    os.chdir(path.parent)
    sys.path.insert(0, str(NOTEBOOKS))
    notebook, namespace = json.loads(path.read_text()), {"__name__": "__main__"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(code, 1):
        try:
            if mode == "files":
                cell["outputs"] = shown_again(cell, count)
            else:
                cell["outputs"] = run_cell("".join(cell["source"]), namespace, count)
                cell["execution_count"] = count
        except BaseException:
            print(f"{path.name}: cell {count} raised", file=sys.stderr)
            traceback.print_exc()
            return 1
    if mode != "check":
        path.write_text(to_text(notebook))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the notebooks headless.")
    either = parser.add_mutually_exclusive_group()
    for mode, text in ("check", "write nothing"), ("files", "only what is shown of files; runs nothing else"):
        either.add_argument(
            f"--{mode}", dest="mode", action="store_const", const=mode, default="write", help=text
        )
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # one notebook, this process
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    options = parser.parse_args()
    files = [file.resolve() for file in options.files] or sorted(NOTEBOOKS.glob("*.ipynb"))
    if missing := [str(file) for file in files if not file.exists()]:
        parser.error(f"no such notebook: {', '.join(missing)}")
    if options.here:
        return execute(files[0], options.mode)
    failed = 0
    for file in files:
        print(f"{file.name} ...", flush=True)
        start = time.monotonic()
        flags = [] if options.mode == "write" else [f"--{options.mode}"]
        failed += subprocess.run([sys.executable, __file__, "--here", *flags, file]).returncode != 0
        print(f"{file.name}: {time.monotonic() - start:.1f} s", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
