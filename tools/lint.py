# SPDX-License-Identifier: MIT
"""`make lint`: clang-format, ruff, and builds in which a warning is an error."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "03_load_inline"))
import toolchain

STRICT = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
C_STRICT = [*STRICT, "-std=c17", "-Wpedantic", "-Wconversion"]
C_FILES = ("02_c_launcher/square_cpu.c", "02_c_launcher/main.c", "04_separate_files/square.c")
HEADERS = tuple(f"04_separate_files/{name}.h" for name in ("square_launch", "torch_c_abi", "tensor_layout"))
CUDA_FILES = ("01_pure_cuda/square.cu", "02_c_launcher/square_launch.cu")
PYTHON_INCLUDE = ["-isystem", sysconfig.get_path("include")]


def program(name: str) -> str:
    """Return the path of a program of this Python's environment, or of PATH."""
    beside = Path(sys.executable).parent / name
    if not (path := str(beside) if beside.exists() else shutil.which(name)):
        sys.exit(f"lint.py: no program {name}: {sys.executable} -m pip install {name}")
    return path


def ours(*suffixes: str) -> list[str]:
    """Return the files of git's that end so, without symbolic links."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [ROOT / name for name in listed.stdout.split("\0") if name.endswith(suffixes)]
    return [str(file.relative_to(ROOT)) for file in files if file.is_file() and not file.is_symlink()]


def steps():
    """Yield the commands, each with its name."""
    c_and_cuda = ours(".c", ".h", ".cu", ".cuh", ".cpp")
    yield "clang-format", [program("clang-format"), "--dry-run", "-Werror", *c_and_cuda]
    yield "ruff check", [program("ruff"), "check", "-q", "--no-cache", "."]
    yield "ruff format", [program("ruff"), "format", "-q", "--no-cache", "--check", "."]
    home = toolchain.cuda_home()
    cuda = ["-DSQUARE_WITH_CUDA", "-isystem", f"{home}/include"] if home else []
    for compiler in filter(shutil.which, ("gcc", "clang")):
        for file in C_FILES:
            flags = ["-fexceptions", "-DTORCH_EXTENSION_NAME=square_c", *PYTHON_INCLUDE, *cuda]
            yield f"{compiler} {file}", [compiler, *C_STRICT, *flags, file]
            if compiler == "gcc":
                analyzer = ["gcc", "-std=c17", "-O2", "-fanalyzer", "-Werror", *flags]
                yield f"gcc -fanalyzer {file}", [*analyzer, "-c", file, "-o", "/dev/null"]
        for file in HEADERS:
            yield f"{compiler} {file}", [compiler, *C_STRICT, "-include", file, "-xc", "/dev/null"]
    for file in HEADERS:
        yield f"g++ {file}", ["g++", *STRICT, "-include", file, "-xc++", "/dev/null"]
    if home:
        file = "01_pure_cuda/square_on_host.cpp"
        yield f"g++ {file}", ["g++", *STRICT, "-isystem", f"{home}/include", file]
        archs = toolchain.nvcc_archs().split()
        for file in CUDA_FILES:
            flags = ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror"]
            yield f"nvcc {file}", [f"{home}/bin/nvcc", *archs, *flags, "-c", file, "-o", "/dev/null"]


def main() -> int:
    bad = 0
    for what, command in steps():
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        print(f"{'FAILED' if done.returncode else 'ok':8}{what}", flush=True)
        if done.returncode:
            bad += 1
            print(done.stdout + done.stderr, flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
