# SPDX-License-Identifier: MIT
from showing import kernel

HINT = """
A thread knows three numbers: blockIdx.x, which block it is in; blockDim.x, how many threads a block
has; threadIdx.x, its place in its block. How many threads stand before the first one of block 1? Cast
to int64_t before you multiply: 32 bits are not enough for a large grid.
"""


def check(file):
    for n, grid, block in (13, 2, 8), (30, 4, 8), (5, 1, 8):
        kernel(file, n, grid, block, lambda b, t, block=block: [b * block + t])
