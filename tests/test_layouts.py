# SPDX-License-Identifier: MIT
"""Layouts: strides, offsets, overlaps, conjugate and negative views; right, or refused."""

import ctypes
import mmap

import pytest
import torch
from compare import assert_equal, assert_square
from inputs import LAYOUTS, values
from refusing import REFUSALS, assert_refused
from stages import EITHER, EVERY, REFUSED, RIGHT, combinations, each_device, each_stage, each_taken

each_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=[layout.name for layout in LAYOUTS])
NAMING = {"dense": "contiguous", "strided": "contiguous|stride", "lazy": "conj|neg|contiguous"}


def outcome(stage, layout):
    return RIGHT if layout.kind == "contiguous" else getattr(stage, layout.kind)


@each_layout
@each_taken
def test_square(stage, device, dtype, layout):
    """Cases 9, 10, 24, 43: torch.square's values, of a view as of its copy; in 05 its strides."""
    base = values((240,), dtype, device)
    x = layout.view(base)
    if x is None:
        return  # no such view of this dtype
    before = base.clone()
    if outcome(stage, layout) == REFUSED:
        assert_refused(stage.square, x, NAMING[layout.kind], stage, device)
    else:
        try:
            y = stage.square(x)
        except REFUSALS:
            assert outcome(stage, layout) == EITHER
            assert_refused(stage.square, x, NAMING[layout.kind], stage, device)
            return
        assert_square(y, x)
        if stage.folder.startswith("05"):
            assert y.stride() == torch.square(x).stride()
    assert_equal(base, before)


@each_layout
@combinations(EVERY, lambda s, v, d: s.takes(d, v) and d != torch.bool)
def test_in_place(stage, device, dtype, layout):
    """Cases 43 and 52: the elements of the view are squared, those between them stay; or refused."""
    ours, theirs = values((240,), dtype, device), values((240,), dtype, device)
    x, reference = layout.view(ours), layout.view(theirs)
    if x is None:
        return
    if "channels_last" in layout.name:  # a copy: its memory is its own
        ours, theirs = x, reference
    before = theirs.clone()
    if layout.overlaps:
        assert_refused(stage.square_, x, "overlap|expand|shar|contiguous|single", stage, device)
        assert_equal(ours, before)
        return
    try:
        result = stage.square_(x)
    except REFUSALS:
        assert outcome(stage, layout) != RIGHT
        assert_refused(stage.square_, x, NAMING[layout.kind], stage, device)
        assert_equal(ours, before)
        return
    assert outcome(stage, layout) != REFUSED
    assert result is x
    reference.square_()
    assert_equal(ours, theirs, before)


@each_device
@each_stage
def test_transposed_and_sliced_by_hand(stage, device):
    """Cases 9 and 10, written down."""
    transposed = torch.arange(12.0, device=device).view(3, 4).t()
    sliced = torch.arange(24.0, device=device).view(2, 3, 4)[0, :, 1::2]
    for x, kind, y in (
        (transposed, stage.dense, [[0, 16, 64], [1, 25, 81], [4, 36, 100], [9, 49, 121]]),
        (sliced, stage.strided, [[1, 9], [25, 49], [81, 121]]),
    ):
        if kind == REFUSED:
            assert_refused(stage.square, x, "contiguous", stage, device)
        else:
            assert stage.square(x).tolist() == y


def page_end(n, dtype):
    """A CPU tensor of n elements whose memory ends where the next page may not be touched."""
    size, page = n * dtype.itemsize, mmap.PAGESIZE
    pages = -(-size // page)
    memory = mmap.mmap(-1, (pages + 1) * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(address + pages * page), page, 0) == 0
    return torch.frombuffer(memory, dtype=dtype, count=n, offset=pages * page - size)


@pytest.mark.parametrize("n", (1, 3, 17, 1003, 4096))
@combinations(EVERY, lambda s, v, d: v == "cpu" and s.takes(d, v))
def test_end_of_page(stage, device, dtype, n):
    """Nothing is read or written after the last element, were it only to be ignored (case 19)."""
    x = page_end(n, dtype)
    x.copy_(values((n,), dtype))
    assert_square(stage.square(x), x)
    if dtype != torch.bool:
        right = torch.square(x)
        assert_equal(stage.square_(x), right, values((n,), dtype))
