// SPDX-License-Identifier: MIT
// The same kernel without a GPU: one loop over the blocks, one over the threads of each.
//   g++ -O3 -I"$CUDA_HOME/include" square_on_host.cpp -o square_on_host && ./square_on_host 1 2 3
#include <vector_functions.h>
#include <vector_types.h>

static dim3 blockIdx, blockDim, threadIdx; // on a GPU each thread finds its own values here

#include "floats.h"
#include "square_kernel.cuh"

int main(int argc, char **argv) {
    int64_t n;
    float *numbers = read_floats(argc, argv, &n);

    constexpr int N = 4, block = 128;
    const int64_t grid = (n + N * block - 1) / (N * block);
    // A pack of four floats has to begin at a multiple of 16 bytes; so does what cudaMalloc returns.
    float *y = static_cast<float *>(aligned_alloc(16, static_cast<size_t>(grid) * N * block * 4));
    if (grid > 0 && !y) {
        fprintf(stderr, "out of memory for %lld squares\n", static_cast<long long>(n));
        return 1;
    }

    blockDim.x = block;
    for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x) {
        for (threadIdx.x = 0; threadIdx.x < block; ++threadIdx.x) {
            square_kernel<float, N>(numbers, y, n);
        }
    }

    print_floats(y, n);
    free(y);
    free(numbers);
    return 0;
}
