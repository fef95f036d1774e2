# SPDX-License-Identifier: MIT
"""The kernel file and the C loops on the host, under AddressSanitizer and UBSan (case 19).

Every dtype, every n up to some thousand, every alignment; the squares come from torch.square.
"""

import os

import pytest
import torch
from c_library import CODES, compile, cuda_includes, run
from inputs import values
from stages import EVERY, ROOT

TESTS = ROOT / "tests"
SECOND = ROOT / "02_c_launcher"
SANITIZE = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
OPTIONS = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
MAX_N = {1: 2100, 2: 2100, 4: 2100, 8: 1100, 16: 600}  # several blocks of packs, for each size


@pytest.fixture(scope="module")
def kernel_driver(tmp_path_factory):
    path = tmp_path_factory.mktemp("kernel") / "kernel_on_host"
    includes = [flag.replace("-I", "-isystem") for flag in cuda_includes()]
    flags = ["-std=c++17", "-Wall", "-Wno-unknown-pragmas", *includes]
    source = TESTS / "kernel_on_host.cpp"
    compile("g++", *flags, *SANITIZE, "-ffp-contract=off", f"-I{SECOND}", source, "-o", path)
    return path


@pytest.fixture(scope="module")
def cpu_driver(tmp_path_factory):
    path = tmp_path_factory.mktemp("cpu") / "cpu_under_sanitizers"
    flags = ["-std=c17", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", f"-I{SECOND}"]
    sources = TESTS / "cpu_under_sanitizers.c", SECOND / "square_cpu.c"
    compile("gcc", *flags, *SANITIZE, *sources, "-o", path)
    return path


def numbers_and_squares(n, dtype):
    """n inputs and their squares as bytes that can be compared: no NaN, complex squares exact."""
    if dtype.is_complex:
        parts = (torch.arange(2 * n) * 7 % 61 - 30).to(torch.float64).view(n, 2)
        x = torch.view_as_complex(parts)
        return [t.to(dtype).view(torch.uint8).numpy().tobytes() for t in (x, torch.square(x))]
    x = values((n,), dtype)
    x = x.nan_to_num(3.0, 5.0, -7.0) if dtype.is_floating_point else x
    return [t.view(torch.uint8).numpy().tobytes() for t in (x, torch.square(x))]


def drive(driver, dtype):
    n = MAX_N[dtype.itemsize]
    data = b"".join(numbers_and_squares(n, dtype))
    result = run(driver, CODES[dtype], n, input=data, text=False, env=OPTIONS)
    assert result.returncode == 0, result.stderr.decode()[:3000]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", EVERY, ids=str)
def test_kernel(kernel_driver, dtype):
    drive(kernel_driver, dtype)


@pytest.mark.slow
def test_kernel_beyond_32_bits(kernel_driver):
    """The cast comes before the product (case 49): thread 2^32 squares element 2^32."""
    result = run(kernel_driver, "far", env=OPTIONS)
    assert result.returncode == 0, result.stderr[:3000]


@pytest.mark.parametrize("dtype", [d for d in EVERY if d != torch.complex32], ids=str)
def test_square_cpu(cpu_driver, dtype):
    drive(cpu_driver, dtype)
