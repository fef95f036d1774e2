# SPDX-License-Identifier: MIT
"""What ctypes has to be told."""

# The library has one function, which returns the sum of n floats:
#
#     double sum_of(const float *x, int64_t n);
#
# Python knows no header. Tell ctypes what the function takes and what it returns.

import ctypes


def load(path):
    library = ctypes.CDLL(path)
    library.sum_of.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.sum_of.restype = ctypes.c_double
    return library
