# SPDX-License-Identifier: MIT
"""What setup.py needs, looked at before anything is compiled: each lack is one message with its cure."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

INSTALL = "pip install --no-build-isolation ."
# A wheel travels: machine code for each generation of GPU, and PTX for those to come.
ARCHS = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")


def stop(message: str) -> None:
    sys.exit(f"\ntorch_square cannot be built: {message}\n")


def compiler() -> None:
    """Stop where there is no C or C++ compiler, or a gcc older than 11."""
    for variable, fallback in (("CC", "cc"), ("CXX", "c++")):
        named = os.environ.get(variable, "").split()
        command = (named or (sysconfig.get_config_var(variable) or fallback).split())[0]
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


def sources() -> None:
    """Stop where a link leads nowhere or became a text, and where a build could not write."""
    here = Path(__file__).resolve().parent
    for file in (here / "toolchain.py", *(here / "csrc").rglob("*")):
        if not file.exists() or (file.is_file() and file.read_bytes().startswith(b"../")):
            stop(
                f"{file} is a link to a file of the other stages, which is not there. Build in the whole "
                "repository, on a file system that has symbolic links, or in a copy made with cp -rL."
            )
    for folder in (here, here / "src"):
        if not os.access(folder, os.W_OK):
            stop(f"{folder} cannot be written to, as a build does. Build in a copy made with cp -rL.")


def setuptools() -> None:
    """Stop where setuptools is too old for pyproject.toml: without isolation pip does not look."""
    import setuptools

    version = setuptools.__version__
    if int(version.partition(".")[0]) < 77:
        stop(f"it needs setuptools 77 or newer, and this is {version}: pip install -U setuptools")


def cuda() -> bool:
    """Return whether CUDA code can be built, and say why not; stop where toolkit and torch differ."""
    import toolchain

    try:
        with_cuda = toolchain.can_build_cuda()
        if with_cuda:
            os.environ["CUDA_HOME"] = str(toolchain.cuda_home())
            architectures(toolchain)
    except RuntimeError as error:
        stop(f"RuntimeError: {error}")
    if not with_cuda:
        lack = "no CUDA toolkit was found" if toolchain.torch_versions()[1] else "this torch has no CUDA"
        print(f"torch_square: {lack}, so only the half for the CPU is built", file=sys.stderr)
    return with_cuda


def architectures(toolchain) -> None:
    """Stop where TORCH_CUDA_ARCH_LIST has what nvcc does not know; unset, it gets what it knows of ARCHS."""
    nvcc = os.environ["CUDA_HOME"] + "/bin/nvcc"
    listed = subprocess.run([nvcc, "--list-gpu-arch"], capture_output=True, text=True, check=True).stdout
    known = re.findall(r"compute_(\d+)", listed)
    if not os.environ.get("TORCH_CUDA_ARCH_LIST"):
        ours = [arch for arch in ARCHS if arch.replace(".", "") in known]
        os.environ["TORCH_CUDA_ARCH_LIST"] = ";".join(ours) + "+PTX"
    for number in re.findall(r"arch=compute_(\d+)", toolchain.nvcc_archs()):
        if number not in known:
            stop(
                f"TORCH_CUDA_ARCH_LIST has {number[:-1]}.{number[-1]}, which {nvcc} does not know. It knows "
                + ", ".join(f"{n[:-1]}.{n[-1]}" for n in known)
            )


def check() -> bool:
    """Return whether CUDA code is to be built; leave with a message if nothing can be."""
    sources()
    setuptools()
    compiler()
    torch()
    return cuda()
