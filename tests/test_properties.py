# SPDX-License-Identifier: MIT
"""Drawn shapes, strides, offsets and dtypes, held against torch.square.

SQUARE_EXAMPLES in the environment says how many a stage gets; 300 without it. `make fuzz` sets it,
and then a line says now and then how many were tried.
"""

import os
import sys
import time

import torch
from compare import assert_equal, assert_square
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inputs import values
from refusing import REFUSALS, assert_good_call
from stages import EVERY, REFUSED, RIGHT, each_device, each_stage

EXAMPLES = int(os.environ.get("SQUARE_EXAMPLES", 300))
drawn = settings(
    max_examples=EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


class Counter:
    """Counts what was tried, and says so every ten seconds and at the end of a long run."""

    def __init__(self, what):
        self.what, self.tried, self.start = what, 0, time.monotonic()
        self.shown = self.start

    def __call__(self, last=False):
        self.tried += not last
        now = time.monotonic()
        if EXAMPLES > 1000 and (last or now - self.shown > 10):
            self.shown = now
            print(f"\n{self.what}: {self.tried} tried, {now - self.start:.0f} s", file=sys.stderr, flush=True)


SMALL = st.lists(st.sampled_from((0, 1, 2, 3, 4, 5, 9, 17)), max_size=4).map(tuple)
LARGE = st.sampled_from(((190, 190), (35_003,), (3, 97, 130)))  # more than one thread's share


@st.composite
def views(draw):
    """(dtype, shape, strides, offset, lazy): dense in some order, or with any strides; conj, neg or none."""
    large = draw(st.integers(0, 19)) == 7
    shape = draw(LARGE if large else SMALL)
    if draw(st.booleans()):  # dense: the dimensions follow each other in a drawn order
        strides, step = [0] * len(shape), 1
        for d in draw(st.permutations(range(len(shape)))):
            strides[d], step = step, step * max(shape[d], 1)
    else:
        strides = [draw(st.integers(0, 12)) for _ in shape]
    offset = draw(st.sampled_from((0, 1, 7)) if large else st.integers(0, 17))
    dtype = draw(st.sampled_from(EVERY))
    lazies = ["", "", "", ""] + ["neg"] * (dtype != torch.bool) + ["conj"] * dtype.is_complex
    return dtype, shape, tuple(strides), offset, draw(st.sampled_from(lazies))


def view_of(memory, shape, strides, offset, lazy):
    x = memory.as_strided(shape, strides, offset)
    return x.conj() if lazy == "conj" else torch._neg_view(x) if lazy == "neg" else x


def memory_and_view(dtype, shape, strides, offset, lazy, device):
    """Memory that ends with the view's last element, and the view."""
    last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else -1
    memory = values((offset + last + 1,), dtype, device)
    return memory, view_of(memory, shape, strides, offset, lazy)


def addresses(x):
    """How many different elements of memory x has, and whether it is dense."""
    if x.numel() == 0:
        return 0, True
    at = torch.zeros(1, dtype=torch.int64)
    for n, stride in zip(x.shape, x.stride(), strict=True):
        at = (at[:, None] + torch.arange(n) * stride).flatten()
    at = at.unique()
    return len(at), len(at) == x.numel() == int(at[-1]) + 1


def interleaved(x):
    """Whether strides are smaller than what they stride over: hard to tell from an overlap."""
    span = 0
    for stride, n in sorted((s, n) for n, s in zip(x.shape, x.stride(), strict=True) if n > 1):
        if stride <= span:
            return True
        span += stride * (n - 1)
    return False


def outcome(stage, x):
    if not stage.takes(x.dtype, x.device.type):
        return REFUSED
    layout = RIGHT if x.is_contiguous() else stage.dense if addresses(x)[1] else stage.strided
    return stage.lazy if layout == RIGHT and (x.is_conj() or x.is_neg()) else layout


@each_device
@each_stage
def test_square(stage, device):
    """Cases 9, 10, 24, 43, 45: right or refused as the table says, the memory as it was."""

    count = Counter(f"square of {stage} on {device}")

    @drawn
    @given(views())
    def check(view):
        count()
        memory, x = memory_and_view(*view, device)
        before = memory.clone()
        try:
            y = stage.square(x)
        except REFUSALS:
            assert outcome(stage, x) != RIGHT
            assert_good_call(stage, device)
        else:
            assert outcome(stage, x) != REFUSED, "not refused"
            assert_square(y, x)
            assert not stage.folder.startswith("05") or y.stride() == torch.square(x).stride()
        assert_equal(memory, before)

    check()
    count(last=True)


@each_device
@each_stage
def test_in_place(stage, device):
    """Cases 43 and 52: overlaps are refused; else the view is squared and the gaps stay."""

    count = Counter(f"square_ of {stage} on {device}")

    @drawn
    @given(views())
    def check(view):
        count()
        memory, x = memory_and_view(*view, device)
        before = memory.clone()
        overlaps = addresses(x)[0] < x.numel()
        try:
            stage.square_(x)
        except REFUSALS:
            excused = overlaps or interleaved(x) or x.dtype == torch.bool
            assert excused or outcome(stage, x) != RIGHT
            assert_good_call(stage, device)
            assert_equal(memory, before)
            return
        assert x.dtype != torch.bool and not overlaps and outcome(stage, x) != REFUSED
        right = before.clone()
        view_of(right, *view[1:]).square_()
        assert_equal(memory, right, before)

    check()
    count(last=True)
