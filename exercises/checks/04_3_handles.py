# SPDX-License-Identifier: MIT
from showing import operator, python

HINT = """
Two lines. The argument is ours: aoti_torch_delete_tensor_object(x). The result is the caller's: it goes
to stack[0], cast the way back, and is not deleted here.
"""

CALL = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import answer
x = torch.tensor([1.0, 2.0, 3.0])
for _ in range(100):
    y = torch.ops.exercise.twice(x)
print("twice of 1, 2, 3", y.tolist(), sep=";", flush=True)
print("x, after 100 calls", x.tolist(), sep=";", flush=True)
print("owners of y", y._use_count(), sep=";", flush=True)
print("owners of x", x._use_count(), sep=";", flush=True)
"""


EXPECTED = {
    "twice of 1, 2, 3": "[2.0, 4.0, 6.0]",
    "x, after 100 calls": "[1.0, 2.0, 3.0]",
    "owners of y": "1",
    "owners of x": "1",
}


def check(file):
    python("what", EXPECTED, CALL, operator(file))
