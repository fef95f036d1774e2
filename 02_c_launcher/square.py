# SPDX-License-Identifier: MIT
"""Stage 02: torch tensors in and out through ctypes. No compiler at run time.

Python (this file) -> ctypes -> square_launch or square_cpu, in C -> the kernel, or a loop.
C believes what it is told, so whatever a pointer cannot say is checked here.
"""

import ctypes
from pathlib import Path

import torch
from checks import DTYPES, in_place_refusal, refusal
from torch.autograd import forward_ad

CODES = {dtype: code for code, dtype in enumerate(DTYPES)}
LIBRARY = Path(__file__).with_name("build") / "libsquare.so"


def _load() -> ctypes.CDLL:
    if not LIBRARY.exists():
        raise FileNotFoundError(f"{LIBRARY} is not built; build it with: make 02")
    library = ctypes.CDLL(str(LIBRARY))
    # Undeclared, an argument would travel as a 32-bit int, and a pointer lose its upper half.
    pointer, n, dtype = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
    library.square_launch.argtypes = [pointer, pointer, n, dtype, pointer]
    library.square_cpu.argtypes = [pointer, pointer, n, dtype]
    library.square_launch.restype = library.square_cpu.restype = ctypes.c_int
    library.square_error_string.argtypes = [ctypes.c_int]
    library.square_error_string.restype = ctypes.c_char_p
    return library


_library = _load()


def _check(name: str, x: torch.Tensor) -> None:
    if error := refusal(name, x):
        raise error
    if not x.is_contiguous():
        shape, strides = tuple(x.shape), x.stride()
        raise ValueError(f"{name}: x must be contiguous, got shape {shape} with strides {strides}")
    if x.is_conj() or x.is_neg():
        raise ValueError(f"{name}: x is a conjugate or negative view; give x.resolve_conj().resolve_neg()")
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError(f"{name}: x requires grad, and a C function has no derivative; use no_grad()")
    if forward_ad.unpack_dual(x).tangent is not None:
        raise ValueError(f"{name}: x has a tangent of forward mode, and a C function has no derivative")


def _call(name: str, x: torch.Tensor, y: torch.Tensor) -> None:
    n = y.numel()  # y's: nobody else has y, while another thread may give x another shape
    if n and x.untyped_storage().nbytes() < (x.storage_offset() + n) * x.element_size():
        raise ValueError(f"{name}: x has lost memory: its storage was freed or made smaller")
    arguments = x.data_ptr(), y.data_ptr(), n, CODES[x.dtype]
    if x.is_cuda:
        with torch.cuda.device(x.device):
            # native_handle is cuda_stream under a name that torch.compile of torch 2.11 follows too.
            error = _library.square_launch(*arguments, torch.cuda.current_stream().native_handle)
    else:
        error = _library.square_cpu(*arguments)
    if error != 0:
        raise RuntimeError(f"{name}: {_library.square_error_string(error).decode()}")


def square(x: torch.Tensor) -> torch.Tensor:
    """Return a new tensor of x's shape and device, x squared element by element.

    x: contiguous, of any shape, on the CPU or a GPU; bool (the result is int64), uint8, int8 to
    int64 (they wrap), float16, bfloat16, float32, float64, complex64, complex128, on a GPU also
    complex32. Raises TypeError or ValueError for any other x, RuntimeError for memory that C
    refuses and for an error of CUDA; nothing is launched then. On a GPU the work is queued on the
    current stream.
    """
    _check("square", x)
    y = x.new_empty(x.shape, dtype=torch.int64) if x.dtype is torch.bool else x.new_empty(x.shape)
    _call("square", x, y)
    return y


def square_(x: torch.Tensor) -> torch.Tensor:
    """Square x in place, and return it. Takes and raises what square does, but for bool."""
    _check("square_", x)
    if x.dtype is torch.bool:
        raise TypeError("square_: x is torch.bool, whose square is an int64 and does not fit in place")
    if error := in_place_refusal("square_", x):
        raise error
    _call("square_", x, x)
    torch.autograd.graph.increment_version(x)  # the pointer goes past autograd: tell it
    return x


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.tensor([1.0, -2.0, 3.5, 1e-30, float("inf"), float("nan")], device=device)
    y = square(x)
    print(f"library  {LIBRARY.relative_to(Path(__file__).parent)}, loaded by ctypes")
    print(f"input    {x}\noutput   {y}")
    same = torch.equal(y.nan_to_num(-1), torch.square(x).nan_to_num(-1))
    print(f"equals torch.square: {same}")


if __name__ == "__main__":
    main()
