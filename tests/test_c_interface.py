# SPDX-License-Identifier: MIT
"""The C interface of stage 02, called past Python: every alignment, guards, every error."""

import ctypes
import re

import pytest
import torch
from c_library import CODES, ERRORS, HEADER, LIBRARY, compile, library, run, words
from compare import assert_equal
from inputs import pack, values
from stages import DEVICES, EVERY, GPUS, MARKS, ROOT, STAGES, gpu, torch_takes

PATTERN = 0xA5
SIZE = {dtype: 8 if dtype == torch.bool else dtype.itemsize for dtype in EVERY}  # of a square


def call(x, y, n, dtype, device):
    """square_cpu or square_launch with addresses."""
    if device == "cpu":
        return library().square_cpu(x, y, n, CODES[dtype])
    with torch.cuda.device(device):
        stream = torch.cuda.current_stream().cuda_stream
        return library().square_launch(x, y, n, CODES[dtype], stream)


def in_memory(x, late, tail=64):
    """A copy of x's bytes that begins `late` bytes into memory full of a pattern."""
    memory = torch.full((late + x.nbytes + tail,), PATTERN, dtype=torch.uint8, device=x.device)
    memory[late : late + x.nbytes] = x.view(torch.uint8)
    return memory


@pytest.mark.parametrize("edge", (-1, 0, 1, 1000), ids=("pack-1", "pack", "pack+1", "pack+1000"))
@pytest.mark.parametrize(
    "device, dtype",
    [
        pytest.param(v, d, marks=MARKS[v], id=f"{v}-{str(d)[6:]}")
        for v in DEVICES
        for d in EVERY
        if torch_takes(d, v)
    ],
)
def test_guards(device, dtype, edge):
    """Case 19: with x and y at every alignment the squares are right, and y's surroundings stay."""
    n, size = pack(dtype) + edge, SIZE[dtype]
    x = values((n,), dtype, device)
    right = torch.square(x)
    for x_late in range(0, 16, dtype.itemsize):
        for y_late in range(0, 16, size):
            source = in_memory(x, x_late)
            target = torch.full((48 + n * size + 64,), PATTERN, dtype=torch.uint8, device=device)
            first, last = 32 + y_late, 32 + y_late + n * size
            at = source.data_ptr() + x_late, target.data_ptr() + first
            assert call(*at, n, dtype, device) == 0
            ours = target[first:last].clone().view(right.dtype)
            assert_equal(ours, right, x)
            assert (target[:first] == PATTERN).all() and (target[last:] == PATTERN).all()
            assert torch.equal(source, in_memory(x, x_late))


FUNCTIONS = {
    "square_cpu": lambda *arguments: library().square_cpu(*arguments),
    "square_launch": lambda *arguments: library().square_launch(*arguments, None),
}
each_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
FLOAT32, FLOAT64 = CODES[torch.float32], CODES[torch.float64]
A, B = 0x10000, 0x20000  # addresses that nobody may touch: whoever does crashes
WRONG = {
    "dtype -1": ((A, B, 4, -1), "ERROR_DTYPE"),
    "dtype 13": ((A, B, 4, len(EVERY)), "ERROR_DTYPE"),
    "dtype huge": ((A, B, 4, 2**31 - 1), "ERROR_DTYPE"),
    "unknown dtype for nothing": ((None, None, 0, 99), "ERROR_DTYPE"),
    "no x": ((None, B, 4, FLOAT32), "ERROR_NULL"),
    "no y": ((A, None, 4, FLOAT32), "ERROR_NULL"),
    "negative n": ((A, B, -1, FLOAT32), "ERROR_SIZE"),
    "most negative n": ((A, B, -(2**63), FLOAT32), "ERROR_SIZE"),
    "n beyond memory": ((A, B, 2**63 - 1, FLOAT64), "ERROR_SIZE"),
    "x misaligned": ((A + 2, B, 4, FLOAT32), "ERROR_ALIGNMENT"),
    "y misaligned": ((A, B + 4, 4, FLOAT64), "ERROR_ALIGNMENT"),
    "squares of bool misaligned": ((A, B + 1, 4, CODES[torch.bool]), "ERROR_ALIGNMENT"),
    "y begins in x": ((A, A + 12, 4, FLOAT32), "ERROR_OVERLAP"),
    "x begins in y": ((A + 12, A, 4, FLOAT32), "ERROR_OVERLAP"),
    "bool in place": ((A, A, 4, CODES[torch.bool]), "ERROR_OVERLAP"),
    "bool within its squares": ((A + 8, A, 4, CODES[torch.bool]), "ERROR_OVERLAP"),
}


@pytest.mark.parametrize("arguments, error", WRONG.values(), ids=WRONG)
@each_function
def test_wrong_arguments(function, arguments, error):
    """Nothing is touched: an error that has words, before any look at a GPU."""
    assert function(*arguments) == ERRORS[error]
    numbers = (ctypes.c_float * 2)(3, -0.5)
    address = ctypes.addressof(numbers)
    assert library().square_cpu(address, address, 2, FLOAT32) == 0
    assert list(numbers) == [9, 0.25]


@each_function
def test_nothing_to_do(function):
    """Case 24: no elements need no memory, no GPU and no launch."""
    for code in CODES.values():
        if function is not FUNCTIONS["square_cpu"] or code != CODES[torch.complex32]:
            assert function(None, None, 0, code) == 0


def test_neighbours_do_not_overlap():
    """x may end where y begins, and y where x begins."""
    for x, y in (0, 16), (16, 0):
        memory = (ctypes.c_float * 8)(*range(8))
        address = ctypes.addressof(memory)
        assert library().square_cpu(address + x, address + y, 4, FLOAT32) == 0
        assert list(memory)[y // 4 :][:4] == [k * k for k in range(x // 4, x // 4 + 4)]


def test_complex32_is_for_gpus():
    x = (ctypes.c_uint32 * 4)()
    address = ctypes.addressof(x)
    assert library().square_cpu(address, address, 4, CODES[torch.complex32]) == ERRORS["ERROR_DTYPE"]


@pytest.mark.skipif(GPUS > 0, reason="a GPU was found: this test is for machines without")
@pytest.mark.skipif(torch.version.cuda is None, reason="this torch is built without CUDA")
def test_launch_without_device():
    """The launch's error is asked for: CUDA's own, with its name and its words (case 51)."""
    x = (ctypes.c_float * 4)(1, 2, 3, 4)
    y = (ctypes.c_float * 4)(-1, -1, -1, -1)
    error = library().square_launch(ctypes.addressof(x), ctypes.addressof(y), 4, FLOAT32, None)
    assert error > 0 or error == ERRORS["ERROR_NO_CUDA"]
    assert list(y) == [-1, -1, -1, -1]
    if error > 0:
        assert re.search(r"cudaError\w+: .*(driver|device)", words(error))


def test_errors_in_words():
    """Each error has a text of its own; an unknown number has one too."""
    texts = [words(error) for error in sorted(ERRORS.values())]
    assert len(set(texts)) == len(texts) >= 7
    assert all(len(text) > 7 for text in texts)
    assert "unknown" in words(-12345).lower()
    assert words(ERRORS["OK"]) == "no error"


@pytest.mark.parametrize("number", (1, 2, 35, 100, 209, 700, 701, 704, 709, 710, 712, 719, 720, 99999))
def test_cuda_errors_in_words(number):
    """A positive number is CUDA's, and so are its words."""
    if "cudaLaunchKernel" not in run("nm", "-D", LIBRARY).stdout:
        pytest.skip("the library is built without CUDA")
    assert re.search(r"cudaError|unrecognized|unknown", words(number), re.IGNORECASE)
    assert ("earlier launch: CUDA_LAUNCH_BLOCKING=1" in words(number)) == (number in (700, 710, 719))


def test_codes_are_those_of_the_header():
    enum = re.search(r"enum square_dtype \{(.*?)\}", HEADER.read_text(), re.DOTALL).group(1)
    names = [name for name in re.findall(r"\bSQUARE_(\w+)", enum) if name != "DTYPES"]
    assert names == [str(dtype)[6:].upper() for dtype in EVERY]


def test_exported_names():
    """Case 21: the names are those of C, and nothing of C++ is exported beside them."""
    symbols = run("nm", "-D", "--defined-only", LIBRARY).stdout
    for name in "square_launch", "square_cpu", "square_error_string":
        assert re.search(rf" T {name}$", symbols, re.MULTILINE)


def test_declared_for_ctypes():
    """Case 22: pointers and sizes travel as 64 bits; a wrong argument is an error of ctypes."""
    module = STAGES[0].module
    (lib,) = (v for v in vars(module).values() if isinstance(v, ctypes.CDLL))
    for function in lib.square_cpu, lib.square_launch:
        assert function.argtypes[:3] == [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        assert function.restype is ctypes.c_int
    with pytest.raises(ctypes.ArgumentError):
        lib.square_cpu(1.5, None, 0, 0)
    assert torch.empty(2**20).data_ptr() > 2**32  # and such an address went through above


def test_host_library_without_cuda(tmp_path):
    """Without a CUDA compiler the C file alone is a library: square_launch says so, nothing fails."""
    path = tmp_path / "libhost.so"
    source = ROOT / "02_c_launcher" / "square_cpu.c"
    compile("gcc", "-std=c17", "-O2", "-fPIC", "-shared", "-Wall", "-Werror", source, "-o", path)
    lib = library(path)
    x = (ctypes.c_float * 4)(1, 2, 3, 4)
    address = ctypes.addressof(x)
    assert lib.square_launch(address, address, 4, FLOAT32, None) == ERRORS["ERROR_NO_CUDA"]
    assert b"CUDA" in lib.square_error_string(ERRORS["ERROR_NO_CUDA"])
    assert lib.square_cpu(address, address, 4, FLOAT32) == 0 and list(x) == [1, 4, 9, 16]


@pytest.mark.gpu
@gpu[1]
def test_launch_on_the_device_in_place():
    x = values((1003,), torch.float32, "cuda")
    right = torch.square(x)
    assert call(x.data_ptr(), x.data_ptr(), 1003, torch.float32, "cuda:0") == 0
    assert_equal(x, right)
