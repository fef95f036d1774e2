# SPDX-License-Identifier: MIT
"""Which tensors have memory that C can read, and are of a dtype that it takes; what else is refused."""

import torch

# The order is that of enum square_dtype in square_launch.h.
DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex32,
    torch.complex64,
    torch.complex128,
)


def _kind(x: torch.Tensor) -> str:
    """Return what x is: "strided", or the first thing that makes it something else."""
    if x.is_nested:
        return "nested"
    if x.is_quantized:
        return "quantized"
    if x.layout is not torch.strided:
        return str(x.layout).removeprefix("torch.")
    if torch._C._functorch.is_functorch_wrapped_tensor(x):
        return "wrapped by torch.func"
    return "strided" if x.untyped_storage().device == x.device else "fake"


def in_place_refusal(name: str, x: torch.Tensor) -> ValueError | None:
    """Return why x, a tensor that is taken, cannot change in place here, or None."""
    if x.is_inference() and not torch.is_inference_mode_enabled():
        return ValueError(f"{name}: x was made in inference mode, and can change only there")
    return None


def refusal(name: str, x: object) -> TypeError | None:
    """Return what is wrong with x as the argument of the function `name`, or None.

    Taken is a strided tensor on the CPU or a GPU, of a dtype in DTYPES (complex32 on a GPU only).
    """
    if not isinstance(x, torch.Tensor):
        return TypeError(f"{name}: x must be a torch.Tensor, got {type(x).__name__}")
    kind, device = _kind(x), x.device.type
    if kind != "strided" or device not in ("cpu", "cuda"):
        return TypeError(f"{name}: x must be strided, on the CPU or a GPU; got a {kind} tensor on {x.device}")
    if x.dtype not in DTYPES or (x.dtype is torch.complex32 and device == "cpu"):
        taken = ", ".join(str(dtype).removeprefix("torch.") for dtype in DTYPES)
        return TypeError(f"{name}: x is {x.dtype} on {x.device}; taken are {taken} (on a GPU)")
    return None
