# SPDX-License-Identifier: MIT
"""What a user sees first: names, signatures, examples, the self-check, and words for bad arguments."""

import doctest
import inspect
import os
import re
import sys
import typing
from importlib import metadata
from pathlib import Path

import pytest
import torch
from c_library import run
from package import OPERATOR, SITE, square, square_, torch_square
from stages import FOREIGN, ROOT

FOLDER = ROOT / "05_setup_py"
ENVIRONMENT = {**os.environ, "PYTHONPATH": SITE}


def test_names():
    """Two functions, a version that is the package's, types that a checker finds."""
    assert torch_square.__all__ == ["square", "square_"]
    found = [d.version for d in metadata.distributions(path=[SITE]) if d.name == "torch_square"]
    assert torch_square.__version__ in found
    assert (Path(torch_square.__file__).parent / "py.typed").exists()
    assert list(inspect.signature(square).parameters) == ["input", "out"]
    assert inspect.signature(square).parameters["out"].kind is inspect.Parameter.KEYWORD_ONLY
    for function in square, square_:
        hints = typing.get_type_hints(function)
        assert hints["input"] is hints["return"] is torch.Tensor


def test_examples():
    """The examples in the docstrings are run; each function has one, and says what it raises."""
    names = {"torch": torch, "torch_square": torch_square}
    results = doctest.testmod(torch_square, extraglobs=names)
    assert results.attempted >= 2 and results.failed == 0
    for function in square, square_:
        assert ">>>" in function.__doc__ and "Error" in function.__doc__


@pytest.mark.parametrize("cwd", (FOLDER, FOLDER / "src", None), ids=("05", "05's src", "elsewhere"))
def test_first_import(cwd, tmp_path):
    """Cases 5 and 6: nothing is imported before it, from any folder but src, where _C is not."""
    code = "import torch_square, torch; print(torch_square.square(torch.tensor([3.0])).item())"
    result = run(sys.executable, "-c", code, cwd=cwd or tmp_path, env=ENVIRONMENT)
    if cwd and cwd.name == "src":
        assert result.returncode != 0 and "torch_square is not built" in result.stderr
    else:
        assert result.stdout.strip() == "9.0", result.stderr


def test_not_installed():
    """square.py as a program, before anything is installed: what to do about it."""
    code = "import runpy, sys; sys.modules['torch_square'] = None; runpy.run_path('square.py')"
    result = run(sys.executable, "-c", code, cwd=FOLDER)
    assert result.returncode != 0 and "During handling" not in result.stderr
    assert "torch_square is not installed" in result.stderr and "make 05" in result.stderr


def test_self_check(tmp_path):
    """python -m torch_square: how it was built, what is here, a line for each device, all good."""
    result = run(sys.executable, "-m", "torch_square", cwd=tmp_path, env=ENVIRONMENT)
    assert result.returncode == 0, result.stdout + result.stderr
    built = re.search(r"built with\s+torch (\S+), CUDA (\S+), architectures (\S+)", result.stdout)
    assert built and built.groups() != ("unknown",) * 3
    assert f"torch {torch.__version__}, CUDA {torch.version.cuda}" in result.stdout
    devices = re.findall(r"^(cpu|cuda:\d+)\s+(\w+)", result.stdout, re.MULTILINE)
    assert len(devices) == 1 + torch.cuda.device_count() and {verdict for _, verdict in devices} == {"ok"}


@pytest.mark.parametrize(
    "call, words",
    (
        (lambda: square(3.0), r"square\(\): argument 'input' must be Tensor, not float"),
        (lambda: square([1.0]), r"square\(\): argument 'input' must be Tensor, not list"),
        (lambda: square(None), r"square\(\): argument 'input' must be Tensor, not NoneType"),
        (lambda: square(torch.ones(2), out=[1]), r"square\(\): argument 'out' must be Tensor, not list"),
        (lambda: square_("3"), r"square_\(\): argument 'input' must be Tensor, not str"),
        (lambda: square(), "input"),
        (lambda: square(torch.ones(2), torch.ones(2)), "positional"),
        (lambda: square_(torch.ones(2), out=torch.ones(2)), "out"),
    ),
)
def test_type_errors(call, words):
    with pytest.raises(TypeError, match=words):
        call()


OTHERS = ["float8_e4m3fnuz", "float8_e5m2fnuz", "complex32"]


@pytest.mark.parametrize("name", [*(str(dtype)[6:] for dtype in FOREIGN), *OTHERS])
def test_dtypes(name):
    """A dtype that is not taken is named, with those that are; nothing is written."""
    x = torch.zeros(8, dtype=torch.uint8).view(getattr(torch, name))
    for function in square, square_, OPERATOR, torch.ops.torch_square.square_:
        with pytest.raises(RuntimeError, match=rf"square.*: x is {name}; taken are bool, .*complex128"):
            function(x)
