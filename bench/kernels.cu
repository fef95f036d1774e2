// SPDX-License-Identifier: MIT
// What the benchmark launches past the stages: the kernel with one value a thread, and a bare launch.
//   nvcc -O3 -shared -Xcompiler -fPIC -cudart shared kernels.cu -o kernels.so
#include "square_kernel.cuh"
#include "square_launch.h"

namespace {

constexpr int BLOCK = 128;

template <typename T> int launch_one_value(const void *x, void *y, int64_t n, void *stream) {
    const int64_t grid = (n + BLOCK - 1) / BLOCK;
    void *arguments[] = {&x, &y, &n};
    return cudaLaunchKernel(square_kernel<T, 1>, dim3(static_cast<unsigned>(grid)), dim3(BLOCK),
                            arguments, 0, static_cast<cudaStream_t>(stream));
}

} // namespace

// square_launch as every tutorial has it: N = 1, whatever the dtype and the alignment.
extern "C" int one_value(const void *x, void *y, int64_t n, int dtype, void *stream) {
    switch (dtype) {
    case SQUARE_BOOL: return launch_one_value<Bool>(x, y, n, stream);
    case SQUARE_UINT8: return launch_one_value<uint8_t>(x, y, n, stream);
    case SQUARE_INT8: return launch_one_value<int8_t>(x, y, n, stream);
    case SQUARE_INT16: return launch_one_value<int16_t>(x, y, n, stream);
    case SQUARE_INT32: return launch_one_value<int32_t>(x, y, n, stream);
    case SQUARE_INT64: return launch_one_value<int64_t>(x, y, n, stream);
    case SQUARE_FLOAT16: return launch_one_value<__half>(x, y, n, stream);
    case SQUARE_BFLOAT16: return launch_one_value<__nv_bfloat16>(x, y, n, stream);
    case SQUARE_FLOAT32: return launch_one_value<float>(x, y, n, stream);
    case SQUARE_FLOAT64: return launch_one_value<double>(x, y, n, stream);
    case SQUARE_COMPLEX32: return launch_one_value<__half2>(x, y, n, stream);
    case SQUARE_COMPLEX64: return launch_one_value<float2>(x, y, n, stream);
    case SQUARE_COMPLEX128: return launch_one_value<double2>(x, y, n, stream);
    default: return SQUARE_ERROR_DTYPE;
    }
}

// A launch and nothing else: the kernel of 01 for float, arguments as they are.
extern "C" int bare_launch(const void *x, void *y, int64_t n, int dtype, void *stream) {
    if (dtype != SQUARE_FLOAT32) return SQUARE_ERROR_DTYPE;
    const int64_t grid = (n + 4 * BLOCK - 1) / (4 * BLOCK);
    void *arguments[] = {&x, &y, &n};
    return cudaLaunchKernel(square_kernel<float, 4>, dim3(static_cast<unsigned>(grid)), dim3(BLOCK),
                            arguments, 0, static_cast<cudaStream_t>(stream));
}
