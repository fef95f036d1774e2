# SPDX-License-Identifier: MIT
"""python -m torch_square: how the package was built, what it finds here, and whether it squares."""

import platform
import sys
from pathlib import Path

import torch

import torch_square


def main() -> int:
    """Print the report. Return 0 if every device gives torch.square's bits, 1 otherwise."""
    print(f"torch_square  {torch_square.__version__} at {Path(torch_square.__file__).parent}")
    print(f"built with    {torch_square._C.built_with.replace('=', ' ').replace(',', ', ')}")
    version = platform.python_version()
    print(f"runs with     torch {torch.__version__}, CUDA {torch.version.cuda}, Python {version}")
    devices = ["cpu"] + [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    good = True
    for device in devices:
        name = "the CPU"
        if device != "cpu":
            capability = "{}.{}".format(*torch.cuda.get_device_capability(device))
            name = f"{torch.cuda.get_device_name(device)}, compute capability {capability}"
        x = torch.linspace(-3, 3, 1003, device=device)
        try:
            verdict = "ok" if torch.equal(torch_square.square(x), torch.square(x)) else "WRONG"
        except RuntimeError as error:
            verdict = f"FAILED: {error}"
        good = good and verdict == "ok"
        print(f"{device:13} {verdict:3} {name}")
    if len(devices) == 1:
        print("no GPU here" if torch.version.cuda else "this torch is without CUDA")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
