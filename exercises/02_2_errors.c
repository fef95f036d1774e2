/* SPDX-License-Identifier: MIT
 * A C function that does not believe its arguments.
 *
 * halve() writes half of each of n floats to y. Before it touches any memory it returns
 *   ERROR_SIZE     if n is negative, or so many floats have no address (n > INT64_MAX / 4)
 *   ERROR_NULL     if x or y is null, and n is not 0: no elements need no memory
 *   ERROR_OVERLAP  if x and y share memory; but y may be x, and then it works in place
 * and the first of these that is true. Else it returns OK. */
#include <stdint.h>

enum { OK = 0, ERROR_SIZE = -1, ERROR_NULL = -2, ERROR_OVERLAP = -3 };

int halve(const float *x, float *y, int64_t n) {
    /* TODO: ask */
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] / 2;
    return OK;
}
