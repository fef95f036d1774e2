# SPDX-License-Identifier: MIT
"""Stage 03: C++ and CUDA as strings in one Python file, compiled by load_inline, bound by pybind11.

Python (this file) -> pybind11, which functions= generates -> square() in CPP, with its checks
-> square_cuda() in CUDA, with AT_DISPATCH, grid and data pointers -> the kernel.
"""

from pathlib import Path

import toolchain
import torch

HERE = Path(__file__).resolve().parent
NAME = "square_inline"

# The text of 01_pure_cuda/square_kernel.cuh; a test compares the two letter by letter.
KERNEL = r"""// SPDX-License-Identifier: MIT
// The kernel: y[i] = x[i] * x[i]. Called from square.cu:
//   nvcc -O3 square.cu -o square
// Version 1, N = 1: a thread squares one value.
// Version 2, N > 1: a thread squares N values that it loads, and stores, as one pack of 16 bytes.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
#include <string.h>

// A byte of a bool tensor. Any value but 0 is true, and true squared is the int64 1.
struct Bool {
    uint8_t byte;
};

// What differs by type. Integers wrap, and only unsigned arithmetic may; a small one fits in an int.
template <typename T> __host__ __device__ T square(T x) { return static_cast<T>(x * x); }
__host__ __device__ inline int64_t square(Bool x) { return x.byte != 0; }
__host__ __device__ inline int32_t square(int32_t x) {
    return static_cast<int32_t>(static_cast<uint32_t>(x) * static_cast<uint32_t>(x));
}
__host__ __device__ inline int64_t square(int64_t x) {
    return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x));
}
// Not x * x: PyTorch builds extensions with the operators of __half switched off.
__host__ __device__ inline __half square(__half x) { return __hmul(x, x); }
__host__ __device__ inline __nv_bfloat16 square(__nv_bfloat16 x) { return __hmul(x, x); }
// Complex numbers, .x the real and .y the imaginary part; two halves are multiplied as floats.
__host__ __device__ inline float2 square(float2 z) {
    return make_float2(z.x * z.x - z.y * z.y, z.x * z.y + z.x * z.y);
}
__host__ __device__ inline double2 square(double2 z) {
    return make_double2(z.x * z.x - z.y * z.y, z.x * z.y + z.x * z.y);
}
__host__ __device__ inline __half2 square(__half2 z) {
    const float2 s = square(__half22float2(z));
    return __floats2half2_rn(s.x, s.y);
}

// The type of a square: T itself, but int64 for Bool.
template <typename T> using Squared = decltype(square(T()));

template <typename T, int N> struct alignas(N * sizeof(T)) Pack {
    T value[N];
};

// 16 bytes from the middle of 32: words S to S + 4 of w, less `bits` of the first.
template <int S> __host__ __device__ inline uint4 shifted(const uint32_t (&w)[8], unsigned bits) {
    const auto word = [&](int k) {
        return static_cast<uint32_t>((static_cast<uint64_t>(w[k + 1]) << 32 | w[k]) >> bits);
    };
    return make_uint4(word(S), word(S + 1), word(S + 2), word(S + 3));
}

// The pack that begins at x[first]. x is aligned to its element; if not to a pack, the hardware
// refuses one wide load.
template <typename T, int N>
__host__ __device__ inline Pack<T, N> load_pack(const T *x, int64_t first, int64_t n) {
    Pack<T, N> pack;
    const unsigned offset = reinterpret_cast<uintptr_t>(x) % sizeof(pack);
    if (offset == 0) return *reinterpret_cast<const Pack<T, N> *>(x + first);

    // Small values: not one load each, but the two aligned lines that the pack lies in. Both must
    // lie within x, so the first pack and the last ones are left to the loop.
    if (sizeof(T) < 4 && sizeof(pack) == sizeof(uint4) && first >= N && first + 2 * N <= n) {
        const char *start = reinterpret_cast<const char *>(x + first) - offset;
        const uint4 a = reinterpret_cast<const uint4 *>(start)[0];
        const uint4 b = reinterpret_cast<const uint4 *>(start)[1];
        const uint32_t w[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
        const unsigned bits = offset % 4 * 8;
        uint4 moved;
        switch (offset / 4) { // an index known to the compiler keeps w in registers
        case 0: moved = shifted<0>(w, bits); break;
        case 1: moved = shifted<1>(w, bits); break;
        case 2: moved = shifted<2>(w, bits); break;
        default: moved = shifted<3>(w, bits); break;
        }
        memcpy(&pack, &moved, sizeof(moved));
        return pack;
    }
    for (int k = 0; k < N; ++k) pack.value[k] = x[first + k];
    return pack;
}

// x, y: n elements in memory of the device; y may be x. y is aligned to its pack, x to its element.
template <typename T, int N> __global__ void square_kernel(const T *x, Squared<T> *y, int64_t n) {
    // The cast comes before the product: blockIdx.x * blockDim.x is 32 bits wide, and overflows.
    const int64_t first = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
    if (first + N <= n) {
        const Pack<T, N> in = load_pack<T, N>(x, first, n);
        Pack<Squared<T>, N> out;
        for (int k = 0; k < N; ++k) out.value[k] = square(in.value[k]);
        *reinterpret_cast<Pack<Squared<T>, N> *>(y + first) = out;
    } else {
        // One thread is here for the tail; the threads after it find i >= n at once.
        for (int64_t i = first; i < n; ++i) y[i] = square(x[i]);
    }
}
"""

CUDA = r"""
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAGuard.h>
#include <climits>

template <typename T, int N> void launch(const T *x, T *y, int64_t n) {
    constexpr int64_t block = 128, per_block = block * N;
    const int64_t grid = (n + per_block - 1) / per_block;
    TORCH_CHECK(grid <= INT_MAX, "square: x has too many elements for one grid");
    void *arguments[] = {&x, &y, &n};
    // What <<<grid, block, 0, stream>>> compiles into; but it returns an error, to be checked.
    C10_CUDA_CHECK(cudaLaunchKernel(square_kernel<T, N>, dim3(static_cast<unsigned>(grid)), dim3(block),
                                    arguments, 0, c10::cuda::getCurrentCUDAStream()));
}

void square_cuda(const at::Tensor &x, const at::Tensor &y) {
    const c10::cuda::CUDAGuard guard(x.device()); // x's device, whichever is current
    AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(
        at::kHalf, at::kBFloat16, x.scalar_type(), "square", [&] {
            constexpr int N = 16 / sizeof(scalar_t);
            const auto *in = x.const_data_ptr<scalar_t>();
            auto *out = y.mutable_data_ptr<scalar_t>();
            if (reinterpret_cast<uintptr_t>(out) % 16 == 0) {
                launch<scalar_t, N>(in, out, y.numel());
            } else {
                launch<scalar_t, 1>(in, out, y.numel());
            }
        });
}
"""

CPP = r"""
#include <torch/extension.h>

#define CHECK_CONTIGUOUS(x)                                                                        \
    TORCH_CHECK(x.is_contiguous(), "square: " #x " must be contiguous, got shape ", x.sizes(),     \
                " with strides ", x.strides(), "; give " #x ".contiguous()")
#define CHECK_DEVICE(x)                                                                            \
    TORCH_CHECK(x.is_cpu() || x.is_cuda(), "square: " #x " must be on the CPU or a GPU, is on ", x.device())
#define CHECK_STRIDED(x)                                                                           \
    TORCH_CHECK(x.layout() == at::kStrided && !x.is_nested() && !x.is_quantized(), "square: " #x   \
                " must be a strided tensor, got ", x.is_nested() ? "a nested" : x.is_quantized() ? \
                "a quantized" : "another", " one of layout ", x.layout());                         \
    TORCH_CHECK(!x.is_conj() && !x.is_neg(), "square: " #x " is a conjugate or negative view; "    \
                "give " #x ".resolve_conj().resolve_neg()")
#define CHECK_DTYPE(x)                                                                             \
    TORCH_CHECK(x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16 ||                \
                x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble ||                 \
                x.scalar_type() == at::kComplexFloat || x.scalar_type() == at::kComplexDouble,     \
                "square: " #x " is ", x.scalar_type(), "; taken are float16, bfloat16, float32, "  \
                "float64, complex64 and complex128")
#define CHECK_NO_GRAD(x)                                                                           \
    TORCH_CHECK(!(x.requires_grad() && at::GradMode::is_enabled()), "square: " #x                  \
                " requires grad, and this function has no derivative; use no_grad()");                 \
    TORCH_CHECK(!x._fw_grad(0).defined(), "square: " #x                                            \
                " has a tangent of forward mode, and this function has no derivative")
#define CHECK_MEMORY(x)                                                                            \
    TORCH_CHECK(x.numel() == 0 || x.const_data_ptr(), "square: " #x " has no memory behind it");   \
    TORCH_CHECK(reinterpret_cast<uintptr_t>(x.const_data_ptr()) % x.element_size() == 0,           \
                "square: " #x " is not aligned to its elements of ", x.element_size(), " bytes")

#ifdef SQUARE_WITH_CUDA
void square_cuda(const at::Tensor &x, const at::Tensor &y); // in the other string
#else
void square_cuda(const at::Tensor &x, const at::Tensor &y) {
    TORCH_CHECK(false, "square: x is on ", x.device(), ", and this was built without CUDA");
}
#endif

static void square_cpu(const at::Tensor &x, const at::Tensor &y) {
    AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(
        at::kHalf, at::kBFloat16, x.scalar_type(), "square", [&] {
            const auto *in = x.const_data_ptr<scalar_t>();
            auto *out = y.mutable_data_ptr<scalar_t>();
            const int64_t n = y.numel();
            for (int64_t i = 0; i < n; ++i) out[i] = in[i] * in[i];
        });
}

static void check(const at::Tensor &x) {
    CHECK_STRIDED(x);
    CHECK_DEVICE(x);
    CHECK_DTYPE(x);
    CHECK_CONTIGUOUS(x);
    CHECK_NO_GRAD(x);
    CHECK_MEMORY(x);
}

static void square_into(const at::Tensor &x, const at::Tensor &y) {
    // y's numel, here and below: nobody else has y, while another thread may give x another shape.
    if (y.numel() == 0) return; // a grid of no blocks is an error to CUDA
    TORCH_CHECK((x.storage_offset() + y.numel()) * x.element_size() <=
                    static_cast<int64_t>(x.storage().nbytes()),
                "square: x has lost memory: its storage was freed or made smaller");
    x.is_cuda() ? square_cuda(x, y) : square_cpu(x, y);
}

at::Tensor square(const at::Tensor &x) {
    check(x);
    at::Tensor y = at::empty(x.sizes().vec(), x.options());
    square_into(x, y);
    return y;
}

at::Tensor square_(at::Tensor x) {
    check(x);
    TORCH_CHECK(!x.is_inference() || c10::InferenceMode::is_enabled(),
                "square_: x was made in inference mode, and can change only there");
    const at::Tensor y = x.detach(); // the same memory, and a shape that nobody else changes
    square_into(y, y);
    x.unsafeGetTensorImpl()->bump_version(); // the pointer goes past autograd: tell it
    return x;
}
"""


def _build():
    with_cuda = toolchain.setup()
    from torch.utils.cpp_extension import load_inline  # looks for CUDA when it is imported

    folder = toolchain.build_folder(HERE)
    with toolchain.building(folder, "03: load_inline of two strings"):
        module = load_inline(
            name=NAME,
            cpp_sources=[CPP],
            cuda_sources=[KERNEL + CUDA] if with_cuda else [],
            functions=["square", "square_"],
            extra_cflags=["-O3", "-ffp-contract=off"] + ["-DSQUARE_WITH_CUDA"] * with_cuda,
            extra_cuda_cflags=["-O3"],
            extra_ldflags=toolchain.ldflags(folder),
            build_directory=str(folder),
            with_cuda=with_cuda,
            no_implicit_headers=True,  # torch/extension.h in the CUDA string doubles the build time
        )
    return module, folder


_module, FOLDER = _build()


def _check(x: torch.Tensor, name: str) -> None:
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name}: x must be a torch.Tensor, got {type(x).__name__}")


def square(x: torch.Tensor) -> torch.Tensor:
    """Return a new tensor of x's shape and device, x squared element by element.

    x: contiguous, of any shape, on the CPU or a GPU; float16, bfloat16, float32, float64,
    complex64 or complex128. Raises TypeError for what is no tensor, RuntimeError for any other x
    and for errors of CUDA. On a GPU the work is queued on the current stream.
    """
    _check(x, "square")
    return _module.square(x)


def square_(x: torch.Tensor) -> torch.Tensor:
    """Square x in place, and return it. Takes and raises what square does."""
    _check(x, "square_")
    return _module.square_(x)


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.tensor([1.0, -2.0, 3.5, 1e-30, float("inf"), float("nan")], device=device)
    y = square(x)
    print(f"built    {FOLDER.relative_to(HERE)}: " + ", ".join(sorted(f.name for f in FOLDER.iterdir())))
    generated = (FOLDER / "main.cpp").read_text().partition("PYBIND11_MODULE")
    print(f"functions= has appended to main.cpp:\n\n{''.join(generated[1:])}")
    print(f"build.ninja runs\n\n{toolchain.commands(FOLDER)}")
    print(f"\ninput    {x}\noutput   {y}")
    same = torch.equal(y.nan_to_num(-1), torch.square(x).nan_to_num(-1))
    print(f"equals torch.square: {same}")


if __name__ == "__main__":
    main()
