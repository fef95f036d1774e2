/* SPDX-License-Identifier: MIT
 * The half of the library that needs no GPU: checks, errors in words, and loops over host memory.
 *   gcc -std=c17 -O3 -funroll-loops -ffp-contract=off -fPIC -c square_cpu.c
 * With -DSQUARE_WITH_CUDA -I$CUDA_HOME/include, CUDA's errors have their words too, and square_launch
 * comes from square_launch.cu; without, it stands here and refuses. */
#include "square_launch.h"
#include <stdio.h>
#include <string.h>
#ifdef SQUARE_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

int64_t square_element_size(int dtype) {
    static const int8_t size[SQUARE_DTYPES] = {
        [SQUARE_BOOL] = 1,       [SQUARE_UINT8] = 1,     [SQUARE_INT8] = 1,
        [SQUARE_INT16] = 2,      [SQUARE_INT32] = 4,     [SQUARE_INT64] = 8,
        [SQUARE_FLOAT16] = 2,    [SQUARE_BFLOAT16] = 2,  [SQUARE_FLOAT32] = 4,
        [SQUARE_FLOAT64] = 8,    [SQUARE_COMPLEX32] = 4, [SQUARE_COMPLEX64] = 8,
        [SQUARE_COMPLEX128] = 16};
    return dtype >= 0 && dtype < SQUARE_DTYPES ? size[dtype] : 0;
}

int square_check(const void *x, const void *y, int64_t n, int dtype) {
    const uintptr_t in_size = (uintptr_t)square_element_size(dtype);
    const uintptr_t out_size = dtype == SQUARE_BOOL ? sizeof(int64_t) : in_size;
    const uintptr_t in = (uintptr_t)x, out = (uintptr_t)y, count = (uintptr_t)n;
    if (in_size == 0) return SQUARE_ERROR_DTYPE;
    if (n < 0 || n > INT64_MAX / 16) return SQUARE_ERROR_SIZE;
    if (n == 0) return SQUARE_OK;
    if (!x || !y) return SQUARE_ERROR_NULL;
    if (in % in_size != 0 || out % out_size != 0) return SQUARE_ERROR_ALIGNMENT;
    if (in + count * in_size < in || out + count * out_size < out) return SQUARE_ERROR_SIZE;
    if (in == out && in_size == out_size) return SQUARE_OK;
    const int overlap = in < out + count * out_size && out < in + count * in_size;
    return overlap ? SQUARE_ERROR_OVERLAP : SQUARE_OK;
}

#ifdef SQUARE_WITH_CUDA
/* Errors of a running kernel, which whatever call comes next reports. */
static int left_by_a_kernel(cudaError_t code) {
    switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure: return 1;
    default: return 0;
    }
}
#endif

const char *square_error_string(int error) {
    switch (error) {
    case SQUARE_OK: return "no error";
    case SQUARE_ERROR_DTYPE: return "dtype is none that square takes for this memory";
    case SQUARE_ERROR_NULL: return "x or y is a null pointer";
    case SQUARE_ERROR_SIZE: return "n is negative or too large";
    case SQUARE_ERROR_ALIGNMENT: return "x or y is not aligned to its element";
    case SQUARE_ERROR_OVERLAP: return "x and y overlap without being the same memory";
    case SQUARE_ERROR_NO_CUDA: return "built without CUDA: only memory of the host is taken";
    }
#ifdef SQUARE_WITH_CUDA
    if (error > 0) {
        static _Thread_local char text[256];
        const cudaError_t code = (cudaError_t)error;
        snprintf(text, sizeof(text), "%s: %s%s", cudaGetErrorName(code), cudaGetErrorString(code),
                 left_by_a_kernel(code)
                     ? " (maybe of an earlier launch: CUDA_LAUNCH_BLOCKING=1 tells which)"
                     : "");
        return text;
    }
#endif
    return "unknown error";
}

#ifndef SQUARE_WITH_CUDA
int square_launch(const void *x, void *y, int64_t n, int dtype, void *stream) {
    (void)x, (void)y, (void)n, (void)dtype, (void)stream;
    return SQUARE_ERROR_NO_CUDA;
}
#endif

/* The compiler makes each loop once for every processor and once with 32-byte vectors; the program
 * picks when it starts. clang and other processors get the first alone. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define VECTORS
#endif

#define LOOP(name, from, to, square)                                                               \
    VECTORS static void name(const void *input, void *output, int64_t n) {                         \
        const from *x = input;                                                                     \
        to *y = output;                                                                            \
        for (int64_t i = 0; i < n; ++i) {                                                          \
            const from v = x[i];                                                                   \
            y[i] = square;                                                                         \
        }                                                                                          \
    }

static inline float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint32_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* bfloat16 is the upper half of a float32. The square of two 8-bit significands is exact in
 * float32; this rounds it to nearest, ties to even, by a carry into the half that is kept. A NaN
 * stays one: its lower half is 0, so there is no carry. */
static inline uint32_t rounded_square_bfloat16(uint32_t upper_half) {
    const float f = float_of_bits(upper_half);
    const uint32_t bits = bits_of_float(f * f);
    return bits + 0x7fff + (bits >> 16 & 1);
}

/* Two values at a time, as they lie in a 32-bit word: half the work of widening each to its own. */
typedef uint32_t __attribute__((aligned(2), may_alias)) two_bfloat16;
VECTORS static void square_bfloat(const void *input, void *output, int64_t n) {
    const two_bfloat16 *x = input;
    two_bfloat16 *y = output;
    for (int64_t i = 0; i < n / 2; ++i) {
        const uint32_t first = x[i] << 16, second = x[i] & 0xffff0000;
        y[i] =
            rounded_square_bfloat16(first) >> 16 | (rounded_square_bfloat16(second) & 0xffff0000);
    }
    if (n % 2 != 0) {
        const uint16_t last = ((const uint16_t *)input)[n - 1];
        ((uint16_t *)output)[n - 1] =
            (uint16_t)(rounded_square_bfloat16((uint32_t)last << 16) >> 16);
    }
}

/* float16 has 1 sign, 5 exponent and 10 significand bits. Without its sign and moved to where
 * float32 keeps exponent and significand, it is 2^112 too small. The square of two 11-bit
 * significands is exact in float32. Adding `magic`, a power of two whose last bit weighs what the
 * last bit of the result does, rounds it, ties to even. What then stands above magic is the result's
 * significand with the leading one that a normal number hides, so exponents count from -14. */
static inline uint32_t square_float16(uint32_t v) {
    const uint32_t a = v & 0x7fff, inf = 0x7c00;
    const float f = float_of_bits(a << 13) * 0x1p112f, s = f * f;
    const uint32_t exponent = bits_of_float(s) >> 23;
    const uint32_t e = exponent > 113 ? exponent : 113; /* 113 is 2^-14: subnormal below */
    const uint32_t magic = (e + 13) << 23;
    const uint32_t half = bits_of_float(s + float_of_bits(magic)) - magic + ((e - 113) << 10);
    const uint32_t nan = (a > inf ? a : inf) - inf; /* 0 for a number */
    return (half < inf ? half : inf) + nan;
}

/* Signed integers share the loops of the unsigned ones: they wrap to the same bits. */
LOOP(square_bool, uint8_t, int64_t, (v != 0))
LOOP(square_8_bits, uint8_t, uint8_t, (v * v))
LOOP(square_16_bits, uint16_t, uint16_t, (1u * v * v)) /* v * v would be an int, and overflow */
LOOP(square_32_bits, uint32_t, uint32_t, (v * v))
LOOP(square_64_bits, uint64_t, uint64_t, (v * v))
LOOP(square_half, uint16_t, uint16_t, (uint16_t)square_float16(v))
LOOP(square_float, float, float, (v * v))
LOOP(square_double, double, double, (v * v))

/* (re, im) -> (re * re - im * im, re * im + re * im), for the 32 bytes of a vector at once: the
 * compiler finds no good order for the swap of re and im by itself. */
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE(index, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else /* gcc before 12 */
#define SHUFFLE(index, a, b, ...) __builtin_shuffle(a, b, (index){__VA_ARGS__})
#endif
#define SWAP_4 1, 0, 3, 2
#define PICK_4 0, 5, 2, 7 /* re of the first, im of the second */
#define SWAP_8 1, 0, 3, 2, 5, 4, 7, 6
#define PICK_8 0, 9, 2, 11, 4, 13, 6, 15

#define COMPLEX_LOOP(name, real, integer, lanes)                                                   \
    typedef real __attribute__((vector_size(32), aligned(sizeof(real)), may_alias)) name##_vector; \
    typedef integer __attribute__((vector_size(32))) name##_index;                                 \
    VECTORS static void name(const void *input, void *output, int64_t n) {                         \
        const real *x = input;                                                                     \
        real *y = output;                                                                          \
        int64_t i = 0;                                                                             \
        for (; i + lanes <= 2 * n; i += lanes) {                                                   \
            const name##_vector z = *(const name##_vector *)(x + i);                               \
            const name##_vector w = SHUFFLE(name##_index, z, z, SWAP_##lanes);                     \
            *(name##_vector *)(y + i) =                                                            \
                SHUFFLE(name##_index, z * z - w * w, z * w + z * w, PICK_##lanes);                 \
        }                                                                                          \
        for (; i < 2 * n; i += 2) {                                                                \
            const real re = x[i], im = x[i + 1];                                                   \
            y[i] = re * re - im * im;                                                              \
            y[i + 1] = re * im + re * im;                                                          \
        }                                                                                          \
    }
COMPLEX_LOOP(square_complex_float, float, int32_t, 8)
COMPLEX_LOOP(square_complex_double, double, int64_t, 4)

int square_cpu(const void *x, void *y, int64_t n, int dtype) {
    static void (*const loop[SQUARE_DTYPES])(const void *, void *, int64_t) = {
        [SQUARE_BOOL] = square_bool,
        [SQUARE_UINT8] = square_8_bits,
        [SQUARE_INT8] = square_8_bits,
        [SQUARE_INT16] = square_16_bits,
        [SQUARE_INT32] = square_32_bits,
        [SQUARE_INT64] = square_64_bits,
        [SQUARE_FLOAT16] = square_half,
        [SQUARE_BFLOAT16] = square_bfloat,
        [SQUARE_FLOAT32] = square_float,
        [SQUARE_FLOAT64] = square_double,
        [SQUARE_COMPLEX64] = square_complex_float,
        [SQUARE_COMPLEX128] = square_complex_double,
    };
    const int error = square_check(x, y, n, dtype);
    if (error != SQUARE_OK) return error;
    if (!loop[dtype]) return SQUARE_ERROR_DTYPE;
    loop[dtype](x, y, n);
    return SQUARE_OK;
}
