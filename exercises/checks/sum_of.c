/* SPDX-License-Identifier: MIT
 * The library of exercise 02_1_ctypes. */
#include <stdint.h>

double sum_of(const float *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    return sum;
}
