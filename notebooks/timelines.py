# SPDX-License-Identifier: MIT
"""Host and device on one line of time: measured where there is a GPU, else recorded on one."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import torch

RECORDED = Path(__file__).resolve().parent / "recorded_timeline.json"


class Clock:
    """Times, in ms, of calls on the host and of their work on the device.

    Both begin when an event that was queued on an idle device has passed; the host notices that some
    microseconds late. Events around a call measure the device.
    """

    def __init__(self) -> None:
        torch.cuda.synchronize()
        self.begin = torch.cuda.Event(enable_timing=True)
        self.begin.record()
        self.begin.synchronize()
        self.start, self.host, self.device = time.perf_counter(), [], []

    @contextlib.contextmanager
    def call(self, name: str, row: str = "device") -> Iterator[None]:
        """Time what is called here, and what it queues on the current stream."""
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        came = time.perf_counter()
        events[0].record()
        yield
        events[1].record()
        self.device.append((row, name, events))
        self.host.append(["host", name, *(1e3 * (t - self.start) for t in (came, time.perf_counter()))])

    def wait(self) -> None:
        came = time.perf_counter()
        torch.cuda.synchronize()
        self.host.append(["host", "wait", *(1e3 * (t - self.start) for t in (came, time.perf_counter()))])

    def bars(self) -> list[list]:
        """Return [row, name, from, to] of each call and of its work, in ms."""
        return self.host + [
            [row, name, *(self.begin.elapsed_time(e) for e in ends)] for row, name, ends in self.device
        ]


def squares(n: int, wait_each: bool) -> dict:
    """Three squares of n numbers; the host waits after each, or once."""
    x = torch.rand(n, device="cuda")
    clock = Clock()
    for k in range(3):
        with clock.call(f"square {k + 1}"):
            torch.square(x)
        if wait_each or k == 2:
            clock.wait()
    return {"bars": clock.bars()}


def side_stream(waits: bool) -> dict:
    """x is filled with 3 on another stream, after other work there, and squared on the current one."""
    x, side = torch.zeros(1 << 24, device="cuda"), torch.cuda.Stream()
    clock = Clock()
    with torch.cuda.stream(side):
        with clock.call("other work", "side stream"):
            torch.cuda._sleep(1_000_000)  # cycles, so half a millisecond
        with clock.call("x = 3", "side stream"):
            x.fill_(3.0)
    if waits:
        torch.cuda.current_stream().wait_stream(side)
    with clock.call("square", "current stream"):
        y = torch.square(x)
    clock.wait()
    return {"bars": clock.bars(), "y": sorted({y[0].item(), y[-1].item()})}


PROGRAMS = {
    "three squares of 2^28 numbers, a wait at the end": lambda: squares(1 << 28, wait_each=False),
    "three squares of 2^24 numbers, a wait at the end": lambda: squares(1 << 24, wait_each=False),
    "the same, a wait after each": lambda: squares(1 << 24, wait_each=True),
    "x = 3 on a side stream, its square on the current one": lambda: side_stream(waits=False),
    "the same, and the current stream waits for the other": lambda: side_stream(waits=True),
}


def measure() -> dict:
    """Return what each program did on the GPU that is here; the first time is for warming up."""
    for program in PROGRAMS.values():
        program()
    programs = {name: program() for name, program in PROGRAMS.items()}
    return {"gpu": torch.cuda.get_device_name(), "programs": programs}


def draw(ax: plt.Axes, name: str, program: dict) -> None:
    bars = program["bars"]
    rows = list(dict.fromkeys(row for row, *_ in bars))
    colors = {
        what: plt.cm.tab10(k)
        for k, what in enumerate(dict.fromkeys(bar[1] for bar in bars if bar[1] != "wait"))
    }
    end = max(last for *_, last in bars)
    for row, what, first, last in bars:
        color = "#eeeeee" if what == "wait" else colors[what]
        ax.barh(rows.index(row), last - first, left=first, color=color, edgecolor="black", lw=0.5)
        if last - first > 0.12 * end:
            ax.text((first + last) / 2, rows.index(row), what, ha="center", va="center", fontsize=8)
        elif row != "host":
            ax.text(last + 0.005 * end, rows.index(row), what, va="center", fontsize=8)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, 1.08 * end)
    ax.set_xlabel("ms", fontsize=8)
    found = f"; y has {program['y']}" if "y" in program else ""
    ax.set_title(name + found, fontsize=9, loc="left")


def timeline() -> None:
    """Draw each program on its own line of time, and print when its calls were back and its work done."""
    if torch.cuda.is_available():
        data = measure()
        if os.environ.get("SQUARE_RECORD"):  # tools/notebooks.py, when it writes
            RECORDED.write_text(json.dumps(data, indent=1) + "\n")
    else:
        data = json.loads(RECORDED.read_text())
        print(f"No GPU here: what follows was recorded on an {data['gpu']}.")
    programs = data["programs"]
    figure, axes = plt.subplots(len(programs), figsize=(9, 1.7 * len(programs)), squeeze=False)
    for ax, (name, program) in zip(axes[:, 0], programs.items(), strict=True):
        draw(ax, name, program)
        ours = [bar for bar in program["bars"] if bar[1] != "wait"]
        back, done = (max(bar[3] for bar in ours if (bar[0] == "host") == host) for host in (True, False))
        print(f"{name}: the last call was back after {back:.3f} ms, its work done after {done:.3f} ms")
    figure.tight_layout()
    plt.show()
