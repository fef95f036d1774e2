# SPDX-License-Identifier: MIT
"""What only a GPU can show: devices, streams, graphs, sizes, errors. The four safety lines among it."""

import ctypes
import re
import sys
from pathlib import Path

import pytest
import torch
from c_library import compile, cuda_home, run
from compare import assert_equal, assert_square
from copies import Copy
from inputs import values
from refusing import assert_good_call
from stages import GPUS, REFUSED, ROOT, STAGES, each_stage, needs_gpus

pytestmark = [pytest.mark.gpu, needs_gpus(1)]
two_gpus = needs_gpus(2)
SLEEP = 300_000_000  # cycles: long enough that a kernel that does not wait is early


@each_stage
def test_side_stream(stage):
    """Case 41, safety line 2: the kernel waits for what its stream did before."""
    side = torch.cuda.Stream()
    for _ in range(20):
        x = torch.zeros(1 << 20, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(SLEEP // 10)
            x.fill_(3.0)
            z = stage.square(x) + 0
            stage.square_(x)
        side.synchronize()
        assert (z == 9).all() and (x == 9).all()


@each_stage
def test_side_stream_when_compiled(stage):
    """Cases 41 and 53: what torch.compile made on one stream works on the stream of each later call."""
    torch._dynamo.reset()
    square, side = stage.module.square, torch.cuda.Stream()
    compiled = torch.compile(lambda x: square(x) + 0, backend="eager")
    x = torch.zeros(1 << 20, device="cuda")
    compiled(x)
    for _ in range(20):
        x.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(SLEEP // 10)
            x.fill_(3.0)
            z = compiled(x)
        side.synchronize()
        assert (z == 9).all()


@each_stage
def test_asynchronous(stage):
    """The call comes back while its stream still works: nothing in it waits for the device."""
    x = torch.ones(1003, device="cuda")
    stage.square(x)
    torch.cuda.synchronize()
    torch.cuda._sleep(SLEEP)
    y = stage.square(x)
    busy = not torch.cuda.current_stream().query()
    assert busy
    assert_square(y, x)


@pytest.mark.parametrize("stage", [s for s in STAGES if s.dense != REFUSED], ids=str)
def test_copy_outlives_the_launch(stage):
    """Case 42: the dense copy of a strided input is not given away while the kernel reads it."""
    x = values((2048 * 2048,), torch.float32, "cuda").view(2048, 2048).t()[:, ::2]
    right, side = torch.square(x), torch.cuda.Stream()
    torch.cuda.synchronize()
    for _ in range(50):
        with torch.cuda.stream(side):
            y = stage.square(x)
        noise = torch.full((2048, 1024), 7.0, device="cuda")
        side.synchronize()
        assert_equal(y, right)
        del noise


@each_stage
def test_graph(stage):
    """Capture and replay: the replayed kernel reads what the input holds then, and writes y."""
    x = values((1003,), torch.float32, "cuda")
    stage.square(x)  # what is loaded lazily is loaded before the capture
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = stage.square(x)
        z = stage.square_(y + 1)
    for _ in range(3):
        x.copy_(torch.randn(1003))
        graph.replay()
        torch.cuda.synchronize()
        assert_square(y, x)
        assert_square(z, y + 1)


def narrow(stage):
    """The narrowest dtype that the stage takes."""
    return torch.uint8 if torch.uint8 in stage.dtypes else torch.float16


def needs_memory(device, size):
    if device == "cuda":
        free = torch.cuda.mem_get_info()[0]
    else:
        with open("/proc/meminfo") as file:
            free = next(1024 * int(line.split()[1]) for line in file if "MemAvailable" in line)
    if free < size:
        pytest.skip(f"{size >> 30} GiB of memory needed on {device}")


def assert_large_square(y, x):
    for begin in range(0, len(x), 1 << 28):
        assert_square(y[begin : begin + (1 << 28)], x[begin : begin + (1 << 28)])


@pytest.mark.slow
@each_stage
def test_more_than_2_to_31(stage):
    """Case 49: 2^31 + 5 elements, beyond what an int counts."""
    n, dtype = 2**31 + 5, narrow(stage)
    needs_memory("cuda", 5 * n * dtype.itemsize)
    x = values((1003,), dtype, "cuda").repeat(n // 1003 + 1)[:n]
    assert_large_square(stage.square(x), x)


@pytest.mark.slow
@each_stage
def test_more_than_2_to_32_one_by_one(stage):
    """The cast comes before the product: 2^32 + 5 threads' index is beyond 32 bits."""
    n, dtype = 2**32 + 5, narrow(stage)
    needs_memory("cuda", 5 * n * dtype.itemsize)
    memory = values((1003,), dtype, "cuda").repeat(n // 1003 + 1)[: n + 1]
    before = memory.clone()
    stage.square_(memory[1:])  # misaligned in place: a thread squares one value
    assert_equal(memory[:1], before[:1])
    assert_large_square(memory[1:], before[1:])  # torch.square of the copy


@each_stage
def test_grid_of_16777217(stage):
    """Case 49: more blocks than grid y or z could hold, last element right."""
    for n in 65536 * 256 + 1, 65536 * 1024 + 1:
        x = values((1003,), torch.float32, "cuda").repeat(n // 1003 + 1)[:n]
        assert_large_square(stage.square(x), x)


BAD_LAUNCH = r"""
__global__ void nothing() {}
extern "C" int leave_an_error() {
    nothing<<<1, 4096>>>();
    return cudaPeekAtLastError();
}
extern "C" int take_the_error() { return cudaGetLastError(); }
"""


@pytest.fixture(scope="module")
def bad_neighbour(tmp_path_factory):
    """A library that makes a bad launch and does not look: its error stays behind."""
    folder = tmp_path_factory.mktemp("bad")
    (folder / "bad.cu").write_text(BAD_LAUNCH)
    maps = Path("/proc/self/maps").read_text()
    cudart = re.search(r"\S*/libcudart\.so\S*", maps).group()  # torch's: it has torch's error slot
    (folder / "libcudart.so").symlink_to(cudart)
    nvcc, library = cuda_home() / "bin" / "nvcc", folder / "bad.so"
    flags = ["-Xcompiler", "-fPIC", "-shared", "-cudart", "shared", f"-L{folder}"]
    compile(nvcc, *flags, folder / "bad.cu", "-o", library)
    return ctypes.CDLL(str(library))


@each_stage
def test_error_left_behind(stage, bad_neighbour):
    """Case 50: an error of other code is not blamed on square, and stays for whoever asks for it."""
    x = torch.tensor([2.0], device="cuda")
    assert bad_neighbour.leave_an_error() != 0
    try:
        y = stage.square(x)
    finally:
        left = bad_neighbour.take_the_error()
    assert y.tolist() == [4.0]
    assert left != 0
    assert_good_call(stage, "cuda")


ALIVE = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import square as stage
for x in torch.ones(4, device="cuda"), torch.ones(5, device="cuda")[1:]:
    try:
        stage.square(x)
    except RuntimeError as error:
        print("raised", error)
print(stage.square(torch.tensor([3.0])).tolist(), "alive")
"""


@pytest.mark.slow
@each_stage
def test_failed_launch(stage, tmp_path):
    """Case 51, safety line 4: a launch that fails raises CUDA's words, and Python lives on."""
    other = "8.0" if torch.cuda.get_device_capability()[0] == 7 else "7.5"  # no code for this GPU
    copy = Copy(tmp_path / "copy", TORCH_CUDA_ARCH_LIST=other)
    assert copy.build(stage).returncode == 0
    result = copy.run(sys.executable, "-c", ALIVE, copy.folder(stage))
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stdout.count("raised") == 2 and "[9.0] alive" in result.stdout
    assert result.stdout.count("no kernel image is available") == 2


EARLIER = """
import sys, time, torch
sys.path.insert(0, sys.argv[1])
import square as stage
x = torch.ones(3, device="cuda")
stage.square(x)
x[torch.tensor([7], device="cuda")]  # a kernel of torch's that fails an assertion, a little later
time.sleep(1)
try:
    stage.square(x)
except RuntimeError as error:
    print("raised", error)
print(stage.square(torch.tensor([3.0])).tolist(), "alive")
"""


@each_stage
def test_crash_of_an_earlier_kernel(stage):
    """CUDA's words, and that the error may be an earlier launch's; on the CPU the stage goes on."""
    result = run(sys.executable, "-c", EARLIER, ROOT / stage.folder, timeout=120)
    assert "[9.0] alive" in result.stdout, result.stdout + result.stderr
    raised = result.stdout.partition("raised")[2]
    assert "device-side assert" in raised and "CUDA_LAUNCH_BLOCKING=1" in raised, result.stdout


@two_gpus
@each_stage
def test_other_device(stage):
    """Case 39, safety line 1: the tensor's device is made current, then its stream is asked for."""
    x = torch.full((1003,), 3.0, device="cuda:1")
    for stream in torch.cuda.default_stream(1), torch.cuda.Stream(device=1):
        torch.cuda.set_device(0)
        with torch.cuda.stream(stream):
            torch.cuda.set_device(0)
            y = stage.square(x)
        stream.synchronize()
        assert y.device == x.device and (y == 9).all()
        assert torch.cuda.current_device() == 0


@two_gpus
@each_stage
def test_data_parallel(stage):
    """Case 40: threads that each have a device of their own."""

    class Square(torch.nn.Module):
        def forward(self, x):
            return stage.square(x)

    with torch.no_grad():
        x = torch.arange(8.0, device="cuda:0").view(8, 1)
        y = torch.nn.DataParallel(Square().cuda())(x)
    assert y.device == x.device and y.flatten().tolist() == [k * k for k in range(8)]


@each_stage
def test_current_device_stays(stage):
    """The guard gives back the device that was current."""
    for device in range(GPUS):
        with torch.cuda.device(device):
            for other in range(GPUS):
                assert_good_call(stage, f"cuda:{other}")
                assert torch.cuda.current_device() == device
