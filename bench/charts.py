# SPDX-License-Identifier: MIT
"""The benchmark's pictures, each as PNG and SVG."""

from pathlib import Path

import matplotlib
from goals import both, moved

matplotlib.rcParams.update({"svg.hashsalt": "square", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator
from measure import quartiles

COLORS = {
    "05": "#d62728",
    "04": "#ff7f0e",
    "03": "#bcbd22",
    "02": "#8c564b",
    "torch.square": "#1f77b4",
    "copy": "#2ca02c",
    "one value": "#7f7f7f",
    "x * x": "#17becf",
}


def save(figure: plt.Figure, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path.with_name(path.name + ".svg"), metadata={"Date": None})
    figure.savefig(path.with_name(path.name + ".png"), dpi=110, metadata={"Software": None})
    plt.close(figure)


def bandwidth(result: dict) -> plt.Figure:
    """GB/s against bytes: wide and narrow elements, aligned and one element late."""
    cases = result["bandwidth"]["cases"]
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), sharex=True, sharey=True)
    for row, late in zip(axes, (0, 1), strict=True):
        for ax, dtype in zip(row, ("float32", "uint8"), strict=True):
            mine = [c for c in cases if c["dtype"] == dtype and c["late"] == late]
            for name in dict.fromkeys(name for case in mine for name in case["us"]):
                points = []
                for case in (case for case in mine if name in case["us"]):
                    low, middle, high = (moved(case, name) / us / 1e3 for us in quartiles(case["us"][name]))
                    points.append((case["bytes_in"], middle, middle - high, low - middle))
                x, y, below, above = zip(*points, strict=True)
                style = {"color": COLORS.get(name), "lw": 2 if name == "05" else 1}
                ax.errorbar(x, y, yerr=(below, above), label=name, ls="-" if name in COLORS else ":", **style)
            ax.set_xscale("log", base=2)
            ax.set_title(f"{dtype}, {'x[1:]' if late else 'aligned'}")
            ax.legend(fontsize=7)
    for ax in axes[1]:
        ax.set_xlabel("bytes of input")
    for ax in axes[:, 0]:
        ax.set_ylabel("GB/s, read plus written")
    figure.suptitle(f"{result['machine']['gpu']}: bandwidth of each layer against size")
    return figure


def dtypes(result: dict) -> plt.Figure:
    """GB/s against bytes for every dtype: solid lines where x is aligned, dashed ones for x[1:]."""
    cases = result["bandwidth"]["cases"]
    names = list(dict.fromkeys(case["dtype"] for case in cases))
    rows = -(-(len(names) + 1) // 4)  # one place more, for the legend
    figure, axes = plt.subplots(rows, 4, figsize=(12, 2.4 * rows), sharex=True, sharey=True, squeeze=False)
    for ax, dtype in zip(axes.flat, names, strict=False):
        for name in ("torch.square", "copy", "one value", "05"):
            for late, style in ((0, "-"), (1, "--")):
                mine = [c for c in cases if (c["dtype"], c["late"]) == (dtype, late) and name in c["us"]]
                sizes = [c["bytes_in"] for c in mine]
                rates = [moved(c, name) / quartiles(c["us"][name])[1] / 1e3 for c in mine]
                label = name + ", x[1:]" * late
                ax.plot(sizes, rates, style, color=COLORS[name], lw=2 if name == "05" else 1, label=label)
        ax.set_xscale("log", base=2)
        ax.set_title(dtype)
    for ax in axes.flat[len(names) :]:
        ax.axis("off")
    axes.flat[len(names)].legend(*axes.flat[0].get_legend_handles_labels(), loc="center", fontsize=8)
    figure.supxlabel("bytes of input")
    figure.supylabel("GB/s, read plus written")
    return figure


# The way down, from the kernel's launch to the call with a gradient; each contains the one before.
WAY = ("01: bare launch", "02: C", "04: operator", "05: square(x)", "05: with gradient")
SIDE = ("02: ctypes", "03: pybind11", "04: square(x)", "x * x", "torch.square", "torch.square with gradient")


def call(result: dict) -> plt.Figure:
    """The call stack as stacked bars: what each layer adds."""
    devices = [device for device in ("cuda", "cpu") if device in result["call"]]
    figure, axes = plt.subplots(1, len(devices), figsize=(5.5 * len(devices), 4.2), squeeze=False)
    for ax, device in zip(axes[0], devices, strict=True):
        data = result["call"][device]
        ns = {name: quartiles(samples)[1] for name, samples in data["ns"].items()}
        way = [name for name in WAY if name in ns]
        for k, name in enumerate(way):
            bottom = 0.0
            for layer, part in enumerate(way[: k + 1]):
                end = min(ns[part], ns[name])  # the spread can make a layer dearer than what contains it
                width = max(end - bottom, 0.0)
                ax.barh(name, width, left=bottom, color=plt.cm.YlOrRd(0.25 + 0.15 * layer))
                bottom = max(bottom, end)
        for name in SIDE:
            if name in ns:
                ax.barh(name, ns[name], color="#9ecae1" if name[0].isdigit() else "#3182bd")
        for bar, name in enumerate([*way, *(name for name in SIDE if name in ns)]):
            ax.text(ns[name], bar, f" {ns[name]:.0f}", va="center", fontsize=8)
        ax.invert_yaxis()
        ax.margins(x=0.15)
        ax.xaxis.set_major_locator(MaxNLocator(5))  # more numbers would run into each other
        ax.set_xlabel("ns of one call")
        ax.set_title(f"{'GPU: to queue the work' if device == 'cuda' else 'CPU'}, n = {data['n']}")
    return figure


def cpu(result: dict) -> plt.Figure:
    """Time over torch.square's, for each dtype and size."""
    cases = result["cpu"]["cases"]
    threads = sorted({case["threads"] for case in cases})
    figure, axes = plt.subplots(
        1, len(threads), figsize=(5.5 * len(threads), 4.5), sharey=True, squeeze=False
    )
    dtypes = list(dict.fromkeys(case["dtype"] for case in cases))
    sizes = sorted({case["n"] for case in cases})
    for ax, count in zip(axes[0], threads, strict=True):
        for n in sizes:
            us = {c["dtype"]: c["us"] for c in cases if c["n"] == n and c["threads"] == count}
            there = [d for d in dtypes if both(us[d], "05", "torch.square")]
            y = [quartiles(us[d]["05"])[1] / quartiles(us[d]["torch.square"])[1] for d in there]
            shade = plt.cm.viridis(sizes.index(n) / max(len(sizes) - 1, 1))
            ax.plot(y, there, "o", color=shade, label=f"2^{n.bit_length() - 1}")
        ax.axvline(1, color="black", lw=1)
        ax.set_xscale("log")
        ax.set_xlabel("time of torch_square.square / torch.square")
        ax.set_title(f"{count} thread{'s' * (count > 1)}")
        ax.legend(fontsize=7, title="elements")
    axes[0][0].invert_yaxis()
    return figure


def build(result: dict) -> plt.Figure:
    """Seconds from nothing, and once more."""
    seconds = result["build"]["seconds"]
    figure, ax = plt.subplots(figsize=(8, 3))
    for k, times in enumerate(seconds.values()):
        cold, warm = quartiles(times["cold"])[1], quartiles(times["warm"])[1]
        ax.barh(k - 0.2, cold, height=0.4, color="#d62728", label="from nothing" if k == 0 else None)
        ax.barh(k + 0.2, warm, height=0.4, color="#9ecae1", label="again" if k == 0 else None)
        ax.text(cold, k - 0.2, f" {cold:.1f}", va="center", fontsize=8)
    ax.set_yticks(range(len(seconds)), list(seconds))
    ax.invert_yaxis()
    ax.set_xlabel("seconds to an answer, starting Python included")
    ax.legend()
    return figure


def draw(section: str, result: dict, path: Path) -> None:
    """Write the section's picture to PATH.png and PATH.svg; bandwidth has a second."""
    functions = {"bandwidth": bandwidth, "call": call, "cpu": cpu, "build": build}
    save(functions[section](result), path)
    if section == "bandwidth":
        save(dtypes(result), path.with_name(path.name.removesuffix(section) + "dtypes"))
