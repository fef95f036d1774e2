# SPDX-License-Identifier: MIT
from showing import operator, python

HINT = """
aoti_torch_library_def(library, schema) and aoti_torch_library_impl(library, name, function), each with
the library that was made for it. A schema reads like a declaration: name(Tensor x) -> Tensor.
"""

CALL = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import answer
if not hasattr(torch.ops.exercise, "twice"):
    sys.exit("There is no operator torch.ops.exercise.twice.")
twice = torch.ops.exercise.twice
print("schema", twice.default._schema, sep=";")
print("twice of 1, 2, 3", twice(torch.tensor([1.0, 2.0, 3.0])).tolist(), sep=";")
"""


EXPECTED = {"schema": "exercise::twice(Tensor x) -> Tensor", "twice of 1, 2, 3": "[2.0, 4.0, 6.0]"}


def check(file):
    python("what", EXPECTED, CALL, operator(file, "-DANSWER_REGISTERS"))
