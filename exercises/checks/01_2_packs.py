# SPDX-License-Identifier: MIT
from showing import kernel

HINT = """
A loop over i from first, with two conditions: four values at most, and none at n or behind it. Threads
whose first is behind n already then do nothing by themselves.
"""


def check(file):
    for n, grid, block in (64, 2, 8), (45, 2, 8), (3, 1, 8):
        kernel(
            file,
            n,
            grid,
            block,
            lambda b, t, block=block: range(4 * (b * block + t), 4 * (b * block + t) + 4),
        )
