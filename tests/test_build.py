# SPDX-License-Identifier: MIT
"""Builds: in C where C is promised, once, and with a clear stop where something is missing."""

import json
import os
import re
import shutil
import signal
import sys
import time
from collections import Counter

import pytest
import torch
from c_library import compile, cuda_home, run
from copies import Copy, assert_stops, assert_works, path_without, python_without_programs
from stages import ROOT, STAGES

each_built = pytest.mark.parametrize("stage", ["03", "04"])
with_cuda = pytest.mark.skipif(torch.version.cuda is None, reason="this torch is built without CUDA")
ONE_ARCHITECTURE = {"TORCH_CUDA_ARCH_LIST": os.environ.get("TORCH_CUDA_ARCH_LIST", "9.0+PTX")}


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path / "copy", **ONE_ARCHITECTURE)


def assert_c(command, cwd):
    """A compile command reads its source as C17: the compiler's own macros say so."""
    words = re.sub(r"-MM?D|-MF \S+|-o \S+|-c\b", " ", command).split()
    macros = compile(*words, "-E", "-dM", cwd=cwd).stdout
    assert "#define __STDC_VERSION__ 2017" in macros
    assert "__cplusplus" not in macros


# ---- 04 and 05 are C


def test_no_cxx_in_04():
    """No C++ in the folder outside the .cuh and the .cu."""
    folder = ROOT / "04_separate_files"
    files = [p for p in folder.iterdir() if p.is_file()]
    assert {p.suffix for p in files} <= {".c", ".h", ".cu", ".cuh", ".py", ".md"}
    for path in files:
        if path.suffix in (".c", ".h"):
            text = path.read_text()
            assert not re.search(r"torch/extension\.h|#include <(ATen|c10|torch)|namespace|template", text)


@pytest.mark.slow
def test_04_is_compiled_as_c(copy):
    """The commands of build.ninja, asked for their macros: C17, no __cplusplus."""
    assert_works(copy.square("04"))
    folder = copy.build_folder("04")
    commands = copy.run("ninja", "-C", folder, "-t", "compdb")
    sources = {}
    for entry in json.loads(commands.stdout):
        if entry["file"].endswith(".c"):
            sources[os.path.basename(entry["file"])] = entry["command"]
    assert set(sources) == {"square.c", "square_cpu.c"}
    for command in sources.values():
        assert_c(command, folder)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """05 packed as an sdist and installed from it, its C compiler's commands written down."""
    folder = tmp_path_factory.mktemp("package")
    log, cc = folder / "log", folder / "gcc"
    cc.write_text(f'#!/bin/sh\necho "$PWD" gcc "$@" >> {log}\nexec gcc "$@"\n')
    cc.chmod(0o755)
    copy = Copy(folder / "copy", CC=str(cc), **ONE_ARCHITECTURE)
    hook = "from setuptools import build_meta; print(build_meta.build_sdist('dist'))"
    result = run(sys.executable, "-c", hook, cwd=copy.folder("05"), env=copy.environment)
    assert result.returncode == 0, result.stderr
    sdist = copy.folder("05") / "dist" / result.stdout.split()[-1]
    site = folder / "site"
    result = copy.pip_install(site, sdist)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return copy, site, log.read_text()


@pytest.mark.slow
def test_05_is_compiled_as_c(package):
    """The same of what setup.py runs."""
    copy, _, log = package
    found = set()
    for line in log.splitlines():
        command = line.split(" ", 1)[1]
        if source := re.search(r"(?<=\s)csrc/(\w+\.c)(?=\s)", command):
            found.add(source.group(1))
            assert_c(command, copy.folder("05"))  # pip's own build folder is gone
    assert found == {"square.c", "square_cpu.c"}


@pytest.mark.slow
def test_05_from_its_sdist(package, tmp_path):
    """Cases 5 and 6: one abi3 extension without an RPATH, imported first and from any folder."""
    copy, site, _ = package
    (extension,) = site.rglob("*.so")
    assert extension.name.endswith(".abi3.so")
    dynamic = run("readelf", "-d", extension).stdout
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic
    symbols = run("nm", "-D", extension).stdout
    assert " T PyInit__C" in symbols
    assert torch.version.cuda is None or "cudaLaunchKernel" in symbols
    code = "import torch_square as s; import torch; print(s.square(torch.tensor([3.0])).item())"
    environment = {**copy.environment, "PYTHONPATH": str(site)}
    for cwd in tmp_path, copy.folder("05"):
        result = run(sys.executable, "-c", code, cwd=cwd, env=environment)
        assert result.stdout.strip() == "9.0", result.stderr
    wheel = next(site.glob("*.dist-info/WHEEL")).read_text()
    assert "Tag: cp310-abi3-linux" in wheel


@pytest.mark.slow
def test_limited_api(package):
    """Case 35's kin: every name of Python that the extension asks for is of the stable ABI."""
    _, site, _ = package
    (extension,) = site.rglob("*.so")
    names = re.findall(r" U (_?Py\w+)", run("nm", "-D", "-u", extension).stdout)
    stable = {"_Py_Dealloc"}  # private by name, but promised, since Py_DECREF uses it
    assert names and not [name for name in names if name.startswith("_Py") and name not in stable], names


# ---- texts that make a build fragile


def texts(*folders):
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            parts = path.relative_to(ROOT).parts
            if path.suffix in (".py", ".toml", ".c", ".h", ".cu", ".cuh") and "build" not in parts:
                yield path.relative_to(ROOT), path.read_text()


def test_no_fragile_flags():
    """Cases 31, 48, 60, 61, 62: no -std of C++, -rdc, fast math, or architecture in the sources."""
    folders = [stage.folder for stage in STAGES]
    for path, text in texts(*folders):
        code = re.sub(r"#.*|//.*", "", text) if path.suffix == ".py" else text
        for fragile in "-std=c++", "-rdc", "fast-math", "fast_math", "-arch=sm", "TORCH_LIBRARY":
            assert fragile not in code, f"{path} has {fragile}"


@pytest.mark.parametrize("folder", ("04_separate_files", "05_setup_py/csrc"))
def test_distinct_stems(folder):
    """Case 28: setuptools names objects by stem, so two sources of one stem overwrite each other."""
    stems = Counter(p.stem for p in (ROOT / folder).iterdir() if p.suffix in (".c", ".cpp", ".cu"))
    assert stems and max(stems.values()) == 1, stems


# ---- builds that meet each other, or the rest of a killed one


@pytest.fixture(scope="module")
def cold(tmp_path_factory):
    """Stages 03 and 04, each after a killed build, by four processes at once: the seconds it took."""
    seconds = {}
    copy = Copy(tmp_path_factory.mktemp("cold") / "copy", **ONE_ARCHITECTURE)
    for stage, kill_after in ("03", 8.0), ("04", 2.5):
        killed = copy.start(stage)
        time.sleep(kill_after)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
        start = time.monotonic()
        processes = [copy.start(stage) for _ in range(4)]
        for process in processes:
            text = process.communicate(timeout=540)[0]
            assert process.returncode == 0 and "equals torch.square: True" in text, text[-4000:]
        seconds[stage] = time.monotonic() - start
    return copy, seconds


@pytest.mark.slow
def test_killed_then_four_at_once(cold):
    """Case 59: all four work, and so does what comes after a build that was killed."""
    copy, _ = cold
    assert all(list(copy.build_folder(stage).glob("*.so")) for stage in ("03", "04"))


@pytest.mark.slow
@each_built
def test_stale_lock(cold, stage):
    """The lock file of a build that was killed: the next one does not wait for it."""
    copy, _ = cold
    (copy.build_folder(stage) / "lock").touch()
    assert_works(copy.square(stage, timeout=120))


def extension(copy, stage):
    (path,) = (p for p in copy.build_folder(stage).glob("*.so") if "cudart" not in p.name)
    return path


@pytest.mark.slow
@each_built
def test_nothing_to_build(cold, stage):
    """Case 38: the second start builds nothing."""
    copy, _ = cold
    before = extension(copy, stage).stat().st_mtime_ns
    assert_works(copy.square(stage))
    assert extension(copy, stage).stat().st_mtime_ns == before


@pytest.mark.slow
def test_edited_header(cold):
    """Case 34: a header that a source includes is edited, and the next start builds anew."""
    copy, _ = cold
    before = extension(copy, "04").stat().st_mtime_ns
    copy.edit("02_c_launcher/square_launch.h", "#pragma once", "#pragma once /* edited */")
    assert_works(copy.square("04"))
    assert extension(copy, "04").stat().st_mtime_ns > before


@pytest.mark.slow
@with_cuda
def test_04_builds_ten_times_faster(cold, tmp_path):
    """A cold build of 04 takes at most a tenth of one of 03; a warm start is taken off both."""
    cuda_home()
    copy, seconds = cold
    fresh = Copy(tmp_path / "copy", **ONE_ARCHITECTURE)
    cold_04 = fresh.seconds("04") - fresh.seconds("04")
    cold_03 = seconds["03"] - copy.seconds("03")
    assert cold_04 <= cold_03 / 10, f"03 {cold_03:.1f} s, 04 {cold_04:.1f} s"


# ---- something is missing or wrong


ERRORS = {
    "03": ("03_load_inline/square.py", "static void check(const at::Tensor &x) {", r"main\.cpp:\d+"),
    "04": ("04_separate_files/square.c", "static bool aligned(", r"square\.c:\d+"),
}


@pytest.mark.slow
@each_built
def test_compile_error(copy, stage):
    """Case 13: the exception's text holds the compiler's file, line and words."""
    file, old, place = ERRORS[stage]
    copy.edit(file, old, f"this_is_no_type nowhere;\n{old}")
    result = copy.square(stage)
    assert_stops(result, "this_is_no_type", "error")
    assert re.search(place, result.stdout + result.stderr)


@pytest.mark.slow
def test_ninja_not_on_path(copy, tmp_path):
    """Case 1: a Python called by its path, without its folder on PATH, finds its own ninja."""
    if not os.path.exists(os.path.join(os.path.dirname(sys.executable), "ninja")):
        pytest.skip("no ninja beside this Python")
    copy.environment["PATH"] = path_without(tmp_path / "path", "ninja")
    assert_works(copy.square("04"))


@each_built
def test_no_ninja(copy, tmp_path, stage):
    """Case 1: no ninja at all is one sentence, before anything is compiled."""
    copy.environment["PATH"] = path_without(tmp_path / "path", "ninja")
    assert_stops(copy.square(stage, python_without_programs(tmp_path / "venv")), "RuntimeError", "ninja")
    assert not list(copy.folder(stage).rglob("*.o"))


def fake_toolkit(folder, release):
    """A CUDA toolkit whose nvcc says its release, and cannot compile."""
    (folder / "bin").mkdir(parents=True)
    (folder / "include").mkdir()
    (folder / "include" / "cuda_runtime.h").touch()
    nvcc = folder / "bin" / "nvcc"
    text = f"Cuda compilation tools, release {release}, V{release}.243"
    nvcc.write_text(f'#!/bin/sh\ncase "$1" in --version|-V) echo "{text}";; *) exit 9;; esac\n')
    nvcc.chmod(0o755)
    return str(folder)


BUILDS = {
    "03": ["03_load_inline/square.py"],
    "04": ["04_separate_files/square.py"],
    "05": ["05_setup_py/setup.py", "--name"],
}


@with_cuda
@pytest.mark.parametrize("command", BUILDS.values(), ids=BUILDS)
def test_another_cuda(copy, tmp_path, command):
    """Case 4: nvcc of another major release: both versions are named, nothing is compiled."""
    copy.environment["CUDA_HOME"] = fake_toolkit(tmp_path / "cuda", "10.1")
    assert_stops(copy.run(sys.executable, *command), "RuntimeError", "10.1", torch.version.cuda)
    assert not list(copy.path.rglob("*.o"))


@pytest.mark.parametrize("command", BUILDS.values(), ids=BUILDS)
def test_cuda_home_without_nvcc(copy, tmp_path, command):
    """Case 2: CUDA_HOME leads nowhere: the variable and the folder are named."""
    copy.environment["CUDA_HOME"] = str(tmp_path)
    assert_stops(copy.run(sys.executable, *command), "RuntimeError", "CUDA_HOME", str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES, ids=str)
def test_no_nvcc(copy, stage):
    """Cases 2 and 36: without a CUDA compiler the host half is built, and works."""
    copy.hide_cuda()
    assert copy.build(stage).returncode == 0
    if str(stage) == "05":  # where the tests' own toolchain.py, which has CUDA, had it installed
        copy.environment["PYTHONPATH"] = str(copy.build_folder(stage) / "site")
    assert_works(copy.square(stage))


@pytest.mark.slow
def test_folder_alone(tmp_path):
    """A stage folder that was copied with its links resolved is complete."""
    folder = tmp_path / "alone"
    ignore = shutil.ignore_patterns("build", "__pycache__")
    shutil.copytree(ROOT / "04_separate_files", folder, ignore=ignore)
    assert_works(run(sys.executable, folder / "square.py", cwd=tmp_path))


def test_isolated_build(tmp_path):
    """Case 3: what setup.py says where torch is not: one that names --no-build-isolation."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules['torch'] = None\n"  # an import of torch fails as if it were missing
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    setup = ROOT / "05_setup_py" / "setup.py"
    result = run(sys.executable, setup, "--name", env=environment, cwd=setup.parent)
    assert_stops(result, "--no-build-isolation")


@each_built
def test_no_cxx(copy, stage):
    """03 and 04 without a C++ compiler: one sentence that names it, before anything is compiled."""
    copy.environment["CXX"] = "no-such-compiler"
    assert_stops(copy.square(stage), "RuntimeError: no C++ compiler 'no-such-compiler'", "CXX")
    assert not list(copy.folder(stage).rglob("*.o"))


def test_no_compiler(copy):
    """05 without a C compiler: one message that names it, and nothing is compiled."""
    copy.environment["CC"] = "no-such-compiler"
    result = copy.run(sys.executable, *BUILDS["05"])
    assert_stops(result, "there is no compiler 'no-such-compiler'", "CC")
    assert "Traceback" not in result.stderr


def test_old_gcc(copy, tmp_path):
    """05 with a gcc older than 11: its version, and the one that is needed."""
    old = tmp_path / "gcc-9"
    old.write_text("#!/bin/sh\necho '#define __GNUC__ 9'\n")
    old.chmod(0o755)
    copy.environment["CC"] = str(old)
    result = copy.run(sys.executable, *BUILDS["05"])
    assert_stops(result, "is gcc 9", "gcc 11 or newer")
    assert "Traceback" not in result.stderr


def test_old_torch(copy, tmp_path):
    """05 with a torch that is too old: its version, and the one that is needed."""
    (tmp_path / "sitecustomize.py").write_text(
        "import torch\ntorch.__version__ = type(torch.__version__)('2.9.0')\n"
    )
    copy.environment["PYTHONPATH"] = str(tmp_path)
    result = copy.run(sys.executable, *BUILDS["05"])
    assert_stops(result, "2.9.0", "torch 2.11 or newer")


def stops_setup(copy, *words):
    """05's setup.py ends with one message that has these words."""
    result = copy.run(sys.executable, *BUILDS["05"])
    assert_stops(result, "torch_square cannot be built", *words)
    assert "Traceback" not in result.stderr


def test_old_setuptools(copy, tmp_path):
    """05 with the setuptools of a new venv of Python 3.11, which does not understand pyproject.toml."""
    (tmp_path / "sitecustomize.py").write_text("import setuptools\nsetuptools.__version__ = '65.5.0'\n")
    copy.environment["PYTHONPATH"] = str(tmp_path)
    stops_setup(copy, "65.5.0", "setuptools 77 or newer", "pip install -U setuptools")


@pytest.mark.parametrize("file", ("toolchain.py", "csrc/square.c"))
@pytest.mark.parametrize("broken", ("dangling", "text"))
def test_broken_links(copy, file, broken):
    """05 copied without what its links lead to, or where a link became a text file, as on Windows."""
    link = copy.folder("05") / file
    target = os.readlink(link)
    link.unlink()
    if broken == "text":
        link.write_text(target)
    else:
        link.symlink_to(f"{target}.gone")
    stops_setup(copy, f"{file} is a link", "cp -rL")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
@pytest.mark.parametrize("below", (".", "src"))
def test_read_only(copy, below):
    """05 in a folder that cannot be written to: which one, and what to do."""
    folder = copy.folder("05") / below
    folder.chmod(0o555)
    try:
        stops_setup(copy, f"{folder} cannot be written to", "cp -rL")
    finally:
        folder.chmod(0o755)


@with_cuda
@pytest.mark.parametrize(
    "architectures, naming", (("banana", "'banana'"), ("9.0;5.0", "5.0, which"), ("99.0", "99.0, which"))
)
def test_architectures_that_are_none(copy, architectures, naming):
    """The variable, what was wrong in it, and nothing is compiled."""
    copy.environment["TORCH_CUDA_ARCH_LIST"] = architectures
    stops_setup(copy, f"TORCH_CUDA_ARCH_LIST has {naming}")
    assert not list(copy.path.rglob("*.o"))
