# SPDX-License-Identifier: MIT
"""Seconds until each route has answered: from nothing, and once more with all built."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure
import torch
from contenders import ROOT, toolchain

IGNORED = shutil.ignore_patterns("build", ".git", ".venv", "__pycache__", "*.egg-info")


def routes() -> dict[str, list[str]]:
    """Return the command of each route, for the folder that a copy of the repository is in."""
    python = [sys.executable]
    make = ["make", "--no-print-directory", f"PYTHON={sys.executable}"]
    pip = [*python, "-m", "pip", "install", "--disable-pip-version-check", "--no-index", "--no-deps"]
    site = "05_setup_py/build/bench_site"
    found = {
        "01: nvcc": [*make, "01_pure_cuda/build/square"],
        "02: gcc and nvcc": [*make, "02_c_launcher/build/libsquare.so"],
        "03: load_inline": [*python, "03_load_inline/square.py"],
        "03: load_inline with headers": [*python, "03_load_inline/with_headers.py"],
        "04: load()": [*python, "04_separate_files/square.py"],
        "05: pip install": [*pip, "--no-build-isolation", "--upgrade", "--target", site, "./05_setup_py"],
    }
    if toolchain.cuda_home() is None:
        del found["01: nvcc"]
    return found


def one_architecture() -> str:
    """Return the architecture that every route compiles for: the one set, the GPU's here, or 9.0."""
    if (archs := os.environ.get("TORCH_CUDA_ARCH_LIST")) or not torch.cuda.is_available():
        return archs or "9.0"
    return ".".join(map(str, torch.cuda.get_device_capability()))


def copy_to(tree: Path) -> None:
    """Copy the repository without what was built, and add stage 03 with PyTorch's headers in."""
    shutil.copytree(ROOT, tree, symlinks=True, ignore=IGNORED)
    text = (tree / "03_load_inline/square.py").read_text()
    for old, new in (
        ("no_implicit_headers=True", "no_implicit_headers=False"),
        ('"square_inline"', '"with_headers"'),
    ):
        assert text.count(old) == 1, f"03_load_inline/square.py no longer has {old} once"
        text = text.replace(old, new)
    (tree / "03_load_inline/with_headers.py").write_text(text)


def build(quick: bool) -> dict:
    """Return {"seconds": {route: {"cold", "warm"}}, "import_torch": seconds, "missing": {route: why}}."""
    commands, count = routes(), 1 if quick else 2
    seconds: dict = {name: {"cold": [], "warm": []} for name in commands}
    environment = {**os.environ, "TORCH_CUDA_ARCH_LIST": one_architecture()}
    progress, missing = measure.Progress("build", 2 * count * len(commands)), {}
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "tree"
            copy_to(tree)
            for name, command in commands.items():
                for kind in ("cold", "warm"):
                    if name.startswith("03") and kind == "cold":
                        shutil.rmtree(tree / "03_load_inline/build", ignore_errors=True)
                    start = time.monotonic()
                    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
                    if done.returncode != 0:
                        missing[name] = f"status {done.returncode}: {(done.stderr or done.stdout)[-2000:]}"
                    seconds[name][kind].append(round(time.monotonic() - start, 2))
                    progress.step(f"{name}, {kind}")
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    seconds = {name: times for name, times in seconds.items() if name not in missing}
    return {"seconds": seconds, "import_torch": round(time.monotonic() - start, 2), "missing": missing}
