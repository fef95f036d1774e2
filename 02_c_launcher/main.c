/* SPDX-License-Identifier: MIT
 * A C program that calls the library. Only <<< >>> needs nvcc: the CUDA runtime's API is C.
 *   gcc -std=c17 -O2 main.c -L. -lsquare -Wl,-rpath,'$ORIGIN' -o square && ./square 1 2 3
 * With CUDA also: -DSQUARE_WITH_CUDA -I$CUDA_HOME/include -L$CUDA_HOME/lib64 -lcudart */
#include "floats.h"
#include "square_launch.h"
#include <stdbool.h>
#ifdef SQUARE_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

/* Ends the program with the library's words; CUDA's own errors are among its codes. */
#define CHECK(call)                                                                                \
    do {                                                                                           \
        const int error = (int)(call);                                                             \
        if (error != 0) {                                                                          \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, square_error_string(error));        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static bool have_device(void) {
#ifdef SQUARE_WITH_CUDA
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess) return count > 0;
    fprintf(stderr, "no device, so on the host: %s\n", cudaGetErrorString(error));
#endif
    return false;
}

static void square_on_device(float *numbers, int64_t n) {
#ifdef SQUARE_WITH_CUDA
    const size_t bytes = (size_t)n * sizeof(float);
    void *x;
    CHECK(cudaMalloc(&x, bytes));
    CHECK(cudaMemcpy(x, numbers, bytes, cudaMemcpyHostToDevice));
    CHECK(square_launch(x, x, n, SQUARE_FLOAT32, NULL));
    CHECK(cudaMemcpy(numbers, x, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
#else
    (void)numbers, (void)n;
#endif
}

int main(int argc, char **argv) {
    int64_t n;
    float *numbers = read_floats(argc, argv, &n);
    if (have_device()) {
        square_on_device(numbers, n);
    } else {
        CHECK(square_cpu(numbers, numbers, n, SQUARE_FLOAT32));
    }
    print_floats(numbers, n);
    free(numbers);
    return 0;
}
