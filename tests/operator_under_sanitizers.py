# SPDX-License-Identifier: MIT
"""What test_operator_sanitized.py runs under the sanitizers: operator_under_sanitizers.py FOLDER

The operator of stage 04 (and 05, whose file it is) on the CPU: every layout of every dtype, in
place too, drawn shapes around the edges, and what it refuses.
"""

import sys

import torch
from compare import assert_square
from inputs import LAYOUTS, SHAPES, pack, values
from stages import EVERY, FOREIGN, torch_takes

sys.path.insert(0, sys.argv[1])
import square_c  # noqa: F401

square, square_ = torch.ops.square_c.square.default, torch.ops.square_c.square_.default
calls = 0


def check(x):
    """Square x, then a copy of its memory in place."""
    global calls
    assert_square(square(x), x)
    calls += 1
    if x.dtype != torch.bool:
        right, copy = torch.square(x), torch.empty_like(x).copy_(x)
        square_(copy)
        assert_square(copy, x) if x.is_complex() else torch.testing.assert_close(
            copy, right, rtol=0, atol=0, equal_nan=True
        )
        calls += 1


def refused(function, x):
    global calls
    try:
        function(x)
    except RuntimeError:
        calls += 1
    else:
        raise AssertionError(f"not refused: {x.dtype}, {x.stride()}")


for dtype in EVERY:
    if not torch_takes(dtype, "cpu"):
        continue
    for shape in SHAPES.values():
        check(values(shape(pack(dtype)), dtype))
    for layout in LAYOUTS:
        if (x := layout.view(values((240,), dtype))) is not None:
            check(x)
            if layout.overlaps:
                refused(square_, x)
for dtype in FOREIGN:
    refused(square, torch.zeros(40, dtype=torch.uint8).view(dtype))
freed = torch.ones(1000)
freed.untyped_storage().resize_(0)
refused(square, freed)
refused(square_, freed)
huge = torch.empty(0, 1, 1).expand(0, 2**40, 2**40)  # without an element; its strides would overflow
assert square(huge).shape == huge.shape
huge = torch.empty(1, 1, 0).expand(2**31, 2**32, 0)  # its count would, on the way to 0
assert square(huge).shape == huge.shape
print(f"{calls} calls")
