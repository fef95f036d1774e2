/* SPDX-License-Identifier: MIT
 * The C interface of the square library: one declaration for C17, CUDA C++, C++ and ctypes. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" { /* C++ would mangle the names, and neither C nor ctypes would find them */
#endif

/* Element types. A bool is one byte and its square an int64; a complex number is two numbers. */
enum square_dtype {
    SQUARE_BOOL,
    SQUARE_UINT8,
    SQUARE_INT8,
    SQUARE_INT16,
    SQUARE_INT32,
    SQUARE_INT64,
    SQUARE_FLOAT16,
    SQUARE_BFLOAT16,
    SQUARE_FLOAT32,
    SQUARE_FLOAT64,
    SQUARE_COMPLEX32, /* on the device only, as in PyTorch */
    SQUARE_COMPLEX64,
    SQUARE_COMPLEX128,
    SQUARE_DTYPES /* how many there are */
};

/* What a function here returns: 0, one of these, or a positive number, which is a cudaError_t. */
enum square_error {
    SQUARE_OK = 0,
    SQUARE_ERROR_DTYPE = -1,     /* not an element type, or not one for this memory */
    SQUARE_ERROR_NULL = -2,      /* x or y is null, and n is not 0 */
    SQUARE_ERROR_SIZE = -3,      /* n is negative, or too large for the address space or a grid */
    SQUARE_ERROR_ALIGNMENT = -4, /* x or y is not a multiple of its element's size */
    SQUARE_ERROR_OVERLAP = -5,   /* x and y overlap and are not the same */
    SQUARE_ERROR_NO_CUDA = -6    /* the library was built without CUDA */
};

/* y[i] = x[i] * x[i] for n contiguous elements in memory of the current device, y may be x.
 * Returns once the kernel is queued on `stream` (a cudaStream_t; null is the default stream). An
 * error means that nothing was queued, and nothing is written. */
int square_launch(const void *x, void *y, int64_t n, int dtype, void *stream);

/* The same for memory of the host; the squares are there when it returns. */
int square_cpu(const void *x, void *y, int64_t n, int dtype);

/* What both ask of their arguments before they touch memory. */
int square_check(const void *x, const void *y, int64_t n, int dtype);

/* Bytes of an element of x, and of y but for a bool's; 0 if dtype is none of the above. */
int64_t square_element_size(int dtype);

/* `error` in words. The text is the thread's own, and holds until its next call. */
const char *square_error_string(int error);

#ifdef __cplusplus
}
#endif
