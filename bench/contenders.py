# SPDX-License-Identifier: MIT
"""What is compared: the five stages, PyTorch's own, and what a user would write instead."""

import ctypes
import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch
from measure import words

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools"))
from loading import load

FOLDERS = {
    "02": "02_c_launcher",
    "03": "03_load_inline",
    "04": "04_separate_files",
    "05": "05_setup_py",
}
DTYPES = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.complex32, torch.complex64, torch.complex128),
]
Square = Callable[[torch.Tensor], torch.Tensor]


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


toolchain = load(ROOT / "03_load_inline/toolchain.py", "toolchain")


@functools.cache
def stages() -> tuple[dict[str, ModuleType], dict[str, str]]:
    """Return the square.py of each of stages 02 to 05 that loads, and why another does not."""
    found, missing = {}, {}
    for name, folder in FOLDERS.items():
        try:
            found[name] = load(ROOT / folder / "square.py", f"stage_{name}")
        except (Exception, SystemExit) as error:
            missing[name] = words(error)
    return found, missing


def takes(stage: str, dtype: torch.dtype) -> bool:
    """Whether the stage is made for this dtype: 03 has only some."""
    return stage != "03" or dtype.is_floating_point or dtype in (torch.complex64, torch.complex128)


def compiler() -> list[str]:
    """Return the C compiler's command; an empty CC counts as none."""
    return os.environ.get("CC", "").split() or ["gcc"]


@functools.cache
def build(source: str) -> ctypes.CDLL:
    """Compile a file of this folder and load it. Raises RuntimeError with the compiler's words."""
    with tempfile.TemporaryDirectory(prefix="square-bench-") as name:
        folder = Path(name)
        library, includes = folder / "library.so", [f"-I{ROOT / '02_c_launcher'}"]
        if source.endswith(".cu"):
            nvcc = [str(toolchain.cuda_home() / "bin/nvcc"), "-O3", *toolchain.nvcc_archs().split()]
            command = [*nvcc, "-shared", "-Xcompiler", "-fPIC", "-cudart", "shared"]
            command += toolchain.ldflags(folder)
        else:
            command = [*compiler(), "-std=c17", "-O2", "-shared", "-fPIC"]
        command += [*includes, str(ROOT / "bench" / source), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{source} does not compile: {done.stderr}")
        return ctypes.CDLL(str(library))  # once loaded, it needs no file


def one_value(codes: dict[torch.dtype, int]) -> Square:
    """Return a square() that launches the kernel with one value a thread."""
    library = build("kernels.cu")
    pointer = ctypes.c_void_p
    library.one_value.argtypes = [pointer, pointer, ctypes.c_int64, ctypes.c_int, pointer]

    def square(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x, dtype=torch.int64 if x.dtype is torch.bool else x.dtype)
        stream = torch.cuda.current_stream().cuda_stream
        error = library.one_value(x.data_ptr(), y.data_ptr(), x.numel(), codes[x.dtype], stream)
        if error != 0:
            raise RuntimeError(f"one_value: error {error}")
        return y

    return square


NVRTC = """
extern "C" __global__ void square(const float *x, float *y, long long n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}
"""


def nvrtc() -> Square:
    """Return a square() for float32 that PyTorch compiles from a string with NVRTC."""
    kernel = torch.cuda._compile_kernel(NVRTC, "square")

    def square(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        kernel(((x.numel() + 127) // 128, 1, 1), (128, 1, 1), (x, y, x.numel()))
        return y

    return square


def cupy_kernel() -> Square:
    """Return a square() of CuPy's, over the same memory."""
    import cupy

    return lambda x: torch.from_dlpack(cupy.square(cupy.from_dlpack(x)))


def compiled() -> Square:
    """Return torch.compile's square()."""
    return torch.compile(lambda x: x * x)


def triton_kernel() -> Square:
    """Return a square() for float32 written in Triton."""
    return load(ROOT / "bench/triton_square.py", "triton_square").square


@functools.cache
def others(on_gpu: bool) -> tuple[dict[str, Square], dict[str, str]]:
    """Return what else is installed here and squares float32 right, and what is not, with its reason."""
    makers = {"torch.compile": compiled}
    if on_gpu:
        makers |= {"Triton": triton_kernel, "CuPy": cupy_kernel, "NVRTC": nvrtc}
    found, missing = {}, {}
    for name, make in makers.items():
        try:
            found[name] = make()
            check(name, found[name], torch.float32, "cuda" if on_gpu else "cpu")
        except Exception as error:
            found.pop(name, None)
            missing[name] = words(error)
    return found, missing


def numbers(n: int, dtype: torch.dtype, device: str) -> torch.Tensor:
    """Return n numbers of any dtype that PyTorch has arithmetic for."""
    x = torch.randint(0, 100, (n,), device=device, dtype=torch.uint8)
    return x.to(torch.complex64).mul_(1 + 1j).to(dtype) if dtype.is_complex else x.to(dtype)


def checked(squares: dict[str, Square], dtype: torch.dtype, device: str, failed: dict[str, str]) -> dict:
    """Return the contenders that are right for this dtype; why others are not is put into `failed`."""
    good = {}
    for name, square in squares.items():
        try:
            check(name, square, dtype, device)
            good[name] = square
        except Exception as error:
            failed[name] = words(error)
    return good


def check(name: str, square: Square, dtype: torch.dtype, device: str) -> None:
    """Raise RuntimeError if a contender is wrong, for a length with a tail, aligned and not.

    Wrong is any other bit; of complex numbers, whose products can be rounded in two ways, more
    than a few epsilon.
    """
    for x in (numbers(100_003, dtype, device), numbers(100_004, dtype, device)[1:]):
        y, right = square(x), torch.square(x)
        if dtype.is_complex:
            error = (y.to(torch.complex128) - right.to(torch.complex128)).abs().max()
            good = error <= 4 * torch.finfo(dtype).eps * right.to(torch.complex128).abs().max()
        else:
            good = torch.equal(y, right)
        if not good:
            raise RuntimeError(f"{name} is wrong for {dtype} on {device}")
