# SPDX-License-Identifier: MIT
"""Pictures for the notebooks, each drawn from numbers that are computed or measured here."""

import ctypes
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from matplotlib.patches import Rectangle
from timelines import timeline as timeline  # for the notebooks

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "bench/results"
SECTOR = 32  # bytes that the memory delivers at least
WARP = 32  # threads that run in step


def thread_of(i: int, block: int, per_thread: int) -> tuple[int, int]:
    """Return (block, thread) that squares element i: the inverse of the kernel's index."""
    return i // per_thread // block, i // per_thread % block


def threads(n: int, block: int, per_thread: int) -> None:
    """Which thread of which block squares which element, and where the tail falls."""
    per_row = block * per_thread
    grid = -(-n // per_row)
    figure, ax = plt.subplots(figsize=(max(8, 1 + 0.45 * per_row), 0.6 + 0.55 * grid))
    for i in range(grid * per_row):
        b, t = thread_of(i, block, per_thread)
        whole = (i // per_thread + 1) * per_thread <= n
        color = "#ffffff" if i >= n else plt.cm.tab10(t % 10) if whole else "#ffd27f"
        ax.add_patch(Rectangle((i % per_row, -b), 1, 0.9, facecolor=color, edgecolor="black", alpha=0.75))
        text = f"x[{i}]\nt{t}" if i < n else f"-\nt{t}"
        ax.text(i % per_row + 0.5, -b + 0.45, text, ha="center", va="center", fontsize=7)
    ax.set_xlim(-0.1, per_row + 0.1)
    ax.set_ylim(-grid + 0.9, 1)
    ax.set_yticks([0.45 - b for b in range(grid)], [f"block {b}" for b in range(grid)])
    ax.set_xticks([])
    ax.set_title(
        f"n = {n}, {block} threads a block, {per_thread} a thread; one colour a thread; "
        "pale orange: the tail, white: past the end"
    )
    figure.tight_layout()
    plt.show()


def sectors(itemsize: int, per_thread: int, late: int) -> list[int]:
    """Return how many 32-byte sectors each load of a warp asks for, from the addresses of its threads.

    late: bytes by which x begins after a multiple of 16. A pack that is late is loaded as load_pack
    does it: small elements from the two aligned lines that it lies in, others one by one.
    """
    size = itemsize * per_thread
    if late == 0 or per_thread == 1:
        loads = [[(t * size + late, size) for t in range(WARP)]]
    elif itemsize < 4:
        loads = [[(t * size + line, size) for t in range(WARP)] for line in (0, size)]
    else:
        loads = [[(t * size + k * itemsize + late, itemsize) for t in range(WARP)] for k in range(per_thread)]
    counts = []
    for load in loads:
        touched = {byte // SECTOR for first, length in load for byte in (first, first + length - 1)}
        counts.append(len(touched))
    return counts


def transactions(itemsize: int = 4) -> None:
    """Sectors and loads of one warp: one value a thread and one pack, aligned and one element late."""
    figure, ax = plt.subplots(figsize=(9, 3))
    rows = []
    for per_thread in (1, 16 // itemsize):
        for late in (0, itemsize):
            counts = sectors(itemsize, per_thread, late)
            values = WARP * per_thread
            rows.append(f"{per_thread} a thread, {'one late' if late else 'aligned'}")
            left = 0
            for count in counts:
                ax.barh(
                    len(rows) - 1,
                    count,
                    left=left,
                    edgecolor="white",
                    color="#1f77b4" if count > 8 else "#9ecae1",
                )
                left += count
            text = f" {len(counts)} load{'s' * (len(counts) > 1)}, {left} sectors, for {values} values"
            ax.text(left, len(rows) - 1, text, va="center", fontsize=8)
    ax.set_yticks(range(len(rows)), rows)
    ax.invert_yaxis()
    ax.margins(x=0.5)
    ax.set_xlabel(f"32-byte sectors that a warp asks for; elements of {itemsize} bytes; each box is one load")
    figure.tight_layout()
    plt.show()


def handle_of(x: torch.Tensor) -> int:
    """Return the address of a new AtenTensorHandle to x; whoever has it deletes it."""
    capsule = torch._C._aoti.unsafe_alloc_void_ptrs_from_tensors([x])[0]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, None)


def delete(handle: int) -> None:
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib/libtorch_cpu.so"))
    library.aoti_torch_delete_tensor_object.argtypes = [ctypes.c_void_p]
    if library.aoti_torch_delete_tensor_object(handle):
        raise RuntimeError("aoti_torch_delete_tensor_object failed")


def owned(x: torch.Tensor, names: int) -> list[tuple[str, str, int, str]]:
    """Return for each layer: its name for x, the layer, the address there, and who owns what.

    names: how many Python names hold x.
    """
    before = x._use_count()
    handle = handle_of(x)
    during = x._use_count()
    delete(handle)
    after, bytes_ = x._use_count(), x.numel() * x.element_size()
    return [
        ("PyObject", "Python", id(x), f"names that hold it: {names}"),
        ("at::Tensor", "C++ (03)", x._cdata, f"owners of the tensor: {before}"),
        ("AtenTensorHandle", "C (04)", handle, f"owners with it: {during}; deleted: {after}"),
        ("void *", "C and CUDA (02, 01)", x.data_ptr(), f"{bytes_} bytes, owner unknown"),
    ]


def owners(x: torch.Tensor) -> None:
    """Who owns what along the call stack, with the addresses and counts of this very tensor."""
    names = sys.getrefcount(x) - 2  # less x here, and the argument
    figure, ax = plt.subplots(figsize=(10, 2))
    for k, (name, where, address, text) in enumerate(owned(x, names)):
        ax.add_patch(
            Rectangle((k * 2.6, 0), 2.2, 1, facecolor=plt.cm.Blues(0.15 + 0.1 * k), edgecolor="black")
        )
        for y, line, weight in (
            (0.78, name, "bold"),
            (0.56, where, "normal"),
            (0.34, hex(address), "normal"),
            (0.12, text, "normal"),
        ):
            ax.text(k * 2.6 + 1.1, y, line, ha="center", va="center", weight=weight, fontsize=8)
        if k:
            ax.annotate("", (k * 2.6, 0.5), (k * 2.6 - 0.4, 0.5), arrowprops={"arrowstyle": "->"})
    ax.set_xlim(-0.1, 10.2)
    ax.set_ylim(-0.1, 1.1)
    ax.axis("off")
    figure.tight_layout()
    plt.show()


def measured(section: str) -> None:
    """Draw a chart of the benchmark: bandwidth, call, cpu or build."""
    sys.path.insert(0, str(HERE.parent / "bench"))
    import charts
    import report

    found = report.newest(RESULTS)
    if section not in found:
        print(f"nothing measured yet: make bench writes the section {section!r}")
        return
    _, result = found[section]
    machine = report.machine_of(result, section)
    print(
        f"measured on {machine['gpu'] or machine['processor']}, torch {machine['torch']}, {machine['date']}"
    )
    getattr(charts, section)(result)
    plt.show()
