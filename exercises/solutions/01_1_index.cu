// SPDX-License-Identifier: MIT
// Which value is a thread's?
//
// The grid has several blocks. Thread 0 of block 0 squares x[0], the next one x[1], and so on through
// the block; block 1 goes on where block 0 ends. Threads that are left over write nothing.
#include <stdint.h>

__global__ void square_kernel(const float *x, float *y, int64_t n) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}
