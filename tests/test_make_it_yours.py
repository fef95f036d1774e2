# SPDX-License-Identifier: MIT
"""The page that turns stage 05 into an operator for cubes: followed to the letter, then tested."""

import os
import re
import sys

import pytest
from c_library import run
from copies import Copy
from stages import ROOT

PAGE = ROOT / "05_setup_py" / "MAKE_IT_YOURS.md"
# The only command that a test cannot run as it stands: it would install into the reader's Python.
INSTALL = "pip install --no-build-isolation ."

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


@pytest.mark.long
def test_make_it_yours(tmp_path):
    """Every command of the page, in its order; then values, derivatives and tracing of the result."""
    copy = Copy(tmp_path / "copy", TORCH_CUDA_ARCH_LIST=os.environ.get("TORCH_CUDA_ARCH_LIST", "9.0"))
    steps = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL))
    assert steps.count(INSTALL) == 1
    site = tmp_path / "site"
    pip = f"python -m pip install --no-build-isolation --no-deps --no-index --target {site} ."
    copy.environment["PATH"] = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    copy.environment["PYTHONPATH"] = str(site)
    result = copy.run("bash", "-eu", "-c", steps.replace(INSTALL, pip))
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-3000:]
    assert "tensor([ 0.,  1.,  8., 27., 64.])" in result.stdout
    left = run(
        "grep", "-rniE", "square", copy.path / "torch_cube", "--include=*.py", "--include=*.c*", "-l"
    ).stdout
    assert not [line for line in left.splitlines() if "/build/" not in line], left
    result = run(sys.executable, "-c", SUITE, site, ROOT / "tests", cwd=tmp_path)
    assert result.returncode == 0, result.stderr[-3000:]
    assert int(result.stdout.split()[0]) > 250
