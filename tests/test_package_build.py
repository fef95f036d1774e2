# SPDX-License-Identifier: MIT
"""Building the package: as an editable install, twice at once, for which GPUs, and again after an edit."""

import os
import subprocess
import sys

import pytest
import torch
from c_library import cuda_home, run
from copies import Copy, python_without_programs
from stages import ROOT

with_cuda = pytest.mark.skipif(torch.version.cuda is None, reason="this torch is built without CUDA")
ONE = {"TORCH_CUDA_ARCH_LIST": os.environ.get("TORCH_CUDA_ARCH_LIST", "9.0")}
SQUARES = "import torch_square, torch; print(torch_square.square(torch.tensor([3.0])).item())"


def pip(python, *words):
    flags = ["--disable-pip-version-check", "--no-build-isolation", "--no-deps", "--no-index"]
    return [python, "-m", "pip", *words[:1], *flags, *words[1:]]


@pytest.mark.slow
def test_editable(tmp_path):
    """pip install -e: a Python file that changes is seen at once, a header after the next install."""
    copy = Copy(tmp_path / "copy", **ONE)
    python = python_without_programs(tmp_path / "venv")
    install = pip(python, "install", "-e", copy.folder("05"))
    result = copy.run(*install)
    assert result.returncode == 0, result.stderr[-3000:]

    def answer(code=SQUARES):
        result = run(python, "-c", code, cwd=tmp_path)
        return result.stdout.strip() or result.stderr

    assert answer() == "9.0"
    copy.edit("05_setup_py/src/torch_square/__init__.py", '"1.0.0"', '"1.0.1"')
    assert answer("import torch_square; print(torch_square.__version__)") == "1.0.1"

    plane = "import torch_square, torch; print(torch_square.square(torch.ones(1, 1)).item())"
    copy.edit("04_separate_files/tensor_layout.h", "#define MAX_DIMS 64", "#define MAX_DIMS 1")
    assert answer(plane) == "1.0"
    assert copy.run(*install).returncode == 0
    assert "x has more than" in answer(plane)


@pytest.mark.slow
def test_two_builds_at_once(tmp_path):
    """Two installs from one folder: the second waits for the first, and both work."""
    copy = Copy(tmp_path / "copy", **ONE)
    sites = [tmp_path / "first", tmp_path / "second"]
    builds = [
        subprocess.Popen(
            [str(w) for w in pip(sys.executable, "install", "--target", site, copy.folder("05"))],
            env=copy.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for site in sites
    ]
    for build in builds:
        text = build.communicate(timeout=540)[0]
        assert build.returncode == 0, text[-3000:]
    for site in sites:
        result = run(sys.executable, "-c", SQUARES, env={**os.environ, "PYTHONPATH": str(site)}, cwd=tmp_path)
        assert result.stdout.strip() == "9.0", result.stderr


PREFLIGHT = "import os, preflight; print(preflight.check(), os.environ['TORCH_CUDA_ARCH_LIST'])"


@with_cuda
@pytest.mark.parametrize("named", (None, "", "8.6"))
def test_architectures(named):
    """No GPU, and no list or an empty one: one of each generation, PTX for the newest; else the list."""
    cuda_home()
    environment = {key: value for key, value in os.environ.items() if key != "TORCH_CUDA_ARCH_LIST"}
    environment["CUDA_VISIBLE_DEVICES"] = ""
    if named is not None:
        environment["TORCH_CUDA_ARCH_LIST"] = named
    result = run(sys.executable, "-c", PREFLIGHT, cwd=ROOT / "05_setup_py", env=environment)
    assert result.returncode == 0, result.stderr
    with_cuda, archs = result.stdout.split()
    assert with_cuda == "True"
    every = archs.startswith("7.5;8.0;") and "9.0" in archs and archs.endswith("+PTX")
    assert archs == named if named else every
