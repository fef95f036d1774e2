# SPDX-License-Identifier: MIT
from showing import kernel

HINT = """
Make a loop of the if. What does i grow by? By the number of threads of the whole grid: blocks times
threads a block.
"""


def check(file):
    for n, grid, block in (50, 2, 8), (11, 2, 8), (40, 1, 8):
        kernel(file, n, grid, block, lambda b, t, n=n, g=grid, k=block: range(b * k + t, n, g * k))
