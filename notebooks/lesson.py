# SPDX-License-Identifier: MIT
"""What the notebooks share: they show and run the files of the stages, and copy none of them."""

import os
import re
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from types import ModuleType

import torch

ROOT = Path(__file__).resolve().parent.parent
ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
LAYERS = {
    "05": "torch_square       a package that pip installs",
    "04": "square.c           a PyTorch operator, written in C",
    "03": "C++ and pybind11   a C++ function that Python can call",
    "02": "square_launch()    a C function that starts the kernel",
    "01": "square_kernel()    the kernel: y[i] = x[i] * x[i]",
}
sys.path.append(str(ROOT / "tools"))
import loading


def begin(stage: str) -> None:
    """Print the call stack with this stage lit, and on what the notebook runs."""
    print("        square(x)          your program\n          |")
    for layer, text in LAYERS.items():
        lit = layer == stage
        print(f"{'==>' if lit else '   '} {layer}  {text:<48}{' <== here' if lit else ''}".rstrip())
    print("          |\n        the threads of the GPU, or a loop on the CPU\n")
    found = torch.cuda.get_device_name() if ON_GPU else "no GPU: what needs one is said so, or was recorded"
    print(f"Runs with torch {torch.__version__} on: {found}")


def plain(text: str) -> str:
    """Return text with the paths of this machine replaced by names that hold everywhere."""
    python = Path(sys.executable).parent
    names = {
        str(ROOT): ".",
        os.environ.get("CUDA_HOME") or "\0": "$CUDA_HOME",
        str(Path(sysconfig.get_path("purelib")) / "nvidia/cu13"): "$CUDA_HOME",
        "/usr/local/cuda": "$CUDA_HOME",
        str(Path(torch.__file__).parent): "$TORCH",
        sysconfig.get_path("include"): "$PYTHON_INCLUDE",
        sysconfig.get_path("purelib"): "$SITE",
        str(python): "$BIN",
        str(python.resolve()): "$BIN",
    }
    for path in sorted(names, key=len, reverse=True):
        text = text.replace(path, names[path])
    return re.sub(r"(?<![\w$.])/(?:tmp|root|home|work|opt)/\S*/", "", text)


def show(file: str, begin: str | None = None, end: str | None = None) -> None:
    """Print a file of the repository, or its lines from the one that holds `begin` to the one with `end`.

    Raises ValueError if there is no such line, or none behind the first.
    """
    lines = (ROOT / file).read_text().splitlines()
    first, last = 0, len(lines) - 1
    if begin is not None:
        first = next((i for i, line in enumerate(lines) if begin in line), None)
    if end is not None and first is not None:
        last = next((i for i in range(first + 1, len(lines)) if end in lines[i]), None)
    if first is None or last is None:
        raise ValueError(f"{file} has no line with {begin!r} and one with {end!r} behind it")
    print(f"---- {file}, lines {first + 1} to {last + 1}")
    print("\n".join(lines[first : last + 1]))


def run(*command: str, cwd: str = ".", input: str | None = None) -> None:
    """Run a command as in a terminal; print it, what it prints, its status and how long it took."""
    words = " ".join(str(word) for word in command)
    print(plain(f"$ {words}"), flush=True)
    start = time.monotonic()
    done = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT / cwd,
        input=input,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print(plain(done.stdout).rstrip())
    print(f"(status {done.returncode}, {time.monotonic() - start:.1f} s)")


def make(target: str) -> None:
    """Run make for one of the stages' files with the Python of this notebook."""
    run("make", "--no-print-directory", f"PYTHON={sys.executable}", target)


def stage(folder: str) -> ModuleType:
    """Return the square.py of a stage, as the tests and the benchmark load it."""
    return loading.load(ROOT / folder / "square.py", f"stage_{folder[:2]}")


def refused(function, *arguments) -> None:
    """Call a function that is to raise, and print what it says."""
    try:
        print("no error:", function(*arguments))
    except Exception as error:
        print(f"{type(error).__name__}: {plain(str(error).splitlines()[0])}")
