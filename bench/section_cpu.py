# SPDX-License-Identifier: MIT
"""Microseconds on the CPU for each dtype and size, with one thread and with all."""

import contenders
import measure
import torch
from contenders import DTYPES, Square, name_of


def squares(dtype: torch.dtype, missing: dict[str, str]) -> dict[str, Square]:
    """Return what is compared for a dtype, each found right; the rest goes into `missing`."""
    stages, failed = contenders.stages()[0], {}
    found = {"torch.square": torch.square}
    if dtype is not torch.bool:  # whose product stays a bool
        found["x * x"] = lambda x: x * x
    found |= {name: stage.square for name, stage in stages.items() if contenders.takes(name, dtype)}
    if "04" in found:
        found["04"] = torch.ops.square_c.square.default
    found = contenders.checked(found, dtype, "cpu", failed)
    missing |= {f"{name}, {name_of(dtype)}": text for name, text in failed.items()}
    return found | {"copy": torch.clone}  # memcpy into fresh memory, as the others write into


def one_case(found: dict[str, Square], x: torch.Tensor, count: int, failed: dict[str, str]) -> dict:
    """Return `count` samples for one input, with as many threads as are set."""
    functions = {name: lambda s=square: s(x) for name, square in found.items()}
    samplers = {}
    for name, function in functions.items():
        try:
            samplers[name] = measure.host_nanoseconds(function, measure.repeats(function, 300))
        except Exception as error:
            failed[name] = measure.words(error)
    us = measure.rounded(measure.rounds(samplers, count, seed=len(x), failed=failed), scale=1e-3)
    return {"dtype": name_of(x.dtype), "n": len(x), "threads": torch.get_num_threads(), "us": us}


def cpu(quick: bool) -> dict:
    """Return {"cases": one_case()s, "missing": {what: why}}. 02 and 03 use one thread in any case."""
    threads, missing = torch.get_num_threads(), dict(contenders.stages()[1])
    dtypes = [dtype for dtype in DTYPES if dtype is not torch.complex32]
    powers = (10, 16, 20) if quick else (10, 14, 16, 18, 20, 22, 24)
    counts = sorted({1, threads})
    progress = measure.Progress("cpu", len(dtypes) * len(powers) * len(counts))
    cases = []
    try:
        for dtype in dtypes:
            found = squares(dtype, missing)
            for power in powers:
                x = contenders.numbers(1 << power, dtype, "cpu")
                for count in counts:
                    what, failed = f"{name_of(dtype)} 2^{power}, {count} threads", {}
                    torch.set_num_threads(count)
                    rounds = 7 if quick else 15 if power < 22 else 9
                    cases.append(one_case(found, x, rounds, failed))
                    missing |= {f"{name}, {what}": text for name, text in failed.items()}
                    progress.step(what)
    finally:
        torch.set_num_threads(threads)
    return {"cases": cases, "missing": missing}
