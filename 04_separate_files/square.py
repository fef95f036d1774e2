# SPDX-License-Identifier: MIT
"""Stage 04: a PyTorch operator in C. load() compiles square.c and square_cpu.c as C, the .cu by nvcc.

Python (this file) -> torch.ops.square_c.square, found by PyTorch's dispatcher -> square.c
-> square_launch or square_cpu of stage 02 -> the kernel, or a loop.
"""

from pathlib import Path

import toolchain
import torch
from checks import in_place_refusal, refusal
from torch.autograd import forward_ad

HERE = Path(__file__).resolve().parent
NAME = "square_c"
# "-x c" makes C of what load() takes for C++; exceptions, because PyTorch raises through C frames.
C_FLAGS = "-x c -std=c17 -O3 -funroll-loops -ffp-contract=off -fexceptions -Wall -Wextra".split()


def _build() -> Path:
    with_cuda = toolchain.setup()
    from torch.utils.cpp_extension import load  # looks for CUDA when it is imported

    folder = toolchain.build_folder(HERE)
    sources = ["square.c", "square_cpu.c"] + ["square_launch.cu"] * with_cuda
    with toolchain.building(folder, "04: load() of " + ", ".join(sources)):
        load(
            name=NAME,
            sources=[str(HERE / source) for source in sources],
            extra_cflags=C_FLAGS + ["-DSQUARE_WITH_CUDA"] * with_cuda,
            extra_cuda_cflags=["-O3"],
            extra_ldflags=toolchain.ldflags(folder),
            build_directory=str(folder),
            with_cuda=with_cuda,
        )
    return folder


FOLDER = _build()
_square = torch.ops.square_c.square.default
_square_ = torch.ops.square_c.square_.default


def _need_memory(x: torch.Tensor) -> None:
    """Raise torch's own error, lost on the way through C, if the square and a copy of x find no memory."""
    kept = [] if x.is_contiguous() else [torch.empty_like(x)]
    kept.append(torch.empty_like(x, dtype=torch.int64 if x.dtype is torch.bool else x.dtype))


def _call(name: str, operator: torch._ops.OpOverload, x: torch.Tensor) -> torch.Tensor | None:
    # libtorch's C interface has no function that C could ask for these two.
    if isinstance(x, torch.Tensor) and x.requires_grad and torch.is_grad_enabled():
        raise ValueError(f"{name}: x requires grad, and this operator has no derivative; use no_grad()")
    if isinstance(x, torch.Tensor) and forward_ad.unpack_dual(x).tangent is not None:
        raise ValueError(f"{name}: x has a tangent of forward mode, and this operator has no derivative")
    try:
        return operator(x)
    except RuntimeError as error:  # explained only when there is something to explain
        if refused := refusal(name, x):
            raise refused from None
        if "out of memory" in str(error) or "libtorch refused" in str(error):  # its text: torch 2.13 on
            _need_memory(x)
        raise


def square(x: torch.Tensor) -> torch.Tensor:
    """Return a new tensor of x's shape and device, x squared element by element.

    x: of any shape and strides, on the CPU or a GPU; bool (the result is int64), uint8, int8 to
    int64 (they wrap), float16, bfloat16, float32, float64, complex64, complex128, on a GPU also
    complex32. Raises TypeError or ValueError for what is no such tensor or wants a derivative,
    RuntimeError for errors of CUDA. On a GPU the work is queued on the current stream.
    """
    return _call("square", _square, x)


def square_(x: torch.Tensor) -> torch.Tensor:
    """Square x in place, and return it. Takes and raises what square does, but for bool.

    Elements of x that share memory (an expanded tensor's) are a RuntimeError.
    """
    if not isinstance(x, torch.Tensor):
        raise refusal("square_", x)
    if error := in_place_refusal("square_", x):
        raise error
    _call("square_", _square_, x)
    torch.autograd.graph.increment_version(x)  # C wrote through a pointer: tell autograd
    return x


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.tensor([[1.0, -2.0, 3.5], [1e-30, float("inf"), float("nan")]], device=device).t()
    y = square(x)
    print(f"built    {FOLDER.relative_to(HERE)}: " + ", ".join(sorted(f.name for f in FOLDER.glob("*.o"))))
    print(f"build.ninja runs\n\n{toolchain.commands(FOLDER)}\n")
    print(f"schema   {_square._schema}")
    print(f"input    {x}\noutput   {y}")
    same = torch.equal(y.nan_to_num(-1), torch.square(x).nan_to_num(-1))
    print(f"equals torch.square: {same}; strides {y.stride()} as {torch.square(x).stride()}")


if __name__ == "__main__":
    main()
