// SPDX-License-Identifier: MIT
// A whole CUDA program: memory on the device, copy in, launch, check, copy out.
//   nvcc -O3 square.cu -o square && ./square 1 2 3
#include "floats.h"
#include "square_kernel.cuh"

// Ends the program with CUDA's own words. Right in main(), never in a library.
#define CHECK(call)                                                                                \
    do {                                                                                           \
        const cudaError_t error = (call);                                                          \
        if (error != cudaSuccess) {                                                                \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, cudaGetErrorName(error),        \
                    cudaGetErrorString(error));                                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

int main(int argc, char **argv) {
    int64_t n;
    float *numbers = read_floats(argc, argv, &n);
    const size_t bytes = static_cast<size_t>(n) * sizeof(float);

    float *x, *y;
    CHECK(cudaMalloc(&x, bytes));
    CHECK(cudaMalloc(&y, bytes));
    CHECK(cudaMemcpy(x, numbers, bytes, cudaMemcpyHostToDevice));

    constexpr int N = 4, block = 128;
    const int64_t grid = (n + N * block - 1) / (N * block);
    if (grid > 0) { // a grid of no blocks is an error to CUDA
        square_kernel<float, N><<<static_cast<unsigned>(grid), block>>>(x, y, n);
        CHECK(cudaGetLastError()); // a launch returns nothing: its error has to be asked for
    }
    CHECK(cudaMemcpy(numbers, y, bytes, cudaMemcpyDeviceToHost)); // waits for the kernel

    print_floats(numbers, n);
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    free(numbers);
    return 0;
}
