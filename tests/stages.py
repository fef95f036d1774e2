# SPDX-License-Identifier: MIT
"""The stages, and what each of them takes, as data. A sixth stage is one line more."""

import functools
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import loading

# What becomes of an input: torch.square's answer, an exception, or one of the two.
RIGHT, REFUSED, EITHER = "right", "refused", "right or refused"

INTEGRAL = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)
EVERY = INTEGRAL + FLOATING + (torch.complex32,) + COMPLEX
FOREIGN = tuple(
    getattr(torch, name)
    for name in ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")
)


def torch_takes(dtype, device):
    """Whether torch.square is there for this dtype: it has no complex32 on a CPU."""
    return dtype in EVERY and (dtype != torch.complex32 or device != "cpu")


@dataclass(frozen=True)
class Stage:
    """A folder whose square.py has square(x) and square_(x), and what they make of an input."""

    folder: str
    dtypes: tuple
    dense: str  # dense memory in another order than row-major: transposed, channels_last
    strided: str  # gaps or overlaps: sliced, expanded
    lazy: str  # conjugate and negative views
    grad: str  # requires_grad while grad mode is on
    traced: str  # meta and fake tensors, torch.compile, vmap

    def takes(self, dtype, device):
        """Whether square(x) is right for this dtype there, not refused."""
        return dtype in self.dtypes and torch_takes(dtype, device)

    @property
    def module(self):
        """The stage's square.py, loaded by its path."""
        module = load(self.folder)
        if isinstance(module, BaseException):
            raise RuntimeError(f"stage {self.folder} cannot be loaded: {module}") from module
        return module

    def square(self, x):
        return self.module.square(x)

    def square_(self, x):
        return self.module.square_(x)

    def __str__(self):
        return self.folder[:2]


# fmt: off
STAGES = (
    #     folder               dtypes              dense    strided  lazy     grad     traced
    Stage("02_c_launcher",     EVERY,              REFUSED, REFUSED, EITHER,  REFUSED, REFUSED),
    Stage("03_load_inline",    FLOATING + COMPLEX, REFUSED, REFUSED, EITHER,  REFUSED, REFUSED),
    Stage("04_separate_files", EVERY,              RIGHT,   RIGHT,   RIGHT,   REFUSED, REFUSED),
    Stage("05_setup_py",       EVERY,              RIGHT,   RIGHT,   RIGHT,   RIGHT,   RIGHT),
)
# fmt: on


@functools.cache  # a stage that does not build is built once, not once for each of its tests
def load(folder):
    """The module of a stage, or the exception that loading it ended with."""
    try:
        return loading.load(ROOT / folder / "square.py", f"stage_{folder}")
    except (Exception, SystemExit) as error:
        return error


GPUS = torch.cuda.device_count() if torch.cuda.is_available() else 0


def needs_gpus(n):
    """The mark of a test that takes n GPUs: it skips, and says why, where there are fewer."""
    found = "this torch is built without CUDA" if torch.version.cuda is None else f"{GPUS} found"
    return pytest.mark.skipif(n > GPUS, reason=f"GPU: {n} needed, {found}")


gpu = (pytest.mark.gpu, needs_gpus(1))
DEVICES = ("cpu", "cuda:0", "cuda:1")
MARKS = {"cpu": (), "cuda:0": gpu, "cuda:1": (pytest.mark.gpu, needs_gpus(2))}
each_device = pytest.mark.parametrize(
    "device", [pytest.param(device, marks=MARKS[device]) for device in DEVICES]
)
each_stage = pytest.mark.parametrize("stage", STAGES, ids=str)


def combinations(dtypes, wanted):
    """A mark that gives a test every (stage, device, dtype) for which wanted() is true."""
    return pytest.mark.parametrize(
        "stage, device, dtype",
        [
            pytest.param(s, v, d, marks=MARKS[v], id=f"{s}-{v}-{str(d)[6:]}")
            for s in STAGES
            for v in DEVICES
            for d in dtypes
            if wanted(s, v, d)
        ],
    )


each_taken = combinations(EVERY, lambda s, v, d: s.takes(d, v))
each_foreign = combinations(EVERY + FOREIGN, lambda s, v, d: not s.takes(d, v))
