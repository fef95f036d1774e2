/* SPDX-License-Identifier: MIT
 * A PyTorch operator in C: tensors in and out by way of libtorch's C ABI. By hand, then import it:
 *   gcc -std=c17 -O3 -fPIC -fexceptions -DTORCH_EXTENSION_NAME=square_c -I"$PYTHON_INCLUDE" -shared \
 *       square.c square_cpu.c -L"$TORCH"/lib -ltorch_cpu -o square_c.so
 * A function here returns null, or what went wrong in words; only the operators raise it. */
#define Py_LIMITED_API 0x030A0000 /* one binary for Python 3.10 and newer */
#include <Python.h>

#include "torch_tensor.h"

#ifndef OPERATOR_NAMESPACE
#define OPERATOR_NAMESPACE "square_c" /* torch.ops.square_c.square */
#endif
#define GRAIN 32768 /* elements below which another thread costs more than it saves */

static bool aligned(const struct tensor *x) {
    return (uintptr_t)x->data % (uintptr_t)square_element_size(x->dtype) == 0;
}

struct job {
    const char *x;
    char *y;
    int dtype;
    _Atomic int error;
};

static void square_part(int64_t begin, int64_t end, void *context) {
    struct job *job = context;
    const int64_t size = square_element_size(job->dtype);
    const int64_t y_size = job->dtype == SQUARE_BOOL ? (int64_t)sizeof(int64_t) : size;
    const int error =
        square_cpu(job->x + begin * size, job->y + begin * y_size, end - begin, job->dtype);
    if (error != SQUARE_OK) job->error = error;
}

/* y: memory for the squares of x, whose elements follow each other. */
static const char *compute(const struct tensor *x, void *y) {
    int error = square_check(x->data, y, x->numel, x->dtype);
    if (error == SQUARE_OK && x->on_cpu) {
        struct job job = {.x = x->data, .y = y, .dtype = x->dtype};
        if (x->numel <= GRAIN) {
            square_part(0, x->numel, &job);
        } else {
            TRY(torch_parallel_for(0, x->numel, GRAIN, square_part, &job));
        }
        error = job.error;
    } else if (error == SQUARE_OK) {
#ifdef SQUARE_WITH_CUDA
        CUDAGuardHandle guard;
        void *stream;
        TRY(aoti_torch_create_cuda_guard(x->device, &guard)); /* x's device, whatever is current */
        const bool found = aoti_torch_get_current_cuda_stream(x->device, &stream) == 0;
        if (found) error = square_launch(x->data, y, x->numel, x->dtype, stream);
        const char *no_stream = found ? NULL : failed("libtorch found no current stream");
        TRY(aoti_torch_delete_cuda_guard(guard));
        PASS(no_stream);
#else
        error = SQUARE_ERROR_NO_CUDA;
#endif
    }
    return error == SQUARE_OK ? NULL : square_error_string(error);
}

/* Deletes a handle, if there is one; of two errors, the first counts. */
static const char *drop(AtenTensorHandle handle, const char *error) {
    if (!handle || aoti_torch_delete_tensor_object(handle) == 0 || error) return error;
    return failed("libtorch refused to delete a tensor");
}

/* Where x has gaps, overlaps or is not aligned, *copy becomes a dense one and is squared instead. */
static const char *square_new(AtenTensorHandle handle, AtenTensorHandle *y,
                              AtenTensorHandle *copy) {
    struct tensor x;
    int64_t strides[MAX_DIMS];
    void *data;
    PASS(read_tensor(handle, &x));
    if (layout_of(x.ndim, x.sizes, x.strides) == DENSE && aligned(&x)) {
        result_strides(x.ndim, x.sizes, x.strides, strides);
    } else { /* a copy has the strides of torch.square's result; but a bool's follow those of x */
        TRY(aoti_torch_clone(handle, copy));
        PASS(read_tensor(*copy, &x));
        memcpy(strides, x.strides, (size_t)x.ndim * sizeof(*strides));
        if (x.dtype == SQUARE_BOOL) result_strides(x.ndim, x.sizes, x.strides, strides);
    }
    const int32_t dtype = x.dtype == SQUARE_BOOL ? dtypes[SQUARE_INT64].number : x.torch_dtype;
    TRY(aoti_torch_empty_strided(x.ndim, x.sizes, strides, dtype, x.device_type, x.device, y));
    TRY(aoti_torch_get_data_ptr(*y, &data));
    return compute(&x, data);
}

/* lazy: a conjugate or negative view, whose memory holds something else than it shows. */
static const char *square_in_place(AtenTensorHandle handle, bool lazy, AtenTensorHandle *copy) {
    struct tensor x;
    PASS(read_tensor(handle, &x));
    const enum layout layout = layout_of(x.ndim, x.sizes, x.strides);
    if (x.dtype == SQUARE_BOOL) return "x is bool, and its square, an int64, does not fit";
    if (layout == OVERLAP)
        return "x has elements that share memory, or strides that do not rule it out; "
               "give x.clone()";
    if (layout == DENSE && aligned(&x) && !lazy) return compute(&x, x.data);
    TRY(aoti_torch_clone(handle, copy));
    PASS(read_tensor(*copy, &x));
    PASS(compute(&x, x.data));
    TRY(aoti_torch_copy_(handle, *copy, false));
    return NULL;
}

static void raise(const char *name, const char *error) {
    char text[1000];
    snprintf(text, sizeof(text), "%s: %s", name, error);
    aoti_torch_check(false, name, __FILE__, __LINE__, text);
}

/* The operators: arguments come on the stack and are ours to delete, results go there. */
static void square(StableIValue *stack, uint64_t arguments, uint64_t results) {
    (void)arguments, (void)results; /* one each: the schema says so */
    AtenTensorHandle x = (AtenTensorHandle)(uintptr_t)stack[0], y = NULL, copy = NULL;
    const char *error = square_new(x, &y, &copy);
    error = drop(x, drop(copy, error));
    if (error) raise("square", drop(y, error));
    stack[0] = (StableIValue)(uintptr_t)y;
}

static void change(StableIValue *stack, bool lazy) {
    AtenTensorHandle x = (AtenTensorHandle)(uintptr_t)stack[0], copy = NULL;
    const char *error = square_in_place(x, lazy, &copy);
    error = drop(x, drop(copy, error));
    if (error) raise("square_", error);
}

static void square_(StableIValue *stack, uint64_t arguments, uint64_t results) {
    (void)arguments, (void)results;
    change(stack, false);
}

static void square_lazy_(StableIValue *stack, uint64_t arguments, uint64_t results) {
    (void)arguments, (void)results;
    change(stack, true);
}

static const char *register_operators(void) {
    /* A function for each of PyTorch's dispatch keys. Before CPU and CUDA the dispatcher makes plain
     * copies of conjugate and negative views; square_ needs the view itself, to write to. */
    static const struct {
        const char *key;
        void (*square)(StableIValue *, uint64_t, uint64_t);
        void (*square_)(StableIValue *, uint64_t, uint64_t);
    } kernels[] = {{"CPU", square, square_},
                   {"CUDA", square, square_},
                   {"Conjugate", NULL, square_lazy_},
                   {"Negative", NULL, square_lazy_}};
    static TorchLibraryHandle library; /* never deleted: that would unregister it */
    for (int i = 0; i < DTYPES; ++i) {
        if (dtypes[i].ask) dtypes[i].number = dtypes[i].ask();
    }

    TRY(aoti_torch_library_init_fragment(OPERATOR_NAMESPACE, __FILE__, __LINE__, &library));
    TRY(aoti_torch_library_def(library, "square(Tensor x) -> Tensor"));
    TRY(aoti_torch_library_def(library, "square_(Tensor(a!) x) -> ()"));
    /* The same once more, for stage 05: these never get a derivative, and so never pay for one. */
    TRY(aoti_torch_library_def(library, "square.plain(Tensor x) -> Tensor"));
    TRY(aoti_torch_library_def(library, "square_.plain(Tensor(a!) x) -> ()"));
    for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); ++i) {
        TRY(aoti_torch_library_init_impl(OPERATOR_NAMESPACE, kernels[i].key, __FILE__, __LINE__,
                                         &library));
        TRY(aoti_torch_library_impl(library, "square_", kernels[i].square_));
        TRY(aoti_torch_library_impl(library, "square_.plain", kernels[i].square_));
        if (!kernels[i].square) continue;
        TRY(aoti_torch_library_impl(library, "square", kernels[i].square));
        TRY(aoti_torch_library_impl(library, "square.plain", kernels[i].square));
    }
    return NULL;
}

/* Python's side: a module with nothing but BUILT_WITH in it, whose import registers the operators. */
#ifndef BUILT_WITH
#define BUILT_WITH "unknown"
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b) /* expands TORCH_EXTENSION_NAME, which the build defines, first */
#define STRING_(a) #a
#define STRING(a) STRING_(a)

PyMODINIT_FUNC JOIN(PyInit_, TORCH_EXTENSION_NAME)(void) {
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                            .m_name = STRING(TORCH_EXTENSION_NAME), .m_size = -1};
    const char *error = register_operators();
    if (error) {
        PyErr_SetString(PyExc_ImportError, error);
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddStringConstant(module, "built_with", BUILT_WITH) != 0)
        Py_CLEAR(module);
    return module;
}
