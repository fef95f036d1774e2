# SPDX-License-Identifier: MIT
"""A use that is real: a network whose activation is the operator, trained, compiled, on each device.

    python example.py [--steps N]

It learns x * y from generated pairs: with squares as activation, since x * y is a difference of two
squares. The same is trained with torch.square, and the losses have to be equal.
"""

import argparse
from collections.abc import Callable

import square as stage  # finds the installed package, or the one that `make 05` built
import torch
from torch import Tensor, nn


class Network(nn.Module):
    """Two inputs, one hidden layer with `activation`, one output."""

    def __init__(self, activation: Callable[[Tensor], Tensor], width: int = 32):
        super().__init__()
        self.inner, self.outer, self.activation = nn.Linear(2, width), nn.Linear(width, 1), activation

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.activation(self.inner(x)))


def train(activation: Callable[[Tensor], Tensor], device: str, steps: int) -> list[float]:
    """Return the loss of each step; the same numbers are drawn in every call."""
    torch.manual_seed(0)
    network = Network(activation).to(device)
    forward = torch.compile(network, fullgraph=True)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        x = torch.rand(256, 2).mul_(2).sub_(1).to(device)
        loss = (forward(x) - x.prod(dim=1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> int:
    parser = argparse.ArgumentParser(description="Trains a network with torch_square.square in it.")
    parser.add_argument("--steps", type=int, default=200, help="optimizer steps, 1 or more (200)")
    if (steps := parser.parse_args().steps) < 1:
        parser.error(f"argument --steps: {steps} is not 1 or more")
    good = True
    for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
        ours, theirs = train(stage.square, device, steps), train(torch.square, device, steps)
        same = torch.allclose(torch.tensor(ours), torch.tensor(theirs), rtol=1e-4, atol=1e-6)
        good = good and same and ours[-1] <= ours[0]
        print(f"{device:5} loss {ours[0]:.4f} -> {ours[-1]:.6f} after {steps} steps")
        print(f"      as with torch.square: {same}")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
