# SPDX-License-Identifier: MIT
"""A square() compiled ahead of time into a file, loaded and called: whose it is, a device, a folder."""

import importlib
import sys

import torch

whose, device, folder = sys.argv[1:]
square = importlib.import_module(whose).square


class Module(torch.nn.Module):
    def forward(self, x):
        return square(x) + 1


x, other = (torch.randn(n, 6, device=device) for n in (4, 9))
shapes = ({0: torch.export.Dim("rows", min=2, max=1024)},)
program = torch.export.export(Module(), (x,), dynamic_shapes=shapes)
package = torch._inductor.aoti_compile_and_package(program, package_path=f"{folder}/{whose}.pt2")
assert torch.equal(torch._inductor.aoti_load_package(package)(other), torch.square(other) + 1)
print("good")
