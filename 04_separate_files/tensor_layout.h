/* SPDX-License-Identifier: MIT
 * How the elements of a tensor lie in memory, from its sizes and strides alone. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MAX_DIMS 64 /* as many as PyTorch's own loops take */

enum layout {
    DENSE,  /* in some order, without a gap: one run of memory */
    GAPS,   /* with memory between them that is not the tensor's */
    OVERLAP /* some on top of others, as an expanded tensor's; or told apart by no simple rule */
};

/* How many elements lie between the first and the last, both included, of a tensor that has some. */
static inline int64_t reach_of(int64_t ndim, const int64_t *sizes, const int64_t *strides) {
    int64_t reach = 1;
    for (int64_t d = 0; d < ndim; ++d) reach += (sizes[d] - 1) * strides[d];
    return reach;
}

static inline enum layout layout_of(int64_t ndim, const int64_t *sizes, const int64_t *strides) {
    int64_t order[MAX_DIMS], count = 0, span = 1;
    enum layout layout = DENSE;
    for (int64_t d = 0; d < ndim; ++d) { /* by stride; a dimension of one element has none */
        if (sizes[d] == 0) return DENSE;
        if (sizes[d] == 1) continue;
        int64_t at = count++;
        for (; at > 0 && strides[order[at - 1]] > strides[d]; --at) order[at] = order[at - 1];
        order[at] = d;
    }
    for (int64_t i = 0; i < count; ++i) {
        const int64_t stride = strides[order[i]];
        if (stride < span) return OVERLAP;
        if (stride > span) layout = GAPS;
        span += stride * (sizes[order[i]] - 1);
    }
    return layout;
}

/* Writes to `dense` the strides of a tensor without gaps whose dimensions follow each other in
 * `order`, or as they are if that is null. True if `strides` are those already, but for dimensions
 * of one element, whose stride says nothing. */
static inline bool dense_strides(int64_t ndim, const int64_t *sizes, const int64_t *strides,
                                 const int64_t *order, int64_t *dense) {
    bool same = true, empty = false;
    uint64_t next = 1; /* unsigned, as it overflows for an expanded tensor that is empty */
    for (int64_t i = ndim - 1; i >= 0; --i) {
        const int64_t d = order ? order[i] : i;
        dense[d] = (int64_t)next;
        if (sizes[d] != 1 && strides[d] != dense[d]) same = false;
        if (sizes[d] == 0) empty = true;
        if (sizes[d] > 1) next *= (uint64_t)sizes[d];
    }
    return same || empty;
}

/* The strides that torch.square gives the square of a dense tensor. */
static inline void result_strides(int64_t ndim, const int64_t *sizes, const int64_t *strides,
                                  int64_t *result) {
    static const int64_t channels_last[] = {0, 2, 3, 1};
    if (dense_strides(ndim, sizes, strides, NULL, result)) return;
    if (ndim == 4 && dense_strides(ndim, sizes, strides, channels_last, result)) return;
    memcpy(result, strides, (size_t)ndim * sizeof(*result));
}
