# SPDX-License-Identifier: MIT
"""torch_c_abi.h against the headers of the libtorch that is installed: a change is noticed here."""

import ctypes
import re
from pathlib import Path

import pytest
import torch
from c_library import compile
from stages import ROOT

OURS = ROOT / "04_separate_files" / "torch_c_abi.h"
INCLUDE = Path(torch.__file__).parent / "include"
SHIMS = "torch/csrc/inductor/aoti_torch/c/shim.h", "torch/csrc/stable/c/shim.h"
# What libtorch's declarations call a type, where a C header has to spell it out.
SAME_TYPE = {
    "AOTITorchError": "int32_t",
    "ParallelFunc": "void (*)(int64_t, int64_t, void *)",
    "AtenTensorHandle": "struct AtenTensorOpaque *",
    "TorchLibraryHandle": "struct TorchLibraryOpaque *",
    "CUDAGuardHandle": "struct CUDAGuardOpaque *",
    "CUDAStreamGuardHandle": "struct CUDAStreamGuardOpaque *",
    "StableIValue": "uint64_t",
}
NAME = r"(?:aoti_)?torch_\w+"


def arguments(text):
    """The arguments of a prototype, apart at the commas outside parentheses."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def plain(declaration):
    """A type without its argument's name, and spelled one way: "const char * text" is "constchar*"."""
    function = re.fullmatch(r"(\w+) ?\( ?\* ?\w* ?\) ?\((.*)\)", declaration)
    if function:
        inner = ",".join(plain(a) for a in arguments(function.group(2)))
        return f"{plain(function.group(1))}(*)({inner})"
    words = re.findall(r"\w+|\*", declaration)
    if len(words) > 1 and words[-1] not in ("*", "const") and words[-2] not in ("const", "struct"):
        words.pop()
    text = " ".join(words)
    for name, spelled in SAME_TYPE.items():
        if re.search(rf"\b{name}\b", text):
            text = re.sub(rf"\b{name}\b", plain(spelled), text)
    return text.replace("struct ", "").replace(" ", "")


def prototypes(text):
    """{name: (result, [arguments])} of what a header declares."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*$", " ", text, flags=re.MULTILINE)
    text = re.sub(r"\bAOTI_TORCH_EXPORT\b|__attribute__\(\(\w+\)\)|\[\[noreturn\]\]", " ", text)
    text = re.sub(r"\s+", " ", text)
    found = {}
    for result, name, rest in re.findall(rf"([\w ]+[ *]+)({NAME}) ?\((.*?)\) ?;", text):
        found[name] = plain(f"{result} r"), [plain(a) for a in arguments(rest)]
    return found


DECLARED = prototypes(OURS.read_text())
INSTALLED = prototypes("\n".join((INCLUDE / shim).read_text() for shim in SHIMS))


def test_the_parser_sees_all():
    """Every name in our header that looks like one of libtorch's functions was understood."""
    text = re.sub(r"/\*.*?\*/", " ", OURS.read_text(), flags=re.DOTALL)
    assert set(re.findall(rf"\b({NAME}) ?\(", text)) == set(DECLARED)
    assert len(DECLARED) > 10


@pytest.mark.parametrize("name", DECLARED)
def test_prototype(name):
    """Result and arguments are those of the installed header."""
    if name == "torch_exception_get_what_without_backtrace" and name not in INSTALLED:
        pytest.skip("torch before 2.13 lacks it; square.c asks whether it is there")
    assert name in INSTALLED, f"libtorch {torch.__version__} does not declare {name}"
    assert DECLARED[name] == INSTALLED[name]


def test_one_compiler_takes_both(tmp_path):
    """A C++ compiler that reads both finds no conflict: the types are the same to the letter."""
    unit = tmp_path / "both.cpp"
    lines = ["#define USE_CUDA 1", *(f"#include <{shim}>" for shim in SHIMS)]
    unit.write_text("\n".join([*lines, 'extern "C" {', f'#include "{OURS}"', "}", ""]))
    compile("g++", "-std=c++20", "-fsyntax-only", f"-isystem{INCLUDE}", unit)


@pytest.mark.parametrize("name", DECLARED)
def test_exported(name):
    """The installed libraries have the function; those for CUDA only if torch is built with it."""
    if "cuda" in name and torch.version.cuda is None:
        pytest.skip("this torch is built without CUDA")
    if name == "torch_exception_get_what_without_backtrace" and name not in INSTALLED:
        pytest.skip("torch before 2.13 lacks it")
    libraries = ("libtorch_cpu.so", "libtorch_cuda.so") if torch.version.cuda else ("libtorch_cpu.so",)
    folder = Path(torch.__file__).parent / "lib"
    assert any(hasattr(ctypes.CDLL(str(folder / library)), name) for library in libraries)
