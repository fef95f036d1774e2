// SPDX-License-Identifier: MIT
// The launcher: plain C arguments in; dtype, pack, grid and block chosen; an error code out.
//   nvcc -O3 -shared -Xcompiler -fPIC -cudart shared square_launch.cu square_cpu.o -o libsquare.so
#include "square_kernel.cuh"
#include "square_launch.h"
#include <limits.h>

namespace {

constexpr int PACK_BYTES = 16; // the widest load and store that every GPU has
constexpr int BLOCK = 128;

template <typename T, int N>
int launch_packs(const void *x, void *y, int64_t n, cudaStream_t stream) {
    constexpr int64_t per_block = int64_t{BLOCK} * N;
    const int64_t grid = n / per_block + (n % per_block != 0);
    if (grid > INT_MAX) return SQUARE_ERROR_SIZE;

    void *arguments[] = {&x, &y, &n};
    // What <<<grid, BLOCK, 0, stream>>> compiles into. It returns its own result, where
    // cudaGetLastError() may return that of a call of other code that failed before.
    const cudaError_t error = cudaLaunchKernel(
        square_kernel<T, N>, dim3(static_cast<unsigned>(grid)), dim3(BLOCK), arguments, 0, stream);
    if (error != cudaSuccess) cudaGetLastError(); // returned here, so not left for other code
    return error;
}

// As many squares as fill a pack, where y lets it be stored in one piece; else one by one.
template <typename T> int launch(const void *x, void *y, int64_t n, cudaStream_t stream) {
    constexpr int N = PACK_BYTES / sizeof(Squared<T>);
    return reinterpret_cast<uintptr_t>(y) % PACK_BYTES == 0 ? launch_packs<T, N>(x, y, n, stream)
                                                            : launch_packs<T, 1>(x, y, n, stream);
}

} // namespace

extern "C" int square_launch(const void *x, void *y, int64_t n, int dtype, void *stream) {
    const int error = square_check(x, y, n, dtype);
    if (error != SQUARE_OK || n == 0) return error; // a grid of no blocks is an error to CUDA

    const cudaStream_t s = static_cast<cudaStream_t>(stream);
    switch (dtype) {
    case SQUARE_BOOL: return launch<Bool>(x, y, n, s);
    case SQUARE_UINT8: return launch<uint8_t>(x, y, n, s);
    case SQUARE_INT8: return launch<int8_t>(x, y, n, s);
    case SQUARE_INT16: return launch<int16_t>(x, y, n, s);
    case SQUARE_INT32: return launch<int32_t>(x, y, n, s);
    case SQUARE_INT64: return launch<int64_t>(x, y, n, s);
    case SQUARE_FLOAT16: return launch<__half>(x, y, n, s);
    case SQUARE_BFLOAT16: return launch<__nv_bfloat16>(x, y, n, s);
    case SQUARE_FLOAT32: return launch<float>(x, y, n, s);
    case SQUARE_FLOAT64: return launch<double>(x, y, n, s);
    case SQUARE_COMPLEX32: return launch<__half2>(x, y, n, s);
    case SQUARE_COMPLEX64: return launch<float2>(x, y, n, s);
    case SQUARE_COMPLEX128: return launch<double2>(x, y, n, s);
    default: return SQUARE_ERROR_DTYPE;
    }
}
