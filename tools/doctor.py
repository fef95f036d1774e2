# SPDX-License-Identifier: MIT
"""`make doctor`: what the stages need, what is here, and what mends what is missing.

doctor.py           a line for each need; 1 if something is missing that this machine needs, else 0
doctor.py --venv    silent if this Python can make .venv; else one sentence, and 1
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "03_load_inline"))
APT = "sudo apt install {}   or   sudo dnf install {}"
PIP = f"{sys.executable} -m pip install {{}}"
MAKE_INSTALLS = "PYTHON" not in os.environ  # else the environment is the user's own
HERE = sys.prefix == str(ROOT / ".venv")
GIB = 1 << 30

missing: list[str] = []


def line(need: str, found: str, cure: str = "", *, needed: bool = True) -> None:
    """Print one finding; with a cure it is something missing, which counts only if it is needed."""
    mark = "ok" if not cure else "MISSING" if needed else "-"
    print(f"{mark:8}{need:15}{found}" + (f"\n{'':23}mend it: {cure}" if cure else ""))
    if cure and needed:
        missing.append(need)


def python_lack() -> tuple[str, str] | None:
    """Return what this Python lacks to make an environment, and the cure; or None."""
    if sys.version_info < (3, 10):
        version = platform.python_version()
        return f"Python {version}; 3.10 or newer is needed", "install one, then: make run PYTHON=..."
    if any(importlib.util.find_spec(name) is None for name in ("venv", "ensurepip")):
        return "this Python has no venv and ensurepip", APT.format("python3-venv", "python3")
    return None


def first_line(*command: str | Path) -> str | None:
    """Return the first line that a program prints, or None if it does not run."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip().splitlines()[0]
    return None


def python() -> None:
    where = f"{platform.python_version()} at {sys.executable}"
    lack = python_lack() if MAKE_INSTALLS else None
    line("python, venv", lack[0] if lack else where, lack[1] if lack else "")
    header = Path(sysconfig.get_path("include")) / "Python.h"
    cure = "" if header.exists() else APT.format("python3-dev", "python3-devel")
    line("Python.h", str(header) if header.exists() else f"not in {header.parent}", cure)


def programs() -> None:
    for need, variable, packages in (
        ("gcc", "CC", ("gcc", "gcc")),
        ("g++", "CXX", ("g++", "gcc-c++")),
        ("c++", "CXX", ("g++", "gcc-c++")),
        ("make", "MAKE", ("make", "make")),
    ):
        name = (os.environ.get(variable, "").split() or [need])[0]
        path, version = shutil.which(name), first_line(name, "--version")
        number = first_line(name, "-dumpversion") if need != "make" else None
        if path and version and number and "clang" not in version.lower() and int(number.split(".")[0]) < 11:
            line(
                need, f"{version} at {path}; 11 or newer is needed", f"install one, and name it in {variable}"
            )
        elif path and version:
            line(need, f"{version} at {path}")
        else:
            line(need, f"no program {name} that runs", APT.format(*packages))


def torch() -> str | None:
    """Report torch; return the CUDA version that it was built with."""
    import toolchain

    try:
        version, cuda = toolchain.torch_versions()
    except (ModuleNotFoundError, OSError, TypeError) as error:
        if MAKE_INSTALLS:
            line("torch", "not here yet; make run and make test install it into .venv")
        else:
            line("torch", str(error), PIP.format("torch"))
        return None
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    cure = "" if numbers >= (2, 11) else PIP.format("'torch>=2.11'")
    line("torch", f"{version}, " + (f"CUDA {cuda}" if cuda else "for the CPU only"), cure)
    return cuda


def toolkit(cuda: str | None) -> bool:
    """Report nvcc, its headers and its runtime library; return whether CUDA code can be built."""
    import toolchain

    try:
        home = toolchain.cuda_home()
    except RuntimeError as error:
        line("nvcc", str(error), "unset CUDA_HOME, or set it to a CUDA toolkit")
        return False
    if home is None:
        if MAKE_INSTALLS and not HERE:
            line("nvcc", "not here yet; make run and make test install it into .venv")
            return False
        pins = re.findall(r"^nvidia-.*", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
        cure = "set CUDA_HOME, or " + PIP.format(" ".join(pins))
        line("nvcc", "no CUDA toolkit; only the half for the CPU is built", cure, needed=False)
        return False
    try:
        release = toolchain.nvcc_release(home)
    except RuntimeError:
        line("nvcc", f"{home}/bin/nvcc does not run", "set CUDA_HOME to another CUDA toolkit")
        return False
    fits = cuda is None or release.split(".")[0] == cuda.split(".")[0]
    line("nvcc", f"{release} at {home}/bin/nvcc" + (f"; torch has CUDA {cuda}" if cuda else ""),
         "" if fits else f"set CUDA_HOME to a toolkit of CUDA {cuda.split('.')[0]}")  # fmt: skip
    line("CUDA headers", f"{home}/include/cuda_runtime.h")
    whole = True
    for library in "libcudart.so*", "libcudart_static.a":
        found = sorted(path for lib in ("lib64", "lib") for path in (home / lib).glob(library))
        line("libcudart", str(found[0]) if found else f"no {library} in {home}/lib64 or lib",
             "" if found else "set CUDA_HOME to a whole CUDA toolkit")  # fmt: skip
        whole &= bool(found)
    return fits and whole


def setuptools() -> None:
    try:
        version = importlib.metadata.version("setuptools")
    except importlib.metadata.PackageNotFoundError:
        version = "0"
    if MAKE_INSTALLS and not HERE:
        line("setuptools", "make run and make test install it into .venv")
    elif int(version.split(".")[0]) < 77:
        found = "not here" if version == "0" else version
        line("setuptools", f"{found}; 77 or newer is needed", PIP.format("-U setuptools"))
    else:
        line("setuptools", version)


def ninja() -> None:
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    version = first_line("ninja", "--version")
    if version:
        line("ninja", f"{version} at {shutil.which('ninja')}")
    elif MAKE_INSTALLS and not HERE:
        line("ninja", "not here yet; make run and make test install it into .venv")
    else:
        line("ninja", "no program ninja on PATH", PIP.format("ninja"))


def devices(cuda: str | None) -> list[str]:
    """Report the driver and the GPUs; return those that this torch can use."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        line("GPU driver", "none: no GPU can be used; the stages run on the CPU")
        return []
    newest, count = ctypes.c_int(0), ctypes.c_int(0)
    if driver.cuDriverGetVersion(ctypes.byref(newest)) != 0:
        line("GPU driver", "does not answer", "install NVIDIA's driver again, and restart")
        return []
    version = f"{newest.value // 1000}.{newest.value % 1000 // 10}"
    old = cuda is not None and newest.value // 1000 < int(cuda.split(".")[0])
    cure = f"install a driver for CUDA {cuda}, or a torch for CUDA {version}" if old else ""
    line("GPU driver", f"for CUDA {version} and older" + (f"; torch has CUDA {cuda}" if old else ""), cure)
    if (error := driver.cuInit(0)) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        line("GPU", f"the driver finds none (error {error}): the stages run on the CPU")
        return []
    found = []
    for device in range(count.value):
        name, numbers = ctypes.create_string_buffer(100), []
        error = driver.cuDeviceGetName(name, 100, device)
        for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
            number = ctypes.c_int(0)
            error = error or driver.cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
            numbers.append(number.value)
        if error != 0:
            line("GPU", f"{device}: the driver does not say what it is (error {error}): not used")
            continue
        text = f"{device}: {name.value.decode()}, compute capability {numbers[0]}.{numbers[1]}"
        too_old = cuda is not None and int(cuda.split(".")[0]) >= 13 and numbers < [7, 5]
        line("GPU", text + (f"; CUDA {cuda} needs 7.5: not used" if too_old else ""))
        if not too_old and not old:
            found.append(text)
    return found


def disk() -> None:
    free, need = shutil.disk_usage(ROOT).free, 1 if (HERE or not MAKE_INSTALLS) else 8
    cure = "" if free > need * GIB else f"free {need} GiB on the disk of {ROOT}"
    line("disk space", f"{free / GIB:.0f} GiB free, {need} GiB needed", cure)


def locks() -> None:
    """Report build folders that somebody builds in, and locks that torch would wait for."""
    for held in sorted(ROOT.glob("*/build/*/.held")):
        with open(held) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                line("locks", f"{held.parent.relative_to(ROOT)}: a build is running there")
    cache = Path(os.environ.get("TORCH_EXTENSIONS_DIR") or Path.home() / ".cache/torch_extensions")
    stale = sorted(cache.glob("**/lock"))
    for lock in stale:
        what = f"{lock}: an extension may wait for it"
        line("locks", what, f"if none is being built: rm {lock}", needed=False)
    if not stale:
        line("locks", "none stale; one of a killed build in the stages' folders is cleared by the next build")


def stages(with_cuda: bool, gpus: list[str]) -> None:
    print()
    where = "GPU and CPU" if gpus else "CPU; the CUDA code is built, and waits for a GPU"
    print("01      " + (where if with_cuda else "not here: it needs a CUDA toolkit"))
    print("02..05  " + (where if with_cuda else "CPU; without a CUDA toolkit only that half is built"))


def main() -> int:
    if sys.argv[1:] == ["--venv"]:
        if lack := python_lack():
            print(f"{lack[0]}: {lack[1]}", file=sys.stderr)
        return int(lack is not None)
    python()
    programs()
    cuda = None
    installed = HERE or not MAKE_INSTALLS
    with_cuda, gpus = False, []
    if sys.version_info >= (3, 10):
        cuda = torch()
        with_cuda = toolkit(cuda)
        setuptools()
        ninja()
        gpus = devices(cuda)
    disk()
    locks()
    will_have = with_cuda and (cuda is not None) if installed else True
    stages(will_have, gpus)
    if missing:
        print(f"\nmissing: {', '.join(missing)}")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
