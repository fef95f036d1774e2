// SPDX-License-Identifier: MIT
// A grid that is smaller than n.
//
// The grid has fewer threads than there are values. So each thread squares more than one: its own
// index, then the one that lies as many places further as the whole grid has threads, and so on. The
// number of blocks is gridDim.x. This is called a grid-stride loop.
#include <stdint.h>

__global__ void square_kernel(const float *x, float *y, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i]; // TODO: and the others of this thread
}
