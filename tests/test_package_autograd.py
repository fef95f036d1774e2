# SPDX-License-Identifier: MIT
"""The package's derivatives: first and second, backward and forward, real and complex."""

import pytest
import torch
from compare import assert_equal
from package import OPERATOR, each_dtype, each_view, on_each_device, smooth, square, square_
from torch.autograd import forward_ad, gradcheck, gradgradcheck


@each_view
@each_dtype
@on_each_device
def test_gradcheck(device, dtype, view):
    """Against differences of values: reverse mode, forward mode, batched, and the second derivative."""
    base = smooth((4, 6), dtype, device)

    def function(x):
        return square(view(x))

    assert gradcheck(function, (base,), check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(function, (base,), check_fwd_over_rev=True)


@each_view
@each_dtype
def test_in_place_gradcheck(dtype, view):
    base = smooth((4, 6), dtype)
    if view(base).numel() > base.numel() or 0 in view(base).stride():
        pytest.skip("elements that share memory")

    def function(x):
        y = view(x.clone())
        square_(y)
        return y.clone()

    assert gradcheck(function, (base,), check_forward_ad=True)
    assert gradgradcheck(function, (base,))


@on_each_device
def test_like_torch(device):
    """The same gradients as torch.square's, bit for bit, complex ones too."""
    for dtype in (torch.float32, torch.float64, torch.complex64, torch.half, torch.bfloat16):
        mine, theirs = (smooth((100,), dtype, device) for _ in range(2))
        weight = smooth((100,), dtype, device, grad=False)
        (ours,) = torch.autograd.grad(square(mine), mine, weight)
        (right,) = torch.autograd.grad(torch.square(theirs), theirs, weight)
        assert ours.dtype == right.dtype
        torch.testing.assert_close(ours, right, rtol=1e-3 if dtype.itemsize == 2 else 1e-6, atol=1e-3)


@on_each_device
def test_gradients_of_any_layout(device):
    """Case 44: a gradient arrives expanded, sliced, transposed, or is one of several."""
    x = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    square(x).sum().backward()  # an expanded gradient
    assert x.grad.tolist() == [2, 4, 6]
    x.grad = None
    torch.cat([square(x), square(x)])[1:5].sum().backward()
    assert x.grad.tolist() == [2, 8, 6]
    m = smooth((3, 4), torch.float32, device)
    (g,) = torch.autograd.grad(square(m).t()[::2].sum(), m)
    right = torch.zeros_like(m)
    right[:, ::2] = 2 * m.detach()[:, ::2]
    assert torch.equal(g, right)


def test_forward_mode_twice():
    """A tangent through the function, through square_, and a tangent of a tangent."""
    x, t = torch.tensor([3.0]), torch.tensor([1.0])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        assert forward_ad.unpack_dual(square(dual)).tangent.tolist() == [6.0]
        y = forward_ad.make_dual(x.clone(), t.clone())  # which are both changed in place
        square_(y)
        assert forward_ad.unpack_dual(y).tangent.tolist() == [6.0]
    first = lambda x: torch.func.jvp(square, (x,), (torch.ones_like(x),))[1]  # noqa: E731
    assert torch.func.jvp(first, (x,), (t,))[1].tolist() == [2.0]


@on_each_device
def test_func_transforms(device):
    """torch.func: grad, vjp, jvp, vmap, jacobians and hessians, and one in another."""
    x = smooth((5,), torch.float64, device, grad=False)
    f, g = square, torch.square
    total = lambda h: lambda x: h(x).sum()  # noqa: E731
    for transform in (
        lambda h: torch.func.grad(total(h))(x),
        lambda h: torch.func.vjp(h, x)[1](torch.ones_like(x))[0],
        lambda h: torch.func.jvp(h, (x,), (x,))[1],
        lambda h: torch.vmap(h)(x.view(5, 1)),
        lambda h: torch.vmap(torch.func.grad(total(h)))(x),
        lambda h: torch.func.jacrev(h)(x),
        lambda h: torch.func.jacfwd(h)(x),
        lambda h: torch.func.hessian(total(h))(x),
        lambda h: torch.func.jacfwd(torch.func.jacfwd(h))(x),
        lambda h: torch.func.grad(lambda y: torch.vmap(h)(y).pow(3).sum())(x),
        lambda h: torch.func.jvp(torch.func.grad(total(h)), (x,), (x,))[1],
    ):
        torch.testing.assert_close(transform(f), transform(g))


def test_vmap_without_a_warning(recwarn):
    """Case 56: a batching rule, not the slow loop that warns; every place of the batch dimension."""
    x = smooth((2, 3, 4), grad=False)
    for in_dim in (0, 1, 2):
        assert_equal(torch.vmap(square, in_dims=in_dim)(x), torch.vmap(torch.square, in_dims=in_dim)(x))
        ours = torch.vmap(OPERATOR, in_dims=in_dim, out_dims=in_dim)(x)
        assert_equal(ours, torch.square(x))
    assert not [w for w in recwarn if "vmap" in str(w.message)]


def test_functionalize_raises():
    """What cannot be had is an error, not a wrong answer."""
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.func.functionalize(square)(torch.ones(3))


def test_a_leaf_stays():
    """square_ of a leaf that requires grad is refused, as torch does; under no_grad it is taken."""
    x = torch.tensor([3.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        square_(x)
    assert x.tolist() == [3.0]
    with torch.no_grad():
        assert square_(x).tolist() == [9.0]


def test_in_place_is_noticed():
    """A backward that needs a tensor which square_ changed is an error."""
    x = torch.tensor([3.0], requires_grad=True)
    y = x * 1
    z = square(y)
    square_(y)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        z.backward()


def test_operator_in_place_is_noticed():
    """The operator itself counts, too, for those who call it past square_."""
    a, w = torch.tensor([3.0]), torch.tensor([2.0], requires_grad=True)
    y = w * a
    torch.ops.torch_square.square_(a)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()


def test_autocast():
    """Case 57: as torch.square; half becomes float32 on a GPU, in place and out= are not cast."""
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode(), torch.autocast("cuda", dtype=torch.float16):
        for dtype in (torch.half, torch.bfloat16, torch.float32, torch.float64, torch.int32):
            x = torch.empty(3, dtype=dtype, device="cuda")
            assert square(x).dtype == torch.square(x).dtype, dtype
            assert square_(x).dtype == dtype
    with torch.autocast("cpu"):
        x = torch.ones(3, dtype=torch.bfloat16)
        assert square(x).dtype == torch.square(x).dtype


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="GPU: 1 needed, 0 found")
def test_autocast_values():
    with torch.autocast("cuda"):
        y = square(torch.tensor([300.0], dtype=torch.half, device="cuda"))
    assert y.dtype == torch.float32 and y.item() == 90000
