# SPDX-License-Identifier: MIT
"""What the project wants to reach, held against the figures: for each goal, the worst case."""

from collections.abc import Iterator
from typing import NamedTuple

from measure import quartiles

OURS, THEIRS = "05", "torch.square"


class Ratio(NamedTuple):
    value: float
    where: str
    overlap: bool = False  # the quartiles of the two overlap: a difference of 2 % may be noise


def ratio(top: list[float], bottom: list[float], where: str) -> Ratio:
    """Return the quotient of two medians."""
    (a, b, c), (d, e, f) = quartiles(top), quartiles(bottom)
    return Ratio(b / e, where, overlap=a <= f and d <= c)


def where(case: dict) -> str:
    return f"{case['dtype']}, 2^{case['bytes_in'].bit_length() - 1} bytes"


def both(samples: dict, *names: str) -> bool:
    """Whether each of the contenders has samples; the report names those that have none."""
    return all(name in samples for name in names)


def moved(case: dict, name: str) -> int:
    """Return the bytes that a contender reads and writes; a copy writes what it reads."""
    return 2 * case["bytes_in"] if name == "copy" else case["bytes_in"] + case["bytes_out"]


def kernel_time(result: dict, late: int) -> Iterator[Ratio]:
    for case in result["bandwidth"]["cases"]:
        if not both(case["us"], THEIRS, OURS):
            continue
        if case["late"] == late and case["bytes_in"] >= 2**20:
            yield ratio(case["us"][THEIRS], case["us"][OURS], where(case))


def against_copy(result: dict, late: range) -> Iterator[Ratio]:
    """With the copy between aligned tensors, whatever the alignment of ours."""
    cases = [case for case in result["bandwidth"]["cases"] if case["bytes_in"] >= 2**28]
    copies = {(c["dtype"], c["bytes_in"]): c["us"].get("copy") for c in cases if c["late"] == 0}
    for case in cases:
        key = case["dtype"], case["bytes_in"]
        if case["late"] in late and OURS in case["us"] and copies.get(key):
            more = (case["bytes_in"] + case["bytes_out"]) / (2 * case["bytes_in"])
            copied = [us * more for us in copies[key]]
            yield ratio(copied, case["us"][OURS], where(case) + f", {case['late']} late" * (case["late"] > 1))


def call(result: dict, device: str) -> Iterator[Ratio]:
    ns = result["call"][device]["ns"]
    yield ratio(ns["05: square(x)"], ns[THEIRS], f"n = {result['call'][device]['n']}")


def training(result: dict) -> Iterator[Ratio]:
    ns = result["call"]["cpu"]["ns"]
    yield ratio(ns["05 forward and backward"], ns["torch.square forward and backward"], "n = 16")


def cpu(result: dict, dtypes: str, low: int, high: int) -> Iterator[Ratio]:
    for case in result["cpu"]["cases"]:
        power = case["n"].bit_length() - 1
        if case["dtype"] in dtypes.split() and low <= power <= high and both(case["us"], OURS, THEIRS):
            text = f"{case['dtype']}, 2^{power}, {case['threads']} threads"
            yield ratio(case["us"][OURS], case["us"][THEIRS], text)


def build(result: dict) -> Iterator[Ratio]:
    """Without what importing torch takes, which is no part of building."""
    seconds, start = result["build"]["seconds"], result["build"]["import_torch"]
    cold = {name: [s - start for s in seconds[name]["cold"]] for name in ("03: load_inline", "04: load()")}
    yield ratio(cold["04: load()"], cold["03: load_inline"], "without importing torch")


def layers(result: dict) -> Iterator[Ratio]:
    for case in result["bandwidth"]["cases"]:
        if case["bytes_in"] >= 2**26:
            stages = {name: us for name, us in case["us"].items() if name in ("02", "03", "04", "05")}
            best = min(stages.values(), key=lambda us: quartiles(us)[1], default=None)
            for name, us in stages.items() if len(stages) > 1 else ():
                yield ratio(us, best, f"{name}, {where(case)}")


FLOATS = "float32 float64 bfloat16 complex64 complex128"
# figure: (ratios of a result, the goal, whether more is better)
GOALS = {
    "GPU, `torch.square` / ours, from 2^20 bytes on": (lambda r: kernel_time(r, 0), 1.00, True),
    "GPU, `torch.square` / ours, x one element late": (lambda r: kernel_time(r, 1), 1.00, True),
    "GPU, bandwidth / that of a copy, from 2^28 bytes on": (lambda r: against_copy(r, range(1)), 0.99, True),
    "GPU, bandwidth / that of a copy, x one element late": (
        lambda r: against_copy(r, range(1, 2)),
        0.96,
        True,
    ),
    "GPU, bandwidth / that of a copy, x later than that": (
        lambda r: against_copy(r, range(2, 16)),
        0.96,
        True,
    ),
    "GPU, a call, ours / `torch.square`": (lambda r: call(r, "cuda"), 1.00, False),
    "CPU, a call, ours / `torch.square`": (lambda r: call(r, "cpu"), 1.30, False),
    "CPU, forward and backward, ours / `torch.square`": (training, 1.80, False),
    "CPU, ours / `torch.square`, floating, 2^16 to 2^24": (lambda r: cpu(r, FLOATS, 16, 24), 1.05, False),
    "CPU, ours / `torch.square`, bool to int32, 2^16 to 2^20": (
        lambda r: cpu(r, "bool uint8 int8 int16 int32", 16, 20),
        0.25,
        False,
    ),
    "CPU, ours / `torch.square`, int64 and float16, 2^16 to 2^20": (
        lambda r: cpu(r, "int64 float16", 16, 20),
        0.50,
        False,
    ),
    "cold build, 04 / 03": (build, 0.10, False),
    "GPU, a stage / the best one, from 2^26 bytes on": (layers, 1.02, False),
}


def worst(ratios: list[Ratio], more: bool) -> Ratio:
    return (min if more else max)(ratios, key=lambda r: r.value)


def reached(r: Ratio, goal: float, more: bool) -> bool:
    """Return whether the ratio reaches the goal; where quartiles overlap, 2 % less does."""
    slack = 0.02 if r.overlap else 0.0
    return r.value >= goal * (1 - slack) if more else r.value <= goal * (1 + slack)


def table(result: dict) -> str:
    """Return the goals as a Markdown table; one without figures is left out."""
    lines = ["| ratio | goal | worst | at | reached |", "| --- | ---: | ---: | --- | --- |"]
    for figure, (ratios, goal, more) in GOALS.items():
        try:
            found = list(ratios(result))
        except KeyError:
            continue
        if not found:
            continue
        r = worst(found, more)
        missed = sum(not reached(each, goal, more) for each in found)
        verdict = "yes" if missed == 0 else f"no, in {missed} of {len(found)} cases"
        sign = "≥" if more else "≤"
        lines.append(f"| {figure} | {sign} {goal:.2f} | {r.value:.3f} | {r.where} | {verdict} |")
    return (
        "\n".join(lines)
        + "\n\nWhere the quartiles of the two overlap, a goal missed by up to 2 % counts as reached."
    )
