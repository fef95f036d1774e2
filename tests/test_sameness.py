# SPDX-License-Identifier: MIT
"""One kernel: written once, linked, held letter by letter, and the same machine code everywhere."""

import ast
import os
import re

import pytest
from c_library import cuda_home, program, run
from stages import ROOT, STAGES

KERNEL = ROOT / "01_pure_cuda" / "square_kernel.cuh"
FOLDERS = ("01_pure_cuda", "02_c_launcher", "03_load_inline", "04_separate_files", "05_setup_py")

# Where a file is written, and the folders that hold a link to it.
LINKS = {
    "01_pure_cuda/square_kernel.cuh": ("02_c_launcher", "04_separate_files", "05_setup_py/csrc"),
    "01_pure_cuda/floats.h": ("02_c_launcher",),
    "02_c_launcher/square_launch.h": ("04_separate_files", "05_setup_py/csrc"),
    "02_c_launcher/square_launch.cu": ("04_separate_files", "05_setup_py/csrc"),
    "02_c_launcher/square_cpu.c": ("04_separate_files", "05_setup_py/csrc"),
    "02_c_launcher/checks.py": ("04_separate_files",),
    "03_load_inline/toolchain.py": ("04_separate_files", "05_setup_py"),
    "04_separate_files/square.c": ("05_setup_py/csrc",),
    "04_separate_files/torch_c_abi.h": ("05_setup_py/csrc",),
    "04_separate_files/tensor_layout.h": ("05_setup_py/csrc",),
    "04_separate_files/torch_tensor.h": ("05_setup_py/csrc",),
}


def sources(*suffixes):
    """The files of the stages that are written there: no links, nothing built."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            built = "build" in path.relative_to(ROOT).parts
            if path.is_file() and not path.is_symlink() and not built and path.suffix in suffixes:
                yield path


def test_kernel_in_one_file():
    """Only the kernel file, and stage 03's string, define the kernel."""
    found = {p for p in sources(".cuh", ".cu", ".h", ".c", ".cpp", ".py") if "__global__" in p.read_text()}
    assert found == {KERNEL, ROOT / "03_load_inline" / "square.py"}


def test_string_of_stage_03():
    """The string is the file, letter by letter."""
    tree = ast.parse((ROOT / "03_load_inline" / "square.py").read_text())
    strings = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    (kernel,) = (s for s in strings if isinstance(s, str) and "__global__" in s)
    assert kernel.splitlines() == KERNEL.read_text().splitlines()


def links():
    for folder, _, _ in os.walk(ROOT):
        parts = set(os.path.relpath(folder, ROOT).split(os.sep))
        if not parts & {"build", ".git", ".venv", "__pycache__"}:
            with os.scandir(folder) as entries:
                yield from (entry.path for entry in entries if entry.is_symlink())


def test_links_resolve():
    """Every link leads to a file of this repository by a relative path."""
    for link in links():
        if os.path.relpath(link, ROOT) == ".venv":
            continue
        assert not os.path.isabs(os.readlink(link)), link
        assert os.path.isfile(link), f"{link} leads nowhere"
        assert os.path.realpath(link).startswith(f"{ROOT}{os.sep}"), link


@pytest.mark.parametrize("file", LINKS)
def test_written_once(file):
    """A later stage that needs an earlier file holds a link to it, not a copy."""
    for folder in LINKS[file]:
        link = ROOT / folder / os.path.basename(file)
        assert link.is_symlink() and link.samefile(ROOT / file)


def mapped(folder):
    """The extension or library of a stage that is mapped into this process."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if f"/{folder}/" in line and ".so" in line}
    return sorted(path for path in paths if "cudart" not in path)


def machine_code(path):
    """The instructions of square_kernel<float, 4> for sm_90, or for the first GPU found."""
    sass = run(program("cuobjdump"), "-sass", path).stdout
    blocks = {}
    for block in sass.split("\tcode for ")[1:]:
        for function in block.split("\t\tFunction : ")[1:]:
            name = function.split()[0]
            if re.match(r"_Z13square_kernelIfLi4EE", name):
                code = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;?\s*/\*", function)
                blocks[block.split()[0]] = code
    return blocks


def test_same_machine_code():
    """The kernel for float32 is the same instructions in all five builds (case 48: no fast math)."""
    cuda_home(), program("cuobjdump")
    built = {"01": str(ROOT / "01_pure_cuda" / "build" / "square")}
    for stage in STAGES:
        assert stage.module
        (built[str(stage)],) = mapped(stage.folder)
    codes = {number: machine_code(path) for number, path in built.items()}
    shared = set.intersection(*(set(code) for code in codes.values()))
    assert shared, {number: list(code) for number, code in codes.items()}
    for architecture in shared:
        first = codes["01"][architecture]
        assert len(first) > 10 and any("FMUL" in line for line in first)
        for number, code in codes.items():
            assert code[architecture] == first, f"{number} differs from 01 for {architecture}"
