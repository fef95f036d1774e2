# SPDX-License-Identifier: MIT
"""`make profile`: NVIDIA's ncu counts what the memory does, for one value a thread and for packs.

DRAM throughput against peak: how much of what the memory can deliver the kernel uses.
Sectors a request: 32-byte pieces that one load of a warp (32 threads) asks for; 4 for 32 floats side
    by side, 16 for 32 packs. Fewer requests for the same bytes means less work for the same result.
Achieved occupancy: the share of a multiprocessor's warps that were there at the same time, on average.
"""

import csv
import io
import shutil
import subprocess
import sys

import contenders
import torch

METRICS = {
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "DRAM throughput, % of peak",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio": "sectors a request",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "achieved occupancy, %",
}
N = 1 << 28  # bytes of input: far more than the caches hold
DTYPES = (torch.float32, torch.uint8)


def launch() -> None:
    """What ncu watches: for each dtype the kernel with one value a thread, then with packs."""
    library = contenders.stages()[0]["02"]
    one_value = contenders.one_value(library.CODES)
    for dtype in DTYPES:
        x = contenders.numbers(N // dtype.itemsize, dtype, "cuda")
        one_value(x)
        library.square(x)
    torch.cuda.synchronize()


def main() -> int:
    if not torch.cuda.is_available():
        sys.exit("counters.py: no GPU here, and ncu counts what a GPU does")
    if not (
        ncu := shutil.which("ncu") or shutil.which("ncu", path=f"{contenders.toolchain.cuda_home()}/bin")
    ):
        sys.exit("counters.py: no program ncu; it comes with NVIDIA's CUDA toolkit, as Nsight Compute")
    command = [ncu, "--csv", "--clock-control", "none", "--kernel-name", "regex:square_kernel"]
    command += ["--metrics", ",".join(METRICS), sys.executable, __file__, "--launch"]
    done = subprocess.run(command, capture_output=True, text=True)
    if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr:
        sys.exit("counters.py: the driver lets only root read the counters (ERR_NVGPUCTRPERM); ask for it")
    table = done.stdout[done.stdout.find('"ID"') :]
    if done.returncode != 0 or not table.startswith('"ID"'):
        sys.exit(
            f"counters.py: ncu ended with status {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}"
        )
    kernels: dict[str, dict[str, str]] = {}
    for row in csv.DictReader(io.StringIO(table)):
        kernels.setdefault(row["ID"], {"kernel": row["Kernel Name"]})[row["Metric Name"]] = row[
            "Metric Value"
        ]
    labels = [f"{dtype}, {kind}"[6:] for dtype in DTYPES for kind in ("one value", "packs")]
    print("| kernel | " + " | ".join(METRICS.values()) + " |")
    print("| --- |" + " ---: |" * len(METRICS))
    for label, kernel in zip(labels, kernels.values(), strict=True):
        print(f"| {label} | " + " | ".join(kernel[metric] for metric in METRICS) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(launch() if "--launch" in sys.argv else main())
