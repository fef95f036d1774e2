# SPDX-License-Identifier: MIT
"""What the pages say is so: links lead somewhere, quotations are found, figures are measured."""

import re
import statistics
import sys
from itertools import pairwise

import pytest
from pages import (
    NOT_OURS,
    STAGES,
    blocks,
    each_page,
    each_prose,
    each_stage_page,
    links,
    spans,
    text,
    without_blocks,
)
from stages import ROOT

sys.path[:0] = [str(ROOT / "exercises/checks"), str(ROOT / "bench")]
import report
import showing

# ---- links


def anchors(page):
    """The places in a page that a link can lead to: its headings as GitHub names them, and ids."""
    found = set(re.findall(r'<a id="([\w-]+)">', page))
    for heading in re.findall(r"^#+ (.*)$", without_blocks(page), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


@each_page
def test_links(name):
    """A link inside the repository leads to a file or folder in it, and to a place that is there."""
    for target in links(text(name)):
        if target.startswith("http"):
            assert target.startswith("https://"), target
            continue
        file, _, anchor = target.partition("#")
        path = (ROOT / name).parent / file if file else ROOT / name
        assert path.exists() and path.resolve().is_relative_to(ROOT), f"{name}: {target} leads nowhere"
        if anchor:
            assert anchor in anchors(path.read_text()), f"{name}: {target} is no place in {file or name}"


@pytest.mark.parametrize(
    "before, after", list(pairwise(["README.md", *STAGES, "docs/which_layer.md", "docs/next.md"]))
)
def test_reading_order(before, after):
    """A page ends with the link to the next."""
    target = links(text(before).rpartition("**Next:**")[2])[0]
    assert ((ROOT / before).parent / target).resolve() == ROOT / after


GLOSSARY = re.findall(r'<a id="([\w-]+)">', text("docs/glossary.md"))
TERM = re.compile(r"\[([^\]]+)\]\([^)]*glossary\.md#([\w-]+)\)")


def told(name):
    """The prose of a page without headings and without what leads on at its end."""
    return re.sub(r"^(?:#|\*\*(?:Next|Try it):).*$", "", without_blocks(text(name)), flags=re.MULTILINE)


def test_glossary():
    """Each term of the glossary is a link where a stage uses it first, or else in the overview."""
    pages = "\n".join(map(told, STAGES))
    linked = {anchor for _, anchor in TERM.findall(pages)}
    assert linked | {anchor for _, anchor in TERM.findall(told("README.md"))} == set(GLOSSARY)
    for link in TERM.finditer(pages):
        words = re.escape(link[1].strip("*`").removesuffix("s"))
        earlier = re.search(rf"(?<![\w.]){words}s?(?!\w)", TERM.sub("", pages[: link.start()]))
        assert not earlier, f"{link[1]!r} is used before it is linked to the glossary"


@each_stage_page
def test_five_minutes(name):
    """At 200 words a minute, the page of a stage is read in five."""
    assert len(without_blocks(text(name)).split()) < 1000


def test_one_call_stack():
    """The picture of the stack is the same in every stage but for the line that is lit."""
    stacks = set()
    for name in STAGES:
        (stack,) = (block for block in blocks(text(name), "text") if "your program" in block)
        (lit,) = (line for line in stack.splitlines() if "==>" in line)
        assert lit.startswith(f"==> {name[:2]} ") and lit.endswith("<== this stage")
        stacks.add(re.sub(r" *<== this stage", "", stack.replace("==>", "   ")))
    assert len(stacks) == 1


# ---- quotations


def normal(code):
    return re.sub(r"\s+", " ", code).strip()


SIMPLER = {"01_pure_cuda/README.md": "__global__ void square_kernel("}  # compiled below


@each_prose
def test_quotations(name):
    """Each line of a block of code stands in a file that the page links."""
    page, folder = text(name), (ROOT / name).parent
    linked = [folder / target.partition("#")[0] for target in links(page) if not target.startswith("http")]
    files = [
        normal(path.read_text())
        for path in linked
        if path.suffix in (".cuh", ".cu", ".h", ".c", ".py", ".toml")
    ]
    for block in blocks(page, "c", "c++", "cpp", "cuda", "python", "toml"):
        if name in SIMPLER and block.startswith(SIMPLER[name]):
            continue
        for line in filter(None, map(normal, block.splitlines())):
            assert any(line in file for file in files), f"{name} quotes {line!r}, which no linked file has"


@pytest.mark.parametrize("name, begin", SIMPLER.items())
def test_simpler_kernel(name, begin, tmp_path):
    """The kernel of the first page, which the file says in more words: each thread squares its value."""
    (block,) = (block for block in blocks(text(name), "c++") if block.startswith(begin))
    file = tmp_path / "kernel.cu"
    file.write_text(f"#include <stdint.h>\n{block}")
    for n, grid, size in (1000, 8, 128), (5, 1, 8):
        showing.kernel(file, n, grid, size, lambda b, t, size=size: [b * size + t])


WRITTEN = (".py", ".c", ".h", ".cu", ".cuh", ".cpp", ".toml", ".in", ".txt", ".ini")


def names_here():
    """Every word of the repository's files that are no pages; and of names with a prefix, the rest."""
    words = set()
    for path in ROOT.rglob("*"):
        ours = not NOT_OURS & set(path.relative_to(ROOT).parts) and path.name != "test_prose.py"
        if ours and (path.suffix in WRITTEN or path.name == "Makefile") and path.is_file():
            words |= {path.stem, *re.findall(r"\w+", path.read_text())}
    return words | {word.removeprefix("aoti_torch_") for word in words}


HERE = names_here()
FOREIGN = {"NVCC_CCBIN", "GLIBCXX_3"}  # names of others that no file here has


@each_prose
def test_names(name):
    """A name in backticks, if it can only be one of code, is the name of something here."""
    for span in spans(text(name)):
        for word in re.findall(r"(?<![\w./-])[A-Za-z]\w*_\w+(?![\w…]|\.\.\.)", span):
            if name.endswith("MAKE_IT_YOURS.md"):  # what becomes of square there
                word = word.replace("cube", "square").replace("CUBE", "SQUARE")
            assert word in HERE | FOREIGN, f"{name}: `{span}`: there is no {word} here"


# ---- figures

RESULT = {section: result[section] for section, (_, result) in report.newest(ROOT / "bench/results").items()}


def cold_build(what):
    return statistics.median(RESULT["build"]["seconds"][what]["cold"])


def bool_bandwidth():
    cases = [c for c in RESULT["bandwidth"]["cases"] if c["dtype"] == "bool" and not c["late"]]
    us = max(cases, key=lambda case: case["bytes_in"])["us"]
    return statistics.median(us["torch.square"]) / statistics.median(us["05"])


def missed_at_2_24(percent):
    """All types of 8 bytes and more are slower than torch.square, the worst by that."""
    cases = [c for c in RESULT["bandwidth"]["cases"] if c["bytes_in"] == 2**24 and not c["late"]]
    dtypes = ("int64", "float64", "complex64", "complex128")
    us = [case["us"] for case in cases if case["dtype"] in dtypes]
    missed = [100 * (1 - statistics.median(u["torch.square"]) / statistics.median(u["05"])) for u in us]
    return len(missed) == len(dtypes) and min(missed) > percent / 3 and round(max(missed)) == percent


# A figure in the prose, and whether the newest results say the same; None if it is not one of speed.
FIGURES = {
    ("README.md", "6 GB"): None,  # what is downloaded
    ("01_pure_cuda/README.md", "256 MiB"): None,  # what make profile squares
    ("README.md", "five minutes"): None,  # test_five_minutes
    ("03_load_inline/README.md", "tens of seconds"): lambda: 10 < cold_build("03: load_inline") < 100,
    ("bench/README.md", "8 %"): lambda: missed_at_2_24(8),
    ("bench/README.md", "three times"): lambda: 2.5 < bool_bandwidth() < 3.2,
}
NUMBER = (
    r"(?:\d[\d.,]*|two|three|four|five|six|seven|eight|nine|ten|tens of|hundreds of|half an?|a third of a)"
)
UNIT = (
    r"(?:%|percent|[KMGT]i?B(?:/s)?|[µnm]?s|microseconds?|nanoseconds?|milliseconds?|seconds?|minutes?|times)"
)


@each_page
def test_figures(name):
    """What looks like a figure that somebody measured is one of bench/results, or none of speed."""
    prose = re.sub(r"`[^`]*`", "", without_blocks(text(name)))
    for figure in re.findall(rf"(?<![\w.^-]){NUMBER}\s{UNIT}(?!\w)", prose):
        key = name, normal(figure)
        assert key in FIGURES, f"{name} says {figure!r}: is it in bench/results?"
        assert FIGURES[key] is None or FIGURES[key](), f"{name} says {figure!r}, and bench/results does not"


@each_prose
def test_tables_of_figures(name):
    """Each number in a table whose columns are figures stands in a file of bench/results."""
    results = "".join(path.read_text() for path in (ROOT / "bench/results").glob("*.[jm]*"))
    for table in re.findall(r"^\| ---.*---: \|\n((?:\|.*\n)+)", without_blocks(text(name)), re.MULTILINE):
        for number in re.findall(r"(?<=\| )[\d.]+(?= \|)", table):
            assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.])", results), f"{name}: {number}"


def test_figures_are_there():
    """The list above names nothing that no page says any more."""
    for name, figure in FIGURES:
        assert figure in normal(without_blocks(text(name))), f"{name} no longer says {figure!r}"
