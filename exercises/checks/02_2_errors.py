# SPDX-License-Identifier: MIT
from showing import program, python

HINT = """
Four lines with an if, in the order of the list; for n == 0 there is nothing more to ask. Two ranges
of the same length overlap if the distance of their begins is less than that length. C compares
pointers within one array only: take uintptr_t, the addresses as numbers, and count bytes. In place
is not an error.
"""

CALL = """
import ctypes, sys
halve = ctypes.CDLL(sys.argv[1]).halve
halve.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
memory = (ctypes.c_float * 64)(*range(64))
x = ctypes.addressof(memory)
for call in {
    "8 floats to others": (x, x + 32, 8),
    "in place": (x + 128, x + 128, 8),
    "n is 0": (x, x + 32, 0),
    "n is 0, x and y null": (None, None, 0),
    "n is -1": (x, x + 32, -1),
    "n is -1, x null": (None, x, -1),
    "n is 2^61": (x, x + 32, 1 << 61),
    "x is null": (None, x + 32, 4),
    "y is null": (x, None, 4),
    "y one float behind x": (x, x + 4, 8),
    "y one float before x": (x + 4, x, 8),
    "y right behind x": (x, x + 32, 8),
}.items():
    print(call[0], halve(*call[1]), sep=";", flush=True)
print(f"the last of those in place;{memory[39]}")
"""

EXPECTED = {
    "8 floats to others": "0",
    "in place": "0",
    "n is 0": "0",
    "n is 0, x and y null": "0",
    "n is -1": "-1",
    "n is -1, x null": "-1",
    "n is 2^61": "-1",
    "x is null": "-2",
    "y is null": "-2",
    "y one float behind x": "-3",
    "y one float before x": "-3",
    "y right behind x": "0",
    "the last of those in place": "19.5",
}


def check(file):
    library = program(file, compiler="gcc", flags=["-std=c17", "-shared", "-fPIC"])
    python("call", EXPECTED, CALL, library)
