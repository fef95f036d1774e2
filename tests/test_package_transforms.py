# SPDX-License-Identifier: MIT
"""torch.func and vmap: derivatives of functions, batches, and one in another."""

import warnings

import pytest
import torch
from compare import assert_equal
from package import OPERATOR, each_dtype, on_each_device, smooth, square, square_
from torch.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp
from torch.nn import Linear

vmap = torch.vmap
each_function = pytest.mark.parametrize("function", (square, OPERATOR), ids=("face", "operator"))


def total(f):
    return lambda x: f(x).sum()


def push(f):
    """x to the derivative of f in the direction of ones, forward."""
    return lambda x: jvp(f, (x,), (torch.ones_like(x),))[1]


def pull(f):
    """The same, backward."""
    return lambda x: vjp(f, x)[1](torch.ones_like(x))[0]


REAL = {
    "grad": lambda f: grad(total(f)),
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "hessian": lambda f: hessian(total(f)),
    "jacfwd of jacfwd": lambda f: jacfwd(jacfwd(f)),
    "jacrev of jacrev": lambda f: jacrev(jacrev(f)),
    "vmap of grad": lambda f: vmap(grad(f)),
    "grad of grad of grad": lambda f: vmap(grad(grad(grad(lambda x: f(f(x)))))),
    "grad of vmap": lambda f: grad(lambda x: vmap(f)(x).pow(3).sum()),
    "jvp of grad": lambda f: push(grad(total(f))),
    "grad of jvp": lambda f: grad(total(push(lambda x: f(f(x))))),
    "jvp of jvp of jvp": lambda f: push(push(push(lambda x: f(f(x))))),
    "vmap of jvp": lambda f: vmap(push(f)),
    "linearize": lambda f: lambda x: linearize(f, x)[1](torch.ones_like(x)),
    "grad under no_grad": lambda f: torch.no_grad()(grad(total(f))),
    "no_grad under grad": lambda f: grad(lambda x: (torch.no_grad()(f)(x) * x).sum()),
}


@each_function
@pytest.mark.parametrize("transform", REAL.values(), ids=REAL)
@on_each_device
def test_transforms(device, transform, function):
    """As of torch.square, of the function and of the operator."""
    x = smooth((5,), device=device, grad=False)
    ours, right = transform(function)(x), transform(torch.square)(x)
    assert right.abs().max() > 0
    torch.testing.assert_close(ours, right)


@each_function
@each_dtype
@pytest.mark.parametrize("transform", (push, pull, lambda f: vmap(push(f)), lambda f: vmap(pull(f))))
def test_real_and_complex(transform, dtype, function):
    x = smooth((3, 2), dtype, grad=False)
    torch.testing.assert_close(transform(function)(x), transform(torch.square)(x))


@each_function
@on_each_device
def test_vmap(device, function):
    """Case 56: a batching rule, not the slow loop that warns; the batch in any place, or in two."""
    x = smooth((2, 3, 4), device=device, grad=False)
    right = torch.square(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for place in (0, 1, 2, -1):
            assert_equal(vmap(function, in_dims=place, out_dims=place)(x), right)
        assert_equal(vmap(vmap(function))(x), right)
        assert_equal(vmap(vmap(function, in_dims=1, out_dims=1))(x), right)
        assert_equal(vmap(function, chunk_size=1)(x), right)
        assert_equal(vmap(lambda y: function(x[0]) + y)(torch.zeros_like(x)), right[:1].expand(2, 3, 4))


@on_each_device
def test_ensemble(device):
    """Gradients of several networks at once, by functional_call."""
    networks = [Linear(3, 2, device=device) for _ in range(4)]
    parameters, buffers = torch.func.stack_module_state(networks)
    x = smooth((5, 3), torch.float32, device, grad=False)

    def loss(p, b):
        return square(torch.func.functional_call(networks[0], (p, b), (x,))).sum()

    gradients = vmap(grad(loss))(parameters, buffers)["weight"]
    for network, gradient in zip(networks, gradients, strict=True):
        torch.square(network(x)).sum().backward()
        torch.testing.assert_close(gradient, network.weight.grad)


@pytest.mark.parametrize("function", (square_, torch.square_), ids=("ours", "torch"))
@pytest.mark.filterwarnings("ignore:There is a performance drop")  # torch.square_ has no such rule
def test_in_place(function):
    """square_ of a copy under each transform, of a batch itself, and of a leaf, which is refused."""
    x = smooth((3, 4), grad=False)

    def of_copy(y):
        return function(y.clone())

    assert_equal(vmap(of_copy)(x), torch.square(x))
    assert_equal(grad(total(of_copy))(x), 2 * x)
    assert_equal(push(of_copy)(x), 2 * x)
    assert_equal(vmap(grad(total(of_copy)))(x), 2 * x)
    assert_equal(push(push(of_copy))(x), torch.full_like(x, 2))
    batch = x.clone()
    vmap(function)(batch)
    assert_equal(batch, torch.square(x))
    with pytest.raises(RuntimeError, match="leaf"):
        grad(total(function))(x.clone())


@pytest.mark.parametrize("name", ("default", "plain"))
def test_operator_in_place(name):
    """The operator, which returns nothing, changes a batch and passes derivatives on."""
    operator = getattr(torch.ops.torch_square.square_, name)
    x = smooth((3, 4), grad=False)

    def of_copy(y):
        y = y.clone()
        operator(y)
        return y

    assert_equal(vmap(of_copy)(x), torch.square(x))
    assert_equal(grad(total(of_copy))(x), 2 * x)
    assert_equal(push(of_copy)(x), 2 * x)


@each_function
def test_functionalize(function):
    """What cannot be had is an error, not a wrong answer."""
    with pytest.raises(RuntimeError, match="Functionalize"):
        torch.func.functionalize(function)(torch.ones(3))
