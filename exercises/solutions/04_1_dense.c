/* SPDX-License-Identifier: MIT
 * Is a tensor one piece of memory, in whatever order?
 *
 * Then a kernel may run over it as it lies. sizes and strides are sorted by stride, the smallest
 * first; no size is 0. There must be no gap, and no element on top of another. The stride of a
 * dimension of one element says nothing. */
#include <stdbool.h>
#include <stdint.h>

bool dense(int64_t ndim, const int64_t *sizes, const int64_t *strides) {
    int64_t count = 1; /* elements of the dimensions so far: without a gap, the next stride */
    for (int64_t d = 0; d < ndim; ++d) {
        if (sizes[d] != 1 && strides[d] != count) return false;
        count *= sizes[d];
    }
    return true;
}
