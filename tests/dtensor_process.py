# SPDX-License-Identifier: MIT
"""One of two processes over which tensors are spread: rank, a file to meet at, what to import first."""

import importlib
import os
import sys

import torch
import torch.distributed as dist

rank, meeting, first = int(sys.argv[1]), sys.argv[2], sys.argv[3]
importlib.import_module(first)
import torch_square
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor


def check(x, mesh, placements):
    """x spread so: squared where it lies, with its gradient, in place, into another, and compiled."""
    d = distribute_tensor(x, mesh, placements).requires_grad_()
    y = torch_square.square(d)
    assert y.placements == tuple(placements), y.placements
    assert torch.equal(y.full_tensor(), x.square())
    y.sum().backward()
    theirs = distribute_tensor(x, mesh, placements).requires_grad_()
    torch.square(theirs).sum().backward()
    assert d.grad.placements == theirs.grad.placements and torch.equal(d.grad.full_tensor(), 2 * x)
    with torch.no_grad():
        assert torch.equal(torch_square.square(d).full_tensor(), x.square())

    d = distribute_tensor(x.clone(), mesh, placements)
    out = distribute_tensor(torch.zeros_like(x), mesh, placements)
    assert torch_square.square(d, out=out) is out and torch.equal(out.full_tensor(), x.square())
    compiled = torch.compile(torch_square.square, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(d).full_tensor(), x.square())
    assert torch_square.square_(d) is d and torch.equal(d.full_tensor(), x.square())


def main():
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    mesh, plane = init_device_mesh("cpu", (2,)), init_device_mesh("cpu", (2, 1))
    x, odd = torch.arange(24.0).view(4, 6), torch.arange(15.0).view(5, 3)
    for placement in Replicate(), Shard(0), Shard(1):
        check(x, mesh, [placement])
        check(odd, mesh, [placement])  # the parts are not of one size
        check(x, plane, [placement, Shard(0)])
    # The square of a sum is not the sum of squares: it is summed first.
    partial = DTensor.from_local(x, mesh, [Partial()])
    assert torch.equal(torch_square.square(partial).full_tensor(), (2 * x).square())
    print("good", flush=True)
    dist.barrier()
    os._exit(0)  # gloo's threads may end a process that ends by itself while the other one leaves


main()
