// SPDX-License-Identifier: MIT
// The kernel: y[i] = x[i] * x[i]. The only place where it is written. Called from square.cu:
//   nvcc -O3 square.cu -o square
// Version 1, N = 1: a thread squares one value.
// Version 2, N > 1: a thread squares N values that it loads, and stores, as one pack of 16 bytes.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

// A byte of a bool tensor. Any value but 0 is true, and true squared is the int64 1.
struct Bool {
    uint8_t byte;
};

// What differs by type. Integers wrap, and only unsigned arithmetic may; a small one fits in an int.
template <typename T> __host__ __device__ T square(T x) { return static_cast<T>(x * x); }
__host__ __device__ inline int64_t square(Bool x) { return x.byte != 0; }
__host__ __device__ inline int32_t square(int32_t x) {
    return static_cast<int32_t>(static_cast<uint32_t>(x) * static_cast<uint32_t>(x));
}
__host__ __device__ inline int64_t square(int64_t x) {
    return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x));
}
// Not x * x: PyTorch builds extensions with the operators of these two types switched off.
__host__ __device__ inline __half square(__half x) { return __hmul(x, x); }
__host__ __device__ inline __nv_bfloat16 square(__nv_bfloat16 x) { return __hmul(x, x); }
// Complex numbers, .x the real and .y the imaginary part; two halves are multiplied as floats.
__host__ __device__ inline float2 square(float2 z) {
    return make_float2(z.x * z.x - z.y * z.y, z.x * z.y + z.x * z.y);
}
__host__ __device__ inline double2 square(double2 z) {
    return make_double2(z.x * z.x - z.y * z.y, z.x * z.y + z.x * z.y);
}
__host__ __device__ inline __half2 square(__half2 z) {
    const float2 s = square(__half22float2(z));
    return __floats2half2_rn(s.x, s.y);
}

// The type of a square: T itself, but int64 for Bool.
template <typename T> using Squared = decltype(square(T()));

template <typename T, int N> struct alignas(N * sizeof(T)) Pack {
    T value[N];
};

// x, y: n elements in memory of the device; y may be x. y is aligned to its pack, x to its element.
template <typename T, int N> __global__ void square_kernel(const T *x, Squared<T> *y, int64_t n) {
    // The cast comes before the product: blockIdx.x * blockDim.x is 32 bits wide, and overflows.
    const int64_t first = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
    if (first + N <= n) {
        Pack<T, N> in;
        if (reinterpret_cast<uintptr_t>(x) % sizeof(in) == 0) {
            in = *reinterpret_cast<const Pack<T, N> *>(x + first);
        } else {
            for (int k = 0; k < N; ++k) in.value[k] = x[first + k];
        }
        Pack<Squared<T>, N> out;
        for (int k = 0; k < N; ++k) out.value[k] = square(in.value[k]);
        *reinterpret_cast<Pack<Squared<T>, N> *>(y + first) = out;
    } else {
        // One thread is here for the tail; the threads after it find i >= n at once.
        for (int64_t i = first; i < n; ++i) y[i] = square(x[i]);
    }
}
