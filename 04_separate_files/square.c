/* SPDX-License-Identifier: MIT
 * A PyTorch operator in C: tensors in and out by way of libtorch's C ABI. By hand, then import it:
 *   gcc -std=c17 -O3 -fPIC -fexceptions -DTORCH_EXTENSION_NAME=square_c -I"$PYTHON_INCLUDE" -shared \
 *       square.c square_cpu.c -o square_c.so          (torch is loaded first, and has the rest)
 * A function here returns null, or what went wrong in words; only the operators raise it. */
#define Py_LIMITED_API 0x030A0000 /* one binary for Python 3.10 and newer */
#include <Python.h>

#include "square_launch.h"
#include "torch_c_abi.h"
#include <string.h>

#ifndef OPERATOR_NAMESPACE
#define OPERATOR_NAMESPACE "square_c" /* torch.ops.square_c.square */
#endif
#define MAX_DIMS 64 /* as many as PyTorch's own loops take */
#define GRAIN 32768 /* elements below which another thread costs more than it saves */

static const char *failed(const char *call) {
    return torch_exception_get_what_without_backtrace
               ? torch_exception_get_what_without_backtrace()
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

struct tensor {
    void *data;
    int64_t numel, ndim, *sizes, *strides;
    int32_t torch_dtype, device_type, device;
    int dtype; /* enum square_dtype */
};

static int32_t torch_dtypes[SQUARE_DTYPES]; /* PyTorch's number of each of ours */

static const char *read_tensor(AtenTensorHandle handle, struct tensor *t) {
    TRY(aoti_torch_get_data_ptr(handle, &t->data));
    TRY(aoti_torch_get_numel(handle, &t->numel));
    TRY(aoti_torch_get_dim(handle, &t->ndim));
    TRY(aoti_torch_get_sizes(handle, &t->sizes));
    TRY(aoti_torch_get_strides(handle, &t->strides));
    TRY(aoti_torch_get_dtype(handle, &t->torch_dtype));
    TRY(aoti_torch_get_device_type(handle, &t->device_type));
    TRY(aoti_torch_get_device_index(handle, &t->device));
    if (t->ndim > MAX_DIMS) return "square: x has more than 64 dimensions";
    for (t->dtype = 0; t->dtype < SQUARE_DTYPES; ++t->dtype) {
        if (torch_dtypes[t->dtype] == t->torch_dtype) return NULL;
    }
    return "square: x has a dtype that is not taken; taken are bool, uint8, int8 to int64, float16, "
           "bfloat16, float32, float64, complex64, complex128 and, on a GPU, complex32";
}

/* How n elements lie in memory: without a gap, with gaps, or some on top of others. */
enum layout { DENSE, GAPS, OVERLAP };

static enum layout layout_of(const struct tensor *t) {
    int64_t order[MAX_DIMS], count = 0, span = 1;
    enum layout layout = DENSE;
    if (t->numel == 0) return DENSE;
    for (int64_t d = 0; d < t->ndim; ++d) { /* by stride; a dimension of one element has none */
        if (t->sizes[d] == 1) continue;
        int64_t at = count++;
        for (; at > 0 && t->strides[order[at - 1]] > t->strides[d]; --at) order[at] = order[at - 1];
        order[at] = d;
    }
    for (int64_t i = 0; i < count; ++i) {
        const int64_t stride = t->strides[order[i]];
        if (stride < span) return OVERLAP;
        if (stride > span) layout = GAPS;
        span += stride * (t->sizes[order[i]] - 1);
    }
    return layout;
}

/* Strides of a dense tensor whose dimensions follow each other in `order`, from the last; true if
 * they are those of t, but for dimensions of one element. */
static bool dense_strides(const struct tensor *t, const int64_t *order, int64_t *strides) {
    bool same = true;
    int64_t next = 1;
    for (int64_t i = t->ndim - 1; i >= 0; --i) {
        const int64_t d = order ? order[i] : i;
        strides[d] = next;
        if (t->sizes[d] != 1 && t->strides[d] != next) same = false;
        if (t->sizes[d] > 1) next *= t->sizes[d];
    }
    return same || t->numel == 0;
}

/* The strides that torch.square gives its result for a dense x. */
static void result_strides(const struct tensor *x, int64_t *strides) {
    static const int64_t channels_last[] = {0, 2, 3, 1};
    if (dense_strides(x, NULL, strides)) return;
    if (x->ndim == 4 && dense_strides(x, channels_last, strides)) return;
    memcpy(strides, x->strides, (size_t)x->ndim * sizeof(*strides));
}

struct job {
    const char *x;
    char *y;
    int64_t in_size, out_size;
    int dtype;
    _Atomic int error;
};

static void square_part(int64_t begin, int64_t end, void *context) {
    struct job *job = context;
    const int error = square_cpu(job->x + begin * job->in_size, job->y + begin * job->out_size,
                                 end - begin, job->dtype);
    if (error != SQUARE_OK) job->error = error;
}

/* y: memory for the squares of x, whose elements follow each other. */
static const char *compute(const struct tensor *x, void *y) {
    int error = square_check(x->data, y, x->numel, x->dtype);
    if (error == SQUARE_OK && x->device_type == aoti_torch_device_type_cpu()) {
        const int64_t size = square_element_size(x->dtype);
        struct job job = {x->data, y, size, x->dtype == SQUARE_BOOL ? 8 : size, x->dtype, SQUARE_OK};
        TRY(torch_parallel_for(0, x->numel, GRAIN, square_part, &job));
        error = job.error;
    } else if (error == SQUARE_OK) {
#ifdef SQUARE_WITH_CUDA
        CUDAGuardHandle guard;
        void *stream;
        TRY(aoti_torch_create_cuda_guard(x->device, &guard)); /* x's device, whatever is current */
        const int32_t no_stream = aoti_torch_get_current_cuda_stream(x->device, &stream);
        if (!no_stream) error = square_launch(x->data, y, x->numel, x->dtype, stream);
        TRY(aoti_torch_delete_cuda_guard(guard));
        TRY(no_stream);
#else
        error = SQUARE_ERROR_NO_CUDA;
#endif
    }
    return error == SQUARE_OK ? NULL : square_error_string(error);
}

static bool aligned(const struct tensor *x) {
    return (uintptr_t)x->data % (uintptr_t)square_element_size(x->dtype) == 0;
}

/* Where x has gaps, overlaps or is not aligned, *copy becomes a dense one and is squared instead. */
static const char *square_new(AtenTensorHandle handle, AtenTensorHandle *y, AtenTensorHandle *copy) {
    struct tensor x;
    int64_t strides[MAX_DIMS];
    void *data;
    PASS(read_tensor(handle, &x));
    if (layout_of(&x) == DENSE && aligned(&x)) {
        result_strides(&x, strides);
    } else { /* a copy gets the strides that torch.square would choose */
        TRY(aoti_torch_clone(handle, copy));
        PASS(read_tensor(*copy, &x));
        memcpy(strides, x.strides, (size_t)x.ndim * sizeof(*strides));
    }
    const int32_t dtype = x.dtype == SQUARE_BOOL ? torch_dtypes[SQUARE_INT64] : x.torch_dtype;
    TRY(aoti_torch_empty_strided(x.ndim, x.sizes, strides, dtype, x.device_type, x.device, y));
    TRY(aoti_torch_get_data_ptr(*y, &data));
    return compute(&x, data);
}

static const char *square_in_place(AtenTensorHandle handle, AtenTensorHandle *copy) {
    struct tensor x;
    PASS(read_tensor(handle, &x));
    const enum layout layout = layout_of(&x);
    if (x.dtype == SQUARE_BOOL) return "square_: x is bool, and its square, an int64, does not fit";
    if (layout == OVERLAP) return "square_: x has elements that share memory; give x.clone()";
    if (layout == DENSE && aligned(&x)) return compute(&x, x.data);
    TRY(aoti_torch_clone(handle, copy));
    PASS(read_tensor(*copy, &x));
    PASS(compute(&x, x.data));
    TRY(aoti_torch_copy_(handle, *copy, false));
    return NULL;
}

/* Deletes a handle, if there is one; of two errors, the first counts. */
static const char *drop(AtenTensorHandle handle, const char *error) {
    if (!handle || aoti_torch_delete_tensor_object(handle) == 0 || error) return error;
    return failed("libtorch refused to delete a tensor");
}

static void raise(const char *error) {
    aoti_torch_check(error == NULL, "square", __FILE__, __LINE__, error);
}

/* The operators: arguments come on the stack and are ours to delete, results go there. */
static void square(StableIValue *stack, uint64_t arguments, uint64_t results) {
    (void)arguments, (void)results; /* one each: the schema says so */
    AtenTensorHandle x = (AtenTensorHandle)(uintptr_t)stack[0], y = NULL, copy = NULL;
    const char *error = square_new(x, &y, &copy);
    error = drop(x, drop(copy, error));
    if (error) raise(drop(y, error));
    stack[0] = (StableIValue)(uintptr_t)y;
}

static void square_(StableIValue *stack, uint64_t arguments, uint64_t results) {
    (void)arguments, (void)results;
    AtenTensorHandle x = (AtenTensorHandle)(uintptr_t)stack[0], copy = NULL;
    const char *error = square_in_place(x, &copy);
    error = drop(x, drop(copy, error));
    if (error) raise(error);
}

static const char *register_operators(void) {
    static TorchLibraryHandle schemas, kernels[2]; /* never deleted: that would unregister them */
    static const char *const devices[] = {"CPU", "CUDA"};
    static int32_t (*const dtypes[SQUARE_DTYPES])(void) = {
        aoti_torch_dtype_bool,     aoti_torch_dtype_uint8,     aoti_torch_dtype_int8,
        aoti_torch_dtype_int16,    aoti_torch_dtype_int32,     aoti_torch_dtype_int64,
        aoti_torch_dtype_float16,  aoti_torch_dtype_bfloat16,  aoti_torch_dtype_float32,
        aoti_torch_dtype_float64,  aoti_torch_dtype_complex32, aoti_torch_dtype_complex64,
        aoti_torch_dtype_complex128};
    for (int i = 0; i < SQUARE_DTYPES; ++i) torch_dtypes[i] = dtypes[i]();

    TRY(aoti_torch_library_init_fragment(OPERATOR_NAMESPACE, __FILE__, __LINE__, &schemas));
    TRY(aoti_torch_library_def(schemas, "square(Tensor x) -> Tensor"));
    TRY(aoti_torch_library_def(schemas, "square_(Tensor(a!) x) -> ()"));
    for (int i = 0; i < 2; ++i) {
        TRY(aoti_torch_library_init_impl(OPERATOR_NAMESPACE, devices[i], __FILE__, __LINE__,
                                         &kernels[i]));
        TRY(aoti_torch_library_impl(kernels[i], "square", square));
        TRY(aoti_torch_library_impl(kernels[i], "square_", square_));
    }
    return NULL;
}

/* Python's side: an empty module, whose import registers the operators. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b) /* expands TORCH_EXTENSION_NAME, which the build defines, first */
#define STRING_(a) #a
#define STRING(a) STRING_(a)

PyMODINIT_FUNC JOIN(PyInit_, TORCH_EXTENSION_NAME)(void) {
    static struct PyModuleDef module = {PyModuleDef_HEAD_INIT,
                                        .m_name = STRING(TORCH_EXTENSION_NAME), .m_size = -1};
    const char *error = register_operators();
    if (error) {
        PyErr_SetString(PyExc_ImportError, error);
        return NULL;
    }
    return PyModule_Create(&module);
}
