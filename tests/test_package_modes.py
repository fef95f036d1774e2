# SPDX-License-Identifier: MIT
"""What changes the meaning of a call: out=, autocast, inference mode, subclasses, modes; who watches it."""

import contextlib
import warnings

import pytest
import torch
from compare import assert_equal, assert_square
from package import OPERATOR, on_each_device, smooth, square, square_
from torch.autograd import forward_ad

F32 = torch.float32
# How to make an `out` for the square of 2 x 3 float32.
OUTS = {
    "as it is": lambda: torch.empty(2, 3),
    "nothing yet": lambda: torch.empty(0),
    "too small": lambda: torch.empty(5),
    "another shape": lambda: torch.empty(3, 2),
    "transposed": lambda: torch.empty(3, 2).t(),
    "with gaps": lambda: torch.empty(2, 6)[:, ::2],
    "wider": lambda: torch.empty(2, 3, dtype=torch.float64),
    "complex": lambda: torch.empty(2, 3, dtype=torch.complex64),
    "narrower": lambda: torch.empty(2, 3, dtype=torch.float16),
    "an integer": lambda: torch.empty(2, 3, dtype=torch.int32),
    "expanded": lambda: torch.empty(1, 3).expand(2, 3),
    "requires grad": lambda: torch.empty(2, 3, requires_grad=True),
    "elsewhere": lambda: torch.empty(2, 3, device="meta"),
    "no tensor": lambda: 3,
}


def call(function, x, out):
    """What a call with out= did: its result and warnings, or the kind of its exception."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(input=x, out=out)
        except (RuntimeError, TypeError) as error:
            return type(error)
    text = [str(w.message).partition(".")[0] for w in caught if "resized" in str(w.message)]
    return result is out, result.dtype, result.shape, result.stride(), result.tolist(), text


@pytest.mark.parametrize("make", OUTS.values(), ids=OUTS)
@pytest.mark.parametrize("view", ("dense", "transposed", "expanded"))
def test_out(make, view):
    """As torch.square: written, cast, resized with its warning, or refused with its exception."""
    x = torch.arange(6.0).view(2, 3)
    x = {"dense": x, "transposed": x.view(3, 2).t(), "expanded": x[:, :1].expand(2, 3)}[view]
    assert call(square, x, make()) == call(torch.square, x, make())


def test_out_is_the_input():
    """out= may be the input; it is counted as a change; no gradient passes through it."""
    x = torch.tensor([2.0, 3.0])
    version = x._version
    assert square(x, out=x) is x and x.tolist() == [4.0, 9.0] and x._version > version
    for pair in ((True, False), (False, True)):
        x, out = (torch.ones(2, requires_grad=grad) for grad in pair)
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            square(x, out=out)
        with torch.no_grad():
            assert square(x, out=out) is out


@contextlib.contextmanager
def autocast_on_a_gpu():
    """torch.autocast("cuda") switches itself off where there is no GPU; fake tensors need none."""
    torch.set_autocast_enabled("cuda", True)
    try:
        yield
    finally:
        torch.set_autocast_enabled("cuda", False)


@pytest.mark.skipif(torch.version.cuda is None, reason="this torch is built without CUDA")
@pytest.mark.parametrize("dtype", (torch.half, torch.bfloat16, F32, torch.float64, torch.int32), ids=str)
@pytest.mark.parametrize("grad", (False, True), ids=("no grad", "grad"))
def test_autocast(dtype, grad):
    """Case 57: half and bfloat16 become float32, the rest stays; in place and out= nothing is cast."""
    with torch._subclasses.FakeTensorMode(), autocast_on_a_gpu():
        x = torch.empty(3, dtype=dtype, device="cuda", requires_grad=grad and dtype.is_floating_point)
        expected = F32 if dtype.itemsize == 2 else dtype
        assert torch.square(x).dtype == expected
        assert square(x).dtype == OPERATOR(x).dtype == expected
        assert square_(x.detach().clone()).dtype == dtype
        assert square(x.detach(), out=torch.empty_like(x.detach())).dtype == dtype
    with torch.autocast("cpu"):
        assert square(torch.ones(3, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("device", [on_each_device.args[1][1]])
def test_autocast_on_a_gpu(device):
    """The value is that of float32, beyond what half can hold; the gradient is half again."""
    x = torch.tensor([300.0], dtype=torch.half, device=device, requires_grad=True)
    with torch.autocast(device):
        y = square(x)
    y.backward()
    assert (y.dtype, y.item(), x.grad.dtype, x.grad.item()) == (F32, 90000, torch.half, 600)


def test_inference_mode():
    """Its tensors change in place there and nowhere else; ours are among them; others are counted."""
    x = torch.tensor([3.0])
    version = x._version
    with torch.inference_mode():
        made, other = square(x), torch.ones(1)
        assert made.is_inference() and square_(made).item() == 81
        square_(x)
    assert x.item() == 9 and x._version > version
    for function, tensor in (square_, made), (torch.square_, other):  # torch's writes before it raises
        with pytest.raises(RuntimeError, match="inference"):
            function(tensor)
    with torch.inference_mode():
        leaf = torch.tensor([2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="inference"):  # would a derivative be wanted, it has no place
        square_(leaf)
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="inference"):
        square_(made)
    assert (made.item(), leaf.item()) == (81, 2)


@on_each_device
def test_deterministic(device):
    """Deterministic algorithms are not missing here: nothing is summed."""
    torch.use_deterministic_algorithms(True)
    try:
        x = smooth((1003,), F32, device)
        square(x).sum().backward()
        assert_equal(x.grad, 2 * x.detach())
        assert_square(square(x.detach()), x.detach())
    finally:
        torch.use_deterministic_algorithms(False)


def test_profiler():
    """The profiler shows the operators by their names, and the backward."""
    x = torch.ones(1000)
    with torch.profiler.profile() as profile:
        square(x)
        square_(x)
        square(torch.ones(3, requires_grad=True)).sum().backward()
    names = [event.name for event in profile.events()]
    assert names.count("torch_square::square") == 3  # the one with a derivative calls the plain one
    assert names.count("torch_square::square_") == 1
    assert "SquareBackward" in names
