# SPDX-License-Identifier: MIT
"""Microseconds on the GPU for each dtype, size and misalignment."""

import contenders
import measure
import torch
from contenders import DTYPES, Square, name_of

WIDE = 1 << 28  # bytes of input from which on every misalignment is measured, not only one element


def squares(dtype: torch.dtype, missing: dict[str, str]) -> dict[str, Square]:
    """Return what is compared for a dtype, each found right; the rest goes into `missing`."""
    stages, failed = contenders.stages()[0], {}
    found = {"torch.square": torch.square}
    if dtype is not torch.bool:  # whose product stays a bool
        found["x * x"] = lambda x: x * x
    try:
        found["one value"] = contenders.one_value(stages["02"].CODES)
    except Exception as error:
        missing["one value"] = measure.words(error)
    found |= {name: stage.square for name, stage in stages.items() if contenders.takes(name, dtype)}
    found = contenders.checked(found, dtype, "cuda", failed)
    missing |= {f"{name}, {name_of(dtype)}": text for name, text in failed.items()}
    if dtype is torch.float32:
        found |= contenders.others(on_gpu=True)[0]
    return found


def offsets(size: int, dtype: torch.dtype, quick: bool) -> range:
    """Return by how many elements x is late: aligned and one late, or every place in 16 bytes."""
    return range(2 if quick or size < WIDE else max(2, 16 // dtype.itemsize))


def one_case(
    device: measure.Device, found: dict[str, Square], x: torch.Tensor, late: int, count: int, failed: dict
) -> dict:
    """Return the samples for one input. From the second element on, of three contenders alone."""
    target = torch.empty_like(x)
    calls = {name: lambda s=square: s(x) for name, square in found.items()}
    calls["copy"] = lambda: target.copy_(x)
    if late > 1:
        calls = {name: call for name, call in calls.items() if name in ("torch.square", "05", "copy")}
    return {
        "dtype": name_of(x.dtype),
        "n": len(x),
        "bytes_in": len(x) * x.itemsize,
        "bytes_out": len(x) * (8 if x.dtype is torch.bool else x.itemsize),
        "late": late,
        "us": measure.rounded(device.sample(calls, count, seed=len(x) + late, failed=failed)),
    }


def bandwidth(quick: bool) -> dict:
    """Return {"cases": one_case()s, "missing": {what: why}}, or {"skipped": why}."""
    if not torch.cuda.is_available():
        return {"skipped": "no GPU here"}
    device, missing = measure.Device(), contenders.stages()[1] | contenders.others(on_gpu=True)[1]
    sizes = [1 << p for p in ((16, 20, 28) if quick else (10, 13, 16, 18, 20, 22, 24, 26, 28, 30))]
    steps = sum(len(offsets(size, dtype, quick)) for dtype in DTYPES for size in sizes)
    progress, cases = measure.Progress("bandwidth", steps), []
    for dtype in DTYPES:
        found = squares(dtype, missing)
        for size in sizes:
            what, n = f"{name_of(dtype)} 2^{size.bit_length() - 1} bytes", size // dtype.itemsize
            for late in offsets(size, dtype, quick):
                failed: dict[str, str] = {}
                try:
                    x = contenders.numbers(n + late, dtype, "cuda")[late:]
                    cases.append(one_case(device, found, x, late, 7 if quick else 21, failed))
                except Exception as error:  # such as too little memory for x itself
                    failed["all"] = measure.words(error)
                missing |= {f"{name}, {what}, {late} late": text for name, text in failed.items()}
                progress.step(what)
    return {"cases": cases, "missing": missing}
