# SPDX-License-Identifier: MIT
"""What this package uses of PyTorch that is not public; tests/test_package_private.py notices when it goes.

forward_ad._current_level: -1 where no torch.autograd.forward_ad.dual_level is entered, and then no
    tensor has a tangent. The public way to ask, unpack_dual(x).tangent, takes as long as a third of
    torch.square.
forward_ad._set_fwd_grad_enabled: PyTorch switches forward mode off inside a jvp formula. A jvp of a
    jvp then loses a tangent, without a word, unless it is on again.
OpOverload._op: the operator without the Python frame of OpOverload.__call__, which takes as long as
    a quarter of torch.square.
torch._guards: knows that torch.compile is making a graph, which torch.compiler.is_compiling does
    before torch 2.13 for torch.export alone. Without it such graphs are slower.
"""

from collections.abc import Callable

from torch import Tensor
from torch.autograd import forward_ad
from torch.compiler import is_exporting

__all__ = ["compiling", "forward_ad", "forward_mode", "without_frame"]


def compiling() -> bool:
    """Return whether torch.compile is making a graph, and not torch.export."""
    try:
        from torch._guards import TracingContext
    except ImportError:
        return False
    return TracingContext.try_get() is not None and not is_exporting()


def forward_mode():
    """Return a context in which forward mode is on."""
    return forward_ad._set_fwd_grad_enabled(True)


def without_frame(operator: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Return what calls `operator`, sooner; torch.compile must not meet it."""
    return getattr(operator, "_op", operator)
