# SPDX-License-Identifier: MIT
"""Does a C loop over n elements read this tensor as it is meant?"""

# A tensor of shape (2, 3) with strides (3, 1) is contiguous: one step to the right is the next element,
# one step down skips a row of three. Work out from shape and strides alone whether a tensor is.
#
# Mind: the stride of a dimension of one element says nothing, since no step is ever made along it.
# And a tensor without elements is contiguous.


def is_contiguous(shape, strides):
    return True  # TODO
