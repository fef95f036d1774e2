# SPDX-License-Identifier: MIT
"""The package as others get it: its wheel, its example, and a torch that it does not fit.

SQUARE_OTHER_PYTHON names a Python with another torch; the wheel built here has to work there.
"""

import os
import sys
import sysconfig
import zipfile

import pytest
import torch
from c_library import program, run
from copies import Copy
from package import SITE
from stages import ROOT

OTHER = os.environ.get("SQUARE_OTHER_PYTHON")
other_python = pytest.mark.skipif(OTHER is None, reason="SQUARE_OTHER_PYTHON is not set")
SELF_CHECK = """
import torch_square
import torch
x = torch.arange(1003.0, requires_grad=True)
torch_square.square(x).sum().backward()
assert torch.equal(x.grad, 2 * x.detach())
assert torch.equal(torch_square.square(x.detach().bool()), torch.square(x.detach().bool()))
print(torch.__version__, 'good')
"""


def build(folder, python=sys.executable, host_only=False):
    """The wheel, for two architectures and PTX, or without a CUDA toolkit; and what its build printed."""
    copy = Copy(folder / "copy", TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX")
    if host_only:
        copy.hide_cuda()
    pip = [python, "-m", "pip", "wheel", "-v", "--no-build-isolation", "--no-deps", "--no-index"]
    result = copy.run(*pip, "--wheel-dir", folder / "out", copy.folder("05"))
    assert result.returncode == 0, result.stderr[-3000:]
    (path,) = (folder / "out").glob("*.whl")
    return path, result.stdout + result.stderr


def answer(wheel, folder, code=SELF_CHECK, python=sys.executable):
    """What Python prints that finds this wheel first."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    result = run(python, "-c", code, env={**os.environ, "PYTHONPATH": str(folder)}, cwd=folder)
    return result.stdout + result.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(tmp_path_factory.mktemp("wheel"))[0]


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
    for folder in (wheel.parent.parent, ROOT, sysconfig.get_path("purelib")):
        assert str(folder).encode() not in binary


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
@other_python
def test_other_python(wheel, tmp_path):
    """The wheel built here works under another Python and torch, or says what it misses there."""
    there = run(OTHER, "-c", "import torch; print(torch.__version__, torch.version.cuda)").stdout.split()
    text = answer(wheel, tmp_path, python=OTHER)
    if torch.version.cuda and there[1] == "None":
        assert f"torch_square does not fit torch {there[0]} with CUDA None" in text
    else:
        assert text.endswith("good\n"), text


@pytest.fixture(scope="module")
def host_wheel(tmp_path_factory):
    return build(tmp_path_factory.mktemp("host"), host_only=True)


@pytest.mark.slow
def test_host_only(host_wheel, tmp_path):
    """Without a CUDA toolkit: the build says what is left out, and a tensor on a GPU gets a sentence."""
    wheel, text = host_wheel
    assert "so only the half for the CPU is built" in text
    assert answer(wheel, tmp_path).endswith("good\n")
    needed = run("readelf", "-d", tmp_path / "torch_square/_C.abi3.so").stdout
    assert "cudart" not in needed and "torch_cuda" not in needed
    if torch.cuda.is_available():
        code = "import torch_square, torch; torch_square.square(torch.ones(3, device='cuda'))"
        assert "built without CUDA" in answer(wheel, tmp_path, code)


@pytest.mark.slow
@other_python
def test_host_only_under_another_torch(host_wheel, tmp_path):
    """The C ABI: a host-only wheel that one torch built runs under the other, both ways."""
    assert answer(host_wheel[0], tmp_path / "there", python=OTHER).endswith("good\n")
    theirs = build(tmp_path, OTHER, host_only=True)[0]
    assert answer(theirs, tmp_path / "here").endswith("good\n")


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
