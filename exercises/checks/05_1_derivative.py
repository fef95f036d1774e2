# SPDX-License-Identifier: MIT
from showing import python

HINT = """
The chain rule: dloss/dx = dloss/dy * dy/dx, and autograd brings the first factor. What is the derivative
of x * x * x? x is there because forward() saved it.
"""

CALL = """
import importlib.util, sys, torch
spec = importlib.util.spec_from_file_location("answer", sys.argv[1])
answer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(answer)
for value in (-2.0, -0.5, 0.0, 1.0, 3.0):
    x = torch.tensor(value, dtype=torch.float64, requires_grad=True)
    y = answer.Cube.apply(x)
    (first,) = torch.autograd.grad(2 * y, x, create_graph=True)
    second = torch.autograd.grad(first, x)[0].item() if first.requires_grad else "none"
    print(f"x = {value}, y", y.item(), sep=";")
    print(f"x = {value}, gradient of 2y", first.item(), sep=";")
    print(f"x = {value}, gradient of that", second, sep=";")
"""


def check(file):
    expected = {}
    for x in (-2.0, -0.5, 0.0, 1.0, 3.0):
        numbers = {"y": x**3, "gradient of 2y": 6 * x * x, "gradient of that": 12 * x}
        expected |= {f"x = {x}, {name}": str(number) for name, number in numbers.items()}
    python("what", expected, CALL, file)
