# SPDX-License-Identifier: MIT
from showing import CHECKS, program, python

HINT = """
A function of a library has two attributes: argtypes, a list, and restype. For a pointer that comes from
x.data_ptr() take ctypes.c_void_p. What is not declared is a C int: 32 bits, for arguments and results.
"""

CALL = """
import ctypes, importlib.util, sys
spec = importlib.util.spec_from_file_location("answer", sys.argv[1])
answer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(answer)
library = answer.load(sys.argv[2])
for n in (0, 1, 3, 100):
    x = (ctypes.c_float * 100)(*(k + 0.5 for k in range(100)))
    print(n, library.sum_of(ctypes.addressof(x), n), sep=";", flush=True)
"""


def check(file):
    library = program(CHECKS / "sum_of.c", compiler="gcc", flags=["-shared", "-fPIC"])
    python("n", {str(n): str(n * n / 2) for n in (0, 1, 3, 100)}, CALL, file, library)
