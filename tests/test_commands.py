# SPDX-License-Identifier: MIT
"""Every command that a page shows is run, or compared with what it must agree with."""

import re
import sys
from pathlib import Path

import pytest
from c_library import cuda_home, run, toolchain
from copies import Copy
from pages import blocks, each_page, each_prose, spans, text
from stages import GPUS, ROOT

sys.path.insert(0, str(ROOT / "tools"))
import by_hand

SETUP = next(block for block in blocks(text("README.md"), "sh") if "VIRTUAL_ENV" in block)
INSTALL = "pip install --no-build-isolation ."  # run with another target than the reader's Python


def setup():
    """The README's setup lines for the Python and the toolkit that are in use."""
    activate = f"export VIRTUAL_ENV={sys.prefix} PATH={Path(sys.executable).parent}:$PATH"
    lines = SETUP.replace(". .venv/bin/activate", activate)
    if not list(Path(sys.prefix).glob("lib/python3*/site-packages/nvidia/cu13/bin/nvcc")):
        lines = re.sub("export CUDA_HOME=.*", f"export CUDA_HOME={cuda_home()}", lines)
    return lines


def test_setup_lines():
    """They give what tools/by_hand.py gives to the tools that run commands for the reader."""
    cuda_home()
    script = 'printf "%s\\n" "$CUDA_HOME" "$PYTHON_INCLUDE" "$TORCH"; command -v python nvcc'
    result = run("bash", "-c", setup() + script)
    variables = by_hand.environment()
    expected = [variables[name] for name in ("CUDA_HOME", "PYTHON_INCLUDE", "TORCH")]
    expected += [f"{Path(sys.executable).parent}/python", f"{variables['CUDA_HOME']}/bin/nvcc"]
    assert result.stdout.split() == expected, result.stderr


# ---- "By hand"


def under_by_hand(name):
    return text(name).partition("\n## By hand\n")[2]


@pytest.fixture
def copy(tmp_path):
    """A copy of the repository, on a machine for which the pages are: nvcc, and a torch with CUDA."""
    if not toolchain().can_build_cuda():
        pytest.skip("no CUDA toolkit, or a torch without CUDA")
    return Copy(tmp_path / "copy")


def run_by_hand(copy, name, script=None):
    """What all commands under "By hand" print, those that fail, and the end of what they complain of."""
    script = script or "".join(blocks(under_by_hand(name), "sh"))
    if (cuda_home() / "lib64").exists():  # as the README says of a toolkit of one's own
        script = script.replace("$CUDA_HOME/lib", "$CUDA_HOME/lib64")
    trap = "trap 'echo \"FAILED: $BASH_COMMAND\" >&2' ERR\n"
    copy.environment.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
    folder = (copy.path / name).parent
    result = run("bash", "-c", trap + setup() + script, cwd=folder, env=copy.environment)
    return result.stdout, re.findall(r"^FAILED: (.*)$", result.stderr, re.MULTILINE), result.stderr[-4000:]


@pytest.mark.slow
def test_by_hand_01(copy):
    output, failed, errors = run_by_hand(copy, "01_pure_cuda/README.md")
    assert failed == ([] if GPUS else ["./build/square 1 2 3"]), errors
    assert output == "1\n4\n9\n" + "0.25\n0\ninf\nnan\n" + "1\n4\n9\n" * bool(GPUS)
    assert GPUS or "cudaError" in errors


@pytest.mark.slow
def test_by_hand_02(copy):
    output, failed, errors = run_by_hand(copy, "02_c_launcher/README.md")
    assert failed == [], errors
    assert output.startswith("1\n4\n9\n") and " T square_launch" in output
    assert "equals torch.square: True" in output


@pytest.mark.long  # two compilers through all of PyTorch's headers
def test_by_hand_03(copy):
    """With what `python square.py` has made of the strings for the other tests."""
    folder = Path("03_load_inline") / "build" / toolchain().tag()
    if not (ROOT / folder / "cuda.cu").exists():
        assert run(sys.executable, ROOT / "03_load_inline" / "square.py").returncode == 0
    (copy.path / folder).mkdir(parents=True)
    for source in "main.cpp", "cuda.cu":
        (copy.path / folder / source).write_text((ROOT / folder / source).read_text())
    output, failed, errors = run_by_hand(copy, "03_load_inline/README.md")
    assert failed == [] and output == "tensor([1., 4., 9.])\n", output + errors


@pytest.mark.slow
def test_by_hand_04(copy):
    output, failed, errors = run_by_hand(copy, "04_separate_files/README.md")
    assert failed == [] and output == "tensor([1., 4., 9.])\n", output + errors


@pytest.mark.slow
def test_by_hand_05(copy, tmp_path):
    """All of the page's commands; what would be installed into the reader's Python goes into a folder."""
    if run(sys.executable, "-m", "build", "--version").returncode != 0:
        pytest.skip("no package build in this Python")
    name, site = "05_setup_py/README.md", tmp_path / "site"
    script = "".join(blocks(text(name), "sh"))
    assert script.count(INSTALL) == 1
    copy.environment["PYTHONPATH"] = str(site)
    elsewhere = script.replace(INSTALL, f"{INSTALL} --no-deps --no-index --target {site}")
    output, failed, errors = run_by_hand(copy, name, elsewhere)
    assert failed == [], errors
    assert "tensor([0., 1., 4., 9.])" in output and "torch_square/_C.abi3.so" in output
    assert list((copy.path / "05_setup_py/build/dist").glob("torch_square-*.tar.gz"))


# ---- the others

MAKEFILE = text("Makefile")
VERBS = {verb for line in re.findall(r"^([-a-z0-9 ]+):.*##", MAKEFILE, re.MULTILINE) for verb in line.split()}
SETTINGS = set(re.findall(r"\$\((?:or \$\()?([A-Z]+)\)", MAKEFILE)) | {"PYTHON", "CUDA_HOME"}


@each_prose
def test_make(name):
    """Every `make` in a page names a verb that `make help` shows, and settings that the Makefile has."""
    commands = re.findall(r"^make ([^\n#]*)", "\n".join(blocks(text(name), "sh")), re.MULTILINE)
    commands += [span.removeprefix("make ") for span in spans(text(name)) if span.startswith("make ")]
    for command in commands:
        for word in re.sub(r'"[^"]*"', "", command).split():
            setting = re.match(r"([A-Z_]+)=", word)
            assert setting[1] in SETTINGS if setting else word in VERBS, f"{name}: make {command}: no {word}"


def test_first_commands():
    """The README's first block is what CI runs on a fresh machine; the next is what make doctor asks for."""
    first, packages = blocks(text("README.md"), "sh")[:2]
    ci, doctor = text(".ci/run"), text("tools/doctor.py")
    for line in first.splitlines():
        assert f"\nrun {line.partition('#')[0].strip()}\n" in ci
    for line in packages.splitlines():
        command, _, names = line.partition("#")[0].partition("install ")
        assert names and f"{command}install {{}}" in doctor
        assert not [package for package in names.split() if f'"{package}"' not in doctor]


def test_bench_flags():
    """The flags that bench/README.md shows are those of bench.py."""
    flags = re.findall(r"(--[a-z]+)", "".join(blocks(text("bench/README.md"), "sh")))
    usage = run(sys.executable, ROOT / "bench" / "bench.py", "--help").stdout
    assert flags and not [flag for flag in flags if flag not in usage]


@each_page
def test_files_of_commands(name):
    """A Python file that a command names is there, from the root or from the page's folder."""
    for command in [*blocks(text(name), "sh"), *spans(text(name))]:
        for file in re.findall(r"^python ([\w/]+\.py)", command, re.MULTILINE):
            assert (ROOT / file).exists() or ((ROOT / name).parent / file).exists(), f"{name}: {command}"


ELSEWHERE = {  # pages whose blocks are run by a test of their own
    "05_setup_py/MAKE_IT_YOURS.md": "test_make_it_yours.py",
    "exercises/README.md": "test_exercises.py",
    "mistakes/README.md": "test_mistakes.py",
}


@each_prose
def test_no_block_is_forgotten(name):
    """A block of commands is one of those above, or of a page that another test runs."""
    if name in ELSEWHERE:
        assert (ROOT / "tests" / ELSEWHERE[name]).exists()
        return
    run_here = blocks(under_by_hand(name), "sh") + blocks(text("README.md"), "sh")[:2] + [SETUP]
    for block in blocks(text(name), "sh"):
        only_make = all(line.startswith("make ") for line in block.splitlines())
        assert block in run_here or only_make or INSTALL in block, f"{name}:\n{block}"
