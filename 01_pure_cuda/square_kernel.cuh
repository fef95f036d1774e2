// SPDX-License-Identifier: MIT
// The kernel: y[i] = x[i] * x[i]. Called from square.cu:
//   nvcc -O3 square.cu -o square
// Version 1, N = 1: a thread squares one value.
// Version 2, N > 1: a thread squares N values that it loads, and stores, as one pack of 16 bytes.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
#include <string.h>

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
// Not x * x: PyTorch builds extensions with the operators of __half switched off.
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

// 16 bytes from the middle of 32: words S to S + 4 of w, less `bits` of the first.
template <int S> __host__ __device__ inline uint4 shifted(const uint32_t (&w)[8], unsigned bits) {
    const auto word = [&](int k) {
        return static_cast<uint32_t>((static_cast<uint64_t>(w[k + 1]) << 32 | w[k]) >> bits);
    };
    return make_uint4(word(S), word(S + 1), word(S + 2), word(S + 3));
}

// The pack that begins at x[first]. x is aligned to its element; if not to a pack, the hardware
// refuses one wide load.
template <typename T, int N>
__host__ __device__ inline Pack<T, N> load_pack(const T *x, int64_t first, int64_t n) {
    Pack<T, N> pack;
    const unsigned offset = reinterpret_cast<uintptr_t>(x) % sizeof(pack);
    if (offset == 0) return *reinterpret_cast<const Pack<T, N> *>(x + first);

    // Small values: not one load each, but the two aligned lines that the pack lies in. Both must
    // lie within x, so the first pack and the last ones are left to the loop.
    if (sizeof(T) < 4 && sizeof(pack) == sizeof(uint4) && first >= N && first + 2 * N <= n) {
        const char *start = reinterpret_cast<const char *>(x + first) - offset;
        const uint4 a = reinterpret_cast<const uint4 *>(start)[0];
        const uint4 b = reinterpret_cast<const uint4 *>(start)[1];
        const uint32_t w[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
        const unsigned bits = offset % 4 * 8;
        uint4 moved;
        switch (offset / 4) { // an index known to the compiler keeps w in registers
        case 0: moved = shifted<0>(w, bits); break;
        case 1: moved = shifted<1>(w, bits); break;
        case 2: moved = shifted<2>(w, bits); break;
        default: moved = shifted<3>(w, bits); break;
        }
        memcpy(&pack, &moved, sizeof(moved));
        return pack;
    }
    for (int k = 0; k < N; ++k) pack.value[k] = x[first + k];
    return pack;
}

// x, y: n elements in memory of the device; y may be x. y is aligned to its pack, x to its element.
template <typename T, int N> __global__ void square_kernel(const T *x, Squared<T> *y, int64_t n) {
    // The cast comes before the product: blockIdx.x * blockDim.x is 32 bits wide, and overflows.
    const int64_t first = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
    if (first + N <= n) {
        const Pack<T, N> in = load_pack<T, N>(x, first, n);
        Pack<Squared<T>, N> out;
        for (int k = 0; k < N; ++k) out.value[k] = square(in.value[k]);
        *reinterpret_cast<Pack<Squared<T>, N> *>(y + first) = out;
    } else {
        // One thread is here for the tail; the threads after it find i >= n at once.
        for (int64_t i = first; i < n; ++i) y[i] = square(x[i]);
    }
}
