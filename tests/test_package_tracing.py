# SPDX-License-Identifier: MIT
"""The package seen by what traces programs: opcheck, fake tensors, compile, export, vmap, DTensor."""

import os
import subprocess
import sys

import pytest
import torch
from c_library import run
from compare import assert_equal, assert_square
from package import (
    OPERATOR,
    PLAIN,
    SITE,
    VIEWS,
    each_dtype,
    each_view,
    on_each_device,
    smooth,
    square,
    square_,
)
from stages import ROOT

BOTH = pytest.mark.parametrize("operator", (OPERATOR, PLAIN), ids=("square", "plain"))
each_grad = pytest.mark.parametrize("grad", (False, True), ids=("no grad", "grad"))


@pytest.mark.slow
@BOTH
@each_view
@each_dtype
@each_grad
@on_each_device
def test_opcheck(device, operator, dtype, view, grad):
    """Cases 53 to 55: schema, registration, fake strides, and compiled with dynamic shapes."""
    if operator is PLAIN and grad:
        pytest.skip("plain has no derivative, and says so by having none")
    x = view(smooth((4, 6), dtype, device, grad=False)).detach().requires_grad_(grad)
    torch.library.opcheck(operator, (x,))


@pytest.mark.slow
def test_opcheck_in_place():
    """The in-place operator: schema, registration and fake; its traced form is square and copy_."""
    operator = torch.ops.torch_square.square_.default
    utils = ("test_schema", "test_autograd_registration", "test_faketensor")
    for view in ("dense", "transposed", "sliced"):
        torch.library.opcheck(operator, (VIEWS[view](smooth((4, 6), grad=False)),), test_utils=utils)


@each_view
@pytest.mark.parametrize("dtype", (torch.float32, torch.bool, torch.half, torch.complex64), ids=str)
def test_meta(dtype, view):
    """Meta and fake tensors have the shape, the dtype and the strides of the real result."""
    x = view(torch.ones(4, 6).to(dtype))
    real = torch.square(x)
    for y in (square(x), square(view(torch.ones(4, 6, device="meta").to(dtype)))):
        assert (y.shape, y.dtype, y.stride()) == (real.shape, real.dtype, real.stride())


@pytest.mark.slow
@each_grad
@pytest.mark.parametrize("dynamic", (False, True), ids=("static", "dynamic"))
@on_each_device
def test_compile(device, dynamic, grad):
    """Case 53: one graph, values and gradients as without it; new shapes are no new graph."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: square(x) + 1, fullgraph=True, dynamic=dynamic)
    for shape in ((4, 6), (3, 5), (7,)):
        x = smooth(shape, torch.float32, device, grad)
        assert_equal(compiled(x).detach(), (torch.square(x) + 1).detach())
        if grad:
            compiled(x).sum().backward()
            assert_equal(x.grad, 2 * x.detach())


@pytest.mark.slow
@on_each_device
def test_compile_in_place_and_views(device):
    torch._dynamo.reset()

    def function(x):
        y = x.clone()
        square_(y[1:])
        return y + square(x.t()).t()

    compiled = torch.compile(function, fullgraph=True)
    x = smooth((4, 6), torch.float32, device, grad=False)
    right = x.clone()
    right[1:].square_()
    assert_equal(compiled(x), right + torch.square(x))


@pytest.mark.slow
@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="GPU: 1 needed, 0 found")
def test_compile_with_cuda_graphs():
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: square(x * 2) + 1, fullgraph=True, mode="reduce-overhead")
    for _ in range(4):
        x = smooth((1000,), torch.float32, "cuda", grad=False)
        torch.compiler.cudagraph_mark_step_begin()
        assert_equal(compiled(x), torch.square(x * 2) + 1)


class Module(torch.nn.Module):
    def forward(self, x):
        return square(x) + 1


@pytest.mark.slow
@on_each_device
def test_export(device, tmp_path):
    """torch.export with a dynamic size; saved, loaded, and compiled ahead of time by AOTInductor."""
    x = smooth((4, 6), torch.float32, device, grad=False)
    shapes = ({0: torch.export.Dim("rows", min=2, max=1024)},)
    program = torch.export.export(Module(), (x,), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "program.pt2")
    again = torch.export.load(tmp_path / "program.pt2")
    other = smooth((9, 6), torch.float32, device, grad=False)
    assert_equal(again.module()(other), torch.square(other) + 1)
    package = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "m.pt2"))
    assert_equal(torch._inductor.aoti_load_package(package)(other), torch.square(other) + 1)


DTENSOR = """
import os, sys, torch
import torch.distributed as dist
sys.path[:0] = sys.argv[3:]
import torch_square
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

dist.init_process_group("gloo", init_method=f"file://{sys.argv[2]}", rank=int(sys.argv[1]), world_size=2)
mesh = init_device_mesh("cpu", (2,))
x = torch.arange(24.0).view(4, 6)
for placement in (Replicate(), Shard(0), Shard(1)):
    d = distribute_tensor(x, mesh, [placement]).requires_grad_()
    y = torch_square.square(d)
    assert y.placements == (placement,), y.placements
    assert torch.equal(y.full_tensor(), x.square())
    y.sum().backward()
    assert torch.equal(d.grad.full_tensor(), 2 * x)
print("good", flush=True)
dist.barrier()
os._exit(0)  # gloo's threads may end a process that ends by itself while the other one leaves
"""


@pytest.mark.slow
@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch is built without distributed")
def test_dtensor(tmp_path):
    """A replicated and a sharded tensor over two processes: squared where it lies, with gradients."""
    command = [sys.executable, "-c", DTENSOR]
    both = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "meeting"), SITE],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        )
        for rank in range(2)
    ]
    for process in both:
        out, err = process.communicate(timeout=180)
        assert process.returncode == 0 and out.strip().endswith("good"), err[-3000:]


def test_package_as_first_import(tmp_path):
    """Case 5: nothing is imported before it, and python -m torch_square checks itself."""
    environment = {**os.environ, "PYTHONPATH": SITE}
    result = run(sys.executable, "-m", "torch_square", cwd=tmp_path, env=environment)
    assert result.returncode == 0, result.stderr
    for word in ("built with", "runs with", f"torch {torch.__version__}", "cpu", "ok"):
        assert word in result.stdout


def test_profiler():
    """The profiler shows the operator by its name."""
    x = torch.ones(1000)
    with torch.profiler.profile() as profile:
        square(x)
    assert any(event.name == "torch_square::square" for event in profile.events())


def test_modes():
    """A __torch_function__ of an argument or a mode, and a __torch_dispatch__, see the call."""
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    class Dispatch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    x = torch.tensor([3.0])
    with Functions():
        assert square(x).item() == 9
    assert square in seen
    seen.clear()
    with Dispatch():
        assert square(x).item() == 9
    assert OPERATOR in seen or PLAIN in seen

    class Duck:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return "quack", function

    assert square(Duck()) == ("quack", square)


def test_deterministic_and_inference():
    x = smooth((100,), torch.float32, grad=False)
    torch.use_deterministic_algorithms(True)
    try:
        assert_square(square(x), x)
    finally:
        torch.use_deterministic_algorithms(False)
    with torch.inference_mode():
        assert square(x).is_inference()
        assert_equal(square_(torch.tensor([3.0])), torch.tensor([9.0]))


@pytest.mark.parametrize(
    "dtype", (torch.float32, torch.half, torch.int16, torch.bool, torch.complex64), ids=str
)
def test_out(dtype):
    """out=: the tensor itself is given back; cast, resized with torch's warning, or refused."""
    x = torch.ones(3, 4).to(dtype)
    right = torch.square(x)
    out = torch.empty_like(right)
    assert square(x, out=out) is out
    assert_equal(out, right)
    wide = torch.empty(3, 4, dtype=torch.complex128)
    assert_equal(square(x, out=wide), torch.square(x, out=torch.empty(3, 4, dtype=torch.complex128)))
    empty = torch.empty(0, dtype=right.dtype)
    assert square(input=x.t(), out=empty).shape == (4, 3)
    with pytest.warns(UserWarning, match="resized"):
        square(x, out=torch.empty(5, dtype=right.dtype))
    if dtype != torch.bool:
        with pytest.raises(RuntimeError, match="can't be cast"):
            square(x, out=torch.empty(3, 4, dtype=torch.bool))
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        square(torch.ones(3, requires_grad=True), out=torch.empty(3))
    with pytest.raises(TypeError, match="out"):
        square(x, out=3)


def test_private_names():
    """_private.py names what is not public; when one of them goes, this notices."""
    from torch.autograd import forward_ad

    assert forward_ad._current_level == -1
    with forward_ad.dual_level():
        assert forward_ad._current_level == 0
    with forward_ad._set_fwd_grad_enabled(True):
        pass
    assert callable(OPERATOR._op)
    source = (ROOT / "05_setup_py/src/torch_square").glob("*.py")
    elsewhere = [path.name for path in source if path.name != "_private.py" and "._op" in path.read_text()]
    assert not [name for name in elsewhere if name not in ("__init__.py",)]


@on_each_device
def test_samples_of_torch(device):
    """PyTorch's own samples for square, of every dtype: no difference in value, dtype or strides."""
    database = pytest.importorskip("torch.testing._internal.common_methods_invocations").op_db
    (info,) = (op for op in database if op.name == "square")
    count = 0
    for dtype in sorted(info.supported_dtypes(torch.device(device).type), key=str):
        for sample in info.sample_inputs(device, dtype):
            x = sample.input
            assert_square(square(x), x)
            assert square(x).stride() == torch.square(x).stride()
            count += 1
    assert count > 10
