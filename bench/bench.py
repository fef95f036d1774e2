# SPDX-License-Identifier: MIT
"""`make bench`: what each layer costs, and how near the kernel is to the memory's limit.

bench.py [--quick] [--only SECTION,...]    SECTION: bandwidth, call, cpu, build, lines

Measures on this machine and writes bench/results/MACHINE.json, raw figures included, after each
section; a section that is left out keeps what the file has. Then report.py draws from the file.
"""

import argparse
import ctypes
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import contenders
import measure
import report
import torch
from contenders import ROOT, numbers, toolchain

RESULTS = ROOT / "bench/results"
DTYPES = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.complex32, torch.complex64, torch.complex128),
]
ON_GPU = torch.cuda.is_available()


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def first_line(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "unknown"


def machine() -> dict:
    """Return what the figures depend on."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    facts = {
        "processor": model[1] if model else platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "compiler": first_line(os.environ.get("CC", "gcc"), "--version"),
        "nvcc": toolchain.nvcc_release(toolchain.cuda_home()) if toolchain.cuda_home() else None,
        "date": datetime.date.today().isoformat(),
        "gpu": None,
    }
    if ON_GPU:
        facts["gpu"] = torch.cuda.get_device_name()
        query = "--query-gpu=driver_version"
        facts["driver"] = first_line("nvidia-smi", query, "--format=csv,noheader")
        facts["cuda"] = torch.version.cuda
    return facts


def rounded(samples: dict[str, list[float]]) -> dict[str, list[float]]:
    return {name: [float(f"{value:.4g}") for value in values] for name, values in samples.items()}


# ---- the sections; each returns what its name has in the JSON


def bandwidth(quick: bool) -> dict:
    """Microseconds on the GPU for each dtype, size and offset, every contender in one run."""
    if not ON_GPU:
        return {"skipped": "no GPU here"}
    stages, device = contenders.stages(), measure.Device()
    one_value = contenders.one_value(stages["02"].CODES)
    others, missing = contenders.others(on_gpu=True)
    missing = dict(missing)
    sizes = [1 << p for p in ((16, 20, 28) if quick else (10, 13, 16, 18, 20, 22, 24, 26, 28, 30))]
    progress = measure.Progress("bandwidth", 2 * len(sizes) * len(DTYPES))
    cases = []
    for dtype in DTYPES:
        squares = {"torch.square": torch.square, "x * x": lambda x: x * x, "one value": one_value}
        if dtype is torch.bool:
            del squares["x * x"]  # it stays a bool
        for stage, module in stages.items():
            if stage != "03" or (dtype.is_floating_point or dtype in (torch.complex64, torch.complex128)):
                squares[stage] = module.square
        for name, square in list(squares.items()):
            try:
                contenders.check(name, square, dtype, "cuda")
            except RuntimeError as error:
                missing[f"{name}, {name_of(dtype)}"] = str(error)
                del squares[name]
        if dtype is torch.float32:
            squares |= others
        for size in sizes:
            n = size // dtype.itemsize
            memory = numbers(n + 1, dtype, "cuda")
            for late in (0, 1):
                x = memory[late : late + n]
                target = torch.empty_like(x)
                calls = {name: lambda s=square, x=x: s(x) for name, square in squares.items()}
                calls["copy"] = lambda x=x, y=target: y.copy_(x)
                samples = device.sample(calls, 7 if quick else 21, seed=size + late)
                cases.append(
                    {
                        "dtype": name_of(dtype),
                        "n": n,
                        "bytes_in": n * dtype.itemsize,
                        "bytes_out": n * (8 if dtype is torch.bool else dtype.itemsize),
                        "late": late,
                        "us": rounded(samples),
                    }
                )
                progress.step(f"{name_of(dtype)} 2^{size.bit_length() - 1}")
    return {"cases": cases, "missing": missing}


def in_c(stages: dict, device: str, x: torch.Tensor, calls: int) -> dict[str, Callable[[], float]]:
    """Return samplers of calls from C, without Python in between."""
    library, square = contenders.build("calls.c"), stages["02"]._library
    pointer, n = ctypes.c_void_p, ctypes.c_int64
    library.time_launch.restype = library.time_cpu.restype = ctypes.c_double
    library.time_cpu.argtypes = [pointer, pointer, pointer, n, ctypes.c_int, ctypes.c_int]
    library.time_launch.argtypes = [*library.time_cpu.argtypes[:5], pointer, ctypes.c_int]
    y, code = torch.empty_like(x), stages["02"].CODES[x.dtype]

    def address(function: object) -> int:
        return ctypes.cast(function, ctypes.c_void_p).value

    def sampler(function: object) -> Callable[[], float]:
        def sample() -> float:
            arguments = x.data_ptr(), y.data_ptr(), x.numel(), code  # asked here, so that y lives
            if device == "cpu":
                ns = library.time_cpu(address(function), *arguments, calls)
            else:
                torch.cuda.synchronize()
                stream = torch.cuda.current_stream().cuda_stream
                ns = library.time_launch(address(function), *arguments, stream, calls)
            if ns < 0:
                raise RuntimeError("a call from C returned an error")
            return ns

        return sample

    if device == "cpu":
        return {"02: C": sampler(square.square_cpu)}
    bare = contenders.build("kernels.cu").bare_launch
    return {"01: bare launch": sampler(bare), "02: C": sampler(square.square_launch)}


def call(quick: bool) -> dict:
    """Nanoseconds of host time for one small call through each layer."""
    stages = contenders.stages()
    others, missing = contenders.others(ON_GPU)
    result = {"missing": missing}
    for device, n, calls in [("cpu", 16, 2000)] + [("cuda", 1024, 200)] * ON_GPU:
        x = numbers(n, torch.float32, device)
        wants = x.clone().requires_grad_()
        samplers = in_c(stages, device, x, calls)
        functions = {
            "02: ctypes": lambda x=x: stages["02"].square(x),
            "03: pybind11": lambda x=x: stages["03"].square(x),
            "04: operator": lambda x=x: torch.ops.square_c.square.default(x),
            "04: square(x)": lambda x=x: stages["04"].square(x),
            "05: square(x)": lambda x=x: stages["05"].square(x),
            "05: with gradient": lambda x=wants: stages["05"].square(x),
            "torch.square": lambda x=x: torch.square(x),
            "torch.square with gradient": lambda x=wants: torch.square(x),
            "x * x": lambda x=x: x * x,
        }
        for name, square in others.items():
            if device == "cuda" or name == "torch.compile":
                functions[name] = lambda s=square, x=x: s(x)
        ones = torch.ones_like(wants)
        for name, square in (("05", stages["05"].square), ("torch.square", torch.square)):
            functions[f"{name} forward and backward"] = lambda s=square, x=wants, g=ones: torch.autograd.grad(
                s(x), x, g
            )
        for name, function in functions.items():
            measure.host_nanoseconds(function, 50)()
            samplers[name] = measure.host_nanoseconds(function, calls)
        progress = measure.Progress(f"call {device}", 1)
        samples = measure.rounds(samplers, 10 if quick else 41, seed=n)
        progress.step()
        result[device] = {"n": n, "ns": rounded(samples)}
    return result


def cpu(quick: bool) -> dict:
    """Microseconds on the CPU for each dtype and size, with one thread and with all."""
    stages, threads = contenders.stages(), torch.get_num_threads()
    dtypes = [dtype for dtype in DTYPES if dtype is not torch.complex32]
    powers = (10, 16, 20) if quick else (10, 14, 16, 18, 20, 22, 24)
    counts = sorted({1, threads})
    progress = measure.Progress("cpu", len(dtypes) * len(powers) * len(counts))
    cases = []
    for dtype in dtypes:
        squares = {"torch.square": torch.square, "04": torch.ops.square_c.square.default}
        squares |= {"05": stages["05"].square, "copy": torch.clone}
        for name in ("04", "05"):
            contenders.check(name, squares[name], dtype, "cpu")
        for power in powers:
            x = numbers(1 << power, dtype, "cpu")
            for count in counts:
                torch.set_num_threads(count)
                samplers = {}
                for name, square in squares.items():
                    many = measure.repeats(lambda s=square, x=x: s(x), 300)
                    samplers[name] = measure.host_nanoseconds(lambda s=square, x=x: s(x), many)
                samples = measure.rounds(samplers, 7 if quick else 15 if power < 22 else 9, seed=power)
                us = {name: [value / 1e3 for value in values] for name, values in samples.items()}
                cases.append({"dtype": name_of(dtype), "n": 1 << power, "threads": count, "us": rounded(us)})
                progress.step(f"{name_of(dtype)} 2^{power}, {count} threads")
    torch.set_num_threads(threads)
    return {"cases": cases}


def build(quick: bool) -> dict:
    """Seconds until each route has answered: from nothing, and once more with all built."""
    python = [sys.executable]
    make = ["make", "--no-print-directory", f"PYTHON={sys.executable}"]
    pip = [*python, "-m", "pip", "install", "--disable-pip-version-check", "--no-index", "--no-deps"]
    site = "05_setup_py/build/bench_site"
    install = [*pip, "--no-build-isolation", "--upgrade", "--target", site, "./05_setup_py"]
    routes = {
        "01: nvcc": [*make, "01_pure_cuda/build/square"],
        "02: gcc and nvcc": [*make, "02_c_launcher/build/libsquare.so"],
        "03: load_inline": [*python, "03_load_inline/square.py"],
        "03: load_inline with headers": [*python, "03_load_inline/with_headers.py"],
        "04: load()": [*python, "04_separate_files/square.py"],
        "05: pip install": install,
    }
    if toolchain.cuda_home() is None:
        del routes["01: nvcc"]
    ignore = shutil.ignore_patterns("build", ".git", ".venv", "__pycache__", "*.egg-info")
    times = {name: {"cold": [], "warm": []} for name in routes}
    count = 1 if quick else 2
    progress = measure.Progress("build", 2 * count * len(routes))
    environment = {**os.environ, "TORCH_CUDA_ARCH_LIST": os.environ.get("TORCH_CUDA_ARCH_LIST", "9.0")}
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "tree"
            shutil.copytree(ROOT, tree, symlinks=True, ignore=ignore)
            text = (tree / "03_load_inline/square.py").read_text()
            assert text.count("no_implicit_headers=True") == 1
            text = text.replace("no_implicit_headers=True", "no_implicit_headers=False")
            (tree / "03_load_inline/with_headers.py").write_text(
                text.replace('"square_inline"', '"with_headers"')
            )
            for name, command in routes.items():
                for kind in ("cold", "warm"):
                    if name.startswith("03") and kind == "cold":
                        shutil.rmtree(tree / "03_load_inline/build", ignore_errors=True)
                    start = time.monotonic()
                    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
                    if done.returncode != 0:
                        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
                    times[name][kind].append(round(time.monotonic() - start, 2))
                    progress.step(f"{name}, {kind}")
    start = time.monotonic()
    subprocess.run([*python, "-c", "import torch"], check=True)
    return {"seconds": times, "import_torch": round(time.monotonic() - start, 2)}


def lines(quick: bool) -> dict:
    """Lines of each stage's own files, without blank ones and comments of a line of their own."""
    stages = {}
    for folder in ("01_pure_cuda", *contenders.FOLDERS.values()):
        counts = {}
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_symlink() or path.suffix not in (".c", ".h", ".cu", ".cuh", ".cpp", ".py", ".toml"):
                continue
            if {"build", "dist"} & set(path.parts):
                continue
            text = re.sub(r'/\*.*?\*/|^\s*"""[^"]*?"""', "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
            code = [line for line in text.splitlines() if not re.match(r"\s*(//|#\s|$)", line)]
            counts[str(path.relative_to(ROOT / folder))] = len(code)
        stages[folder] = counts
    return stages


SECTIONS = {"bandwidth": bandwidth, "call": call, "cpu": cpu, "build": build, "lines": lines}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures every stage on this machine.")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds, for a trial")
    parser.add_argument("--only", default=",".join(SECTIONS), metavar="SECTION,...", help=", ".join(SECTIONS))
    parser.add_argument("--results", type=Path, help="the folder of the JSON files; a trial's: build/bench")
    options = parser.parse_args()
    options.results = options.results or (ROOT / "build/bench" if options.quick else RESULTS)
    chosen = options.only.split(",")
    if unknown := [section for section in chosen if section not in SECTIONS]:
        parser.error(f"--only: there is no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")

    facts = machine()
    name = re.sub(r"[^a-z0-9]+", "-", (facts["gpu"] or facts["processor"]).lower()).strip("-")
    path = options.results / f"{name}.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    failed = 0
    for section in chosen:
        try:
            result[section] = SECTIONS[section](options.quick)
        except Exception as error:
            print(f"{section}: {type(error).__name__}: {error}", file=sys.stderr)
            failed += 1
            continue
        result["machine"] = facts
        result.setdefault("machines", {})[section] = facts
        result["quick"] = options.quick
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report.to_json(result))
        print(f"{section}: in {path}", file=sys.stderr)
    if options.results == RESULTS:
        report.main([])
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
