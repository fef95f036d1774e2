# SPDX-License-Identifier: MIT
"""`make run`: every stage on the same real numbers, and a table at the end.

run.py [stage ...]    stages are 01 to 05; without any, all of them
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from loading import load

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "03_load_inline"))
import toolchain

ON_GPU = torch.cuda.is_available() and toolchain.can_build_cuda()
STAGES = {
    "01": ROOT / "01_pure_cuda",
    "02": ROOT / "02_c_launcher",
    "03": ROOT / "03_load_inline",
    "04": ROOT / "04_separate_files",
    "05": ROOT / "05_setup_py",
}


def numbers() -> torch.Tensor:
    """Return 5003 float32: random ones of every size, and those that often go wrong."""
    torch.manual_seed(0)
    special = [0.0, -0.0, 1e-45, -1e-40, 1e-20, 1.8446743e19, 3e38, torch.inf, -torch.inf, torch.nan]
    scale = torch.logspace(-30, 18, 5003 - len(special))
    return torch.cat([torch.tensor(special), torch.randn(len(scale)) * scale])


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether a and b have the same bits; any NaN is as good as any other."""
    both_nan = a.isnan() & b.isnan()
    return a.shape == b.shape and bool(((a.view(torch.int32) == b.view(torch.int32)) | both_nan).all())


@dataclass
class Row:
    stage: str
    what: str
    where: str
    result: str
    seconds: float


def run_program(stage: str, program: Path, where: str) -> Row:
    """Give a program the numbers on its standard input, and compare what it prints."""
    x = numbers()
    command = f"{program.relative_to(ROOT)} < {len(x)} numbers"
    print(f"$ {command}", flush=True)
    start = time.monotonic()
    text = "\n".join(f"{value:.9g}" for value in x.tolist())
    done = subprocess.run([program], input=text, capture_output=True, text=True)
    seconds = time.monotonic() - start
    print(done.stderr, end="", flush=True)
    if done.returncode != 0:
        return Row(stage, program.name, where, f"FAILED with status {done.returncode}", seconds)
    y = torch.tensor([float(word) for word in done.stdout.split()])
    for i in (10, 2500, 7):
        print(f"  {x[i].item():.9g} -> {y[i].item():.9g}")
    return Row(stage, program.name, where, "equal" if same(y, torch.square(x)) else "DIFFERS", seconds)


def run_python(stage: str, program: Path, where: str) -> Row:
    """Run a stage's square.py as a reader would, then give its square() and square_() the numbers."""
    print(f"$ python {program.relative_to(ROOT)}", flush=True)
    start = time.monotonic()
    if (status := subprocess.run([sys.executable, program]).returncode) != 0:
        return Row(stage, "square.py", where, f"FAILED with status {status}", time.monotonic() - start)
    module = load(program, f"stage_{stage}")
    x = numbers().to("cuda" if ON_GPU else "cpu")
    equal = same(module.square(x), torch.square(x)) and same(module.square_(x.clone()), torch.square(x))
    return Row(stage, "square.py", where, "equal" if equal else "DIFFERS", time.monotonic() - start)


def tried(run: Callable[[str, Path, str], Row], stage: str, program: Path, where: str) -> Row:
    """Return the row that run() gives; what it raises is one, too, and the next stage still runs."""
    try:
        return run(stage, program, where)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return Row(stage, program.name, where, f"FAILED: {type(error).__name__}", 0)


def run_stage(stage: str) -> list[Row]:
    """Run all that a stage has."""
    folder, where = STAGES[stage], "GPU" if ON_GPU else "CPU"
    print(f"\n==== {folder.name}", flush=True)
    rows = []
    if stage == "01":
        if not (folder / "build/square_on_host").exists():
            return [Row(stage, "square", "-", "skipped: no CUDA toolkit here (make doctor)", 0)]
        rows.append(tried(run_program, stage, folder / "build/square_on_host", "CPU"))
        if ON_GPU:
            rows.append(tried(run_program, stage, folder / "build/square", where))
        else:
            rows.append(Row(stage, "square", "GPU", "built; skipped: no GPU here", 0))
        return rows
    if stage == "02":
        rows.append(tried(run_program, stage, folder / "build/square", where))
    return [*rows, tried(run_python, stage, folder / "square.py", where)]


def main(stages: list[str]) -> int:
    if unknown := set(stages) - set(STAGES):
        sys.exit(f"run.py: no stage {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
    if torch.cuda.is_available() and not ON_GPU:
        print("A GPU is here, and no CUDA toolkit (make doctor): the stages run on the CPU.")
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # for the programs that they start
    rows = [row for stage in stages or STAGES for row in run_stage(stage)]
    print(f"\n{'stage':7}{'what':17}{'on':5}{'seconds':>8}  against torch.square")
    for row in rows:
        print(f"{row.stage:7}{row.what:17}{row.where:5}{row.seconds:8.1f}  {row.result}")
    return int(any(row.result.startswith(("FAILED", "DIFFERS")) for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
