# SPDX-License-Identifier: MIT
"""make run: its table says of each program whether it is right, and what it ended with if it is not."""

import sys

import pytest
from c_library import run
from stages import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import run as make_run

PROGRAMS = {
    "equal": "for word in sys.stdin: x = numpy.float32(word); print(f'{x * x:.9g}')",
    "DIFFERS": "for word in sys.stdin: print(f'{numpy.float32(word) + 1:.9g}')",
    "FAILED with status 3": "sys.exit(3)",
    "FAILED: IndexError": "print('1')",  # too few numbers
}


@pytest.mark.parametrize("verdict, code", PROGRAMS.items(), ids=PROGRAMS)
def test_verdict(verdict, code, tmp_path, monkeypatch):
    program = tmp_path / "program"
    program.write_text(f"#!{sys.executable}\nimport sys, numpy\nnumpy.seterr(all='ignore')\n{code}\n")
    program.chmod(0o755)
    monkeypatch.setattr(make_run, "ROOT", tmp_path)
    row = make_run.tried(make_run.run_program, "02", program, "CPU")
    assert (row.stage, row.what, row.where, row.result) == ("02", "program", "CPU", verdict)


@pytest.mark.parametrize("result, status", (("equal", 0), ("DIFFERS", 1), ("FAILED: OSError", 1)))
def test_status(result, status, monkeypatch, capsys):
    """One stage that is not right is enough; the table has a line for each."""
    results = {"02": "equal", "04": result}
    rows = {stage: [make_run.Row(stage, "square.py", "CPU", r, 1.0)] for stage, r in results.items()}
    monkeypatch.setattr(make_run, "run_stage", rows.get)
    assert make_run.main(list(rows)) == status
    assert len(capsys.readouterr().out.strip().splitlines()) == 3


def test_a_gpu_without_a_toolkit():
    """Nothing for the GPU can be built then: the stages run on the CPU, and so do their programs."""
    code = (
        "import sys; sys.path.insert(0, 'tools'); import torch; torch.cuda.is_available = lambda: True\n"
        "sys.path.insert(0, '03_load_inline'); import toolchain; toolchain.can_build_cuda = lambda: False\n"
        "import os, run; run.run_stage = lambda stage: []; run.main([])\n"
        "print(run.ON_GPU, repr(os.environ['CUDA_VISIBLE_DEVICES']))"
    )
    output = run(sys.executable, "-c", code, cwd=ROOT).stdout
    assert "A GPU is here, and no CUDA toolkit" in output and output.endswith("False ''\n")


def test_no_such_stage():
    with pytest.raises(SystemExit, match="no stage 06; there are 01, 02"):
        make_run.main(["06"])
