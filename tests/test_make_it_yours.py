# SPDX-License-Identifier: MIT
"""The page that turns stage 05 into an operator for cubes: followed to the letter, then tested."""

import os
import re
import sys
import sysconfig

import pytest
from c_library import run
from copies import Copy
from stages import ROOT

PAGE = ROOT / "05_setup_py" / "MAKE_IT_YOURS.md"
# The only command that a test cannot run as it stands: it would install into the reader's Python.
INSTALL = "pip install --no-build-isolation ."
SECOND_INPUT = "## 7. A second input"

SUITE = """
import sys
sys.path[:0] = sys.argv[1:]
import torch, torch_cube
from inputs import LAYOUTS, SHAPES, pack, values
from compare import equal

cube, count = torch_cube.cube, 0
integral = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
devices = ["cpu"] + ["cuda"] * torch.cuda.is_available()
for device in devices:
    for dtype in (torch.bool, torch.float32, torch.float64, *integral):
        inputs = [values(shape(pack(dtype)), dtype, device) for shape in SHAPES.values()]
        inputs += [layout.view(values((240,), dtype, device)) for layout in LAYOUTS]
        for x in inputs:
            if x is None:
                continue
            y, right = cube(x), x.to(torch.int64) if dtype == torch.bool else x**3
            assert (y.dtype, y.shape) == (right.dtype, right.shape)
            assert equal(y, right).all(), (dtype, x.shape)
            count += 1
for dtype in (torch.half, torch.complex64):
    try:
        cube(torch.ones(3, dtype=dtype))
    except RuntimeError as error:
        assert "dtype" in str(error), error
    else:
        raise AssertionError(f"{dtype} is not refused on the CPU")
x = torch.linspace(-2, 2, 7, dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(cube, (x,), check_forward_ad=True)
assert torch.autograd.gradgradcheck(cube, (x,))
torch.library.opcheck(torch.ops.torch_cube.cube.default, (x,))
y = torch.compile(cube, fullgraph=True)(torch.arange(5.0))
assert y.tolist() == [0, 1, 8, 27, 64]
print(count, "cubes")
"""

# After the second input: every dtype of the CPU, integers that wrap, and what PyTorch asks of an operator.
MULTIPLES = """
import sys
sys.path[:0] = sys.argv[1:]
import torch, torch_cube
from inputs import values
from compare import equal

devices = ["cpu"] + ["cuda"] * torch.cuda.is_available()
integral = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
for device in devices:
    for dtype in (torch.float32, torch.float64, *integral):
        for times in (1, -3, 1 << 40):
            memory, as_x = values((1003,), dtype, device), torch.tensor(times).to(dtype)
            for x in (memory, memory[::2]):
                assert equal(torch_cube.cube(x, times), as_x * x**3).all(), (dtype, times)
multiple = lambda x: torch_cube.cube(x, -3)
x = torch.linspace(-2, 2, 7, dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(multiple, (x,), check_forward_ad=True)
assert torch.autograd.gradgradcheck(multiple, (x,))
torch.library.opcheck(torch.ops.torch_cube.cube.default, (x, -3))
assert torch.compile(multiple, fullgraph=True)(torch.arange(3.0)).tolist() == [0, -3, -24]
assert torch.vmap(multiple)(torch.ones(2, 3)).eq(-3).all()
assert torch.func.grad(multiple)(torch.tensor(2.0)) == -36
assert torch_cube.cube_(torch.ones(3), 5).eq(5).all()
assert torch_cube.cube(torch.ones(3), 4, out=torch.empty(3)).eq(4).all()
print("multiples too")
"""


def test_second_input_applies(tmp_path):
    """The patch fits the files as they are today, and the page names each file that it changes."""
    copy = Copy(tmp_path / "copy")
    first, rest = PAGE.read_text().split("## 6. Build")
    steps = re.findall(r"```sh\n(.*?)```", first, re.DOTALL) + re.findall(r"\(cd \.\. && .*\)", rest)
    result = copy.run("bash", "-eu", "-c", "\n".join(steps))
    assert result.returncode == 0, result.stderr
    table = rest.partition("| --- |")[2].partition("```")[0]
    for file in re.findall(
        r"^\+\+\+ b/(\S+)", (PAGE.parent / "second_input.patch").read_text(), re.MULTILINE
    ):
        assert f"`{file}`" in table


@pytest.mark.parametrize("name", ("square_cpu.c", "square.c"))
def test_fewer_types(name, tmp_path):
    """A type that is gone from the enum stops the compiler wherever a table still has it."""
    copy = Copy(tmp_path / "copy")
    header = copy.path / "02_c_launcher/square_launch.h"
    text = header.read_text()
    assert text.count("    SQUARE_INT8,\n") == 1
    header.write_text(text.replace("    SQUARE_INT8,\n", ""))
    python = sysconfig.get_path("include")
    command = ["gcc", "-std=c17", "-fsyntax-only", "-DTORCH_EXTENSION_NAME=_C", f"-I{python}"]
    result = copy.run(*command, copy.path / "05_setup_py/csrc" / name)
    errors = set(re.findall(r"([\w.]+):\d+:\d+: error: .*SQUARE_INT8", result.stderr))
    assert errors == {"square_cpu.c" if name == "square_cpu.c" else "torch_tensor.h"}, result.stderr


@pytest.mark.long
def test_make_it_yours(tmp_path):
    """Every command of the page, in its order; values, derivatives and tracing of both results."""
    copy = Copy(tmp_path / "copy", TORCH_CUDA_ARCH_LIST=os.environ.get("TORCH_CUDA_ARCH_LIST", "9.0"))
    text = PAGE.read_text()
    site = tmp_path / "site"
    pip = f"python -m pip install --no-build-isolation --no-deps --no-index --upgrade --target {site} ."
    copy.environment["PATH"] = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    copy.environment["PYTHONPATH"] = str(site)

    def follow(part, before=""):
        steps = "\n".join(re.findall(r"```sh\n(.*?)```", part, re.DOTALL))
        assert steps.count(INSTALL) == 1
        result = copy.run("bash", "-eu", "-c", before + steps.replace(INSTALL, pip))
        assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-3000:]
        return result.stdout

    def try_it(suite):
        result = run(sys.executable, "-c", suite, site, ROOT / "tests", cwd=tmp_path)
        assert result.returncode == 0, result.stderr[-3000:]
        return result.stdout

    first, second = text.split(SECOND_INPUT)
    assert "tensor([ 0.,  1.,  8., 27., 64.])" in follow(first)
    names = "--include=*.py", "--include=*.c*", "--include=*.toml"  # PyTorch has no cube
    left = run("grep", "-rliE", r"square|torch\.cube|\.cube\(\)", copy.path / "torch_cube", *names).stdout
    assert not [line for line in left.splitlines() if "/build/" not in line], left
    result = copy.run(sys.executable, "torch_cube/cube.py")
    assert "equals x ** 3: True" in result.stdout, result.stderr[-3000:]
    assert int(try_it(SUITE).split()[0]) > 250
    assert "tensor([  0.,  10.,  80., 270., 640.])" in follow(second, "cd torch_cube\n")
    assert "multiples too" in try_it(MULTIPLES)
