# SPDX-License-Identifier: MIT
"""The C operator inside Python, and the C interface with random arguments, under ASan and UBSan."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch
from c_library import compile, run
from stages import ROOT

TESTS = ROOT / "tests"
FOURTH = ROOT / "04_separate_files"
SANITIZE = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SECONDS = os.environ.get("SQUARE_SECONDS", "3")  # of random arguments; make fuzz: 60


@pytest.fixture(scope="module")
def operator(tmp_path_factory):
    """A folder with square_c.so: the host half of stage 04 with the sanitizers in it."""
    folder = tmp_path_factory.mktemp("operator")
    flags = ["-std=c17", "-ffp-contract=off", "-fexceptions", "-fPIC", "-shared", "-Wall", "-Wextra"]
    flags += ["-DTORCH_EXTENSION_NAME=square_c", f"-I{sysconfig.get_path('include')}"]
    sources = FOURTH / "square.c", FOURTH / "square_cpu.c"
    libtorch = f"-L{Path(torch.__file__).parent / 'lib'}", "-ltorch_cpu"
    compile("gcc", *flags, *SANITIZE, *sources, *libtorch, "-o", folder / "square_c.so")
    return folder


def preloaded():
    """The environment of a Python that a sanitized library can be loaded into."""
    names = "libasan.so", "libubsan.so", "libstdc++.so"  # the last, or the first exception ends it
    libraries = [run("gcc", f"-print-file-name={name}").stdout.strip() for name in names]
    return {
        **os.environ,
        "LD_PRELOAD": ":".join(libraries),
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps much until its end; test_leaks.py counts
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


@pytest.mark.slow
def test_operator(operator):
    """Every layout of every dtype, in place too, and refusals: right, and nothing reported."""
    program = TESTS / "operator_under_sanitizers.py"
    result = run(sys.executable, program, operator, env=preloaded(), timeout=300)
    assert result.returncode == 0, result.stderr[-4000:]
    assert int(re.search(r"(\d+) calls", result.stdout)[1]) > 800


@pytest.mark.slow
def test_random_arguments(tmp_path):
    """The C interface answers each call as its header promises, for a bounded time."""
    program, flags = tmp_path / "fuzz", ["-std=c17", "-Wall", "-Wextra", "-Werror"]
    sources = TESTS / "fuzz_c_interface.c", FOURTH / "square_cpu.c"
    compile("gcc", *flags, *SANITIZE, f"-I{FOURTH}", *sources, "-o", program)
    seed = os.environ.get("SQUARE_SEED", "1")
    result = subprocess.run([program, SECONDS, seed], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[:3000]
    assert int(result.stdout.split()[0]) >= 1000
