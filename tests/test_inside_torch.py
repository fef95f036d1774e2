# SPDX-License-Identifier: MIT
"""Inside torch.compile, vmap and autocast: the package is right, 02 to 04 are right or refuse."""

import re

import pytest
import torch
from refusing import assert_good_call
from stages import REFUSED, each_device, each_stage, gpu


@each_device
@each_stage
def test_compile_with_breaks(stage, device):
    """Case 53: where torch.compile cannot follow, it calls the function as it is."""
    torch._dynamo.reset()
    square = stage.module.square
    compiled = torch.compile(lambda x: square(x) + 1, backend="eager")
    for n in 1, 5:
        assert compiled(torch.full((n,), 3.0, device=device)).tolist() == [10.0] * n


@each_device
@each_stage
def test_compile_in_one_graph(stage, device):
    """Case 53: one graph is for what PyTorch can trace; for 02 to 04 it is an error of torch.compile's."""
    torch._dynamo.reset()
    square = stage.module.square
    compiled = torch.compile(lambda x: square(x) + 1, backend="eager", fullgraph=True)
    x = torch.full((3,), 3.0, device=device)
    if stage.traced == REFUSED:
        with pytest.raises(torch._dynamo.exc.Unsupported):
            compiled(x)
    else:
        assert compiled(x).tolist() == [10.0] * 3
    assert_good_call(stage, device)


@each_device
@each_stage
def test_vmap(stage, device):
    """Case 56: what vmap gives to a function has no memory of its own. An operator is called row by row."""
    x = torch.arange(6.0, device=device).view(2, 3)
    try:
        y = torch.vmap(stage.square)(x)
    except (TypeError, RuntimeError) as error:
        assert stage.traced == REFUSED and re.search("square: x|torch.func|storage", str(error))
    else:
        assert y.tolist() == [[0.0, 1.0, 4.0], [9.0, 16.0, 25.0]]
    assert_good_call(stage, device)


@pytest.mark.gpu
@gpu[1]
@each_stage
def test_autocast(stage):
    """Case 57: of 300, the package and torch.square give 90000 as float32; 02 to 04 what half has: inf."""
    x = torch.tensor([300.0], dtype=torch.half, device="cuda")
    with torch.autocast("cuda"):
        y, right = stage.square(x), torch.square(x)
    assert right.dtype == torch.float32 and right.item() == 90000
    if stage.traced == REFUSED:
        assert y.dtype == torch.half and y.isinf()
    else:
        assert y.dtype == torch.float32 and y.item() == 90000
