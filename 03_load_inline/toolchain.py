# SPDX-License-Identifier: MIT
"""Finds what a build needs, and keeps builds out of each other's way. Used by stages 03 to 05.

Run as a program it prints what the Makefile wants to know, as Make variables.
"""

import contextlib
import ctypes
import fcntl
import importlib.util
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

DEFAULT_ARCHS = "9.0+PTX"  # where TORCH_CUDA_ARCH_LIST is unset and no GPU can be asked


def _is_home(folder: Path) -> bool:
    return (folder / "bin/nvcc").exists() and (folder / "include/cuda_runtime.h").exists()


def cuda_home() -> Path | None:
    """Return the root of the CUDA toolkit: $CUDA_HOME, this Python's packages, nvcc's, or None.

    Raises RuntimeError if $CUDA_HOME is set and holds no toolkit.
    """
    if named := os.environ.get("CUDA_HOME"):
        if not _is_home(Path(named)):
            raise RuntimeError(f"CUDA_HOME is {named}, which holds no bin/nvcc and include/cuda_runtime.h")
        return Path(named)
    homes = [Path(sysconfig.get_path("purelib")) / "nvidia/cu13"]
    if nvcc := shutil.which("nvcc"):
        homes.append(Path(nvcc).resolve().parent.parent)
    homes.append(Path("/usr/local/cuda"))
    return next((home for home in homes if _is_home(home)), None)


def nvcc_release(home: Path) -> str:
    """Return the release of home's nvcc, such as "13.0". Raises RuntimeError if it does not run."""
    try:
        answer = subprocess.run([home / "bin/nvcc", "--version"], capture_output=True, text=True, check=True)
        return re.search(r"release (\d+\.\d+)", answer.stdout)[1]
    except (OSError, subprocess.SubprocessError, TypeError) as error:
        raise RuntimeError(f"{home}/bin/nvcc does not run: set CUDA_HOME to another toolkit") from error


def torch_versions() -> tuple[str, str | None]:
    """Return torch's version and the CUDA version it was built with, or None, without importing it.

    Raises ModuleNotFoundError if there is no torch.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None:
        raise ModuleNotFoundError(f"no torch in the Python that runs this, {sys.executable}")
    text = (Path(spec.origin).parent / "version.py").read_text()
    cuda = re.search(r"^cuda\b.*= '([\d.]+)'", text, re.MULTILINE)
    return re.search(r"^__version__ = '(.+)'", text, re.MULTILINE)[1], cuda and cuda[1]


def gpus() -> int:
    """Return how many GPUs the driver offers."""
    count = ctypes.c_int(0)
    with contextlib.suppress(OSError):  # no driver
        driver = ctypes.CDLL("libcuda.so.1")
        if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
            return 0
    return count.value


def can_build_cuda() -> bool:
    """Return whether this torch and this toolkit can build CUDA code together.

    Raises RuntimeError if both are there and their major versions differ.
    """
    home, cuda = cuda_home(), torch_versions()[1]
    if home is None or cuda is None:
        return False
    release = nvcc_release(home)
    if release.split(".")[0] != cuda.split(".")[0]:
        raise RuntimeError(
            f"nvcc of {home} is of CUDA {release}, torch {torch_versions()[0]} of CUDA {cuda}: the majors "
            "must be the same. Set CUDA_HOME to a toolkit that fits, or install a torch that does."
        )
    return True


def cxx() -> list[str]:
    """Return the C++ compiler's command; an empty CXX counts as none."""
    return os.environ.get("CXX", "").split() or ["c++"]


def setup() -> bool:
    """Prepare os.environ for torch.utils.cpp_extension, before it is imported; see can_build_cuda.

    Raises RuntimeError if ninja or the compiler is missing, or the versions do not fit.
    """
    # A Python that is called by its path does not have its own programs on PATH.
    os.environ["PATH"] = str(Path(sys.executable).parent) + os.pathsep + os.environ.get("PATH", "")
    if not shutil.which("ninja"):
        raise RuntimeError(f"no program ninja on PATH: {sys.executable} -m pip install ninja")
    if not shutil.which(compiler := cxx()[0]):
        raise RuntimeError(f"no C++ compiler {compiler!r}: install g++, or name another in CXX")
    # torch warns that no GPU is here, or that the architectures are those of the GPU: as it should be.
    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)
    with_cuda = can_build_cuda()
    if with_cuda:
        os.environ["CUDA_HOME"] = str(cuda_home())
        if gpus() == 0 and not os.environ.get("TORCH_CUDA_ARCH_LIST"):
            os.environ["TORCH_CUDA_ARCH_LIST"] = DEFAULT_ARCHS
    return with_cuda


def tag() -> str:
    """Return a name for builds with this Python, torch and CUDA; no other may use them."""
    python = "cp{}{}".format(*sys.version_info[:2])
    cuda = nvcc_release(cuda_home()) if can_build_cuda() else "none"
    return f"{python}-torch{torch_versions()[0]}-cuda{cuda}"


def build_folder(stage: Path) -> Path:
    """Return the folder for what `stage` builds here, and make it."""
    folder = Path(stage) / "build" / tag()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def ldflags(folder: Path) -> list[str]:
    """Return linker flags that find libcudart.so and libstdc++.so; links are made in folder if need be.

    The toolkit of the Python registry has libcudart.so.13 alone. A g++ that has libstdc++ only as an
    archive would put a copy of it into the extension, which then dies of torch's first exception.
    """
    libraries, home = [], cuda_home()
    if can_build_cuda() and not any((home / lib / "libcudart.so").exists() for lib in ("lib64", "lib")):
        libraries += sorted((home / "lib").glob("libcudart.so.*"))[-1:]
    ask = [*cxx(), "-print-file-name=libstdc++.so"]
    if not os.path.isabs(subprocess.run(ask, capture_output=True, text=True, check=True).stdout):
        libraries += [Path(name) for name in _loaded("libstdc++.so")]
    for library in libraries:
        link = folder / f"{library.name.partition('.so')[0]}.so"
        if not link.exists():  # or it leads to an environment that is gone
            link.unlink(missing_ok=True)
            with contextlib.suppress(FileExistsError):  # another process was faster
                link.symlink_to(library)
    return [f"-L{folder}"] * bool(libraries)


def _loaded(name: str) -> set[str]:
    """Return the paths of the shared libraries of this name that the process has loaded."""
    return set(re.findall(rf"/\S*/{re.escape(name)}\S*", Path("/proc/self/maps").read_text()))


def _end(setting: str) -> None:
    """End the processes that have this setting in their environment.

    Ctrl-C makes PyTorch kill ninja, which then cannot end its compilers, and they work on for nobody.
    """
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it has ended, or belongs to somebody else
            if setting.encode() in environment.read_bytes().split(b"\0"):
                os.kill(int(environment.parent.name), signal.SIGTERM)


@contextlib.contextmanager
def building(folder: Path, what: str):
    """Hold folder for one build, and show on stderr that it lives and for how long.

    The lock is the kernel's, which drops it when a process ends, however it ends. Whoever holds
    it knows that a file `lock` of torch's is left from a build that was killed, and on which
    torch would wait for ever.
    """
    start, done = time.monotonic(), threading.Event()
    moving = sys.stderr.isatty()
    os.environ["SQUARE_BUILD"] = mark = f"{os.getpid()} {folder}"

    def show() -> None:
        while not done.wait(0.2 if moving else 10):
            elapsed = time.monotonic() - start
            line = f"{what} ... {elapsed:.0f} s"
            print(f"\r{line}" if moving else line, end="" if moving else "\n", file=sys.stderr, flush=True)

    thread = threading.Thread(target=show, daemon=True)
    with open(folder / ".held", "w") as held:
        thread.start()
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            (folder / "lock").unlink(missing_ok=True)
            yield
        except KeyboardInterrupt:
            _end(f"SQUARE_BUILD={mark}")
            raise
        finally:
            os.environ.pop("SQUARE_BUILD", None)
            done.set()
            thread.join()
    elapsed = time.monotonic() - start
    if moving or elapsed > 2:
        print(f"{chr(13) * moving}{what}: {elapsed:.1f} s", file=sys.stderr)


def commands(folder: Path) -> str:
    """Return the command lines with which ninja built what is in folder, in their order."""
    ninja = ["ninja", "-C", folder, "-t", "commands"]
    return subprocess.run(ninja, capture_output=True, text=True, check=True).stdout.strip()


def nvcc_archs() -> str:
    """Return nvcc's flags for $TORCH_CUDA_ARCH_LIST, for the GPUs here, or for DEFAULT_ARCHS.

    Raises RuntimeError if the list holds anything but compute capabilities, such as "8.0;9.0+PTX".
    """
    archs = os.environ.get("TORCH_CUDA_ARCH_LIST")
    if not archs and gpus():
        return "-arch=native"
    flags = []
    for arch in re.split(r"[;\s]+", (archs or DEFAULT_ARCHS).strip()):
        if not (match := re.fullmatch(r"(\d+)\.(\d+[af]?)(\+PTX)?", arch)):
            raise RuntimeError(f"TORCH_CUDA_ARCH_LIST has {arch!r}; taken are numbers such as 9.0 or 9.0+PTX")
        number = match[1] + match[2]
        codes = [f"sm_{number}"] + [f"compute_{number}"] * bool(match[3])
        flags += [f"-gencode=arch=compute_{number},code={code}" for code in codes]
    return " ".join(flags)


def main() -> None:
    home = cuda_home()
    print(f"TAG := {tag()}")
    print(f"CUDA_HOME := {home or ''}")
    if home:
        libs = [home / lib for lib in ("lib64", "lib") if (home / lib / "libcudart_static.a").exists()]
        if not libs:
            raise RuntimeError(f"{home} has no libcudart_static.a: set CUDA_HOME to a whole toolkit")
        print(f"CUDA_LIB := {libs[0]}")
        print(f"ARCHS := {nvcc_archs()}")


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, ModuleNotFoundError) as error:
        sys.exit(f"toolchain: {error}")
