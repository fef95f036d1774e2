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
    # TODO: the types of the arguments, and of the result
    return library
