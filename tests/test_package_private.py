# SPDX-License-Identifier: MIT
"""The names of _private.py, which PyTorch may drop without a word: each is there, and still needed."""

import ast
import sys

import torch
from functorch.compile import make_boxed_func
from package import OPERATOR, PLAIN, square
from stages import ROOT
from torch._dynamo.backends.common import aot_autograd
from torch.autograd import forward_ad
from torch_square import _operator, _private

PACKAGE = ROOT / "05_setup_py" / "src" / "torch_square"


def test_current_level():
    """-1 where no tensor can have a tangent, and not where one can; square reads it."""
    assert _private.forward_ad._current_level == -1
    with forward_ad.dual_level():
        assert _private.forward_ad._current_level == 0
    assert _private.forward_ad._current_level == -1


def tangent_of_tangent():
    def first(x):
        return torch.func.jvp(square, (x,), (torch.ones_like(x),))[1]

    return torch.func.jvp(first, (torch.tensor([3.0]),), (torch.ones(1),))[1].tolist()


def test_forward_mode(monkeypatch):
    """A jvp of a jvp needs forward mode inside the formula; without it the tangent is lost."""
    assert tangent_of_tangent() == [2.0]
    monkeypatch.setattr(forward_ad, "_set_fwd_grad_enabled", lambda mode: torch.enable_grad())
    assert tangent_of_tangent() == [0.0], "PyTorch needs _set_fwd_grad_enabled no longer: drop it"


def test_without_frame():
    """`_op` is what OpOverload.__call__ calls, and does what it does; without it the operator serves."""
    x = torch.tensor([3.0])
    assert _private.without_frame(PLAIN) is PLAIN._op
    assert PLAIN._op(x).item() == PLAIN(x).item() == 9
    assert OPERATOR._op(x.requires_grad_()).requires_grad

    def operator_without_it(x):
        return x

    assert _private.without_frame(operator_without_it) is operator_without_it


def test_compiling(monkeypatch):
    """A compiled graph holds the plain operator; without torch's module the other, which is as right."""
    graphs = []

    def keep(graph, inputs):
        graphs.append([node.target for node in graph.graph.nodes if node.op == "call_function"])
        return make_boxed_func(graph.forward)

    for known, operator in ((True, PLAIN), (False, OPERATOR)):
        for grad in (False, True):
            torch._dynamo.reset()
            x = torch.tensor([3.0], requires_grad=grad)
            with monkeypatch.context() as patch:
                if not known:
                    patch.setattr(_operator, "compiling", lambda: False)
                y = torch.compile(square, backend=aot_autograd(fw_compiler=keep))(x)
            assert y.item() == 9 and graphs[-1] == [operator]
    assert torch.autograd.grad(y, x)[0].item() == 6
    assert not _private.compiling()
    monkeypatch.setitem(sys.modules, "torch._guards", None)
    assert not _private.compiling()


def private_names(path):
    """Names of torch's with a leading underscore that a file imports or reads."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
            yield from (n for n in [*node.module.split("."), *(a.name for a in node.names)] if n[0] == "_")
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            yield ast.unparse(node)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr":
            yield ast.literal_eval(node.args[1])


def test_private_in_one_place():
    """No other file of the package uses a private name, but for _current_level, read in each call."""
    allowed = {
        "__init__.py": {"forward_ad._current_level", "_operator.differentiable_"},
        "__main__.py": {"torch_square._C"},
        "_operator.py": {"forward_ad._current_level"},
        "_private.py": {"forward_ad._set_fwd_grad_enabled", "_op", "_guards"},
    }
    found = {path.name: set(private_names(path)) for path in PACKAGE.glob("*.py")}
    assert found.keys() == allowed.keys()
    for name in found:
        assert found[name] <= allowed[name], name
    assert found["_private.py"] == allowed["_private.py"], "a name that is not used is to go"
    text = (PACKAGE / "_private.py").read_text()
    for name in "_current_level", "_set_fwd_grad_enabled", "_op", "_guards":
        assert name in text.split('"""')[1], f"_private.py does not say why {name}"
