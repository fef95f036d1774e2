# SPDX-License-Identifier: MIT
"""The programs of 01 and 02: one command line; and the C that they are written in."""

import os
import re

import numpy
import pytest
import torch
from c_library import compile, cuda_home, cuda_includes, program, run
from inputs import values
from stages import ROOT, gpu

FIRST, SECOND = ROOT / "01_pure_cuda", ROOT / "02_c_launcher"
ON_GPU = FIRST / "build" / "square"
PROGRAMS = [
    pytest.param(FIRST / "build" / "square_on_host", id="01 on the host"),
    pytest.param(ON_GPU, id="01", marks=gpu),
    pytest.param(SECOND / "build" / "square", id="02"),
]
each_program = pytest.mark.parametrize("path", PROGRAMS)


def floats(text):
    return numpy.array(text.split(), dtype=numpy.float32)


def in_words(x):
    """Numbers as text from which the same float32 can be read."""
    return [f"{v:.9g}" for v in x.tolist()]


def assert_squares(result, x):
    """The program ended well and printed the squares, one a line, bit for bit."""
    assert result.returncode == 0, result.stderr
    ours, right = floats(result.stdout), torch.square(x).numpy()
    assert len(result.stdout.splitlines()) == len(x)
    same = (ours.view(numpy.int32) == right.view(numpy.int32)) | (numpy.isnan(ours) & numpy.isnan(right))
    assert same.all(), (x[~same][:3], ours[~same][:3], right[~same][:3])


@pytest.mark.parametrize("n", (1, 3, 4, 5, 511, 512, 513, 1003, 20001))
@each_program
def test_standard_input(path, n):
    """Case 19: squares of n words of standard input, in a form that gives the same float32 back."""
    x = values((n,), torch.float32)
    assert_squares(run(path, input="\n".join(in_words(x))), x)


@pytest.mark.parametrize("n", (1, 4, 5, 1003))
@each_program
def test_arguments(path, n):
    x = values((n,), torch.float32)
    assert_squares(run(path, *in_words(x)), x)


@each_program
def test_special_numbers(path):
    """Case 48: NaN, infinities, -0.0 and subnormals as C writes and reads them."""
    words = ["nan", "inf", "-infinity", "-0.0", "1e-20", "-1e-45", "1e20", "3.4028235e38", "7"]
    assert_squares(run(path, *words), torch.tensor([float(word) for word in words]))
    assert run(path, "0x1.8p1").stdout == "9\n"


@each_program
def test_no_numbers(path):
    """Case 24: nothing in, nothing out, and no launch of no blocks."""
    result = run(path, input="  \n ")
    assert (result.returncode, result.stdout) == (0, "")


BAD = {
    "a word": (["1", "abc"], 2, "abc"),
    "a number and a letter": (["1", "2", "1.5x"], 3, "1.5x"),
    "two numbers with a comma": (["1,2"], 1, "1,2"),
}


@pytest.mark.parametrize("how", ("arguments", "standard input"))
@pytest.mark.parametrize("words, place, word", BAD.values(), ids=BAD)
@each_program
def test_bad_input(path, words, place, word, how):
    """Status 2 and one sentence that says which word; no square is printed."""
    result = run(path, *words) if how == "arguments" else run(path, input=" ".join(words))
    assert result.returncode == 2
    assert f"argument {place}: '{word}' is not a number" in result.stderr
    assert result.stdout == ""


@each_program
def test_empty_word(path):
    assert run(path, "").returncode == 2


@each_program
def test_long_word(path):
    """A word longer than any buffer is a number or an error, but not two numbers."""
    result = run(path, input="1" + "0" * 400 + " 2")
    assert result.returncode == 2 or floats(result.stdout).tolist() == [numpy.inf, 4]


@each_program
def test_full_disk(path):
    """A program that cannot write its output does not end with 0."""
    with open("/dev/full", "w") as full:
        result = run(path, "1", "2", capture_output=False, stdout=full)
    assert result.returncode != 0


def test_without_a_device():
    """01 ends with status 1 and CUDA's own words (cases 37 and 51)."""
    cuda_home()
    result = run(ON_GPU, "1", "2", env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"})
    assert (result.returncode, result.stdout) == (1, "")
    assert re.search(r"cudaError\w+.*(device|driver)", result.stderr)


def test_library_program_without_a_device():
    """02's program squares on the host where there is no device."""
    result = run(SECOND / "build" / "square", "3", env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"})
    assert (result.returncode, result.stdout) == (0, "9\n")


STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
DIALECTS = {
    "C17": ["gcc", "-std=c17", "-x", "c"],
    "C++17": ["g++", "-std=c++17", "-x", "c++"],
    "C++20": ["g++", "-std=c++20", "-x", "c++"],
    "C17 by clang": ["clang", "-std=c17", "-x", "c"],
}


@pytest.mark.parametrize("header", ("square_launch.h", "floats.h"))
@pytest.mark.parametrize("compiler", DIALECTS.values(), ids=DIALECTS)
def test_header_alone(tmp_path, compiler, header):
    """Included twice and first, the header compiles without a warning."""
    unit = tmp_path / "unit"
    unit.write_text(f'#include "{header}"\n#include "{header}"\nint main(void) {{ return 0; }}\n')
    compiler = [program(compiler[0]), *compiler[1:]]
    posix = ["-D_POSIX_C_SOURCE=200809L"] if header == "floats.h" else []
    quiet = ["-Wno-unused-function"]
    compile(*compiler, *STRICT, *posix, *quiet, f"-I{SECOND}", "-c", unit, "-o", tmp_path / "o")


def test_header_by_nvcc(tmp_path):
    unit = tmp_path / "unit.cu"
    unit.write_text('#include "square_launch.h"\nint main() { return SQUARE_OK; }\n')
    nvcc = cuda_home() / "bin" / "nvcc"
    compile(nvcc, "-Xcompiler", "-Wall,-Werror", f"-I{SECOND}", "-c", unit, "-o", tmp_path / "o")


@pytest.mark.parametrize(
    "flags",
    (["-Wconversion"], ["-O2", "-fanalyzer"], ["-DSQUARE_WITH_CUDA", "-Wconversion"]),
    ids=("conversions", "analyzer", "with CUDA"),
)
@pytest.mark.parametrize("source", ("square_cpu.c", "main.c"))
def test_no_warnings(tmp_path, source, flags):
    """The C of 02 compiles as C17 without a warning, conversions and gcc's analyzer included."""
    includes = cuda_includes() if "-DSQUARE_WITH_CUDA" in flags else []
    system = [flag.replace("-I", "-isystem") for flag in includes]
    warnings = [flag for flag in STRICT if flag != "-Wpedantic"]
    compile("gcc", "-std=gnu17", *warnings, *flags, *system, "-c", SECOND / source, "-o", tmp_path / "o")
