# SPDX-License-Identifier: MIT
"""The package as others get it: its wheel, its example, and a torch that it does not fit.

SQUARE_OTHER_PYTHON names a Python with another torch; the wheel built here has to work there.
"""

import os
import sys
import zipfile

import pytest
import torch
from c_library import program, run
from copies import Copy
from package import SITE
from stages import ROOT

SELF_CHECK = [
    "import torch_square",
    "import torch",
    "x = torch.arange(1003.0, requires_grad=True)",
    "torch_square.square(x).sum().backward()",
    "assert torch.equal(x.grad, 2 * x.detach())",
    "assert torch.equal(torch_square.square(x.detach().bool()), torch.square(x.detach().bool()))",
    "print(torch.__version__, 'good')",
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, for one architecture and PTX."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = Copy(folder / "copy", TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX")
    pip = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index"]
    result = copy.run(*pip, "--wheel-dir", folder / "out", copy.folder("05"))
    assert result.returncode == 0, result.stderr[-3000:]
    (path,) = (folder / "out").glob("*.whl")
    return path


@pytest.mark.slow
def test_wheel(wheel, tmp_path):
    """One for every Python from 3.10 on; no library of others, no path of the builder's disk."""
    assert "-cp310-abi3-linux_" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    libraries = [name for name in names if ".so" in name]
    assert libraries == ["torch_square/_C.abi3.so"]
    assert "torch_square/py.typed" in names
    assert not [name for name in names if "csrc" in name or "tests" in name]
    dynamic = run("readelf", "-d", tmp_path / libraries[0]).stdout
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic
    assert "libtorch_python" not in dynamic
    binary = (tmp_path / libraries[0]).read_bytes()
    assert str(ROOT).encode() not in binary and os.path.dirname(torch.__file__).encode() not in binary


@pytest.mark.slow
@pytest.mark.skipif(torch.version.cuda is None, reason="this torch is built without CUDA")
def test_architectures(wheel, tmp_path):
    """Machine code for each architecture that was named, and PTX for the newest."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extract("torch_square/_C.abi3.so", tmp_path)
    library = tmp_path / "torch_square/_C.abi3.so"
    listed = run(program("cuobjdump"), "--list-elf", library).stdout
    assert "sm_80" in listed and "sm_90" in listed
    assert "sm_90" in run(program("cuobjdump"), "--list-ptx", library).stdout


@pytest.mark.slow
@pytest.mark.skipif("SQUARE_OTHER_PYTHON" not in os.environ, reason="SQUARE_OTHER_PYTHON is not set")
def test_other_python(wheel, tmp_path):
    """The wheel built here works under another Python and torch."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    result = run(os.environ["SQUARE_OTHER_PYTHON"], "-c", "\n".join(SELF_CHECK), env=environment)
    assert "good" in result.stdout, result.stderr[-3000:]


@pytest.mark.slow
def test_example():
    """The network of the example learns, and its losses are those with torch.square."""
    program = ROOT / "05_setup_py" / "example.py"
    result = run(sys.executable, program, "--steps", "60", timeout=300)
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stdout.count("as with torch.square: True") == 1 + torch.cuda.is_available()


def test_older_torch(tmp_path):
    """Under a torch that is too old the import says which one it needs."""
    pretend = "import torch; torch.__version__ = type(torch.__version__)('2.9.0'); import torch_square"
    environment = {**os.environ, "PYTHONPATH": SITE}
    result = run(sys.executable, "-c", pretend, env=environment)
    assert result.returncode != 0
    assert "needs torch 2.11 or newer, and this is torch 2.9.0" in result.stderr
