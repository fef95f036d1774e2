# SPDX-License-Identifier: MIT
"""What a refusal is: an exception that names the argument and what it was, and no harm done."""

import re

import pytest
import torch
from compare import assert_square

REFUSALS = (TypeError, ValueError, RuntimeError)  # NotImplementedError is a RuntimeError


def assert_refused(function, x, naming, stage, device="cpu", error=REFUSALS):
    """function(x) raises; the text names x and matches `naming`; the next good call works."""
    with pytest.raises(error) as caught:
        function(x)
    text = str(caught.value)
    assert re.search(r"\b(x|input|self)\b", text), f"names no argument: {text}"
    assert re.search(naming, text, re.IGNORECASE), f"does not say {naming!r}: {text}"
    assert_good_call(stage, device)


def assert_good_call(stage, device):
    """The stage is unharmed: it squares what every stage takes."""
    good = torch.tensor([3.0, -1.5, float("inf"), 1e-20], device=device)
    assert_square(stage.square(good), good)
