// SPDX-License-Identifier: MIT
// The loop believes everything: ask before it runs.
//
// twice() is right for contiguous float32 tensors on the CPU, and for no others. Raise an error, with
// TORCH_CHECK, for each of the three ways in which x can be something else. The text says what x is.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/utils/pybind.h>

at::Tensor twice(const at::Tensor &x) {
    // TODO: the checks
    at::Tensor y = at::empty(x.sizes(), x.options());
    const float *in = static_cast<const float *>(x.const_data_ptr());
    float *out = static_cast<float *>(y.mutable_data_ptr());
    for (int64_t i = 0; i < y.numel(); ++i) out[i] = 2 * in[i];
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("twice", &twice); }
