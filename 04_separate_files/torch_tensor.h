/* SPDX-License-Identifier: MIT
 * What a handle says of its tensor, asked through libtorch's C ABI, with every answer checked.
 * A function here returns null, or what went wrong in words. */
#pragma once
#include "square_launch.h"
#include "tensor_layout.h"
#include "torch_c_abi.h"
#include <stdio.h>

static inline const char *failed(const char *call) {
    return torch_exception_get_what_without_backtrace ? torch_exception_get_what_without_backtrace()
                                                      : call;
}
#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != 0) return failed("libtorch refused " #call);                                 \
    } while (0)
#define PASS(call)                                                                                 \
    do {                                                                                           \
        const char *const error = (call);                                                          \
        if (error) return error;                                                                   \
    } while (0)

/* PyTorch's dtypes: those of enum square_dtype, and behind them others to name in a refusal. */
#define NAMED(name) {aoti_torch_dtype_##name, #name, 0}
static struct {
    int32_t (*ask)(void);
    const char *name;
    int32_t number; /* PyTorch's; torch 2.11 has no function to ask for the last one */
} dtypes[] = {[SQUARE_BOOL] = NAMED(bool),
              [SQUARE_UINT8] = NAMED(uint8),
              [SQUARE_INT8] = NAMED(int8),
              [SQUARE_INT16] = NAMED(int16),
              [SQUARE_INT32] = NAMED(int32),
              [SQUARE_INT64] = NAMED(int64),
              [SQUARE_FLOAT16] = NAMED(float16),
              [SQUARE_BFLOAT16] = NAMED(bfloat16),
              [SQUARE_FLOAT32] = NAMED(float32),
              [SQUARE_FLOAT64] = NAMED(float64),
              [SQUARE_COMPLEX32] = NAMED(complex32),
              [SQUARE_COMPLEX64] = NAMED(complex64),
              [SQUARE_COMPLEX128] = NAMED(complex128),
              NAMED(uint16),
              NAMED(uint32),
              NAMED(uint64),
              NAMED(float8_e5m2),
              NAMED(float8_e4m3fn),
              NAMED(float8_e5m2fnuz),
              NAMED(float8_e4m3fnuz),
              {NULL, "float8_e8m0fnu", 44}};
enum { DTYPES = sizeof(dtypes) / sizeof(*dtypes) };

/* A copy of what a tensor says of itself: another thread may resize it meanwhile. */
struct tensor {
    void *data;
    int64_t numel, ndim, sizes[MAX_DIMS], strides[MAX_DIMS];
    int32_t torch_dtype, device_type, device;
    int dtype; /* enum square_dtype */
    bool on_cpu;
};

static inline const char *read_tensor(AtenTensorHandle handle, struct tensor *t) {
    static _Thread_local char refusal[200];
    int64_t *sizes, *strides, offset, bytes;
    TRY(aoti_torch_get_data_ptr(handle, &t->data));
    TRY(aoti_torch_get_dim(handle, &t->ndim));
    TRY(aoti_torch_get_sizes(handle, &sizes));
    TRY(aoti_torch_get_strides(handle, &strides));
    TRY(aoti_torch_get_storage_offset(handle, &offset));
    TRY(aoti_torch_get_storage_size(handle, &bytes));
    TRY(aoti_torch_get_dtype(handle, &t->torch_dtype));
    TRY(aoti_torch_get_device_type(handle, &t->device_type));
    TRY(aoti_torch_get_device_index(handle, &t->device));
    t->on_cpu = t->device_type == aoti_torch_device_type_cpu();
    if (t->ndim > MAX_DIMS) return "x has more than 64 dimensions";
    uint64_t numel = 1; /* may wrap on the way to the 0 of an empty tensor */
    for (int64_t d = 0; d < t->ndim; ++d) {
        numel *= (uint64_t)(t->sizes[d] = sizes[d]);
        t->strides[d] = strides[d];
    }
    t->numel = (int64_t)numel;

    int i = 0;
    while (i < DTYPES && dtypes[i].number != t->torch_dtype) ++i;
    t->dtype = i;
    if (i < SQUARE_DTYPES && !(t->on_cpu && i == SQUARE_COMPLEX32)) {
        const int64_t size = square_element_size(i);
        if (t->numel == 0 || (offset + reach_of(t->ndim, t->sizes, t->strides)) * size <= bytes)
            return NULL;
        return "x has lost memory: its storage was freed or made smaller";
    }
    snprintf(refusal, sizeof(refusal),
             "x is %s; taken are bool, uint8, int8 to int64, float16, bfloat16, float32, "
             "float64, complex64, complex128 and, on a GPU, complex32",
             i < DTYPES ? dtypes[i].name : "of an unknown dtype");
    return refusal;
}
