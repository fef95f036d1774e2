# SPDX-License-Identifier: MIT
"""Ten thousand calls that fail, and as many that work, leave nothing behind."""

import gc
import os
from pathlib import Path

import pytest
import torch
from refusing import REFUSALS, assert_good_call
from stages import each_device, each_stage

CALLS = 10_000


def resident():
    """Bytes of memory that the process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def failing(stage, device):
    """Inputs that are refused at different depths: Python, the checks in C, in place, no memory."""
    one, freed = torch.ones(1, device=device), torch.ones(4096, device=device)[1:]
    freed.untyped_storage().resize_(0)
    return [
        (stage.square, torch.ones(4096, dtype=torch.uint16).to(device)),
        (stage.square_, one.expand(4096)),
        (stage.square_, torch.ones(4096, dtype=torch.bool, device=device)),
        (stage.square, freed),
        (stage.square, one.expand(2**45)),  # a copy of it, where one is made, finds no memory
        (stage.square, "no tensor"),
    ]


@each_device
@each_stage
def test_failing_calls(stage, device):
    """Neither memory nor a handle: the tensors are free afterwards, and so are file descriptors."""
    inputs = failing(stage, device)

    def call():
        for function, x in inputs:
            with pytest.raises(REFUSALS):
                function(x)

    for _ in range(100):  # caches of torch and Python fill up
        call()
    gc.collect()
    uses = [x._use_count() for _, x in inputs[:-1]]
    memory, files = resident(), len(os.listdir("/proc/self/fd"))
    for _ in range(CALLS // len(inputs)):
        call()
    gc.collect()
    assert [x._use_count() for _, x in inputs[:-1]] == uses
    assert len(os.listdir("/proc/self/fd")) == files
    assert resident() - memory < 8 << 20  # a leaked tensor of each call would be 20 MB and more
    assert_good_call(stage, device)


@each_device
@each_stage
def test_working_calls(stage, device):
    """The same of calls that work; the result has one owner."""
    x = torch.ones(4096, device=device)
    for _ in range(100):
        stage.square(x)
    uses, memory = x._use_count(), resident()
    for _ in range(CALLS):
        stage.square(x)
        stage.square_(x)
    assert x._use_count() == uses
    assert stage.square(x)._use_count() == torch.square(x)._use_count()
    assert resident() - memory < 8 << 20
