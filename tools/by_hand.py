# SPDX-License-Identifier: MIT
"""The environment that the README's setup lines make, for tools that run its kind of commands."""

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "03_load_inline"))
import toolchain


def environment() -> dict[str, str]:
    """Return os.environ with CUDA_HOME, PATH, PYTHON_INCLUDE, TORCH as in the README, and PYTHON for make."""
    folders, variables = [str(Path(sys.executable).parent)], {}
    if home := toolchain.cuda_home():
        folders.append(f"{home}/bin")
        variables["CUDA_HOME"] = str(home)
    variables["PATH"] = os.pathsep.join([*folders, os.environ.get("PATH", "")])
    variables["PYTHON"] = sys.executable
    variables["PYTHON_INCLUDE"] = sysconfig.get_path("include")
    if torch := importlib.util.find_spec("torch"):
        variables["TORCH"] = str(Path(torch.origin).parent)
    if not toolchain.gpus():
        variables["TORCH_CUDA_ARCH_LIST"] = os.environ.get("TORCH_CUDA_ARCH_LIST") or toolchain.DEFAULT_ARCHS
    return {**os.environ, **variables}
