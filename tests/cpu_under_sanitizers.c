/* SPDX-License-Identifier: MIT
 * square_cpu under the sanitizers: every n, x and y at every alignment, in place too.
 *   cpu_under_sanitizers DTYPE MAX_N < file of MAX_N inputs, then their squares
 * Memory is exactly as large as it has to be, so that one element too many is an error. */
#include "square_launch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int dtype;
static size_t size, out_size;

/* Squares n elements of `input` from memory `x_late` bytes after a line to `y_late` bytes after
 * one; returns whether they are `right` and the bytes before them stay. */
static int good(const char *input, const char *right, size_t n, size_t x_late, size_t y_late) {
    char *x = malloc(x_late + n * size), *y = malloc(y_late + n * out_size);
    if (!x || !y) abort();
    memset(y, 0xa5, y_late + n * out_size);
    memcpy(x + x_late, input, n * size);
    int same = square_cpu(x + x_late, y + y_late, (int64_t)n, dtype) == SQUARE_OK &&
               memcmp(y + y_late, right, n * out_size) == 0 &&
               memcmp(x + x_late, input, n * size) == 0;
    for (size_t i = 0; i < y_late; ++i) same = same && y[i] == '\xa5';
    if (size == out_size) { /* in place */
        same = same && square_cpu(x + x_late, x + x_late, (int64_t)n, dtype) == SQUARE_OK &&
               memcmp(x + x_late, right, n * size) == 0;
    }
    free(x);
    free(y);
    return same;
}

int main(int argc, char **argv) {
    static const size_t sizes[SQUARE_DTYPES] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 4, 8, 16};
    if (argc != 3) return 2;
    dtype = atoi(argv[1]);
    const size_t max_n = (size_t)atoll(argv[2]);
    size = sizes[dtype];
    out_size = dtype == SQUARE_BOOL ? 8 : size;

    char *input = malloc(max_n * size), *right = malloc(max_n * out_size);
    if (!input || !right || fread(input, size, max_n, stdin) != max_n) return 2;
    if (fread(right, out_size, max_n, stdin) != max_n) return 2;
    for (size_t n = 0; n <= max_n; ++n) {
        for (size_t x_late = 0; x_late < 16; x_late += size) {
            /* Both alignments against each other while n is small; then along with each other. */
            for (size_t y_late = 0; y_late < 16; y_late += out_size) {
                if (n > 130 && size == out_size && x_late != y_late) continue;
                if (good(input, right, n, x_late, y_late)) continue;
                fprintf(stderr, "wrong: n %zu, x %zu and y %zu bytes late\n", n, x_late, y_late);
                return 1;
            }
        }
    }
    free(input);
    free(right);
    return 0;
}
