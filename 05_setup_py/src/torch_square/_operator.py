# SPDX-License-Identifier: MIT
"""What PyTorch has to know of the operators, besides how to compute them: that is in _C.

Each is there twice. `square` has the derivative. `square.plain` is the same kernel without one:
torch_square.square calls it where no derivative is wanted, since to ask autograd for that takes five
microseconds; Square.forward calls it; and graphs of torch.compile hold nothing else. Where a graph is
kept and may be differentiated later, it holds `square`.
"""

import sys
from functools import partial

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode

from ._private import compiling, forward_mode

_differentiable = torch.ops.torch_square.square.default
_plain = torch.ops.torch_square.square.plain
_plain_ = torch.ops.torch_square.square_.plain


def need_memory(x: Tensor, error: RuntimeError) -> None:
    """Raise torch's own OutOfMemoryError, lost on the way through C, if that is what `error` was."""
    if "out of memory" in str(error) or "libtorch refused" in str(error):  # its text: torch 2.13 on
        kept = [] if x.is_contiguous() else [torch.empty_like(x)]  # C makes a copy and the square
        kept.append(torch.empty_like(x, dtype=torch.int64 if x.dtype is torch.bool else x.dtype))


def _square(x: Tensor) -> Tensor:
    try:
        return _plain(x)
    except RuntimeError as error:
        need_memory(x, error)
        raise


def _derivative(x: Tensor) -> Tensor:
    return 2 * x  # dy / dx of y = x * x, for complex x too


class Square(torch.autograd.Function):
    """The derivative, backward and forward."""

    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.set_materialize_grads(False)  # else no gradient would become one of zeros
        return _square(x)

    @staticmethod
    def backward(ctx, gradient: Tensor | None) -> Tensor | None:
        if gradient is None:
            return None
        (x,) = ctx.saved_tensors
        return gradient * _derivative(x).conj()

    @staticmethod
    def jvp(ctx, tangent: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        with forward_mode():
            return tangent * _derivative(forward_ad.unpack_dual(x, level=0).primal)


class SquareOfTransforms(Square):
    """The same in the form that torch.func asks for, which costs 13 microseconds more a call."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return _square(x)

    @staticmethod
    def setup_context(ctx, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
        ctx.set_materialize_grads(False)

    @staticmethod
    def vmap(info, in_dims: tuple[int], x: Tensor) -> tuple[Tensor, int]:
        return SquareOfTransforms.apply(x), in_dims[0]


def _fits(x: Tensor) -> None:
    """Refuse what square_ cannot hold the square of, as _C does where there is data."""
    if x.dtype == torch.bool:
        raise RuntimeError("square_: x is bool, and its square, an int64, does not fit")


def differentiable_(x: Tensor) -> Tensor:
    """square_ out of parts that have derivatives; copy_ tells autograd."""
    _fits(x)
    if x.requires_grad and x.is_leaf and torch.is_grad_enabled():
        raise RuntimeError("square_: x is a leaf that requires grad, and cannot change in place")
    return x.copy_(_differentiable(x.clone()))


def _in_place(x: Tensor) -> None:
    if (x.requires_grad and torch.is_grad_enabled()) or forward_ad._current_level >= 0:
        differentiable_(x)
    else:
        _plain_(x)
        if not x.is_inference():
            torch.autograd.graph.increment_version(x)  # for calls that come past square_


def _in_transform(x: Tensor) -> None:
    differentiable_(x)  # whose result the operator has not: it returns nothing


def _shape(x: Tensor) -> Tensor:
    _tell_dtensor()  # it may have been imported since, and asks for a shape before all else
    return torch.square(x)


def _sparse(x: Tensor) -> Tensor:
    x = x.coalesce()
    values = _plain(x.values())
    return torch.sparse_coo_tensor(x.indices(), values, x.size(), is_coalesced=True, check_invariants=False)


def _record(mode, operator, types, args=(), kwargs=None):
    """Record the one with a derivative in graphs of make_fx and exported ones: they may be asked for it."""
    if not compiling():
        operator = operator.overloadpacket.default
    return mode.__torch_dispatch__(operator, types, args, kwargs or {})


# The dispatcher has only a riddle for a kind of tensor that has no kernel.
_OTHER_KINDS = ["AutogradNestedTensor", "MkldnnCPU"]
_OTHER_KINDS += [
    kind + device for kind in ("SparseCsr", "Quantized", "NestedTensor") for device in ("CPU", "CUDA")
]


def _refuse(name: str, x: Tensor) -> None:
    kind = "nested" if x.is_nested else "quantized" if x.is_quantized else str(x.layout)
    raise RuntimeError(
        f"{name}: x is {kind.removeprefix('torch.')}; taken are strided and, if not in place, sparse COO"
    )


def _tell_dtensor() -> None:
    """A replicated or sharded tensor is squared where it lies. Importing DTensor takes a second."""
    if "torch.distributed.tensor" not in sys.modules or _told:
        return
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    _told.append(True)

    @register_sharding([_differentiable, _plain])
    def placements(x):
        return [([placement], [placement]) for placement in (Replicate(), *map(Shard, range(x.ndim)))]


_told: list[bool] = []
_tell_dtensor()

torch.library.impl("torch_square::square", "Autograd")(Square.apply)
torch.library.impl("torch_square::square_", "Autograd")(_in_place)
for _name in ("torch_square::square", "torch_square::square.plain"):
    torch.library.register_fake(_name)(_shape)
    torch.library.register_autocast(_name, "cuda", torch.float32)
    torch.library.impl(_name, ("SparseCPU", "SparseCUDA"))(_sparse)
    # torch.func asks under this key first; calls outside of it never come here, and do not pay for it.
    torch.library.impl(_name, "FuncTorchDynamicLayerFrontMode")(SquareOfTransforms.apply)
for _name in ("torch_square::square_", "torch_square::square_.plain"):
    torch.library.register_fake(_name)(_fits)
    torch.library.impl(_name, ("SparseCPU", "SparseCUDA"))(partial(_refuse, "square_"))
    torch.library.impl(_name, "FuncTorchDynamicLayerFrontMode")(_in_transform)
for _name in ("torch_square::square.plain", "torch_square::square_.plain"):
    torch.library.register_torch_dispatch(_name, ProxyTorchDispatchMode, _record)
for _name in ("square", "square_"):
    for _overload in ("", ".plain"):
        torch.library.impl(f"torch_square::{_name}{_overload}", _OTHER_KINDS)(partial(_refuse, _name))
