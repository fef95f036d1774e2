# SPDX-License-Identifier: MIT
"""`make bench-report`: charts, and the README's tables, from bench/results/*.json and the stages' files.

report.py [--readme FILE] [--results FOLDER]

Each section is drawn from the newest result with a GPU that has it, or from the newest without.
"""

import argparse
import json
import re
from pathlib import Path

import goals
from lines import lines
from measure import quartiles

ROOT = Path(__file__).resolve().parent.parent


def to_json(result: dict) -> str:
    """Return the result as JSON with a list of figures on one line."""
    text = json.dumps(result, indent=1)
    return re.sub(r"\[\s+([-\d.e,\s]+?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text) + "\n"


def newest(folder: Path) -> dict[str, tuple[str, dict]]:
    """Return, for each section, the name and the content of the result to draw it from.

    That is the newest one with a GPU that has the section; if none has, the newest without.
    Raises SystemExit if there is no result.
    """
    results = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    if not results:
        raise SystemExit(f"report.py: no *.json in {folder}; make bench writes one")
    found = {}
    for name, result in sorted(results.items(), key=lambda item: rank(item[1]["machine"])):
        for section in TABLES:
            data = result.get(section, {"skipped": ""})
            if "skipped" not in data and data.get("cases", True):  # no case: everything failed
                found[section] = name, result
    return found


def rank(machine: dict) -> tuple[bool, str]:
    return bool(machine["gpu"]), machine["date"]


def machine_of(result: dict, section: str) -> dict:
    """Return what a section was measured on, and when: another one may have been measured later."""
    return result.get("machines", {}).get(section, result["machine"])


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def gbps(case: dict, name: str) -> str:
    if name not in case["us"]:
        return ""
    low, middle, high = (goals.moved(case, name) / us / 1e3 for us in quartiles(case["us"][name]))
    return f"{middle:.0f} ± {abs(low - high) / 2:.0f}"


def bandwidth_table(result: dict) -> str:
    cases = result["bandwidth"]["cases"]
    size = min(1 << 28, max(case["bytes_in"] for case in cases))
    names = ["torch.square", "copy", "one value", "05"]
    rows = []
    for dtype in dict.fromkeys(case["dtype"] for case in cases):
        of_size = {c["late"]: c for c in cases if c["dtype"] == dtype and c["bytes_in"] == size}
        if {0, 1} <= set(of_size):
            rows.append([dtype, *(gbps(of_size[0], name) for name in names)])
            rows[-1] += [gbps(of_size[1], name) for name in ("torch.square", "05")]
    head = ["dtype", "torch.square", "copy", "one value a thread*", "**packs (05)**", "x[1:]: torch.square"]
    text = (
        f"GB/s read plus written, {size >> 20} MiB of input, median ± half the distance of the quartiles:\n\n"
    )
    note = (
        "\n\n\\* the same kernel with N = 1, in blocks of 128 threads as the packed one. In the first "
        "picture its curve, CuPy's and NVRTC's lie on each other.\n"
        "*copy* keeps the dtype: of bool it writes one byte where a square writes eight."
    )
    return text + table([*head, "**x[1:]: packs (05)**"], rows) + note


def call_table(result: dict) -> str:
    parts = []
    for device, where in (("cuda", "on the GPU, n = {n}, time to queue"), ("cpu", "on the CPU, n = {n}")):
        if device not in result["call"]:
            continue
        data = result["call"][device]
        rows = []
        for name, samples in sorted(data["ns"].items(), key=lambda item: quartiles(item[1])[1]):
            low, middle, high = quartiles(samples)
            rows.append([name, f"{middle:.0f}", f"{low:.0f} to {high:.0f}"])
        head = [f"one call {where.format(n=data['n'])}", "ns", "quartiles"]
        parts.append(table(head, rows))
    parts.append(
        "From yellow to red, each layer of the picture contains the one above it; light blue are other ways "
        "through the stages, dark blue is PyTorch's own. [Names](bench/README.md#how-it-is-measured)"
    )
    return "\n\n".join(parts)


def cpu_table(result: dict) -> str:
    cases, rows = result["cpu"]["cases"], []
    powers = sorted({case["n"] for case in cases} & {1 << 10, 1 << 16, 1 << 20, 1 << 24})
    threads = sorted({case["threads"] for case in cases})
    for dtype in dict.fromkeys(case["dtype"] for case in cases):
        row = [dtype]
        for count in threads:
            for n in powers:
                key = (dtype, n, count)
                us = next(c["us"] for c in cases if (c["dtype"], c["n"], c["threads"]) == key)
                there = goals.both(us, "05", "torch.square")
                row.append(f"{goals.ratio(us['05'], us['torch.square'], '').value:.2f}" if there else "")
        rows.append(row)
    head = [f"2^{n.bit_length() - 1}, {count} thread{'s' * (count > 1)}" for count in threads for n in powers]
    return "CPU time of `torch_square.square` over that of `torch.square`:\n\n" + table(
        ["dtype", *head], rows
    )


def build_table(result: dict) -> str:
    rows = []
    for name, seconds in result["build"]["seconds"].items():
        cold, warm = (quartiles(seconds[kind])[1] for kind in ("cold", "warm"))
        rows.append([name, f"{cold:.1f}", f"{warm:.1f}"])
    note = f"Starting Python with torch, a part of 03 and 04, takes {result['build']['import_torch']} s."
    return table(["seconds to an answer", "from nothing", "again"], rows) + "\n\n" + note


def lines_table() -> str:
    rows = []
    for stage, files in lines().items():
        rows.append([stage, str(sum(files.values())), ", ".join(f"{name} {n}" for name, n in files.items())])
    return table(["stage", "lines of code", "its own files"], rows)


def machine_line(machine: dict) -> str:
    parts = [
        machine["gpu"],
        machine["processor"],
        f"{machine['threads']} threads",
        f"torch {machine['torch']}",
    ]
    parts += [f"nvcc {machine['nvcc']}" if machine["nvcc"] else None, f"Python {machine['python']}"]
    parts += [machine["compiler"], f"driver {machine['driver']}" if machine.get("driver") else None]
    trial = "; a quick trial" if machine.get("quick") else ""
    return ", ".join(part for part in parts if part) + f"; {machine['date']}{trial}."


def missing_line(section: dict) -> str:
    """Return what could not be measured, with the first line of the reason; "" if all could."""
    missing = section.get("missing", {})
    reasons = [f"{what} ({(why.splitlines() or [''])[0]})" for what, why in missing.items()]
    return f"Not measured: {'; '.join(reasons)}." if missing else ""


def chart(name: str, kind: str, alt: str) -> str:
    return f"![{alt}](bench/results/{name}-{kind}.png)"


TABLES = {
    "bandwidth": (bandwidth_table, "Bandwidth against size, for each contender"),
    "call": (call_table, "Cost of a call through each layer"),
    "cpu": (cpu_table, "CPU time over that of torch.square, for each dtype"),
    "build": (build_table, "Build times of the five stages"),
}


def sections(found: dict[str, tuple[str, dict]]) -> dict[str, str]:
    """Return the text of each marker for which there are figures."""
    texts = {"goals": goals.table({s: result[s] for s, (_, result) in found.items()}), "lines": lines_table()}
    for section, (name, result) in found.items():
        make, alt = TABLES[section]
        parts = [chart(name, section, alt), machine_line(machine_of(result, section))]
        if section == "bandwidth":
            parts.insert(1, chart(name, "dtypes", "The same for every dtype, aligned and one element late"))
        parts += [make(result), missing_line(result[section])]
        texts[section] = "\n\n".join(part for part in parts if part)
    return texts


def fill(text: str, texts: dict[str, str]) -> str:
    """Return text with what is between each pair of markers replaced. Raises ValueError without a pair."""
    for marker, content in texts.items():
        begin, end = f"<!-- bench:{marker} -->", f"<!-- /bench:{marker} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"the markers {begin} and {end} must each be there once")
        head, _, rest = text.partition(begin)
        text = f"{head}{begin}\n{content}\n{end}{rest.partition(end)[2]}"
    return text


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Draws charts and tables from the measured figures.")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results")
    options = parser.parse_args(arguments)
    found = newest(options.results)
    import matplotlib  # not needed to measure

    matplotlib.use("svg")  # no screen
    import charts

    for section, (name, result) in found.items():
        charts.draw(section, result, options.results / f"{name}-{section}")
    options.readme.write_text(fill(options.readme.read_text(), sections(found)))
    names = sorted({name for name, _ in found.values()})
    print(f"drawn from {', '.join(names)}: {options.readme} and the charts beside the figures")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
