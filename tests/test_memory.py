# SPDX-License-Identifier: MIT
"""Memory that is not there: freed under a tensor, or too little for a result. The next call works."""

import sys

import pytest
import torch
from c_library import run
from refusing import assert_good_call, assert_refused
from stages import REFUSED, RIGHT, ROOT, STAGES, each_device, each_stage, gpu

# Views of 1000 float32, and how many bytes of their storage are left. torch.square crashes.
LOST = {
    "all": (lambda x: x, 0),
    "all, x begins late": (lambda x: x[500:], 0),
    "all, x is one element": (lambda x: x[999], 0),
    "all, x is transposed": (lambda x: x.view(10, 100).t(), 0),
    "all, x has gaps": (lambda x: x[1::2], 0),
    "the last byte": (lambda x: x, 3999),
    "the last byte, x has gaps": (lambda x: x[1::2], 3999),
    "far more than a page": (lambda x: x.repeat(10_000), 4000),
}


@pytest.mark.parametrize("view, left", LOST.values(), ids=LOST)
@each_device
@each_stage
def test_lost_storage(stage, device, view, left):
    """What another owner of a tensor's memory may do, as FSDP does: free it, or make it smaller."""
    for function in stage.square, stage.square_:
        x = view(torch.ones(1000, device=device))
        x.untyped_storage().resize_(left)
        assert_refused(function, x, "memory|contiguous", stage, device)


@each_device
@each_stage
def test_storage_that_suffices(stage, device):
    """What lies behind x may go; and an empty x needs nothing."""
    x = torch.full((1000,), 3.0, device=device)[500:600]
    x.untyped_storage().resize_(2400)
    assert (stage.square(x) == 9).all() and (stage.square_(x) == 9).all()
    x.untyped_storage().resize_(0)
    assert stage.square(x[50:50]).shape == (0,)


@each_device
@each_stage
def test_no_room_for_a_copy(stage, device):
    """2^45 elements that are one element in memory: no memory, or refused; in place always refused."""
    x = torch.ones(1, device=device).expand(2**45)
    if stage.strided == REFUSED:
        assert_refused(stage.square, x, "contiguous", stage, device)
    else:
        with pytest.raises(RuntimeError if device == "cpu" else torch.OutOfMemoryError, match="memory"):
            stage.square(x)
    assert_refused(stage.square_, x, "share memory|contiguous", stage, device)


SHORT = """
import resource, sys, torch
sys.path.insert(0, sys.argv[1])
import square as stage
inputs = [torch.ones(1 << 26), torch.ones(1 << 26, dtype=torch.float16)]
if sys.argv[2:]:
    inputs += [inputs[0][::2], torch.ones(1 << 26, dtype=torch.bool)]
stage.square(torch.ones(1 << 17))  # torch's threads have their memory
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
most = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (held + (1 << 26), most))
for x in inputs:
    try:
        stage.square(x)
    except RuntimeError as error:
        print("raised", error)
print(stage.square_(inputs[0])[-1].item(), stage.square(torch.tensor([3.0])).tolist(), "alive")
"""


@each_stage
def test_no_room_for_the_result(stage):
    """The process may have 64 MiB more, and a result takes 128 MiB: torch's words, no harm done."""
    more = ["strided"] if stage.strided == RIGHT else []
    result = run(sys.executable, "-c", SHORT, ROOT / stage.folder, *more, timeout=120)
    assert result.stdout.count("can't allocate memory") == 2 + 2 * len(more), result.stdout + result.stderr
    assert result.stdout.strip().endswith("1.0 [9.0] alive"), result.stdout + result.stderr


# What takes memory on a GPU beside x: the dtype, the view of 256 MiB that is squared, and who takes it.
LARGE = {
    "the result": (torch.float16, lambda x: x, lambda stage: True),
    "a result of eight times x": (
        torch.bool,
        lambda x: x[: 96 << 20],
        lambda stage: torch.bool in stage.dtypes,
    ),
    "a copy, then the result": (
        torch.float16,
        lambda x: x[::2],
        lambda stage: stage.strided == RIGHT,
    ),
    "with a derivative": (torch.float16, lambda x: x.requires_grad_(), lambda stage: stage.grad == RIGHT),
}


@pytest.mark.gpu
@gpu[1]
@pytest.mark.parametrize(
    "stage, dtype, view",
    [
        pytest.param(stage, dtype, view, id=f"{stage}-{what}")
        for what, (dtype, view, takes) in LARGE.items()
        for stage in STAGES
        if takes(stage)
    ],
)
def test_out_of_memory(stage, dtype, view):
    """torch's OutOfMemoryError, whatever the memory was for; a smaller call works."""
    x = view(torch.zeros(1 << 28, dtype=torch.uint8, device="cuda").view(dtype))
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + (192 << 20)) / total)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            stage.square(x)
        assert_good_call(stage, "cuda")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
