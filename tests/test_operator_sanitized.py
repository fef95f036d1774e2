# SPDX-License-Identifier: MIT
"""The C operators inside Python, and the C interface with random arguments, under ASan and UBSan."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch
from c_library import compile, run
from copies import Copy
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
        # Python keeps much until its end (test_leaks.py counts); too large a malloc is to return null.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


@pytest.mark.slow
def test_operator(operator):
    """Every layout of every dtype, in place too, and refusals: right, and nothing reported."""
    program = TESTS / "operator_under_sanitizers.py"
    result = run(sys.executable, program, operator, env=preloaded(), timeout=300)
    assert result.returncode == 0, result.stderr[-4000:]
    assert int(re.search(r"(\d+) calls", result.stdout)[1]) > 800


HOST_ONLY = "def cuda_home():\n    return None\n\n\n"
FILES = [f"tests/test_{name}.py" for name in ("layouts", "memory", "properties", "refusals", "values")]


@pytest.mark.long
@pytest.mark.parametrize("stage", ("04", "05"))
def test_suite(tmp_path, stage):
    """The suite's own tests of the CPU: 04 and 05 as they build themselves, by compilers that sanitize."""
    environment = preloaded()
    for variable, compiler in ("CC", "gcc"), ("CXX", "g++"):
        wrapper = tmp_path / compiler
        wrapper.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec {compiler} {" ".join(SANITIZE)} "$@"\n')
        wrapper.chmod(0o755)
        environment[variable] = str(wrapper)
    copy = Copy(tmp_path / "copy", **{**environment, "LD_PRELOAD": ""})
    main = 'if __name__ == "__main__":'
    copy.edit("03_load_inline/toolchain.py", main, HOST_ONLY + main)
    site = tmp_path / "site"
    if stage == "05":
        assert copy.pip_install(site).returncode == 0
    copy.environment |= {"LD_PRELOAD": environment["LD_PRELOAD"], "PYTHONPATH": str(site)}
    words = f"{stage} and not cuda and not room_for_the_result"  # that one limits the address space
    result = copy.run(sys.executable, "-m", "pytest", "-q", "-x", *FILES, "-k", words, timeout=1200)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-4000:]
    assert int(re.search(r"(\d+) passed", result.stdout)[1]) > 500


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
