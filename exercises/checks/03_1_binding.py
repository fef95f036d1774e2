# SPDX-License-Identifier: MIT
from showing import extension, python

HINT = """
PYBIND11_MODULE takes the module's name and a name for the module object, and a body in braces. In the
body, m.def("name in Python", &function) enters a function. The end of the output of 03_load_inline/
square.py shows one.
"""

CALL = """
import sys
sys.path.insert(0, sys.argv[1])
import answer
print("module.area(2.0, 3.0)", answer.area(2.0, 3.0), sep=";")
try:
    print("module.area(-1.0, 3.0)", answer.area(-1.0, 3.0), sep=";")
except RuntimeError as error:
    print("module.area(-1.0, 3.0)", f"RuntimeError: {error}", sep=";")
"""


EXPECTED = {
    "module.area(2.0, 3.0)": "6.0",
    "module.area(-1.0, 3.0)": "RuntimeError: area: a side is negative",
}


def check(file):
    python("call", EXPECTED, CALL, extension(file))
