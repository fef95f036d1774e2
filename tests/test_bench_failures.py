# SPDX-License-Identifier: MIT
"""The benchmark goes on when something fails, and says what it has not measured."""

import copy
import json
import sys

import pytest
from c_library import run
from stages import ROOT
from test_bench import result

BENCH = ROOT / "bench"
sys.path.insert(0, str(BENCH))
import goals
import measure
import report


def test_one_that_fails_leaves_the_rounds():
    """Its error is kept, its samples are not, and the others have all of theirs."""
    calls = iter([1.0, 1.0])  # the third call raises StopIteration
    failed, ticks = {}, []
    samples = measure.rounds(
        {"good": lambda: 2.0, "bad": lambda: next(calls)}, 5, 0, failed, lambda: ticks.append(0)
    )
    assert samples == {"good": [2.0] * 5} and len(ticks) == 5
    assert failed == {"bad": "StopIteration: "}


class Queue:
    """A device that is past the first event unless enough flushes were queued before it."""

    def __init__(self, needed):
        self.needed, self.queued, self.log = needed, 0, []

    def zero_(self):
        self.queued += 1

    def event(self, enable_timing):
        assert enable_timing
        return self.Event(self)

    class Event:
        def __init__(self, queue):
            self.queue, self.before = queue, None

        def record(self):
            self.before, self.queue.queued = self.queue.queued, 0
            self.queue.log.append("event")

        def query(self):
            return self.before < self.queue.needed


@pytest.mark.parametrize("needed, times", [(1, 1), (3, 3), (64, 7)])
def test_no_time_of_the_host(monkeypatch, needed, times):
    """A sample is taken again, behind more flushes, until the device was never ahead of the host."""
    queue = Queue(needed)
    monkeypatch.setattr(measure.torch.cuda, "Event", queue.event)
    device = measure.Device.__new__(measure.Device)
    device.flush = queue
    begin, _ = device.timed(lambda: queue.log.append("call"))
    assert queue.log == ["event", "call", "event"] * times
    assert begin.before >= needed


def test_a_call_that_waits_is_refused(monkeypatch):
    queue = Queue(needed=1000)
    monkeypatch.setattr(measure.torch.cuda, "Event", queue.event)
    device = measure.Device.__new__(measure.Device)
    device.flush = queue
    with pytest.raises(RuntimeError, match="faster than the host"):
        device.timed(lambda: None)


def test_report_without_some():
    """A contender without figures leaves its cells empty, and the reason stands below the table."""
    found = copy.deepcopy(result())
    found["bandwidth"]["missing"] = {"05, float32 2^28 bytes, 1 late": "OutOfMemoryError: too little\nmore"}
    del found["bandwidth"]["cases"][1]["us"]["05"]
    found["cpu"]["cases"][0]["us"].pop("05")
    texts = report.sections({section: ("a", found) for section in ("bandwidth", "call", "cpu")})
    assert (
        "Not measured: 05, float32 2^28 bytes, 1 late (OutOfMemoryError: too little)." in texts["bandwidth"]
    )
    assert "| int8 |  |" in texts["cpu"]
    assert "one element late" not in texts["goals"]  # no ratio, and so no claim
    assert "from 2^20 bytes on | ≥ 1.00 | 1.100" in texts["goals"]


def test_every_misalignment_has_a_goal():
    """The worst of those past one element late is found, against the aligned copy."""
    found = result()
    for late, us in ((2, 9.0), (5, 10.0)):
        case = copy.deepcopy(found["bandwidth"]["cases"][0]) | {"late": late}
        found["bandwidth"]["cases"].append(case)
        case["us"] = {"05": [us] * 3, "copy": [1.0] * 3}
    text = goals.table(found)
    assert "a copy, x later than that | ≥ 0.96 | 0.900 | float32, 2^28 bytes, 5 late |" in text
    assert "no, in 1 of 2 cases" in text


def in_bench(code):
    return run(sys.executable, "-c", f"import sys; sys.path.insert(0, {str(BENCH)!r})\n{code}")


def test_a_stage_that_does_not_load():
    done = in_bench(
        "import contenders; contenders.FOLDERS = {'02': 'nowhere'}; print(contenders.stages.__wrapped__())"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("({}, {'02': \"FileNotFoundError: ")


def test_a_contender_that_is_wrong():
    """One wrong number of a hundred thousand is enough, and the right ones stay."""
    code = """
import torch, contenders
def wrong(x):
    y = torch.square(x)
    y[-1] += 1
    return y
failed = {}
squares = {"wrong": wrong, "right": lambda x: x * x}
print(list(contenders.checked(squares, torch.int32, "cpu", failed)), failed)
"""
    done = in_bench(code)
    assert done.stdout == "['right'] {'wrong': 'RuntimeError: wrong is wrong for torch.int32 on cpu'}\n", done


def test_offsets():
    """From 2^28 bytes on every place that an element can have in 16 bytes; below, the first two."""
    code = """
import torch
from section_bandwidth import offsets
print(*(len(offsets(1 << 28, t, False)) for t in (torch.uint8, torch.int16, torch.float32, torch.complex128)))
print(len(offsets(1 << 26, torch.uint8, False)), len(offsets(1 << 28, torch.uint8, True)))
"""
    assert in_bench(code).stdout.splitlines() == ["16 8 4 2", "2 2"]


def test_a_section_that_fails(tmp_path):
    """The next one is measured and written, what a former run wrote stays, and the status is 1."""
    code = f"""
import bench
def fails(quick): raise OSError("no such thing")
bench.SECTIONS.update(call=fails, cpu=lambda quick: {{"cases": []}})
sys.argv = ["bench.py", "--quick", "--only", "call,cpu", "--results", {str(tmp_path)!r}]
sys.exit(bench.main())
"""
    path = tmp_path / in_bench("import bench; print(bench.file_name(bench.machine()))").stdout.strip()
    path.write_text(json.dumps({"call": "kept"}))
    done = in_bench(code)
    assert done.returncode == 1 and "call: OSError: no such thing" in done.stderr, done.stderr
    written = json.loads(path.read_text())
    assert written["call"] == "kept" and written["cpu"] == {"cases": []}
    assert written["machines"]["cpu"]["quick"] and "call" not in written["machines"]
