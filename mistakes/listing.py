# SPDX-License-Identifier: MIT
"""A first extension as it is often printed. It has many mistakes: 03_the_listing.md mends them."""

import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "03_load_inline"))
import toolchain

with_cuda = toolchain.setup()  # finds nvcc; the listing itself begins below
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <stdint.h>

template <typename T> __global__ void square_kernel(T *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * x[i];
}

template <typename T> void square_kernel_launcher(T *x, int n) {
    square_kernel<T><<<(n + 255) / 256, 256>>>(x, n);
}
"""

cpp_source = r"""
#include <torch/extension.h>

template <typename T> void square_kernel_launcher(T *x, int n);

torch::Tensor square(torch::Tensor x) {
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "square", [&] {
        square_kernel_launcher<scalar_t>(x.data_ptr<scalar_t>(), x.numel());
    });
    return x;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("square", &square); }
"""

folder = ROOT / "mistakes" / "build"
folder.mkdir(exist_ok=True)
module = load_inline(
    name="listing",
    cpp_sources=[cpp_source],
    cuda_sources=[cuda_source],
    functions=["square"],
    extra_ldflags=toolchain.ldflags(folder),
    build_directory=str(folder),
    no_implicit_headers=True,
)

device = "cuda" if torch.cuda.is_available() else "cpu"
print("square of 1, 2, 3:", module.square(torch.tensor([1.0, 2.0, 3.0], device=device)).tolist())
if device == "cuda":
    x = torch.ones(2**31 + 5, device=device)
    x[-1] = 3
    print("the last of 2^31 + 5:", module.square(x)[-1].item())
