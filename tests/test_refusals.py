# SPDX-License-Identifier: MIT
"""Refusals: each names the argument and what it was, and leaves a stage that works."""

import warnings

import numpy
import pytest
import torch
from compare import assert_equal, assert_square
from inputs import values
from refusing import REFUSALS, assert_good_call, assert_refused
from stages import REFUSED, RIGHT, combinations, each_device, each_foreign, each_stage
from torch.autograd import forward_ad

NOT_TENSORS = {
    "None": (None, "NoneType"),
    "number": (3.0, "float"),
    "list": ([1.0, 2.0], "list"),
    "string": ("3", "str"),
    "numpy": (numpy.arange(3.0), "ndarray"),
    "class": (torch.Tensor, "type|_TensorMeta"),
}


@pytest.mark.parametrize("x, naming", NOT_TENSORS.values(), ids=NOT_TENSORS)
@each_stage
def test_not_a_tensor(stage, x, naming):
    """TypeError from both functions; also None and arrays of numpy (case 8)."""
    for function in stage.square, stage.square_:
        assert_refused(function, x, naming, stage, error=TypeError)


# What PyTorch's dispatch macros call a dtype, where that is not its Python name in capitals.
MACRO_NAMES = {
    torch.uint8: "Byte",
    torch.int8: "Char",
    torch.int16: "Short",
    torch.int32: "Int",
    torch.int64: "Long",
    torch.complex32: "ComplexHalf",
}


@each_foreign
def test_foreign_dtype(stage, device, dtype):
    """Cases 8, 26, 46: a dtype that the stage does not take is named, not read as another."""
    x = torch.zeros(40, dtype=torch.uint8, device=device).view(dtype)
    name = str(dtype).removeprefix("torch.")
    for function in stage.square, stage.square_:
        assert_refused(function, x, rf"\b({name}|{MACRO_NAMES.get(dtype, name)})\b", stage, device)
    assert not x.view(torch.uint8).any()


def quiet(make):
    """A tensor of a kind whose making warns that its kind is a prototype."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def flat(device):
    return torch.arange(6.0, device=device).view(2, 3)


# Tensors without plain strided memory: how to make one, and what the refusal says of it.
KINDS = {
    "meta": (lambda d: flat("meta"), "meta"),
    "sparse COO": (lambda d: flat(d).to_sparse(), "sparse|layout"),
    "sparse CSR": (lambda d: quiet(lambda: flat(d).to_sparse_csr()), "sparse|layout"),
    "mkldnn": (lambda d: flat("cpu").to_mkldnn(), "mkldnn|layout"),
    "quantized": (
        lambda d: quiet(lambda: torch.quantize_per_tensor(flat("cpu"), 0.1, 0, torch.quint8)),
        "quantized|quint8",
    ),
    "nested": (
        lambda d: quiet(lambda: torch.nested.nested_tensor([flat(d), flat(d)])),
        "nested|layout",
    ),
}


@pytest.mark.parametrize("make, naming", KINDS.values(), ids=KINDS)
@each_device
@each_stage
def test_kinds(stage, device, make, naming):
    """Case 54 among them. 02 to 04 refuse; 05 is right or refuses, as torch.square does."""
    x = make(device)
    if stage.traced == REFUSED:
        assert_refused(stage.square, x, naming, stage, device)
        assert_refused(stage.square_, x, naming, stage, device)
        return
    try:
        y = stage.square(x)
    except REFUSALS:
        assert x.device.type != "meta"
        assert_good_call(stage, device)
        return
    right = torch.square(x)
    assert (y.shape, y.dtype, y.device, y.layout) == (right.shape, right.dtype, right.device, right.layout)
    if x.layout == torch.sparse_coo:
        assert_equal(y.to_dense(), right.to_dense())


@each_device
@each_stage
def test_requires_grad(stage, device):
    """Case 25: refused, but under no_grad; where it is taken, the gradient is right."""
    x = values((7,), torch.float32, device).nan_to_num(2.0, 2.0, 2.0).requires_grad_()
    with torch.no_grad():
        assert_square(stage.square(x), x)
    assert_square(stage.square(x.detach()), x.detach())
    if stage.grad == REFUSED:
        assert_refused(stage.square, x, "requires.grad", stage, device)
        assert x.grad is None
    else:
        stage.square(x).sum().backward()
        assert_equal(x.grad, 2 * x.detach())


@each_device
@each_stage
def test_tangent(stage, device):
    """Forward mode is refused where backward is: a square without a tangent has the derivative 0."""
    with forward_ad.dual_level():
        x = forward_ad.make_dual(*torch.tensor([[3.0], [1.0]], device=device))
        if stage.grad == REFUSED:
            for function in stage.square, stage.square_:
                with pytest.raises(REFUSALS, match="tangent"):
                    function(x)
            assert x.item() == 3
        else:
            assert forward_ad.unpack_dual(stage.square(x)).tangent.item() == 6
    assert_good_call(stage, device)


@each_device
@each_stage
def test_inference_mode(stage, device):
    """Tensors of inference mode have no version counter, and are squared all the same."""
    with torch.inference_mode():
        x = values((1003,), torch.float32, device)
        right = torch.square(x)
        assert_equal(stage.square(x), right)
        assert_equal(stage.square_(x), right)


@each_device
@each_stage
def test_in_place_leaf(stage, device):
    """A leaf that requires grad is not overwritten (case 52)."""
    x = torch.tensor([2.0, 3.0], device=device, requires_grad=True)
    assert_refused(stage.square_, x, "requires.grad|leaf", stage, device)
    assert x.tolist() == [2.0, 3.0]


@combinations((torch.bool,), lambda s, v, d: True)
def test_in_place_bool(stage, device, dtype):
    """Case 47: the square of a bool is an int64, which does not fit."""
    x = torch.tensor([True, False, True], device=device)
    assert_refused(stage.square_, x, "bool|dtype", stage, device)
    assert x.tolist() == [True, False, True]


@each_device
@each_stage
def test_version_counter(stage, device):
    """Case 52: autograd notices that a tensor it kept was squared in place; square counts nothing."""
    x = torch.tensor([2.0, 3.0], device=device)
    weight = torch.ones(2, device=device, requires_grad=True)
    product = weight * x
    version = x._version
    stage.square(x)
    assert x._version == version
    stage.square_(x)
    assert x._version > version
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        product.sum().backward()


@each_device
@each_stage
def test_refused_in_place_counts_nothing(stage, device):
    """A call that is refused leaves the version too: a gradient that needs x is still right."""
    x = torch.ones(1, device=device).expand(4)
    version = x._version
    with pytest.raises(REFUSALS):
        stage.square_(x)
    assert x._version == version


@each_device
@each_stage
def test_inference_tensor_outside(stage, device):
    """As torch.square_: what was made in inference mode changes only there; square takes it."""
    with torch.inference_mode():
        x = torch.tensor([2.0, 3.0], device=device)
    assert_refused(stage.square_, x, "inference mode", stage, device)
    assert x.tolist() == [2.0, 3.0]
    assert stage.square(x).tolist() == [4.0, 9.0]


@each_device
@each_stage
def test_subclasses(stage, device):
    """A Parameter and a subclass of Tensor are tensors: right, or refused."""
    with torch.no_grad():
        x = torch.nn.Parameter(torch.tensor([2.0, 3.0], device=device))
        assert stage.square(x).tolist() == [4.0, 9.0]

    class Sub(torch.Tensor):
        pass

    try:
        assert stage.square(torch.tensor([2.0, 3.0], device=device).as_subclass(Sub)).tolist() == [4.0, 9.0]
    except REFUSALS:
        assert stage.traced != RIGHT
    assert_good_call(stage, device)


@each_stage
def test_fake_tensor(stage):
    """Case 54: a fake tensor has no memory. 02 to 04 refuse it, 05 gives a fake one."""
    with torch._subclasses.FakeTensorMode():
        x = torch.empty(3, 4)
        if stage.traced == RIGHT:
            assert stage.square(x).shape == (3, 4)
        else:
            with pytest.raises(REFUSALS):
                stage.square(x)
    assert_good_call(stage, "cpu")
