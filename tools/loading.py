# SPDX-License-Identifier: MIT
"""Loads a stage's square.py by its path, for what looks at several stages: all have the same name."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def load(path: Path, name: str) -> ModuleType:
    """Return the module `name` of a Python file, whose folder is on sys.path as Python does for a program.

    What the file raises is passed on, and sys.path is then as it was.
    """
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        sys.modules[name] = module
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.remove(str(path.parent))
    return module
