# SPDX-License-Identifier: MIT
import json

from showing import program, python

HINT = """
The smallest stride has to be 1. The next one has to be the number of elements that the first dimension
has, the one after it the product of both, and so on: what count holds. Anything else is a gap, if the
stride is larger, or an overlap.
"""

CALL = """
import ctypes, json, sys
dense = ctypes.CDLL(sys.argv[1]).dense
dense.restype = ctypes.c_bool
dense.argtypes = [ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
for name, (sizes, strides) in json.loads(sys.argv[2]).items():
    a, b = ((ctypes.c_int64 * 8)(*numbers) for numbers in (sizes, strides))
    print(name, dense(len(sizes), ctypes.addressof(a), ctypes.addressof(b)), sep=";", flush=True)
"""

CASES = {
    "a scalar": ([], [], True),
    "a row": ([6], [1], True),
    "every other of a row": ([3], [2], False),
    "a matrix, or its transpose": ([3, 2], [1, 3], True),
    "a matrix without its last column": ([2, 2], [1, 3], False),
    "every other column": ([2, 2], [2, 3], False),
    "a row, repeated": ([2, 3], [0, 1], False),
    "one element, repeated": ([5], [0], False),
    "one element that could be repeated": ([1, 6], [0, 1], True),
    "three dimensions": ([4, 3, 2], [1, 4, 12], True),
    "three, a gap in the last": ([4, 3, 2], [1, 4, 13], False),
    "windows that overlap": ([3, 4], [1, 1], False),
    "one row, far away": ([4, 1], [1, 100], True),
}


def check(file):
    library = program(file, compiler="gcc", flags=["-std=c17", "-shared", "-fPIC"])
    cases = {f"{name}: {sizes} {strides}": (sizes, strides) for name, (sizes, strides, _) in CASES.items()}
    expected = dict(zip(cases, (str(answer) for _, _, answer in CASES.values()), strict=True))
    python("sizes and strides", expected, CALL, library, json.dumps(cases))
