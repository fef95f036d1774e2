/* SPDX-License-Identifier: MIT
 * Calls a function of the square library many times in C, where no Python is between two calls.
 *   gcc -std=c17 -O2 -shared -fPIC calls.c -o calls.so */
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <time.h>

static double nanoseconds(void) {
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? 1e9 * (double)t.tv_sec + (double)t.tv_nsec : 0;
}

/* Nanoseconds of one call, the mean of `calls`; negative if a call returns an error. */
double time_launch(int (*launch)(const void *, void *, int64_t, int, void *), const void *x,
                   void *y, int64_t n, int dtype, void *stream, int calls) {
    const double start = nanoseconds();
    for (int i = 0; i < calls; ++i) {
        if (launch(x, y, n, dtype, stream) != 0) return -1;
    }
    return (nanoseconds() - start) / calls;
}

double time_cpu(int (*square)(const void *, void *, int64_t, int), const void *x, void *y,
                int64_t n, int dtype, int calls) {
    const double start = nanoseconds();
    for (int i = 0; i < calls; ++i) {
        if (square(x, y, n, dtype) != 0) return -1;
    }
    return (nanoseconds() - start) / calls;
}
