# SPDX-License-Identifier: MIT
"""The package in programs that are traced: torch.compile, torch.export, AOTInductor."""

import os
import sys
from pathlib import Path

import pytest
import torch
from c_library import run
from compare import assert_equal
from package import OPERATOR, PLAIN, SITE, VIEWS, on_each_device, smooth, square, square_
from stages import MARKS
from torch._dynamo.testing import CompileCounterWithBackend
from torch.fx.experimental.proxy_tensor import make_fx

pytestmark = pytest.mark.slow
gpu = MARKS["cuda:0"]
each_grad = pytest.mark.parametrize("grad", (False, True), ids=("no grad", "grad"))


@pytest.fixture(autouse=True)
def fresh():
    """Nothing is left of what other tests compiled."""
    torch._dynamo.reset()


def operators(graph):
    """The operators that a graph calls, in its order."""
    return [node.target for node in graph.graph.nodes if node.op == "call_function"]


@each_grad
@pytest.mark.parametrize("dynamic", (False, True), ids=("static", "dynamic"))
@on_each_device
def test_compile(device, dynamic, grad):
    """Case 53: one graph for all of it, and with dynamic shapes one for all shapes; values, gradients."""
    counter = CompileCounterWithBackend("inductor")
    compiled = torch.compile(lambda x: square(x) + 1, fullgraph=True, dynamic=dynamic, backend=counter)
    for shape in ((4, 6), (3, 5), (7, 2)):
        x = smooth(shape, torch.float32, device, grad)
        y = compiled(x)
        assert_equal(y.detach(), torch.square(x.detach()) + 1)
        if grad:
            y.sum().backward()
            assert_equal(x.grad, 2 * x.detach())
    assert counter.frame_count == 1 or not dynamic
    for graph in counter.graphs:
        assert OPERATOR in operators(graph) or PLAIN in operators(graph)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", (torch.float32, torch.bool, torch.bfloat16, torch.complex64), ids=str)
def test_layouts(dtype, view):
    """Dtype, values and strides are those of the call that is not compiled."""
    x = VIEWS[view](smooth((4, 6), torch.float32, grad=False).to(dtype))
    y = torch.compile(square, fullgraph=True, backend="aot_eager")(x)
    assert_equal(y, square(x))
    assert y.stride() == square(x).stride()


@on_each_device
def test_in_place_and_out(device):
    """What is written to in a compiled function has changed after it: an argument, a view, out."""

    def function(x, out):
        y = x.clone()
        square_(y[1:])
        square_(x)
        square(x.t(), out=out)
        return y

    x = smooth((4, 6), torch.float32, device, grad=False)
    first, out = x.clone(), torch.empty(6, 4, device=device)
    y = torch.compile(function, fullgraph=True)(x, out)
    right = first.clone()
    right[1:].square_()
    assert_equal(y, right)
    assert_equal(x, torch.square(first))
    assert_equal(out, torch.square(x.t()))


def test_a_leaf_stays():
    """Compiled, too, square_ does not write to a leaf that requires grad."""
    x = torch.tensor([3.0], requires_grad=True)
    with pytest.raises(Exception, match="leaf"):
        torch.compile(square_, backend="aot_eager")(x)
    assert x.item() == 3


@pytest.mark.gpu
@pytest.mark.skipif(*gpu[1].args, **gpu[1].kwargs)
@each_grad
def test_cuda_graphs(grad):
    """mode="reduce-overhead": recorded, and replayed with other numbers."""
    compiled = torch.compile(lambda x: square(x * 2) + 1, fullgraph=True, mode="reduce-overhead")
    for k in range(5):
        x = (smooth((1000,), torch.float32, "cuda", grad=False) * k).requires_grad_(grad)
        torch.compiler.cudagraph_mark_step_begin()
        y = compiled(x)
        assert_equal(y.detach().clone(), torch.square(x.detach() * 2) + 1)
        if grad:
            y.sum().backward()
            torch.testing.assert_close(x.grad, 8 * x.detach())
    from torch._inductor.cudagraph_trees import get_manager

    assert get_manager(0, create_if_none_exists=False) is not None, "no CUDA graph was made"


@pytest.mark.parametrize(
    "transform",
    (
        lambda f: torch.vmap(f),
        lambda f: torch.vmap(torch.func.grad(f)),
        lambda f: lambda x: torch.func.jvp(f, (x,), (torch.ones_like(x),))[1],
        lambda f: lambda x: torch.func.vjp(f, x)[1](torch.ones_like(x))[0],
    ),
    ids=("vmap", "vmap of grad", "jvp", "vjp"),
)
def test_transforms(transform):
    """torch.func inside a compiled function."""
    x = smooth((5,), grad=False)
    y = torch.compile(transform(square), fullgraph=True, backend="aot_eager")(x)
    torch.testing.assert_close(y, transform(torch.square)(x))


def in_place(x):
    y = x * 1
    square_(y)
    return y


@pytest.mark.parametrize("mode", ("real", "fake", "symbolic"))
@pytest.mark.parametrize(
    "function", (square, in_place, torch.vmap(square)), ids=("square", "square_", "vmap")
)
def test_make_fx(function, mode):
    """A graph made of numbers alone, whose gradient is asked later."""
    graph = make_fx(lambda x: function(x), tracing_mode=mode)(torch.ones(3))
    x = torch.tensor([2.0, -3.0, 0.5], requires_grad=True)
    graph(x).sum().backward()
    assert_equal(x.grad, 2 * x.detach())


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace:DeprecationWarning")
@pytest.mark.parametrize("traced_with", (False, True), ids=("no grad", "grad"))
@pytest.mark.parametrize("function", (square, in_place), ids=("square", "square_"))
def test_jit_trace(function, traced_with):
    """Traced without a gradient or with one, which torch checks by a trace without; then asked for one."""
    traced = torch.jit.trace(lambda x: function(x), torch.ones(2, requires_grad=traced_with))
    x = torch.tensor([2.0, -3.0, 0.5], requires_grad=True)
    traced(x).sum().backward()
    assert_equal(x.grad, 2 * x.detach())


class Module(torch.nn.Module):
    def forward(self, x):
        return square(x) + 1


@pytest.mark.parametrize("strict", (False, True), ids=("not strict", "strict"))
@on_each_device
def test_export(device, strict, tmp_path):
    """torch.export with a dynamic size: the operator by its name; saved, loaded, other sizes."""
    x, other = (smooth((n, 6), torch.float32, device, grad=False) for n in (4, 9))
    shapes = ({0: torch.export.Dim("rows", min=2, max=1024)},)
    program = torch.export.export(Module(), (x,), dynamic_shapes=shapes, strict=strict)
    assert operators(program)[0] is OPERATOR
    decomposed = program.run_decompositions()
    assert operators(decomposed)[0] is OPERATOR
    leaf = x.clone().requires_grad_()
    decomposed.module()(leaf).sum().backward()
    assert_equal(leaf.grad, 2 * x)
    torch.export.save(program, tmp_path / "program.pt2")
    again = torch.export.load(tmp_path / "program.pt2")
    assert_equal(again.module()(other), torch.square(other) + 1)


@on_each_device
def test_aotinductor(device, tmp_path):
    """Compiled ahead of time into a file, which calls the operator. A crash of PyTorch's own is not ours."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([SITE, os.environ.get("PYTHONPATH", "")])}

    def result(whose):
        program = Path(__file__).with_name("aotinductor_process.py")
        return run(sys.executable, program, whose, device, tmp_path, env=environment)

    ours = result("torch_square")
    if ours.returncode < 0 and result("torch").returncode < 0:
        pytest.skip("AOTInductor crashes here with torch.square, too")
    assert ours.stdout.endswith("good\n"), ours.stderr[-3000:]
