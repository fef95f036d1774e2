# SPDX-License-Identifier: MIT
"""torch.square as an operator of its own, torch.ops.torch_square.square, in C and CUDA.

This file is its face, _operator.py what PyTorch has to know of it, _private.py what it uses of
PyTorch that is not public, and _C the operator itself, compiled.
"""

import warnings

import torch  # first: it loads the libraries that _C needs
from torch import Tensor
from torch.compiler import is_dynamo_compiling
from torch.overrides import handle_torch_function, has_torch_function, has_torch_function_unary

if torch.__version__ < (2, 11):
    raise ImportError(f"torch_square needs torch 2.11 or newer, and this is torch {torch.__version__}")
try:
    import torch_square._C  # noqa: F401  its import registers the operators
except ModuleNotFoundError:
    raise ImportError(
        f"torch_square is not built in {__path__[0]}: these are its sources. Install it, and import it from "
        "another folder."
    ) from None
except ImportError as error:
    raise ImportError(
        f"torch_square does not fit torch {torch.__version__} with CUDA {torch.version.cuda}. It needs torch "
        "2.11 or newer, and one with CUDA if it was built with CUDA; build it again with "
        f"`pip install --no-build-isolation`. ({error})"
    ) from error
from . import _operator
from ._private import forward_ad, without_frame

__all__ = ["square", "square_"]
__version__ = "1.0.0"

_differentiable = without_frame(torch.ops.torch_square.square.default)
_plain = without_frame(torch.ops.torch_square.square.plain)
_differentiable_ = without_frame(torch.ops.torch_square.square_.default)
_plain_ = without_frame(torch.ops.torch_square.square_.plain)


def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a new tensor with the square of each element of `input`, as torch.square does.

    Args:
        input: a tensor of any shape and strides, on the CPU or a GPU; bool (the result is int64),
            uint8, int8 to int64 (they wrap), float16, bfloat16, float32, float64, complex64,
            complex128, on a GPU also complex32; strided or sparse COO.
        out: where to write the result, and what is returned then; of a dtype that the result's can
            be cast to. It is resized if it has another shape.

    Raises TypeError for what is no tensor; RuntimeError for a dtype, layout or `out` that is not
    taken and for errors of CUDA. On a GPU the work is queued on the current stream.

    Differentiable in reverse and forward mode, to any order, and under torch.compile, torch.export
    and torch.func, but for torch.func.functionalize, which raises.

        >>> torch_square.square(torch.tensor([1.0, -2.0, 0.5]))
        tensor([1.0000, 4.0000, 0.2500])
    """
    # Most calls want no derivative, and are to cost no more than torch.square. What is asked here
    # takes a tenth of a microsecond each; a call through autograd takes five.
    if (
        out is None
        and type(input) is Tensor
        and not has_torch_function_unary(input)
        and not is_dynamo_compiling()
    ):
        operator = _plain
        if (input.requires_grad and torch.is_grad_enabled()) or forward_ad._current_level >= 0:
            operator = _differentiable
        try:
            return operator(input)  # one line for both: torch.jit.trace compares where calls come from
        except RuntimeError as error:
            _operator.need_memory(input, error)
            raise
    return _square(input, out)


def square_(input: Tensor) -> Tensor:
    """Square `input` in place, and return it, as torch.square_ does.

    Takes and raises what square does, and it is differentiable as well. RuntimeError for a leaf
    that requires grad, for bool, and for elements that share memory (those of an expanded tensor).

        >>> torch_square.square_(torch.tensor([1.0, -2.0, 0.5]))
        tensor([1.0000, 4.0000, 0.2500])
    """
    if has_torch_function_unary(input) and not isinstance(input, type):  # a class is no tensor
        return handle_torch_function(square_, (input,), input)
    _check(input, "square_", "input")
    if is_dynamo_compiling() or type(input) is not Tensor:
        return _operator.differentiable_(input)
    operator, unversioned = _plain_, input.is_inference()
    if unversioned and not torch.is_inference_mode_enabled():
        raise RuntimeError("square_(): argument 'input' was made in inference mode, and changes only there")
    if (input.requires_grad and torch.is_grad_enabled()) or forward_ad._current_level >= 0:
        operator = _differentiable_
    try:
        operator(input)  # one line for both, as in square
    except RuntimeError as error:
        _operator.need_memory(input, error)
        raise
    if operator is _plain_ and not unversioned:
        torch.autograd.graph.increment_version(input)  # C wrote through a pointer: tell autograd
    return input


def _check(tensor: object, function: str, argument: str) -> None:
    if not isinstance(tensor, Tensor):
        kind = type(tensor).__name__
        raise TypeError(f"{function}(): argument '{argument}' must be Tensor, not {kind}")


def _kind(dtype: torch.dtype) -> int:
    """What torch.can_cast compares; torch.compile does not take that function."""
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else int(dtype != torch.bool)


def _square(input: Tensor, out: Tensor | None) -> Tensor:
    """square, where something is out of the ordinary."""
    if has_torch_function((input, out)) and not isinstance(input, type):  # a class is no tensor
        keywords = {} if out is None else {"out": out}
        return handle_torch_function(square, (input, out), input, **keywords)
    _check(input, "square", "input")
    if out is None:
        return torch.ops.torch_square.square.default(input)
    _check(out, "square", "out")
    if torch.is_grad_enabled() and (input.requires_grad or out.requires_grad):
        raise RuntimeError(
            "square(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    result = square(input)
    if result.device != out.device:
        raise RuntimeError(f"square(): input is on {result.device}, but out is on {out.device}")
    if _kind(result.dtype) > _kind(out.dtype):
        raise RuntimeError(f"square(): result type {result.dtype} can't be cast to that of out, {out.dtype}")
    if out.shape != result.shape:
        if out.numel() != 0:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, "
                f"which does not match the required output shape {list(result.shape)}.",
                stacklevel=3,
            )
        out.resize_(result.shape).as_strided_(result.shape, result.stride())
    return out.copy_(result)
