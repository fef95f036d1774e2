# SPDX-License-Identifier: MIT
"""The package's derivatives: first and second, backward and forward, real and complex."""

import pytest
import torch
from compare import assert_equal
from package import VIEWS, each_dtype, each_view, on_each_device, smooth, square, square_
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
    """The same gradients as torch.square's, in dtype, strides and bits, but for complex roundings."""
    for dtype in (torch.float32, torch.float64, torch.complex64, torch.half, torch.bfloat16):
        for view in VIEWS.values():
            x = view(smooth((4, 6), dtype, device, grad=False)).detach().requires_grad_()
            weight = smooth(x.shape, dtype, device, grad=False)
            (ours,) = torch.autograd.grad(square(x), x, weight)
            (right,) = torch.autograd.grad(torch.square(x), x, weight)
            assert ours.stride() == right.stride()
            torch.testing.assert_close(ours, right, rtol=1e-6 if dtype.is_complex else 0, atol=0)


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
        y = forward_ad.make_dual(x.clone(), t.clone())
        torch.ops.torch_square.square_(y)
        assert forward_ad.unpack_dual(y).tangent.tolist() == [6.0]
        y = forward_ad.make_dual(x.clone(), t.clone())  # which are both changed in place
        square_(y)
        assert forward_ad.unpack_dual(y).tangent.tolist() == [6.0]
    first = lambda x: torch.func.jvp(square, (x,), (torch.ones_like(x),))[1]  # noqa: E731
    assert torch.func.jvp(first, (x,), (t,))[1].tolist() == [2.0]


def test_a_leaf_stays():
    """square_ of a leaf that requires grad is refused, as torch does; under no_grad it is taken."""
    x = torch.tensor([3.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        square_(x)
    assert x.tolist() == [3.0]
    with torch.no_grad():
        assert square_(x).tolist() == [9.0]


def test_views_of_leaves():
    """A view of a leaf stays as well; a view of a result passes its gradient on."""
    leaf = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="view of a leaf"):
        square_(leaf[1:])
    y = leaf * 1
    square_(y[1:])
    y.sum().backward()
    assert leaf.tolist() == [2, 3, 4] and leaf.grad.tolist() == [1, 6, 8]


def test_every_order():
    """x to the fourth: four derivatives, and a fifth that is not wanted by anything."""
    x = torch.tensor([3.0], dtype=torch.float64, requires_grad=True)
    y = square(square(x))
    for right in (108, 108, 72, 24):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        assert y.item() == right


class Cut(torch.autograd.Function):
    """The identity, whose backward has no gradient to give."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return None


@pytest.mark.parametrize("function", (square, torch.square), ids=("ours", "torch"))
def test_no_gradient_comes(function):
    """Where none comes from above, none goes on; it is not zeros."""
    x = smooth((3,))
    Cut.apply(function(x)).sum().backward()
    assert x.grad is None


def test_saved_for_backward():
    """One tensor is kept, the input; hooks on what is kept see it, and checkpoint computes it anew."""
    x, kept = smooth((5,)), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        y = square(x)
    assert len(kept) == 1 and kept[0].data_ptr() == x.data_ptr()
    y.sum().backward()
    first, x.grad = x.grad, None
    torch.utils.checkpoint.checkpoint(square, x, use_reentrant=False).sum().backward()
    assert_equal(first, 2 * x.detach())
    assert_equal(first, x.grad)


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
