// SPDX-License-Identifier: MIT
// Four values a thread, and a tail.
//
// Thread 0 squares x[0] to x[3], the next one x[4] to x[7], and so on. n need not be a multiple of
// four: the last thread that has something to do may have less. Nothing is written at n or behind it.
#include <stdint.h>

__global__ void square_kernel(const float *x, float *y, int64_t n) {
    const int N = 4;
    const int64_t first = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * N;
    y[first] = x[first] * x[first]; // TODO: all of this thread's values, and none that is not there
}
