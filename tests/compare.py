# SPDX-License-Identifier: MIT
"""What "equal to torch.square" means."""

import torch

BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def equal(ours, theirs):
    """True where two tensors of one dtype hold the same bits; NaN equals NaN whatever its bits."""
    if ours.is_complex():
        return equal(torch.view_as_real(ours), torch.view_as_real(theirs)).all(-1)
    bits = BITS[ours.element_size()]
    same = ours.contiguous().view(bits) == theirs.contiguous().view(bits)
    return same | (ours.isnan() & theirs.isnan()) if ours.is_floating_point() else same


def near(ours, theirs, x):
    """True where both components of a complex square are within 4 epsilon of |z|²."""
    parts = [torch.view_as_real(t.resolve_conj().to(torch.complex128)) for t in (ours, theirs, x)]
    finfo = torch.finfo(ours.dtype)
    bound = 4 * finfo.eps * (parts[2].square().sum(-1, keepdim=True) + finfo.smallest_normal)
    return ((parts[0] - parts[1]).abs() <= bound).all(-1)


def assert_equal(ours, theirs, x=None):
    """Dtype, shape, device and every element agree; x, the input, is needed for complex squares."""
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert ours.device == theirs.device
    good = equal(ours, theirs)
    if x is not None and x.is_complex():
        good |= near(ours, theirs, x)
    if not good.all():
        i = tuple((~good).nonzero()[0].tolist())
        raise AssertionError(
            f"{(~good).sum()} of {good.numel()} elements differ, the first at {i}: "
            f"yours {ours[i].item()!r}, expected {theirs[i].item()!r}"
        )


def assert_square(y, x):
    """y is what torch.square makes of x."""
    assert_equal(y, torch.square(x), x)
