/* SPDX-License-Identifier: MIT
 * PyTorch does not know the operator yet.
 *
 * twice() is there. PyTorch has to know that there is an operator `twice`, which takes one tensor x and
 * returns one, and that on the CPU it is this function. Then torch.ops.exercise.twice(x) works. The
 * functions are declared in 04_separate_files/torch_c_abi.h, and square.c there uses them. */
#include "torch_c_abi.h"

static void twice(StableIValue *stack, uint64_t arguments, uint64_t results);

/* Returns 0 if all went well. */
static int32_t register_twice(void) {
    static TorchLibraryHandle schemas, kernels;
    int32_t error = aoti_torch_library_init_fragment("exercise", __FILE__, __LINE__, &schemas);
    error |= aoti_torch_library_init_impl("exercise", "CPU", __FILE__, __LINE__, &kernels);
    error |= aoti_torch_library_def(schemas, "twice(Tensor x) -> Tensor");
    error |= aoti_torch_library_impl(kernels, "twice", twice);
    return error;
}
