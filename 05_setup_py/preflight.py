# SPDX-License-Identifier: MIT
"""What setup.py needs, looked at before anything is compiled: each lack is one message with its cure."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig

INSTALL = "pip install --no-build-isolation ."
# A wheel travels: machine code for each generation of GPU, and PTX for those to come.
ARCHS = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")


def stop(message: str) -> None:
    sys.exit(f"\ntorch_square cannot be built: {message}\n")


def compiler() -> None:
    """Stop where there is no C or C++ compiler, or a gcc older than 11."""
    for variable, fallback in (("CC", "cc"), ("CXX", "c++")):
        command = (os.environ.get(variable) or sysconfig.get_config_var(variable) or fallback).split()[0]
        path = shutil.which(command)
        if path is None:
            stop(f"there is no compiler {command!r}. Install gcc and g++, or name yours in CC and CXX.")
        macros = subprocess.run([path, "-dM", "-E", "-xc", os.devnull], capture_output=True, text=True).stdout
        gcc = re.search(r"__GNUC__ (\d+)", macros)
        if gcc and "__clang__" not in macros and int(gcc[1]) < 11:
            stop(f"{command} is gcc {gcc[1]}, and gcc 11 or newer is needed; name another in CC and CXX.")


def torch() -> None:
    """Stop where torch is missing, or hidden by pip's build isolation, or too old."""
    if importlib.util.find_spec("torch") is None:
        stop(
            "it is built against the torch that is installed, and there is none here. pip hides it "
            f"unless it is told not to: {INSTALL}\nIf there is none yet: pip install torch setuptools wheel"
        )
    import torch

    if torch.__version__ < (2, 11):
        stop(f"it needs torch 2.11 or newer, and this is torch {torch.__version__}: pip install -U torch")


def cuda() -> bool:
    """Return whether CUDA code can be built, and say why not; stop where toolkit and torch differ."""
    import toolchain

    try:
        with_cuda = toolchain.can_build_cuda()
    except RuntimeError as error:
        stop(f"RuntimeError: {error}")
    if with_cuda:
        os.environ["CUDA_HOME"] = str(toolchain.cuda_home())
        os.environ.setdefault("TORCH_CUDA_ARCH_LIST", archs(os.environ["CUDA_HOME"]))
    else:
        lack = "no CUDA toolkit was found" if toolchain.torch_versions()[1] else "this torch has no CUDA"
        print(f"torch_square: {lack}, so only the half for the CPU is built", file=sys.stderr)
    return with_cuda


def archs(home: str) -> str:
    """Return the architectures of ARCHS that this nvcc knows, the last one as PTX too."""
    nvcc = [f"{home}/bin/nvcc", "--list-gpu-arch"]
    known = subprocess.run(nvcc, capture_output=True, text=True, check=True).stdout.split()
    return ";".join(arch for arch in ARCHS if "compute_" + arch.replace(".", "") in known) + "+PTX"


def check() -> bool:
    """Return whether CUDA code is to be built; leave with a message if nothing can be."""
    compiler()
    torch()
    return cuda()
