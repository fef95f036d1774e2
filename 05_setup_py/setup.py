# SPDX-License-Identifier: MIT
"""Builds torch_square._C ahead of time, from C and CUDA:  pip install --no-build-isolation .

Against the torch that is installed, for the GPUs that TORCH_CUDA_ARCH_LIST names. Without a CUDA
toolkit, or with a torch without CUDA, the host half is built.
"""

import os
import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).resolve().parent))  # pip runs this file from elsewhere
import toolchain

# A wheel travels: machine code for each generation of GPU, and PTX for those to come.
os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "7.5;8.0;8.6;8.9;9.0;10.0;12.0+PTX")
with_cuda = toolchain.setup()
folder = toolchain.build_folder(Path("."))
from torch.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension  # noqa: E402

extension = (CUDAExtension if with_cuda else CppExtension)(
    name="torch_square._C",
    sources=["csrc/square.c", "csrc/square_cpu.c"] + ["csrc/square_launch.cu"] * with_cuda,
    define_macros=[("OPERATOR_NAMESPACE", '"torch_square"')] + [("SQUARE_WITH_CUDA", None)] * with_cuda,
    extra_compile_args={
        "cxx": ["-std=c17", "-O3", "-ffp-contract=off", "-fexceptions", "-Wall", "-Wextra"],
        "nvcc": ["-O3"],
    },
    extra_link_args=toolchain.ldflags(folder),
    py_limited_api=True,
)
setup(
    ext_modules=[extension],
    # With ninja, a .c file would be compiled as C++.
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False)},
    options={
        "bdist_wheel": {"py_limited_api": "cp310"},
        # Always from scratch, in a folder of this torch's own: objects know nothing of headers.
        "build": {"build_base": str(folder), "force": True},
    },
)
