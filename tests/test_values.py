# SPDX-License-Identifier: MIT
"""Stages x devices x dtypes x shapes: torch.square's values, and nothing else touched."""

import pytest
import torch
from compare import assert_equal, assert_square
from inputs import SHAPES, pack, values
from stages import EVERY, FLOATING, combinations, each_device, each_stage, each_taken

each_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
each_numeric = combinations(EVERY, lambda s, v, d: s.takes(d, v) and d != torch.bool)
GUARD = 64


@each_shape
@each_taken
def test_square(stage, device, dtype, shape):
    """Cases 7, 8, 19, 24, 45, 46, 47, 49, 52: right everywhere; x unchanged, y memory of its own."""
    x = values(shape(pack(dtype)), dtype, device)
    before = x.clone()
    y = stage.square(x)
    assert_square(y, x)
    assert_equal(x, before)
    assert y.numel() == 0 or y.data_ptr() != x.data_ptr()


@each_shape
@each_numeric
def test_in_place(stage, device, dtype, shape):
    """Cases 19 and 52: square_(x) returns x, squared; the memory around it stays as it was."""
    shape = shape(pack(dtype))
    memory = values((torch.Size(shape).numel() + 2 * GUARD,), dtype, device)
    before = memory.clone()
    x, x_before = (m[GUARD : len(m) - GUARD].view(shape) for m in (memory, before))
    assert stage.square_(x) is x
    assert_equal(x, torch.square(x_before), x_before)
    for guard in slice(GUARD), slice(len(memory) - GUARD, None):
        assert_equal(memory[guard], before[guard])


@each_numeric
def test_alignment(stage, device, dtype):
    """Views that begin 0 to 15 bytes after a 16-byte line, copied and in place (case 19)."""
    p = pack(dtype)
    for n in 1, p - 1, p, p + 1, 2 * p + 1, 1003:
        for late in range(p):
            memory = values((n + 2 * p,), dtype, device)
            before = memory.clone()
            x = memory[late : late + n]
            assert_square(stage.square(x), x)
            stage.square_(x)
            assert_equal(x, torch.square(before[late : late + n]), before[late : late + n])
            assert_equal(memory[:late], before[:late])
            assert_equal(memory[late + n :], before[late + n :])


# What the squares are, written down: torch.square is not asked.
WRITTEN = (
    (torch.bool, [True, False], [1, 0], torch.int64),
    (torch.uint8, [87, 16, 255], [145, 0, 1], torch.uint8),
    (torch.int8, [-128, 127, 12], [0, 1, -112], torch.int8),
    (torch.int16, [-32768, 182, 300], [0, -32412, 24464], torch.int16),
    (torch.int32, [46341], [-2147479015], torch.int32),
    (torch.int64, [-3, 2**32 + 1], [9, 2**33 + 1], torch.int64),
    (torch.float16, [1.5, -2.0, 300.0], [2.25, 4.0, float("inf")], torch.float16),
    (torch.bfloat16, [3.140625], [9.875], torch.bfloat16),
    (torch.float32, [float("-inf"), -0.0, 1e20], [float("inf"), 0.0, float("inf")], torch.float32),
    (torch.float64, [3.0, -4.0], [9.0, 16.0], torch.float64),
    (torch.complex64, [3 + 4j, -1j], [-7 + 24j, -1 + 0j], torch.complex64),
)


@pytest.mark.parametrize("dtype, x, y, result", WRITTEN, ids=[str(w[0])[6:] for w in WRITTEN])
@each_device
@each_stage
def test_written_answers(stage, device, dtype, x, y, result):
    """Cases 26, 46, 47, 48: integers wrap, bool becomes int64, half overflows."""
    if not stage.takes(dtype, device):
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            stage.square(torch.tensor(x, dtype=dtype, device=device))
        return
    ours = stage.square(torch.tensor(x, dtype=dtype, device=device))
    assert_equal(ours.cpu(), torch.tensor(y, dtype=result))


@each_device
@each_stage
def test_subnormal_squares(stage, device):
    """Case 48: no flush to zero; 1e-20 squared is a subnormal float32."""
    x = torch.tensor([1e-20, -1e-20, 1e-22, 1e-38, float("nan")], device=device)
    y = stage.square(x)
    assert y[0].item() == y[1].item() == pytest.approx(1e-40, rel=1e-4)
    assert_square(y, x)


@pytest.mark.parametrize("dtype", FLOATING[:2], ids=str)
@each_device
@each_stage
def test_every_half(stage, device, dtype):
    """All 65536 values of float16 and of bfloat16 (case 26)."""
    x = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(dtype).to(device)
    assert_square(stage.square(x), x)
