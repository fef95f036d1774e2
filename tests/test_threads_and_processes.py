# SPDX-License-Identifier: MIT
"""Threads, processes, imports: the stages next to each other, and more than once."""

import contextlib
import itertools
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from c_library import run
from compare import assert_equal, assert_square
from copies import Copy, assert_works
from inputs import values
from refusing import REFUSALS
from stages import ROOT, STAGES, each_device, each_stage, gpu, load

SECONDS = float(os.environ.get("SQUARE_SECONDS", "2"))  # of each test with threads; make fuzz: 60


def in_threads(work, count=8):
    """Run work(k) again and again in each of `count` threads; what one raises is raised here."""
    errors, calls = [], [0] * count
    end = time.monotonic() + SECONDS

    def loop(k):
        try:
            while time.monotonic() < end and not errors:
                work(k)
                calls[k] += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=loop, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=SECONDS + 60)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if errors:
        raise errors[0]
    assert all(calls)


@each_device
def test_threads(device):
    """Eight threads call every stage at once, each with numbers of its own, sizes small and large."""
    inputs = [values((n,), torch.float32, device) for n in (7, 1003, 40_000, 300_001)]
    rights = [torch.square(x) for x in inputs]

    def work(k):
        for stage, (x, right) in itertools.product(STAGES, zip(inputs, rights, strict=True)):
            assert_equal(stage.square(x + k), torch.square(x + k))
            assert_equal(stage.square(x), right)
            assert_equal(stage.square_(x.clone()), right)

    in_threads(work)


@each_stage
def test_resized_meanwhile(stage):
    """Another thread gives x another length all the time: a square of one of them, or a refusal.

    The memory stays, and only what x says of it changes. Where another thread frees the memory
    itself, or changes sizes and strides, PyTorch's own functions read what is no longer there or
    a mixture of both, and nothing can be promised.
    """
    x = torch.arange(4096.0)
    square = torch.arange(4096.0).square()

    def work(k):
        if k == 0:
            x.resize_(16)
            x.resize_(4096)
            return
        try:
            y = stage.square(x)
        except REFUSALS:
            return
        assert torch.equal(y, square[: len(y)]) and len(y) in (16, 4096)

    in_threads(work, count=4)


SPAWN = """
import multiprocessing, pickle, sys, torch
sys.path.insert(0, sys.argv[1])
import square as stage
if __name__ == "__main__":
    again = pickle.loads(pickle.dumps(stage.square))
    assert again is stage.square
    device = "cuda" if torch.cuda.is_available() else "cpu"
    stage.square(torch.ones(3, device=device))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print([y.tolist() for y in pool.map(stage.square, [torch.tensor([3.0]), torch.tensor([-4.0])])])
"""


@pytest.mark.slow
@each_stage
def test_pickle_and_spawn(stage, tmp_path):
    """Case 58: square can be pickled, and called in processes that are started afresh."""
    (tmp_path / "program.py").write_text(SPAWN)
    folder = ROOT / stage.folder
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    result = run(sys.executable, tmp_path / "program.py", folder, env=environment, timeout=300)
    assert "[[9.0], [16.0]]" in result.stdout, result.stderr[-3000:]


WORKERS = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import square as stage

class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 16
    def __getitem__(self, i):
        return stage.square(torch.full((5,), float(i)))

if __name__ == "__main__":
    stage.square(torch.ones(300_000))  # torch's threads are running before the fork
    batches = list(torch.utils.data.DataLoader(Squares(), batch_size=4, num_workers=2))
    print(torch.cat(batches)[:, 0].tolist() == [float(i * i) for i in range(16)])
"""


@each_stage
def test_data_loader(stage, tmp_path):
    """In the workers of a DataLoader, which are forks."""
    (tmp_path / "program.py").write_text(WORKERS)
    result = run(sys.executable, tmp_path / "program.py", ROOT / stage.folder, timeout=120)
    assert result.stdout.strip().endswith("True"), result.stderr[-3000:]


FORKED = """
import os, sys, torch
sys.path.insert(0, sys.argv[1])
import square as stage
x = torch.ones(3, device="cuda")
stage.square(x)
if os.fork() == 0:
    try:
        print("no error", stage.square(x).tolist(), flush=True)
    except RuntimeError as error:
        print("raised", str(error).splitlines()[0], flush=True)
    os._exit(0)
os.wait()
print(stage.square(x).tolist(), "alive")
"""


@pytest.mark.gpu
@gpu[1]
@each_stage
def test_fork_after_cuda(stage):
    """A child that is forked once CUDA is in use gets an error, not garbage; the parent goes on."""
    result = run(sys.executable, "-c", FORKED, ROOT / stage.folder, timeout=120)
    assert "raised" in result.stdout and "no error" not in result.stdout, result.stdout + result.stderr
    assert "[1.0, 1.0, 1.0] alive" in result.stdout


ORDER = """
import importlib.util, sys
for path in sys.argv[1:]:
    folder = path.rpartition("/")[0]
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("stage" + folder[-2:], path)
    stage = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stage)
    import torch
    assert stage.square(torch.tensor([3.0])).tolist() == [9.0]
print("good")
"""
PATHS = [str(ROOT / stage.folder / "square.py") for stage in STAGES]
ORDERS = {
    "upward": PATHS,
    "downward": PATHS[::-1],
    "each twice": [path for path in PATHS for _ in range(2)],  # as when a notebook's cell is run again
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_import_order(order):
    """Every stage in one process, in any order, and loaded once more."""
    result = run(sys.executable, "-c", ORDER, *order, timeout=300)
    assert result.stdout.strip() == "good", result.stderr[-3000:]


RELOAD = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
import square as stage
before = stage.square
for name in [*sys.argv[2:], "square"]:
    importlib.reload(sys.modules[name])
import torch
for square in before, stage.square:
    assert square(torch.tensor([3.0])).tolist() == [9.0]
assert stage.square is not before
print("good")
"""


@each_stage
def test_reload(stage):
    """importlib.reload, by hand or by a notebook: the new function works, and so does the old one."""
    package = ["torch_square"] * stage.folder.startswith("05")
    result = run(sys.executable, "-c", RELOAD, ROOT / stage.folder, *package, timeout=300)
    assert result.stdout.strip() == "good", result.stderr[-3000:]


def test_stages_share_no_operator():
    """04 and 05 register operators of the same name in namespaces of their own."""
    for stage in STAGES[2:]:
        load(stage.folder)
    assert torch.ops.square_c.square.default is not torch.ops.torch_square.square.default
    x = values((1003,), torch.float32)
    assert_square(torch.ops.square_c.square(x), x)
    assert_square(torch.ops.torch_square.square(x), x)


def processes_of(folder):
    """The command lines that name the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            found += [line for line in [process.read_bytes()] if str(folder).encode() in line]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("signalled", (os.killpg, os.kill), ids=("everything", "Python alone"))
@pytest.mark.parametrize("stage", (pytest.param("03", marks=pytest.mark.long), "04"))
def test_interrupt(tmp_path, stage, signalled):
    """Ctrl-C in a terminal reaches compilers, too, a notebook's button Python alone: all of them end.

    The next start builds.
    """
    copy = Copy(tmp_path / "copy")
    process = copy.start(stage)
    folder = copy.build_folder(stage)
    deadline = time.monotonic() + 60
    while not (folder / "build.ninja").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    signalled(process.pid, signal.SIGINT)
    text = process.communicate(timeout=30)[0]
    assert process.returncode != 0 and "KeyboardInterrupt" in text, text[-2000:]
    deadline = time.monotonic() + 2
    while (left := processes_of(copy.path)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left
    assert_works(copy.square(stage, timeout=300))
