# SPDX-License-Identifier: MIT
"""make doctor: what is missing is named with what mends it, and never with a traceback."""

import fcntl
import os
import sys

import pytest
from c_library import run
from copies import path_without, python_without_programs
from stages import ROOT

DOCTOR = ROOT / "tools" / "doctor.py"


def doctor(*arguments, python=sys.executable, **environment):
    environment = {**os.environ, "PYTHON": str(python), **environment}
    return run(python, DOCTOR, *arguments, env=environment)


def assert_lacks(result, *words):
    assert result.returncode == 1, result.stdout
    assert "Traceback" not in result.stderr
    line = next(line for line in result.stdout.splitlines() if line.startswith("MISSING"))
    mend = result.stdout.split(line)[1].splitlines()[1]
    assert "mend it:" in mend
    for word in words:
        assert word in line + mend, line + mend


def test_all_here():
    """On the machine of this suite all that is needed is here, and the stages are listed."""
    result = doctor()
    assert result.returncode == 0, result.stdout
    for word in (
        "python, venv",
        "gcc",
        "g++",
        "make",
        "torch",
        "setuptools",
        "ninja",
        "disk space",
        "locks",
        "02..05",
    ):
        assert word in result.stdout
    assert "MISSING" not in result.stdout


@pytest.mark.parametrize("program", ("gcc", "g++", "make"))
def test_no_program(tmp_path, program):
    """A missing compiler is named with the commands of both families of distributions."""
    path = path_without(tmp_path / "path", program)
    result = doctor(PATH=path, CC="gcc", CXX="g++", MAKE="make")
    assert_lacks(result, f"no program {program} that runs", "apt install", "dnf install")


def test_no_ninja(tmp_path):
    python = python_without_programs(tmp_path / "venv")
    assert_lacks(doctor(python=python, PATH=path_without(tmp_path / "path", "ninja")), "ninja", "pip install")


def test_no_torch(tmp_path):
    """A Python without torch: in an environment of the user's it is missing, else make installs it."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    assert_lacks(doctor(python=python), "torch", "pip install torch")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHON"}
    result = run(python, DOCTOR, env=environment)
    assert result.returncode == 0, result.stdout
    assert "make run and make test install it" in result.stdout


def test_old_setuptools(tmp_path):
    """The package needs a newer one than some Pythons bring."""
    info = tmp_path / "setuptools-65.5.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: setuptools\nVersion: 65.5.0\n")
    result = doctor(PYTHONPATH=str(tmp_path))
    assert_lacks(result, "setuptools", "65.5.0; 77 or newer is needed", "pip install -U setuptools")


def test_wrong_cuda_home(tmp_path):
    assert_lacks(doctor(CUDA_HOME=str(tmp_path)), "nvcc", str(tmp_path), "unset CUDA_HOME")


def test_broken_nvcc(tmp_path):
    """Doctor, and what make asks first, say which program does not run, without a traceback."""
    for name, text in (("bin/nvcc", "#!/bin/sh\nexit 1\n"), ("include/cuda_runtime.h", "")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    (tmp_path / "bin/nvcc").chmod(0o755)
    assert_lacks(doctor(CUDA_HOME=str(tmp_path)), "nvcc does not run", "CUDA_HOME")
    environment = {**os.environ, "CUDA_HOME": str(tmp_path)}
    result = run(sys.executable, ROOT / "03_load_inline" / "toolchain.py", env=environment)
    assert result.returncode == 1 and result.stderr.startswith("toolchain: "), result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_old_compiler(tmp_path):
    """Debian's g++ does not say gcc in its version; an empty CC counts as none."""
    old = tmp_path / "old"
    old.write_text('#!/bin/sh\ncase $1 in --version) echo "g++ (Ubuntu 9.4.0-1) 9.4.0";; *) echo 9;; esac\n')
    old.chmod(0o755)
    assert_lacks(doctor(CC=" ", CXX=str(old)), "g++", "11 or newer is needed", "name it in CXX")


def test_no_toolkit():
    """Without a CUDA toolkit the CPU's half is left, and the packages to install are those of make."""
    code = "import sys, toolchain, doctor; toolchain.cuda_home = lambda: None; sys.exit(doctor.main())"
    folders = [str(ROOT / "03_load_inline"), str(ROOT / "tools")]
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(folders)}
    result = run(sys.executable, "-c", code, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "only the half for the CPU is built" in result.stdout
    pins = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line[:7] == "nvidia-"]
    assert f"pip install {' '.join(pins)}\n" in result.stdout


def test_stale_lock(tmp_path):
    """A lock that another extension's killed build left behind is shown, and is no fault of ours."""
    (tmp_path / "their_extension").mkdir()
    (tmp_path / "their_extension" / "lock").touch()
    result = doctor(TORCH_EXTENSIONS_DIR=str(tmp_path))
    assert result.returncode == 0
    assert f"rm {tmp_path}/their_extension/lock" in result.stdout


def test_running_build(tmp_path):
    """A build folder that somebody holds is shown."""
    folder = ROOT / "04_separate_files" / "build" / "of-a-test"
    folder.mkdir(parents=True)
    try:
        with open(folder / ".held", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            assert "of-a-test: a build is running" in doctor().stdout
    finally:
        (folder / ".held").unlink()
        folder.rmdir()


def test_venv_question(tmp_path):
    """--venv is silent where an environment can be made, and one sentence where it cannot."""
    result = doctor("--venv")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'ensurepip' else find(name, *a)\n"
    )
    result = doctor("--venv", PYTHONPATH=str(tmp_path))
    assert result.returncode == 1
    assert "python3-venv" in result.stderr
    assert len(result.stderr.splitlines()) == 1
