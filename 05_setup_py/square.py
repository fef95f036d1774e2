# SPDX-License-Identifier: MIT
"""Stage 05: the package torch_square, built ahead of time. Nothing is compiled here.

Python (torch_square) -> torch.ops.torch_square.square, found by PyTorch's dispatcher -> square.c
-> square_launch or square_cpu -> the kernel, or a loop. `make 05` installs the package into this
folder's build/; any other installation of it serves as well.
"""

import contextlib
import sys
from pathlib import Path

import toolchain
import torch

with contextlib.suppress(RuntimeError, OSError):  # no toolkit that fits, or nowhere to write
    sys.path.insert(0, str(toolchain.build_folder(Path(__file__).resolve().parent) / "site"))
try:
    import torch_square
except ModuleNotFoundError:
    install = "`make 05`, or `pip install --no-build-isolation .` in this folder"
    raise ImportError(f"torch_square is not installed for {sys.executable}: {install}") from None
from torch_square import square, square_

__all__ = ["square", "square_"]


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.tensor([[1.0, -2.0, 3.5], [1e-30, float("inf"), float("nan")]], device=device).t()
    y = square(x)
    print(f"package  {torch_square.__name__} {torch_square.__version__}")
    print(f"binary   {Path(torch_square._C.__file__).name}")
    print(f"schema   {torch.ops.torch_square.square.default._schema}")
    print(f"input    {x}\noutput   {y}")
    same = torch.equal(y.nan_to_num(-1), torch.square(x).nan_to_num(-1))
    print(f"equals torch.square: {same}; strides {y.stride()} as {torch.square(x).stride()}")


if __name__ == "__main__":
    main()
