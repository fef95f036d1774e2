# SPDX-License-Identifier: MIT
"""Tensors and modes that see a call before it is computed: subclasses and the two protocols."""

import pytest
import torch
from compare import assert_equal
from package import OPERATOR, PLAIN, square, square_
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

X = (2.0, -3.0)
SQUARES = [4.0, 9.0]


class Plain(torch.Tensor):
    """A subclass that overrides nothing."""


@pytest.mark.parametrize("function", (square, square_, torch.square), ids=("square", "square_", "torch"))
def test_subclass(function):
    """The result is of the subclass, as for each function of torch's; a Parameter gives a Tensor."""
    x = torch.tensor(X).as_subclass(Plain)
    y = function(x)
    assert type(y) is Plain and y.tolist() == SQUARES
    with torch.no_grad():
        assert type(square(torch.nn.Parameter(torch.tensor(X)))) is torch.Tensor


class Logging(torch.Tensor):
    """A subclass that sees the calls."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        LOG.append((function, args, kwargs or {}))
        return super().__torch_function__(function, types, args, kwargs or {})


LOG = []


def test_torch_function():
    """A subclass sees the function and its arguments, whether it is the input or out, and can go on."""
    x, plain = torch.tensor(X).as_subclass(Logging), torch.tensor(X)
    for call, function, keywords in (
        (lambda: square(x), square, set()),
        (lambda: square(input=x), square, set()),
        (lambda: square(plain, out=x.clone()), square, {"out"}),
        (lambda: square(x, out=torch.empty(2)), square, {"out"}),
        (lambda: square_(x.clone()), square_, set()),
    ):
        LOG.clear()
        y = call()
        assert isinstance(y, torch.Tensor) and y.tolist() == SQUARES
        ((_, args, kwargs),) = (entry for entry in LOG if entry[0] is function)
        assert len(args) == 1 and kwargs.keys() == keywords


def test_no_tensor_at_all():
    """What only has __torch_function__ decides the result by itself."""

    class Duck:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return function, args, kwargs

    duck, x = Duck(), torch.ones(2)
    assert square(duck) == (square, (duck,), {})
    assert square(duck, out=x) == (square, (duck,), {"out": x})
    assert square(x, out=duck) == (square, (x,), {"out": duck})
    assert square_(duck) == (square_, (duck,), {})
    with pytest.raises(TypeError, match="argument 'input' must be Tensor"):
        square(Duck)  # the class itself


def test_function_mode():
    seen = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    x = torch.tensor(X)
    with Mode():
        assert_equal(square(x), torch.tensor(SQUARES))
        square_(x)
    assert [f for f in seen if f in (square, square_)] == [square, square_]
    with torch.device("meta"):  # a mode that makes tensors elsewhere, and squares them where they are
        assert square(torch.ones(2)).device.type == "meta"
        assert square(x).device.type == "cpu"


def test_dispatch_mode():
    """A mode below autograd sees the operators; with gradients too, it is the plain one."""
    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    x = torch.tensor(X)
    with Mode():
        y = square(x.requires_grad_())
        square(x.detach())
        square_(x.detach())
    assert y.tolist() == SQUARES
    assert seen.count(PLAIN) == 2 and seen.count(torch.ops.torch_square.square_.plain) == 1
    assert OPERATOR not in seen


class Wrapper(torch.Tensor):
    """A tensor of tensors, as DTensor is one: the operator sees what is inside."""

    @staticmethod
    def __new__(cls, inner):
        keep = {"dtype": inner.dtype, "device": inner.device, "requires_grad": inner.requires_grad}
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), **keep)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        LOG.append(function)
        args = [arg.inner if isinstance(arg, Wrapper) else arg for arg in args]
        result = function(*args, **(kwargs or {}))
        return Wrapper(result) if isinstance(result, torch.Tensor) else result


def test_torch_dispatch():
    """A subclass with __torch_dispatch__ gets the operator, its gradient, and its change in place."""
    LOG.clear()
    x = Wrapper(torch.tensor(X))
    y = square(x)
    assert type(y) is Wrapper and y.inner.tolist() == SQUARES and PLAIN in LOG
    square_(x)
    assert x.inner.tolist() == SQUARES
    leaf = Wrapper(torch.tensor(X)).requires_grad_()
    square(leaf).sum().backward()
    assert type(leaf.grad) is Wrapper and leaf.grad.inner.tolist() == [4.0, -6.0]
