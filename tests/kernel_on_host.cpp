// SPDX-License-Identifier: MIT
// The kernel file as plain C++ under the sanitizers: every n, every alignment, in place too.
//   kernel_on_host DTYPE MAX_N < file of MAX_N inputs, then their squares
//   kernel_on_host far      the threads whose index needs more than 32 bits
// Memory is exactly as large as it has to be, so that one element too many is an error.
#include <vector_functions.h>
#include <vector_types.h>

static thread_local dim3 blockIdx, blockDim, threadIdx;

#include "square_kernel.cuh"
#include "square_launch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// n elements of T that begin `late` bytes after a 16-byte line and end where the memory ends.
template <typename T> struct Memory {
    char *begin;
    T *data;
    Memory(int64_t n, size_t late) {
        begin = static_cast<char *>(malloc(late + n * sizeof(T)));
        memset(begin, 0xa5, late + n * sizeof(T));
        data = reinterpret_cast<T *>(begin + late);
    }
    ~Memory() { free(begin); }
};

template <typename T, int N> void launch(const T *x, Squared<T> *y, int64_t n) {
    const unsigned block = 128;
    const int64_t per_block = int64_t{block} * N, grid = (n + per_block - 1) / per_block;
    blockDim.x = block;
    for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < block; ++threadIdx.x) square_kernel<T, N>(x, y, n);
}

template <typename T, int N> void check(const T *input, const Squared<T> *right, int64_t max_n) {
    using U = Squared<T>;
    for (int64_t n = 0; n <= max_n; ++n) {
        for (size_t x_late = 0; x_late < 16; x_late += sizeof(T)) {
            // A pack of several squares is stored as 16 bytes, so y has to begin at such a line.
            for (size_t y_late = 0; y_late < (N > 1 ? 1 : 16); y_late += sizeof(U)) {
                const bool in_place = sizeof(T) == sizeof(U) && x_late == y_late && n % 2;
                Memory<T> x(n, x_late);
                Memory<U> y(n, y_late);
                memcpy(in_place ? static_cast<void *>(y.data) : x.data, input, n * sizeof(T));
                launch<T, N>(in_place ? reinterpret_cast<T *>(y.data) : x.data, y.data, n);
                bool same = memcmp(y.data, right, n * sizeof(U)) == 0;
                for (size_t i = 0; i < y_late; ++i) same = same && y.begin[i] == '\xa5';
                if (same) continue;
                fprintf(stderr, "wrong: N %d, n %lld, x %zu and y %zu bytes late\n", N,
                        static_cast<long long>(n), x_late, y_late);
                exit(1);
            }
            if (N == 1 && n > 300) break; // one value a thread: alignment has been seen
        }
    }
}

template <typename T> int check_type(int64_t max_n) {
    using U = Squared<T>;
    Memory<T> x(max_n, 0);
    Memory<U> y(max_n, 0);
    if (fread(x.data, sizeof(T), max_n, stdin) != static_cast<size_t>(max_n)) return 2;
    if (fread(y.data, sizeof(U), max_n, stdin) != static_cast<size_t>(max_n)) return 2;
    check<T, 1>(x.data, y.data, max_n);
    check<T, 16 / sizeof(U)>(x.data, y.data, max_n);
    return 0;
}

// The threads of a block whose index needs more than 32 bits, over addresses of which only theirs
// may be touched: an index that is cut would lead to the begin, and die there. Five elements of the
// last pack are beyond n.
template <int N> void check_far() {
    const size_t first = (size_t{1} << 32) * N, own = 128 * N, n = first + own - 5;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *room = mmap(nullptr, first + own, PROT_NONE, flags, -1, 0);
    uint8_t *x = static_cast<uint8_t *>(room);
    if (room == MAP_FAILED || mprotect(x + first, own, PROT_READ | PROT_WRITE) != 0) exit(2);
    memset(x + first, 3, own);
    blockDim.x = 128;
    blockIdx.x = 1u << 25;
    for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x)
        square_kernel<uint8_t, N>(x, x, static_cast<int64_t>(n));
    for (size_t i = first; i < first + own; ++i)
        if (x[i] != (i < n ? 9 : 3)) exit(1);
}

int main(int argc, char **argv) {
    if (argc == 2) {
        check_far<1>();
        check_far<16>();
        return 0;
    }
    const int64_t max_n = atoll(argv[2]);
    switch (atoi(argv[1])) {
    case SQUARE_BOOL: return check_type<Bool>(max_n);
    case SQUARE_UINT8: return check_type<uint8_t>(max_n);
    case SQUARE_INT8: return check_type<int8_t>(max_n);
    case SQUARE_INT16: return check_type<int16_t>(max_n);
    case SQUARE_INT32: return check_type<int32_t>(max_n);
    case SQUARE_INT64: return check_type<int64_t>(max_n);
    case SQUARE_FLOAT16: return check_type<__half>(max_n);
    case SQUARE_BFLOAT16: return check_type<__nv_bfloat16>(max_n);
    case SQUARE_FLOAT32: return check_type<float>(max_n);
    case SQUARE_FLOAT64: return check_type<double>(max_n);
    case SQUARE_COMPLEX32: return check_type<__half2>(max_n);
    case SQUARE_COMPLEX64: return check_type<float2>(max_n);
    case SQUARE_COMPLEX128: return check_type<double2>(max_n);
    }
    return 2;
}
