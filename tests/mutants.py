# SPDX-License-Identifier: MIT
"""Small faults, put into a copy of the repository one at a time: the suite has to notice each.

    python tests/mutants.py [word ...]     those whose name holds a word; without any, all

Ends with 1 if a fault goes unnoticed, or if the suite is red before there is one.
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from copies import LIBRARY, Copy
from stages import GPUS

KERNEL = "01_pure_cuda/square_kernel.cuh"
LAUNCH = "02_c_launcher/square_launch.cu"
CPU = "02_c_launcher/square_cpu.c"
CTYPES = "02_c_launcher/square.py"
FLOATS = "01_pure_cuda/floats.h"
INLINE = "03_load_inline/square.py"
OPERATOR = "04_separate_files/square.c"
LOAD = "04_separate_files/square.py"
ABI = "04_separate_files/torch_c_abi.h"
LAYOUT = "04_separate_files/tensor_layout.h"
TENSOR = "04_separate_files/torch_tensor.h"
PACKAGE = "05_setup_py/src/torch_square/_operator.py"
FACE = "05_setup_py/src/torch_square/__init__.py"
HOST_PROGRAM = "01_pure_cuda/build/square_on_host"

# What make builds for a test, the file of tests, and pytest's -k.
KERNEL_TEST = "", "tests/test_sanitized.py", "test_kernel"
CPU_TEST = "", "tests/test_sanitized.py", "test_square_cpu"
C_TEST = LIBRARY, "tests/test_c_interface.py", "not cuda:"
C_GUARDS = LIBRARY, "tests/test_c_interface.py", "guards and cuda:0"
VALUES_02 = LIBRARY, "tests/test_values.py", "02"
LAYOUTS_02 = LIBRARY, "tests/test_layouts.py", "02-cpu"
MEMORY_02 = LIBRARY, "tests/test_memory.py", "02-cpu"
REFUSALS_02 = LIBRARY, "tests/test_refusals.py", "02"
PROGRAMS = HOST_PROGRAM, "tests/test_c_programs.py", "host and not device"
STRING_03 = "", "tests/test_sameness.py", "string"
EMPTY_03 = "", "tests/test_values.py", "03-cuda:0 and none"
MEMORY_04 = "", "tests/test_memory.py", "04-cpu"
VALUES_04 = "", "tests/test_values.py", "04"
LAYOUTS_04 = "", "tests/test_layouts.py", "04-cpu and float32 and not lazy"
REFUSALS_04 = "", "tests/test_refusals.py", "04-cpu and (version or grad or leaf or bool)"
BUILD_04 = "", "tests/test_build.py", "test_04_is_compiled_as_c"
ABI_04 = "", "tests/test_torch_c_abi.py", ""
AUTOGRAD_05 = "05", "tests/test_package_autograd.py", "gradcheck or forward"
TRANSFORMS_05 = "05", "tests/test_package_transforms.py", "cpu"
MODES_05 = "05", "tests/test_package_modes.py", ""
OPCHECK_05 = "05", "tests/test_package_opcheck.py", "fake or sparse or kinds"
DTENSOR_05 = "05", "tests/test_package_distributed.py", "dtensor"
GRAPHS_05 = "05", "tests/test_package_compile.py", "make_fx"
COMPILE_05 = "05", "tests/test_package_compile.py", "layouts"
GPU_02 = LIBRARY, "tests/test_gpu.py", "02"
GPU_03 = "", "tests/test_gpu.py", "03"
GPU_04 = "", "tests/test_gpu.py", "04"

# (file, test that has to turn red, GPUs that it takes): {name: (text, text with the fault)}
FAULTS = {
    (KERNEL, KERNEL_TEST, 0): {
        "x + x": ("static_cast<T>(x * x)", "static_cast<T>(x + x)"),
        "tail: <= for <": ("i < n; ++i", "i <= n; ++i"),
        "pack: one too many": ("first + N <= n", "first + N <= n + 1"),
        "tail dropped": ("i < n; ++i) y[i] = square(x[i])", "i < 0; ++i) {}"),
        "cast behind the product": (
            "(static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x)",
            "static_cast<int64_t>(blockIdx.x * blockDim.x + threadIdx.x)",
        ),
        "tail counted in int": ("int64_t i = first", "int i = static_cast<int>(first)"),
        "int32 overflows": ("static_cast<uint32_t>(x) * static_cast<uint32_t>(x)", "x * x"),
        "false is true": ("return x.byte != 0", "return x.byte == 0"),
        "sign in a complex square": ("make_float2(z.x * z.x - z.y", "make_float2(z.x * z.x + z.y"),
        "a wide load though misaligned": ("if (offset == 0) return", "return"),
    },
    (CPU, CPU_TEST, 0): {
        "v + v in C": ("float, float, (v * v)", "float, float, (v + v)"),
        "int32 as int": ("uint32_t, uint32_t, (v", "int32_t, int32_t, (v"),
        "loop of another size": ("[SQUARE_INT8] = square_8_bits", "[SQUARE_INT8] = square_16_bits"),
        "odd bfloat16 forgotten": ("if (n % 2 != 0) {", "if (n < 0) {"),
    },
    (CPU, VALUES_02, 0): {"ties away from even": ("bits + 0x7fff", "bits + 0x8000")},
    (CPU, C_TEST, 0): {
        "null unseen": ("if (!x || !y) return SQUARE_ERROR_NULL;", ""),
        "negative n unseen": ("n < 0 || ", ""),
        "alignment unseen": ("in % in_size != 0 || out % out_size != 0", "0"),
        "overlap unseen": ("overlap ? SQUARE_ERROR_OVERLAP : SQUARE_OK", "overlap * 0"),
        "half of the overlaps unseen": (" && out < in + count * in_size", " && out <= in"),
    },
    (LAUNCH, C_TEST, 0): {
        "grid of no blocks": ("error != SQUARE_OK || n == 0", "error != SQUARE_OK"),
        "launch's error unseen": ("    return error;\n", "    return SQUARE_OK;\n"),
    },
    (LAUNCH, GPU_02, 1): {
        "stream 0": ("arguments, 0, stream)", "arguments, 0, stream ? nullptr : stream)"),
        "half a grid": ("static_cast<unsigned>(grid)", "static_cast<unsigned>(grid) / 2 + 1"),
    },
    (LAUNCH, C_GUARDS, 1): {
        "a wide store though misaligned": ("reinterpret_cast<uintptr_t>(y) % PACK_BYTES == 0", "true"),
    },
    (CTYPES, VALUES_02, 0): {
        "codes off by one": ("in enumerate(DTYPES)}", "in enumerate(DTYPES, 1)}"),
    },
    (CTYPES, LAYOUTS_02, 0): {
        "strided taken": ("if not x.is_contiguous():", "if False:"),
        "conjugate taken": ("if x.is_conj() or x.is_neg():", "if False:"),
    },
    (CTYPES, MEMORY_02, 0): {
        "lost memory unseen": ("if n and x.untyped_storage()", "if 0 and x.untyped_storage()")
    },
    (CTYPES, REFUSALS_02, 0): {
        "grad taken": ("x.requires_grad and torch.is_grad_enabled()", "False"),
        "version not counted": ("    torch.autograd.graph.increment_version(x)", "    0"),
        "bool in place": ("if x.dtype is torch.bool:", "if False:"),
    },
    (CTYPES, C_TEST, 0): {"n as an int": ("ctypes.c_int64, ctypes.c_int", "ctypes.c_int, ctypes.c_int")},
    (CTYPES, GPU_02, 1): {"no stream given": ("torch.cuda.current_stream().native_handle", "None")},
    (CTYPES, GPU_02, 2): {"no device guard": ("with torch.cuda.device(x.device):", "if True:")},
    (FLOATS, PROGRAMS, 0): {
        "six digits": ("%.9g", "%.6g"),
        "rest of a word unread": (" || *end != '\\0'", ""),
    },
    (INLINE, STRING_03, 0): {"a letter more": ("// One thread is here", "// One thread is  here")},
    (INLINE, EMPTY_03, 1): {"grid of no blocks": ("if (y.numel() == 0) return;", "")},
    (INLINE, GPU_03, 1): {
        "stream 0": ("c10::cuda::getCurrentCUDAStream()", "cudaStream_t(0)"),
        "launch's error unseen": ("C10_CUDA_CHECK(cudaLaunchKernel", "(void)(cudaLaunchKernel"),
    },
    (INLINE, GPU_03, 2): {"no device guard": ("const c10::cuda::CUDAGuard guard(x.device());", "")},
    (LAYOUT, LAYOUTS_04, 0): {
        "gaps unseen": ("layout = GAPS", "layout = DENSE"),
        "overlaps unseen": ("return OVERLAP", "return DENSE"),
    },
    (TENSOR, MEMORY_04, 0): {"lost memory unseen": ("* size <= bytes", "* size < INT64_MAX")},
    (OPERATOR, VALUES_04, 0): {"half of the elements": ("_for(0, x->numel,", "_for(0, x->numel / 2,")},
    (OPERATOR, GPU_04, 1): {"stream 0": ("x->dtype, stream)", "x->dtype, NULL)")},
    (OPERATOR, GPU_04, 2): {
        "another device's guard": ("create_cuda_guard(x->device,", "create_cuda_guard(0,"),
    },
    (LOAD, REFUSALS_04, 0): {
        "version not counted": ("    torch.autograd.graph.increment_version(x)", "    0"),
        "grad taken": ("x.requires_grad and torch.is_grad_enabled()", "False"),
    },
    (LOAD, BUILD_04, 0): {"built as C++": ('"-x c -std=c17 ', '"-fpermissive ')},
    (PACKAGE, AUTOGRAD_05, 0): {
        "3x": ("return 2 * x", "return 3 * x"),
        "gradient not conjugated": ("_derivative(x).conj()", "_derivative(x)"),
        "no tangent": ("        ctx.save_for_forward(x)\n", ""),
    },
    (PACKAGE, TRANSFORMS_05, 0): {
        "forward mode stays off": ("with forward_mode():", "if True:"),
        "batch in the first place": (", in_dims[0]\n", ", 0\n"),
    },
    (PACKAGE, MODES_05, 0): {
        "half stays half": ('register_autocast(_name, "cuda"', 'register_autocast(_name, "cpu"')
    },
    (PACKAGE, OPCHECK_05, 0): {
        "strides of the fake": ("    return torch.square(x)\n", "    return torch.square(x).contiguous()\n"),
        "nothing refused": ("_OTHER_KINDS)(partial", "[])(partial"),
    },
    (PACKAGE, GRAPHS_05, 0): {"kept graphs have none": ("    if not compiling():\n", "    if False:\n")},
    (PACKAGE, DTENSOR_05, 0): {"no shards": ("*map(Shard, range(x.ndim))", "")},
    (FACE, COMPILE_05, 0): {"a private name is traced": ("        and not is_dynamo_compiling()\n", "")},
    (FACE, MODES_05, 0): {
        "inference tensors written anywhere": ("if unversioned and not torch", "if False and not torch"),
        "out= cut down": ("_kind(result.dtype) > _kind(out.dtype)", "False"),
    },
    (ABI, ABI_04, 0): {
        "an int for an int64_t": ("int64_t *ret_dim", "int32_t *ret_dim"),
        "an argument less": ("(bool cond, const char *func, ", "(bool cond, "),
    },
}


class Mutant(NamedTuple):
    name: str
    file: str
    test: tuple
    gpus: int
    old: str
    new: str


MUTANTS = [
    Mutant(f"{file[:2]}: {name}", file, test, gpus, *texts)
    for (file, test, gpus), faults in FAULTS.items()
    for name, texts in faults.items()
]


class Tree:
    """One copy, in which a fault is put and taken out again; builds in it are repeated in part."""

    def __init__(self, folder):
        self.copy = Copy(Path(folder) / "copy")
        if not GPUS:
            self.copy.environment.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")

    def red(self, test):
        """How the test failed, or None if it passed; a build that fails is an error here."""
        target, file, words = test
        if target:
            built = self.copy.make(target)
            if built.returncode != 0:
                raise RuntimeError(f"does not build: {built.stderr[-300:]}")
        flags = ["-q", "-x", "--tb=no", "-k", words]
        result = self.copy.run(sys.executable, "-m", "pytest", *flags, file, timeout=1200)
        if result.returncode < 0:
            return f"ended by signal {-result.returncode}"
        return result.stdout.strip().splitlines()[-1] if result.returncode == 1 else None

    def notices(self, mutant):
        path = (self.copy.path / mutant.file).resolve()
        before = path.read_text()
        try:
            self.copy.edit(mutant.file, mutant.old, mutant.new)
            return self.red(mutant.test)
        finally:
            path.write_text(before)


def main(words):
    chosen = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
    here = [m for m in chosen if m.gpus <= GPUS]
    for mutant in chosen:
        if mutant not in here:
            print(f"not here   {mutant.name}: {mutant.gpus} GPU(s) needed, {GPUS} found")
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder)
        for test in dict.fromkeys(m.test for m in here):
            if line := tree.red(test):
                bad += 1
                print(f"RED        before any fault: {' '.join(test)}: {line}", flush=True)
        for mutant in here:
            try:
                line = tree.notices(mutant)
            except (AssertionError, RuntimeError) as error:
                line, state = str(error), "BROKEN"
            else:
                state = "noticed" if line else "UNNOTICED"
            bad += state != "noticed"
            print(f"{state:10} {mutant.name}: {line or 'the suite is green'}", flush=True)
    print(f"{len(here)} faults tried, {bad} not well, {len(chosen) - len(here)} not run here")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
