// SPDX-License-Identifier: MIT
// Runs the kernel of an exercise on the host, thread by thread, and prints what each of them wrote.
//   threads n grid block
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dim3 {
    unsigned x, y, z;
};
static dim3 gridDim, blockDim, blockIdx, threadIdx;
#define __global__ static

#include ANSWER

int main(int, char **argv) {
    const int64_t n = atoll(argv[1]), room = 4096, size = room + n + room;
    gridDim.x = static_cast<unsigned>(atoi(argv[2]));
    blockDim.x = static_cast<unsigned>(atoi(argv[3]));
    float *const x = static_cast<float *>(malloc(size * sizeof(float)));
    float *const y = static_cast<float *>(malloc(size * sizeof(float)));
    for (int64_t i = 0; i < size; ++i) x[i] = static_cast<float>(i - room + 1);

    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) {
            memset(y, 0xff, size * sizeof(float)); // a NaN that no square is
            printf("thread %u %u\n", blockIdx.x, threadIdx.x);
            fflush(stdout);
            square_kernel(x + room, y + room, n);
            for (int64_t i = 0; i < size; ++i) {
                if (y[i] == y[i]) printf("y %lld %.9g\n", static_cast<long long>(i - room), y[i]);
            }
        }
    }
    printf("end\n");
    return 0;
}
