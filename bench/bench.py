# SPDX-License-Identifier: MIT
"""`make bench`: what each layer costs, and how near the kernel is to the memory's limit.

bench.py [--quick] [--only SECTION,...] [--results FOLDER]    SECTION: bandwidth, call, cpu, build

Measures on this machine and writes bench/results/MACHINE.json, raw figures included, after each
section; a section that is left out keeps what the file has. Then report.py draws from the file.
"""

import argparse
import datetime
import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import report
import torch
from contenders import ROOT, compiler, toolchain
from measure import words
from section_bandwidth import bandwidth
from section_build import build
from section_call import call
from section_cpu import cpu

RESULTS = ROOT / "bench/results"
SECTIONS = {"bandwidth": bandwidth, "call": call, "cpu": cpu, "build": build}


def first_line(*command: str) -> str:
    """Return the first line that a program prints, or "unknown"."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return "unknown"
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "unknown"


def machine() -> dict:
    """Return what the figures depend on."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    facts = {
        "processor": model[1] if model else platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "compiler": first_line(*compiler(), "--version"),
        "nvcc": toolchain.nvcc_release(toolchain.cuda_home()) if toolchain.cuda_home() else None,
        "date": datetime.date.today().isoformat(),
        "gpu": None,
    }
    if torch.cuda.is_available():
        facts["gpu"] = torch.cuda.get_device_name()
        query = "--query-gpu=driver_version"
        facts["driver"] = first_line("nvidia-smi", query, "--format=csv,noheader")
        facts["cuda"] = torch.version.cuda
    return facts


def file_name(facts: dict) -> str:
    """Return the name of a machine's result, after its GPU or its processor."""
    return re.sub(r"[^a-z0-9]+", "-", (facts["gpu"] or facts["processor"]).lower()).strip("-") + ".json"


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

    facts = machine() | {"quick": options.quick}
    path = options.results / file_name(facts)
    result = json.loads(path.read_text()) if path.exists() else {}
    failed = 0
    for section in chosen:
        try:
            found = SECTIONS[section](options.quick)
        except Exception as error:
            print(f"{section}: {words(error)}", file=sys.stderr)
            failed += 1
            continue
        result[section] = found
        result["machine"] = facts
        result.setdefault("machines", {})[section] = facts
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")  # a file that is there stays whole, whenever this ends
        part.write_text(report.to_json(result))
        part.replace(path)
        for what, why in found.get("missing", {}).items():
            print(f"{section}: not measured: {what}: {why}", file=sys.stderr)
        print(f"{section}: in {path}", file=sys.stderr)
    if options.results == RESULTS:
        report.main([])
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
