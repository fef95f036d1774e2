# SPDX-License-Identifier: MIT
"""torch.square as an operator of its own: torch.ops.torch_square.square, in C and CUDA."""

import torch  # first: it loads the libraries that _C needs

from . import _C  # noqa: F401  (its import registers the operators)

__all__ = ["square", "square_"]
__version__ = "1.0.0"

_square = torch.ops.torch_square.square.default
_square_ = torch.ops.torch_square.square_.default


def square(input: torch.Tensor) -> torch.Tensor:
    """Return a new tensor with the square of each element of `input`, as torch.square does."""
    return _square(input)


def square_(input: torch.Tensor) -> torch.Tensor:
    """Square `input` in place, and return it."""
    _square_(input)
    torch.autograd.graph.increment_version(input)
    return input
