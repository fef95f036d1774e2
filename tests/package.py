# SPDX-License-Identifier: MIT
"""What the tests of the package have in common: its functions, and inputs that have derivatives."""

from pathlib import Path

import pytest
import torch
from stages import MARKS, STAGES

torch_square = STAGES[-1].module.torch_square
SITE = str(Path(torch_square.__file__).parent.parent)  # where it is installed
square, square_ = torch_square.square, torch_square.square_
OPERATOR = torch.ops.torch_square.square.default
PLAIN = torch.ops.torch_square.square.plain

on_each_device = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=MARKS["cuda:0"])])


def smooth(shape, dtype=torch.float64, device="cpu", grad=True):
    """Random numbers of ordinary size, the same for the same arguments."""
    generator = torch.Generator().manual_seed(7)
    return torch.randn(shape, dtype=dtype, generator=generator).to(device).requires_grad_(grad)


# Layouts as an operator meets them, each made of a contiguous tensor of 4 x 6.
VIEWS = {
    "dense": lambda x: x,
    "transposed": lambda x: x.t(),
    "sliced": lambda x: x[1:, ::2],
    "expanded": lambda x: x[:, :1].expand(4, 5),
    "channels_last": lambda x: x.view(1, 2, 3, 4).contiguous(memory_format=torch.channels_last),
    "no dimension": lambda x: x[0, 0],
    "empty": lambda x: x[:0],
}
each_view = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
each_dtype = pytest.mark.parametrize("dtype", (torch.float64, torch.complex128), ids=str)
