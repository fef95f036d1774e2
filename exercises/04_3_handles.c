/* SPDX-License-Identifier: MIT
 * Who deletes which handle, and what is returned?
 *
 * twice() gets the handle of x on the stack, and makes a copy y, in which all values are doubled. The
 * caller expects the handle of the result in stack[0]; and the handle of x is ours. */
#include "torch_c_abi.h"

static void must(int32_t error);            /* raises if a call of libtorch did not return 0 */
static void double_all(AtenTensorHandle y); /* doubles the values of y, a dense float32 tensor */

static void twice(StableIValue *stack, uint64_t arguments, uint64_t results) {
    (void)arguments, (void)results; /* one each */
    AtenTensorHandle x = (AtenTensorHandle)(uintptr_t)stack[0], y = NULL;
    must(aoti_torch_clone(x, &y));
    double_all(y);
    /* TODO: return y, and leave nothing behind */
}
