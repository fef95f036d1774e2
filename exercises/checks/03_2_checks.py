# SPDX-License-Identifier: MIT
from showing import extension, python

HINT = """
TORCH_CHECK(condition, text, value, ...) raises if the condition is false. What to ask: x.is_cpu(),
x.scalar_type() == at::kFloat, x.is_contiguous(). What to say: x.device(), x.scalar_type(), x.strides().
"""

CALL = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import answer
x = torch.arange(6.0).view(2, 3)
for name, x in {
    "float32": x, "no elements": x[:0], "a scalar": x[1, 1], "transposed": x.t(), "every other": x[:, ::2],
    "float64": x.double(), "int32": x.int(), "on the device meta": x.to("meta"),
}.items():
    try:
        print(name, answer.twice(x).flatten().tolist(), sep=";", flush=True)
    except (RuntimeError, NotImplementedError) as error:
        print(name, "refused" if len(str(error)) > 10 else "refused without a reason", sep=";", flush=True)
"""

EXPECTED = {
    "float32": "[0.0, 2.0, 4.0, 6.0, 8.0, 10.0]",
    "no elements": "[]",
    "a scalar": "[8.0]",
    "transposed": "refused",
    "every other": "refused",
    "float64": "refused",
    "int32": "refused",
    "on the device meta": "refused",
}


def check(file):
    python("x", EXPECTED, CALL, extension(file, "c10", "torch_cpu", "torch_python"))
