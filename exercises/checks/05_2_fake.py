# SPDX-License-Identifier: MIT
from showing import python

HINT = """
x.new_empty(shape, dtype=...) makes a tensor on the device of x, here without data. A matrix of m rows
has m sums. The sums are float64.
"""

CALL = """
import importlib.util, sys, torch
spec = importlib.util.spec_from_file_location("answer", sys.argv[1])
answer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(answer)
for shape, dtype in ((2, 3), torch.float32), ((4, 4), torch.int32), ((1, 5), torch.float64):
    y = answer.row_sums(torch.ones(shape, dtype=dtype, device="meta"))
    print(f"{shape}, {dtype}", f"{tuple(y.shape)}, {y.dtype}", sep=";")
assert answer.row_sums(torch.ones(2, 3)).tolist() == [3.0, 3.0]
"""

EXPECTED = {
    "(2, 3), torch.float32": "(2,), torch.float64",
    "(4, 4), torch.int32": "(4,), torch.float64",
    "(1, 5), torch.float64": "(1,), torch.float64",
}


def check(file):
    python("matrix", EXPECTED, CALL, file)
