# SPDX-License-Identifier: MIT
"""The C interface of stage 02 as ctypes sees it, and the tools that look at what was built."""

import ctypes
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stages import EVERY, ROOT

CODES = {dtype: code for code, dtype in enumerate(EVERY)}  # the order of enum square_dtype
HEADER = ROOT / "02_c_launcher" / "square_launch.h"
LIBRARY = ROOT / "02_c_launcher" / "build" / "libsquare.so"
ERRORS = {name: int(n) for name, n in re.findall(r"SQUARE_(\w+) = (-?\d+)", HEADER.read_text())}


@functools.cache
def library(path=LIBRARY):
    """The library, its functions declared."""
    lib = ctypes.CDLL(str(path))
    pointer, n, code = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
    lib.square_launch.argtypes = [pointer, pointer, n, code, pointer]
    lib.square_cpu.argtypes = [pointer, pointer, n, code]
    lib.square_error_string.argtypes = [code]
    lib.square_error_string.restype = ctypes.c_char_p
    return lib


def words(error):
    """square_error_string as text."""
    return library().square_error_string(error).decode()


def run(*command, timeout=600, **options):
    """Runs a command, and keeps its status and output as text."""
    options = {"capture_output": True, "text": True, "timeout": timeout, **options}
    return subprocess.run([str(word) for word in command], **options)


def compile(*command, **options):
    """Runs a compiler; its errors become the test's."""
    result = run(*command, **options)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stderr}"
    return result


@functools.cache
def toolchain():
    """toolchain.py, as stages 03 to 05 use it."""
    spec = importlib.util.spec_from_file_location("toolchain", ROOT / "03_load_inline" / "toolchain.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def cuda_home():
    """The CUDA toolkit that the builds use, as a Path; the test skips where there is none."""
    home = toolchain().cuda_home()
    return Path(home) if home else pytest.skip("no CUDA toolkit")


def cuda_includes():
    """What a host compiler needs to read cuda_fp16.h."""
    return [f"-I{cuda_home() / 'include'}", f"-I{cuda_home() / 'include' / 'cccl'}"]


def program(name):
    """A program from CUDA's tools or the system; the test skips where it is missing."""
    home = toolchain().cuda_home()
    places = [os.environ["PATH"], *(f"{p}/nvidia/cu13/bin" for p in sys.path)]
    if home:
        places.insert(0, f"{home}/bin")
    return shutil.which(name, path=os.pathsep.join(places)) or pytest.skip(f"no {name}")
