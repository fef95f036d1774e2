# SPDX-License-Identifier: MIT
import json

from showing import differ, python

HINT = """
The chain rule: dloss/dx = dloss/dy * dy/dx, and autograd brings the first factor. What is the derivative
of x * x * x? x is there because forward() saved it.
"""

CALL = """
import importlib.util, json, sys, torch
spec = importlib.util.spec_from_file_location("answer", sys.argv[1])
answer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(answer)
xs = [-2.0, -0.5, 0.0, 1.0, 3.0]
x = torch.tensor(xs, dtype=torch.float64, requires_grad=True)
y = answer.Cube.apply(x)
(first,) = torch.autograd.grad((2 * y).sum(), x, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), x)
print(json.dumps([xs, y.tolist(), first.tolist(), second.tolist()]))
"""


def check(file):
    xs, y, first, second = json.loads(python(CALL, file))
    differ("y at x =", xs, y, [x**3 for x in xs])
    differ("gradient of 2 * y at x =", xs, first, [6 * x * x for x in xs])
    differ("gradient of that, at x =", xs, second, [12 * x for x in xs])
