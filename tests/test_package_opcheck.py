# SPDX-License-Identifier: MIT
"""The operator as PyTorch's own checks see it: opcheck, fake tensors, PyTorch's samples; what is refused."""

import warnings

import pytest
import torch
from compare import assert_equal, assert_square
from package import OPERATOR, PLAIN, VIEWS, each_dtype, each_view, on_each_device, smooth, square, square_

IN_PLACE = torch.ops.torch_square.square_
both = pytest.mark.parametrize("operator", (OPERATOR, PLAIN), ids=("square", "plain"))
each_grad = pytest.mark.parametrize("grad", (False, True), ids=("no grad", "grad"))


@pytest.mark.slow
@both
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
@pytest.mark.parametrize("operator", (IN_PLACE.default, IN_PLACE.plain), ids=("square_", "plain"))
@pytest.mark.parametrize("view", ("dense", "transposed", "sliced", "channels_last", "empty"))
@on_each_device
def test_opcheck_in_place(device, operator, view):
    """The same of what writes to its argument: the schema tells of it, and it returns nothing."""
    torch.library.opcheck(operator, (VIEWS[view](smooth((4, 6), device=device, grad=False)),))


@pytest.mark.slow
def test_opcheck_notices():
    """opcheck is no empty promise: of an operator whose fake has a wrong dtype it says so."""
    library = torch.library.Library("square_wrong", "FRAGMENT")  # its name dies with it
    library.define("square(Tensor x) -> Tensor")
    library.impl("square", lambda x: torch.square(x), "CPU")
    torch.library.register_fake("square_wrong::square", lambda x: torch.empty(x.shape), lib=library)
    operator = torch.ops.square_wrong.square.default
    torch.library.opcheck(operator, (torch.ones(3, 4),))
    with pytest.raises(Exception, match=r"Dtypes .* are not equal"):
        torch.library.opcheck(operator, (torch.ones(3, 4, dtype=torch.float64),))


@pytest.mark.skipif(torch.version.cuda is None, reason="this torch is built without CUDA")
@each_view
@pytest.mark.parametrize("dtype", (torch.float32, torch.bool, torch.half, torch.complex64), ids=str)
def test_fake_and_meta(dtype, view):
    """Meta and fake tensors have the shape, the dtype and the strides of the real result."""
    real = square(view(torch.ones(4, 6).to(dtype)))
    meta = square(view(torch.ones(4, 6, device="meta").to(dtype)))
    with torch._subclasses.FakeTensorMode():
        fake = square(view(torch.ones(4, 6).to(dtype)))
        on_gpu = square(view(torch.ones(4, 6, device="cuda").to(dtype)))
    assert (meta.device.type, fake.device.type, on_gpu.device.type) == ("meta", "cpu", "cuda")
    for y in meta, fake, on_gpu:
        assert (y.shape, y.dtype, y.stride()) == (real.shape, real.dtype, real.stride())
        if dtype != torch.bool and 0 not in y.stride():
            assert square_(y) is y


@pytest.mark.parametrize("function", (square_, IN_PLACE.plain, torch.square_), ids=("ours", "plain", "torch"))
def test_no_bool_in_place(function):
    """What is refused where there is data is refused where there is none."""
    with pytest.raises(RuntimeError, match=r"bool|Bool"):
        function(torch.empty(3, dtype=torch.bool, device="meta"))
    with torch._subclasses.FakeTensorMode(), pytest.raises(RuntimeError, match=r"bool|Bool"):
        function(torch.empty(3, dtype=torch.bool))


@on_each_device
def test_samples_of_torch(device):
    """PyTorch's own samples for square, of every dtype: no difference in value, dtype or strides."""
    database = pytest.importorskip("torch.testing._internal.common_methods_invocations").op_db
    (info,) = (op for op in database if op.name == "square")
    count = 0
    for dtype in sorted(info.supported_dtypes(torch.device(device).type), key=str):
        for samples in info.sample_inputs, info.reference_inputs:
            for sample in samples(device, dtype):
                x = sample.input
                # Where re² overflows, torch.square itself answers by layout; ours as for a dense tensor.
                assert_square(square(x), x.contiguous() if dtype.is_complex else x)
                assert square(x).stride() == torch.square(x).stride()
                count += 1
    assert count > 300


@on_each_device
def test_sparse(device):
    """Sparse COO: two values of one place are added before they are squared; its gradient is 2x."""
    index, value = torch.tensor([[0, 0, 2]], device=device), torch.tensor([1.0, 2.0, 3.0], device=device)
    x = torch.sparse_coo_tensor(index, value, (3,), check_invariants=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert square(x).is_coalesced()
    assert square(x).to_dense().tolist() == [9.0, 0.0, 9.0]
    leaf = x.coalesce().requires_grad_()
    square(leaf).to_dense().sum().backward()
    assert_equal(leaf.grad.to_dense(), 2 * x.to_dense())
    with pytest.raises(RuntimeError, match=r"square_: x is sparse_coo; .* if not in place, sparse COO"):
        square_(x)


KINDS = {
    "sparse_csr": lambda d: torch.eye(3, device=d).to_sparse_csr(),
    "mkldnn": lambda d: torch.eye(3).to_mkldnn(),
    "quantized": lambda d: torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.quint8),
    "nested": lambda d: torch.nested.nested_tensor([torch.ones(2, device=d), torch.ones(3, device=d)]),
}


@pytest.mark.parametrize("kind", KINDS)
@on_each_device
def test_other_kinds(device, kind):
    """A kind of tensor that is not taken is named, and so is what is taken."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # most of these kinds are prototypes, and say so
        x = KINDS[kind](device)
    for name, functions in ("square", (square, OPERATOR)), ("square_", (square_, IN_PLACE)):
        for function in functions:
            with pytest.raises(RuntimeError, match=f"^{name}: x is _?{kind}.*taken are strided"):
                function(x)
