# SPDX-License-Identifier: MIT
"""How the benchmark measures: rounds over all contenders in random order; medians and quartiles."""

import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping

import torch

Call = Callable[[], object]


class Progress:
    """A line on stderr that says what runs, how far it is and how long already."""

    def __init__(self, what: str, steps: int):
        self.what, self.steps, self.done = what, max(steps, 1), 0
        self.start = self.shown = time.monotonic()
        self.moving = sys.stderr.isatty()

    def step(self, detail: str = "") -> None:
        self.done += 1
        now, last = time.monotonic(), self.done >= self.steps
        if now - self.shown < (0.1 if self.moving else 10) and not last:
            return
        self.shown = now
        bar = ("#" * (20 * self.done // self.steps)).ljust(20, ".")
        line = f"{self.what:10} [{bar}] {self.done}/{self.steps} {now - self.start:4.0f} s {detail:32.32}"
        end = "\n" if last or not self.moving else ""
        print(f"\r{line}" if self.moving else line, end=end, file=sys.stderr, flush=True)


def quartiles(samples: list[float]) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper quartile of one sample or more."""
    if len(samples) == 1:
        return (samples[0],) * 3
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    return low, middle, high


def words(error: BaseException) -> str:
    """Return an exception as one line."""
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"


def rounded(samples: dict[str, list[float]], scale: float = 1.0) -> dict[str, list[float]]:
    return {name: [float(f"{value * scale:.4g}") for value in values] for name, values in samples.items()}


def rounds(
    contenders: Mapping[str, Callable[[], object]],
    count: int,
    seed: int,
    failed: dict[str, str],
    tick: Callable[[], None] = lambda: None,
) -> dict[str, list]:
    """Return `count` samples of each contender, taken in turn, each round in another order.

    One that raises leaves the rounds; it has no samples, and its error is put into `failed`.
    `tick` is called after each round.
    """
    generator = random.Random(seed)
    samples: dict[str, list] = {name: [] for name in contenders}
    for _ in range(count):
        order = list(samples)
        generator.shuffle(order)
        for name in order:
            try:
                samples[name].append(contenders[name]())
            except Exception as error:
                failed[name] = words(error)
                del samples[name]
        tick()
    return samples


class Device:
    """Microseconds on the current GPU between two events, after its L2 cache was overwritten."""

    def __init__(self) -> None:
        cache = torch.cuda.get_device_properties().L2_cache_size
        self.flush = torch.empty(max(4 * cache, 1 << 28), dtype=torch.uint8, device="cuda")

    def timed(self, call: Call) -> tuple[torch.cuda.Event, torch.cuda.Event]:
        """Queue a call between two events, with none of the host's time between them.

        The flush keeps the device busy while the host queues the call. If the device is past the
        first event by then, it may have waited for the host: again, behind twice as many flushes.
        Raises RuntimeError if 64 are too few, as they are for a call that waits for the device.
        """
        for flushes in (1, 2, 4, 8, 16, 32, 64):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            for _ in range(flushes):
                self.flush.zero_()
            begin.record()
            call()
            end.record()
            if not begin.query():
                return begin, end
        raise RuntimeError("the device was always faster than the host: no time of its own to be had")

    def sample(
        self, calls: Mapping[str, Call], count: int, seed: int, failed: dict[str, str]
    ) -> dict[str, list[float]]:
        """Return microseconds of each call: `count` samples of each, interleaved, as rounds() does."""
        rounds(calls, 2, seed, failed)  # warm-up: compiles, allocates, loads
        timers = {name: lambda c=call: self.timed(c) for name, call in calls.items() if name not in failed}
        pairs = rounds(timers, count, seed, failed)
        torch.cuda.synchronize()
        return {name: [1e3 * a.elapsed_time(b) for a, b in pair] for name, pair in pairs.items()}


def host_nanoseconds(call: Call, calls: int) -> Callable[[], float]:
    """Return a function that gives the nanoseconds of one call, the mean of `calls` in a row.

    On a GPU that is the time to queue the work; the device is idle at the beginning.
    """
    synchronize = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None

    def sample() -> float:
        synchronize()
        start = time.perf_counter_ns()
        for _ in range(calls):
            call()
        return (time.perf_counter_ns() - start) / calls

    return sample


def repeats(call: Call, microseconds: float) -> int:
    """Return how many calls take about so long, at least one."""
    call()
    start = time.perf_counter_ns()
    call()
    return max(1, int(microseconds * 1e3 / max(time.perf_counter_ns() - start, 1)))
