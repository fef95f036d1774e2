/* SPDX-License-Identifier: MIT
 * The functions of libtorch's stable C ABI that square.c calls. PyTorch declares them in
 *   torch/csrc/inductor/aoti_torch/c/shim.h   and   torch/csrc/stable/c/shim.h
 * in headers that only C++ can read, so they are declared here once more, for C; a test compares
 * the two. An int32_t that a function returns is 0 if all went well. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef struct AtenTensorOpaque *AtenTensorHandle; /* owned: whoever has it deletes it */
typedef struct TorchLibraryOpaque *TorchLibraryHandle;
typedef struct CUDAGuardOpaque *CUDAGuardHandle;
typedef uint64_t StableIValue; /* an argument or a result; here always a tensor's handle */

/* Registering an operator */
int32_t aoti_torch_library_init_fragment(const char *ns, const char *file, uint32_t line,
                                         TorchLibraryHandle *ret_new_torch_lib);
int32_t aoti_torch_library_init_impl(const char *ns, const char *k, const char *file, uint32_t line,
                                     TorchLibraryHandle *ret_new_torch_lib);
int32_t aoti_torch_library_def(TorchLibraryHandle self, const char *schema);
int32_t aoti_torch_library_impl(TorchLibraryHandle self, const char *name,
                                void (*fn)(StableIValue *, uint64_t, uint64_t));

/* Reading a tensor; what the pointers point to belongs to the tensor */
int32_t aoti_torch_get_data_ptr(AtenTensorHandle tensor, void **ret_data_ptr);
int32_t aoti_torch_get_dim(AtenTensorHandle tensor, int64_t *ret_dim);
int32_t aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t **ret_sizes);
int32_t aoti_torch_get_strides(AtenTensorHandle tensor, int64_t **ret_strides);
int32_t aoti_torch_get_storage_offset(AtenTensorHandle tensor, int64_t *ret_storage_offset);
int32_t aoti_torch_get_storage_size(AtenTensorHandle tensor, int64_t *ret_size);
int32_t aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t *ret_dtype);
int32_t aoti_torch_get_device_type(AtenTensorHandle tensor, int32_t *ret_device_type);
int32_t aoti_torch_get_device_index(AtenTensorHandle tensor, int32_t *ret_device_index);
int32_t aoti_torch_device_type_cpu(void);

/* Making, copying and deleting one */
int32_t aoti_torch_empty_strided(int64_t ndim, const int64_t *sizes_ptr, const int64_t *strides_ptr,
                                 int32_t dtype, int32_t device_type, int32_t device_index,
                                 AtenTensorHandle *ret_new_tensor);
int32_t aoti_torch_clone(AtenTensorHandle self, AtenTensorHandle *ret);
int32_t aoti_torch_copy_(AtenTensorHandle self, AtenTensorHandle src, int32_t non_blocking);
int32_t aoti_torch_delete_tensor_object(AtenTensorHandle tensor);

/* The numbers of the dtypes */
int32_t aoti_torch_dtype_bool(void);
int32_t aoti_torch_dtype_uint8(void);
int32_t aoti_torch_dtype_int8(void);
int32_t aoti_torch_dtype_int16(void);
int32_t aoti_torch_dtype_int32(void);
int32_t aoti_torch_dtype_int64(void);
int32_t aoti_torch_dtype_float16(void);
int32_t aoti_torch_dtype_bfloat16(void);
int32_t aoti_torch_dtype_float32(void);
int32_t aoti_torch_dtype_float64(void);
int32_t aoti_torch_dtype_complex32(void);
int32_t aoti_torch_dtype_complex64(void);
int32_t aoti_torch_dtype_complex128(void);
int32_t aoti_torch_dtype_uint16(void);
int32_t aoti_torch_dtype_uint32(void);
int32_t aoti_torch_dtype_uint64(void);
int32_t aoti_torch_dtype_float8_e5m2(void);
int32_t aoti_torch_dtype_float8_e4m3fn(void);
int32_t aoti_torch_dtype_float8_e5m2fnuz(void);
int32_t aoti_torch_dtype_float8_e4m3fnuz(void);

/* PyTorch's own threads: func(begin, end, ctx) for parts of the range, each at least grain_size */
int32_t torch_parallel_for(int64_t begin, int64_t end, int64_t grain_size,
                           void (*func)(int64_t begin, int64_t end, void *ctx), void *ctx);

/* The GPU; these live in libtorch_cuda */
int32_t aoti_torch_create_cuda_guard(int32_t device_index, CUDAGuardHandle *ret_guard);
int32_t aoti_torch_delete_cuda_guard(CUDAGuardHandle guard);
int32_t aoti_torch_get_current_cuda_stream(int32_t device_index, void **ret_stream);

/* Raises msg as a RuntimeError if cond is false: throws through the C frames above it, which are
 * compiled with -fexceptions for that. */
void aoti_torch_check(bool cond, const char *func, const char *file, uint32_t line,
                      const char *msg);
/* The text of this thread's last error. Weak: null before torch 2.13. */
__attribute__((weak)) const char *torch_exception_get_what_without_backtrace(void);
