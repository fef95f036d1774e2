/* SPDX-License-Identifier: MIT
 * Random arguments for the C interface: odd n, null and misaligned pointers, overlaps, any dtype.
 *   fuzz_c_interface SECONDS SEED
 * Each answer is held against what square_launch.h promises. Run under AddressSanitizer, it also
 * shows that an argument which is refused was not touched, and that no element too many is. */
#include "square_launch.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state;

static uint64_t random_below(uint64_t n) { /* xorshift64* */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 0x2545f4914f6cdd1d >> 11) % n;
}

struct call {
    int dtype;
    int64_t n;
    int x_late, y_late, null_x, null_y, in_place, y_from; /* y_from: y begins within x, or -1 */
};

static struct call draw(void) {
    static const int64_t odd[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX / 8, INT64_C(1) << 60};
    struct call c = {.n = (int64_t)random_below(random_below(4) ? 70 : 5000)};
    c.dtype = random_below(20) ? (int)random_below(SQUARE_DTYPES) : (int)random_below(2001) - 1000;
    if (random_below(20) == 0) c.n = odd[random_below(5)];
    c.x_late = (int)random_below(3) ? 0 : (int)random_below(17);
    c.y_late = (int)random_below(3) ? 0 : (int)random_below(17);
    c.null_x = random_below(25) == 0;
    c.null_y = random_below(25) == 0;
    c.in_place = random_below(5) == 0;
    c.y_from = random_below(8) ? -1 : (int)random_below(64);
    return c;
}

/* What the header promises for these arguments; of several errors, the first. */
static int promised(const struct call *c, const char *x, const char *y) {
    const int64_t size = square_element_size(c->dtype), out = c->dtype == SQUARE_BOOL ? 8 : size;
    const int good =
        c->dtype == SQUARE_COMPLEX32 ? SQUARE_ERROR_DTYPE : SQUARE_OK; /* host memory */
    if (size == 0) return SQUARE_ERROR_DTYPE;
    if (c->n < 0 || c->n > INT64_MAX / 16) return SQUARE_ERROR_SIZE;
    if (c->n == 0) return good;
    if (!x || !y) return SQUARE_ERROR_NULL;
    const uintptr_t a = (uintptr_t)x, b = (uintptr_t)y, n = (uintptr_t)c->n;
    if (a % (uintptr_t)size != 0 || b % (uintptr_t)out != 0) return SQUARE_ERROR_ALIGNMENT;
    const int same = x == y && size == out;
    const int overlap = a < b + n * (uintptr_t)out && b < a + n * (uintptr_t)size;
    return !same && overlap ? SQUARE_ERROR_OVERLAP : good;
}

/* Makes the call with memory that ends where x and y end; returns whether the answer is right. */
static int good(const struct call *c) {
    const int64_t n = c->n > 0 && c->n <= 5000 ? c->n : 0, size = square_element_size(c->dtype);
    const size_t out_bytes = (size_t)(n * (c->dtype == SQUARE_BOOL ? 8 : size) + c->y_late);
    const size_t in_bytes = c->y_from >= 0 ? (size_t)n * 32 + 80 : (size_t)(n * size + c->x_late);
    char *memory = malloc(in_bytes), *other = malloc(out_bytes);
    if ((in_bytes && !memory) || (out_bytes && !other)) abort();
    for (size_t i = 0; i < in_bytes; ++i) memory[i] = (char)random_below(256);
    memset(other, 0x5a, out_bytes);
    char *x = c->null_x ? NULL : memory + c->x_late;
    char *y = c->null_y ? NULL : c->in_place ? x : other + c->y_late;
    if (c->y_from >= 0 && x && y) y = memory + c->y_from;

    const int want = promised(c, x, y), got = square_cpu(x, y, c->n, c->dtype);
    int same = got == want;
    if (got == SQUARE_OK && c->dtype == SQUARE_INT32 && x != y) {
        for (int64_t i = 0; i < n; ++i) {
            same = same && ((uint32_t *)y)[i] == ((uint32_t *)x)[i] * ((uint32_t *)x)[i];
        }
    }
    if (got != SQUARE_OK) {
        for (size_t i = 0; i < out_bytes; ++i) same = same && other[i] == 0x5a;
    }
    if (!same) {
        fprintf(stderr, "dtype %d, n %" PRId64 ", x %p, y %p: promised %d, got %d (%s)\n", c->dtype,
                c->n, (void *)x, (void *)y, want, got, square_error_string(got));
    }
    free(memory);
    free(other);
    return same;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const time_t end = time(NULL) + atoi(argv[1]);
    state = strtoull(argv[2], NULL, 10) | 1;
    long calls = 0;
    do {
        for (int i = 0; i < 1000; ++i, ++calls) {
            const struct call c = draw();
            if (!good(&c)) return 1;
        }
    } while (time(NULL) < end);
    printf("%ld calls\n", calls);
    return 0;
}
