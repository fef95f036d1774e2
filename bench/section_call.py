# SPDX-License-Identifier: MIT
"""Nanoseconds of host time for one small call through each layer."""

import ctypes
from collections.abc import Callable

import contenders
import measure
import torch

Samplers = dict[str, Callable[[], float]]


def in_c(stage_02: object, device: str, x: torch.Tensor, calls: int) -> Samplers:
    """Return samplers of calls from C, without Python in between."""
    library, square = contenders.build("calls.c"), stage_02._library
    pointer, n = ctypes.c_void_p, ctypes.c_int64
    library.time_launch.restype = library.time_cpu.restype = ctypes.c_double
    library.time_cpu.argtypes = [pointer, pointer, pointer, n, ctypes.c_int, ctypes.c_int]
    library.time_launch.argtypes = [*library.time_cpu.argtypes[:5], pointer, ctypes.c_int]
    y, code = torch.empty_like(x), stage_02.CODES[x.dtype]

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


def in_python(stages: dict, device: str, x: torch.Tensor) -> dict[str, Callable[[], object]]:
    """Return the calls from Python: each layer of the stages, PyTorch's own, and the others."""
    wants = x.clone().requires_grad_()
    names = {"02": "02: ctypes", "03": "03: pybind11", "04": "04: square(x)", "05": "05: square(x)"}
    calls = {names[stage]: lambda s=module.square: s(x) for stage, module in stages.items()}
    if "04" in stages:
        calls["04: operator"] = lambda: torch.ops.square_c.square.default(x)
    calls["torch.square"] = lambda: torch.square(x)
    calls["torch.square with gradient"] = lambda: torch.square(wants)
    calls["x * x"] = lambda: x * x
    for name, square in contenders.others(torch.cuda.is_available())[0].items():
        if device == "cuda" or name == "torch.compile":
            calls[name] = lambda s=square: s(x)
    squares, ones = {"torch.square": torch.square}, torch.ones_like(wants)
    if "05" in stages:
        calls["05: with gradient"] = lambda: stages["05"].square(wants)
        squares["05"] = stages["05"].square
    for name, square in squares.items():
        both = f"{name} forward and backward"
        calls[both] = lambda s=square: torch.autograd.grad(s(wants), wants, ones)
    return calls


def call(quick: bool) -> dict:
    """Return {"cpu", and "cuda" where there is one: {"n", "ns": samples}, "missing": {what: why}}."""
    on_gpu = torch.cuda.is_available()
    stages, missing = contenders.stages()
    result: dict = {"missing": missing | contenders.others(on_gpu)[1]}
    for device, n, calls in [("cpu", 16, 2000)] + [("cuda", 1024, 200)] * on_gpu:
        x, failed = contenders.numbers(n, torch.float32, device), {}
        try:
            samplers = in_c(stages["02"], device, x, calls)
        except Exception as error:
            samplers, failed["calls from C"] = {}, measure.words(error)
        functions = in_python(stages, device, x)
        warm_ups = {name: measure.host_nanoseconds(function, 50) for name, function in functions.items()}
        for name in measure.rounds(warm_ups, 1, seed=n, failed=failed):
            samplers[name] = measure.host_nanoseconds(functions[name], calls)
        count = 10 if quick else 41
        progress = measure.Progress(f"call {device}", count)
        samples = measure.rounds(samplers, count, seed=n, failed=failed, tick=progress.step)
        result[device] = {"n": n, "ns": measure.rounded(samples)}
        result["missing"] |= {f"{name}, {device}": text for name, text in failed.items()}
    return result
