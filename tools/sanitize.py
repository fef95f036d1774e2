# SPDX-License-Identifier: MIT
"""`make sanitize`: the GPU tests under NVIDIA's compute-sanitizer, once with each of its tools.

sanitize.py [TOOL ...] [PYTEST'S ARGUMENTS]    TOOL: memcheck, initcheck, racecheck; else all three

memcheck looks for accesses beyond an allocation (PyTorch's are large; the guard zones of the tests see
what stays within one), initcheck for reads of memory that nobody wrote, racecheck for threads of a
block that meet in shared memory.

All of it takes the better part of an hour, and racecheck of CUDA 13.0 crashed, itself, after 1500 tests in
one process. A part at a time: make sanitize ARGS="racecheck tests/test_values.py -k 02"
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "03_load_inline"))
import toolchain

TOOLS = ("memcheck", "initcheck", "racecheck")
# Under it all is many times slower: builds, other processes and ten thousand equal calls are left out,
# and what holds one time against another.
LEFT_OUT = ("leaks", "threads_and_processes", "notebooks")
TESTS = [
    "-m",
    "gpu and not slow and not long",
    "-q",
    *(f"--ignore=tests/test_{name}.py" for name in LEFT_OUT),
]


def sanitizer() -> str:
    """Return the path of compute-sanitizer, of the toolkit or of PATH."""
    for folder in ("bin", "compute-sanitizer"):
        if path := shutil.which("compute-sanitizer", path=f"{toolchain.cuda_home()}/{folder}"):
            return path
    if path := shutil.which("compute-sanitizer"):
        return path
    sys.exit("sanitize.py: no compute-sanitizer; it comes with NVIDIA's CUDA toolkit: set CUDA_HOME to one")


def main(words: list[str]) -> int:
    tools = [word for word in words if word in TOOLS] or TOOLS
    chosen = [word for word in words if word not in TOOLS] or ["tests"]
    if not toolchain.gpus():
        sys.exit("sanitize.py: no GPU here, and it watches what a GPU does")
    bad = 0
    for tool in tools:
        command = [sanitizer(), "--tool", tool, "--error-exitcode", "9"]
        # Tests of errors make CUDA calls that fail; those are reports of theirs, not of a kernel.
        command += ["--report-api-errors", "no", "--target-processes", "application-only"]
        print(f"{tool}: {' '.join(command)} ...", flush=True)
        start = time.monotonic()
        done = subprocess.run([*command, sys.executable, "-m", "pytest", *TESTS, *chosen], cwd=ROOT)
        verdict = "clean" if done.returncode == 0 else f"FAILED with status {done.returncode}"
        print(f"{tool}: {verdict} after {time.monotonic() - start:.0f} s", flush=True)
        bad += done.returncode != 0
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
