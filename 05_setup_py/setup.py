# SPDX-License-Identifier: MIT
"""Builds torch_square._C ahead of time, from C and CUDA:  pip install --no-build-isolation .

Against the torch that is installed, for the GPUs that TORCH_CUDA_ARCH_LIST names. Without a CUDA
toolkit, or with a torch without CUDA, the half for the CPU is built.
"""

import os
import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).resolve().parent))  # pip runs this file from elsewhere
import preflight

with_cuda = preflight.check()
import toolchain
import torch
from torch.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension

archs = os.environ.get("TORCH_CUDA_ARCH_LIST") if with_cuda else None
cuda = torch.version.cuda if with_cuda else None
built_with = f"torch={torch.__version__},CUDA={cuda},architectures={archs}"
macros = [("OPERATOR_NAMESPACE", '"torch_square"'), ("BUILT_WITH", f'"{built_with}"')]
# -g0, because Python's own flags may ask for debug information, which names the builder's folders.
c_flags = "-std=c17 -O3 -g0 -funroll-loops -ffp-contract=off -fexceptions -Wall -Wextra".split()
folder = toolchain.build_folder(Path("."))  # of this Python, torch and CUDA
extension = (CUDAExtension if with_cuda else CppExtension)(
    name="torch_square._C",
    sources=["csrc/square.c", "csrc/square_cpu.c"] + ["csrc/square_launch.cu"] * with_cuda,
    define_macros=macros + [("SQUARE_WITH_CUDA", None)] * with_cuda,
    extra_compile_args={"cxx": c_flags, "nvcc": ["-O3"]},
    extra_link_args=toolchain.ldflags(folder),
    py_limited_api=True,
)
with toolchain.building(folder, "05: torch_square"):  # one build at a time in this folder
    setup(
        ext_modules=[extension],
        # With ninja, a .c file would be compiled as C++.
        cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False)},
        # Always from scratch: objects know nothing of the headers they were made from.
        options={
            "bdist_wheel": {"py_limited_api": "cp310"},
            "build": {"build_base": str(folder), "force": True},
        },
    )
