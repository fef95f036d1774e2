# SPDX-License-Identifier: MIT
import json

import torch
from showing import python

HINT = """
Go through the dimensions from the last to the first. The last one has to have the stride 1. Each one
before it has to step over all that stands behind: the product of the sizes so far.
"""

CALL = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("answer", sys.argv[1])
answer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(answer)
for shape, strides in json.loads(sys.argv[2]):
    shape, strides = tuple(shape), tuple(strides)
    print(f"{shape} {strides}", answer.is_contiguous(shape, strides), sep=";", flush=True)
"""


def tensors():
    x = torch.zeros(2, 3, 4)
    yield from (x, x[0], x[1:], x[0].t(), x.permute(2, 0, 1), x[:, :1], x[:, :1, :1], x[..., ::2], x[:, 1:])
    yield from (torch.zeros(()), torch.zeros(3).expand(2, 3), torch.zeros(1).expand(5))
    yield from (torch.zeros(3, 0).t(), torch.zeros(1, 5).t(), torch.zeros(2, 1, 3).transpose(0, 1))
    yield from (x[:, :0].permute(2, 0, 1), torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last))


def check(file):
    cases = [(tuple(t.shape), t.stride(), t.is_contiguous()) for t in tensors()]
    expected = {f"{shape} {strides}": str(answer) for shape, strides, answer in cases}
    python("shape and strides", expected, CALL, file, json.dumps([case[:2] for case in cases]))
