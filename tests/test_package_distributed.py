# SPDX-License-Identifier: MIT
"""The package over several processes and GPUs: DTensor on two processes of the CPU, DataParallel."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from package import SITE, square, square_
from stages import needs_gpus

PROCESS = Path(__file__).parent / "dtensor_process.py"


@pytest.mark.slow
@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch is built without distributed")
@pytest.mark.parametrize("first", ("torch_square", "torch.distributed.tensor"))
def test_dtensor(first, tmp_path):
    """Two processes that meet by gloo; the package imported before DTensor, and after it."""
    both = [
        subprocess.Popen(
            [sys.executable, str(PROCESS), str(rank), str(tmp_path / "meeting"), first],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": SITE, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        )
        for rank in range(2)
    ]
    try:
        for process in both:
            out, err = process.communicate(timeout=180)
            assert process.returncode == 0 and out.strip().endswith("good"), err[-3000:]
    finally:
        for process in both:
            process.kill()  # one that waits for the other
            process.communicate()


class Network(torch.nn.Module):
    """One weight; a square of each kind."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([2.0]))

    def forward(self, x):
        return square(x * self.weight) + square_(x.clone())


@pytest.mark.gpu
@needs_gpus(2)
def test_data_parallel():
    """Case 40: a thread and a device for each part of the batch; gradients come together."""
    network = Network().cuda()
    x = torch.arange(8.0, device="cuda:0").view(8, 1)
    y = torch.nn.DataParallel(network)(x)
    assert y.device == x.device and y.flatten().tolist() == [5 * k * k for k in range(8)]
    y.sum().backward()
    assert network.weight.grad.item() == sum(2 * 2 * k * k for k in range(8))
