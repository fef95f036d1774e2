# SPDX-License-Identifier: MIT
"""Copies of the repository in which a test may build, break and kill."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from c_library import run, toolchain
from stages import ROOT, STAGES

LEFT_OUT = shutil.ignore_patterns("build", ".git", ".venv", "__pycache__", "*.egg-info")
FOLDER = {str(stage): stage.folder for stage in STAGES}
LIBRARY = "02_c_launcher/build/libsquare.so"


class Copy:
    """The repository at another place, without what was built, and with variables of its own."""

    def __init__(self, path, **environment):
        self.path = Path(path)
        shutil.copytree(ROOT, self.path, symlinks=True, ignore=LEFT_OUT)
        self.environment = {**os.environ, "PYTHON": "", **environment}

    def folder(self, stage):
        return self.path / FOLDER[str(stage)]

    def build_folder(self, stage):
        """Where the stage builds; toolchain.py makes it and names it."""
        return Path(toolchain().build_folder(self.folder(stage)))

    def edit(self, file, old, new):
        """Replaces a text that must be there once, in the file that a link leads to."""
        path = (self.path / file).resolve()
        text = path.read_text()
        assert text.count(old) == 1, f"{file} has {old!r} {text.count(old)} times"
        path.write_text(text.replace(old, new))

    def hide_cuda(self):
        """toolchain.py finds no CUDA toolkit here."""
        main = 'if __name__ == "__main__":'
        self.edit("03_load_inline/toolchain.py", main, f"def cuda_home():\n    return None\n\n\n{main}")

    def run(self, *command, **options):
        return run(*command, cwd=self.path, env=self.environment, **options)

    def make(self, *targets):
        return self.run("make", f"PYTHON={sys.executable}", *targets)

    def pip_install(self, target, source="05_setup_py"):
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-index"]
        return self.run(*pip, "--no-build-isolation", "--no-deps", "--target", target, self.path / source)

    def build(self, stage):
        """What a stage needs before its square.py runs; 03 and 04 build when they are loaded."""
        if str(stage) == "02":
            return self.make(LIBRARY)
        if str(stage) == "05":
            return self.pip_install(self.build_folder(stage) / "site")
        return run("true")

    def square(self, stage, python=sys.executable, **options):
        """Runs the stage's square.py as a program."""
        return self.run(python, self.folder(stage) / "square.py", **options)

    def start(self, stage):
        """The same, in a process group of its own, not waited for.

        Ctrl-C ends it, also if the tests run in the background of a shell, where it is ignored.
        """
        return subprocess.Popen(
            [sys.executable, str(self.folder(stage) / "square.py")],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def seconds(self, stage):
        """How long the stage takes as a program, which has to end well."""
        start = time.monotonic()
        assert_works(self.square(stage))
        return time.monotonic() - start


def assert_works(result):
    """The stage's program ended well, and found its result equal to torch.square's."""
    text = result.stdout + (result.stderr or "")
    assert result.returncode == 0 and "equals torch.square: True" in text, text[-4000:]


def assert_stops(result, *words):
    """It ended with an error that holds the words, as one sentence: no error about an error."""
    text = result.stdout + (result.stderr or "")
    assert result.returncode != 0, text[-4000:]
    for word in words:
        assert word in text, f"no {word!r} in:\n{text[-4000:]}"
    assert "During handling of the above exception" not in text


def path_without(folder, *names):
    """A PATH on which everything is found but these programs: one folder of links."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for file in Path(place).glob("*") if os.path.isdir(place) else ():
            link = folder / file.name
            if file.name not in names and not link.is_symlink():
                link.symlink_to(file)
    return str(folder)


def python_without_programs(folder):
    """A Python that imports all that this one does, and has no programs, no ninja, beside it."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    packages = [path for path in sys.path if path.endswith("-packages")]
    (Path(site) / "these.pth").write_text("\n".join(packages) + "\n")
    return python
