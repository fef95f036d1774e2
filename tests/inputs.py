# SPDX-License-Identifier: MIT
"""Inputs whose wrong answers differ: random numbers, shapes around every edge, layouts."""

import functools
import math
from typing import NamedTuple

import torch

SPECIAL = (math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, -1.0, 2.0)


@functools.cache
def _values(n, dtype):
    """n random numbers; nobody may write to them."""
    g = torch.Generator().manual_seed(n)
    if dtype == torch.bool:
        return torch.randint(0, 2, (n,), generator=g).bool()
    if dtype.is_complex:
        pair = torch.randn(n, 2, dtype=torch.float64, generator=g)
        return torch.view_as_complex(pair).to(dtype)
    if not dtype.is_floating_point:
        return torch.randint(-(2**63), 2**63 - 1, (n,), generator=g).to(dtype)
    # Exponents so far apart that some squares are subnormal, some zero and some infinite.
    low, high = (math.log2(v) / 2 for v in (torch.finfo(dtype).tiny, torch.finfo(dtype).max))
    exponent = torch.empty(n, dtype=torch.float64).uniform_(low - 6, high + 1, generator=g)
    x = (torch.randn(n, dtype=torch.float64, generator=g).sign() * exponent.exp2()).to(dtype)
    finfo = torch.finfo(dtype)
    special = (*SPECIAL, finfo.max, finfo.tiny, finfo.tiny * finfo.eps, -(finfo.tiny**0.5))
    for k, value in enumerate(special):
        x[20 + k :: 97] = value
    return x


def values(shape, dtype, device="cpu"):
    """A new contiguous tensor of random numbers, the same for the same arguments."""
    return _values(math.prod(shape), dtype).clone().view(shape).to(device)


def pack(dtype):
    """How many elements a thread moves: as many squares as fill 16 bytes."""
    return 2 if dtype == torch.bool else 16 // dtype.itemsize


# Shapes around every edge; p is the pack, a block has 128 threads.
SHAPES = {
    "no dimension": lambda p: (),
    "none": lambda p: (0,),
    "none of 3x0x5": lambda p: (3, 0, 5),
    "1": lambda p: (1,),
    "pack-1": lambda p: (p - 1,),
    "pack": lambda p: (p,),
    "pack+1": lambda p: (p + 1,),
    "255": lambda p: (255,),
    "256": lambda p: (256,),
    "257": lambda p: (257,),
    "block-1": lambda p: (128 * p - 1,),
    "block": lambda p: (128 * p,),
    "block+1": lambda p: (128 * p + 1,),
    "1003": lambda p: (1003,),
    "2^16": lambda p: (65536,),
    "2^20+1": lambda p: (2**20 + 1,),
    "five dimensions": lambda p: (2, 3, 1, 5, 7),
}


class Layout(NamedTuple):
    """A view of the 240 elements of a flat x. kind: contiguous, or a column of the stages table."""

    name: str
    kind: str
    view: object
    overlaps: bool = False


LAYOUTS = (
    Layout("one late", "contiguous", lambda x: x[1:]),
    Layout("the second half", "contiguous", lambda x: x.view(2, 12, 10)[1]),
    Layout("odd stride at size 1", "contiguous", lambda x: x.as_strided((3, 1, 4), (4, 99, 1))),
    Layout("odd strides, empty", "contiguous", lambda x: x.as_strided((3, 0, 4), (7, 7, 7))),
    Layout("the end of nothing", "contiguous", lambda x: x[240:]),
    Layout("transposed", "dense", lambda x: x.view(12, 20).t()),
    Layout("permuted", "dense", lambda x: x.view(2, 3, 4, 5, 2).permute(3, 1, 4, 0, 2)),
    Layout(
        "channels_last",
        "dense",
        lambda x: x.view(2, 3, 5, 8).contiguous(memory_format=torch.channels_last),
    ),
    Layout(
        "channels_last_3d",
        "dense",
        lambda x: x.view(2, 3, 2, 4, 5).contiguous(memory_format=torch.channels_last_3d),
    ),
    Layout("every third", "strided", lambda x: x[::3]),
    Layout("a channel's odd columns", "strided", lambda x: x.view(2, 12, 10)[0, :, 1::2]),
    Layout("columns", "strided", lambda x: x.view(12, 20)[:, 2:5]),
    Layout("columns, transposed", "strided", lambda x: x.view(12, 20)[:, 2:5].t()),
    Layout("diagonal", "strided", lambda x: x[:225].view(15, 15).diagonal()),
    Layout("expanded value", "strided", lambda x: x[7:8].expand(4), True),
    Layout("expanded columns", "strided", lambda x: x[:6].view(6, 1).expand(6, 5), True),
    Layout("broadcast rows", "strided", lambda x: x[:6].expand(3, 1, 6), True),
    Layout("overlapping windows", "strided", lambda x: x.unfold(0, 8, 3), True),
    Layout("conjugate", "lazy", lambda x: x.view(12, 20).conj() if x.is_complex() else None),
    Layout("conjugate, transposed", "lazy", lambda x: x.view(12, 20).mH if x.is_complex() else None),
    Layout("negative", "lazy", lambda x: torch._neg_view(x) if x.dtype != torch.bool else None),
    Layout("imaginary of conjugate", "lazy", lambda x: x.conj().imag if x.is_complex() else None),
)
