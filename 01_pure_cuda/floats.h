/* SPDX-License-Identifier: MIT
 * The command line that the programs share: float32 numbers in, as arguments or else as words of
 * standard input; float32 numbers out, one a line. C and C++ read this file. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The float32 nearest to what `word` says ("3", "-1e-45", "inf", "nan"); ends the program with
 * status 2 if it says anything else. `place` is its position, from 1. */
static inline float parse_float(const char *word, int64_t place) {
    char *end;
    const float value = strtof(word, &end);
    if (end == word || *end != '\0') {
        fprintf(stderr, "argument %lld: '%s' is not a number\n", (long long)place, word);
        exit(2);
    }
    return value;
}

/* Appends `value` to `list`, which holds `n` values, and returns the list; the room doubles
 * whenever n reaches a power of two. Ends the program with status 1 if memory runs out. */
static inline float *append_float(float *list, int64_t n, float value) {
    if ((n & (n - 1)) == 0) {
        list = (float *)realloc(list, (n ? 2 * (size_t)n : 1) * sizeof(float));
        if (!list) {
            fprintf(stderr, "out of memory after %lld numbers\n", (long long)n);
            exit(1);
        }
    }
    list[n] = value;
    return list;
}

/* Returns the numbers of the command line, or those of standard input if it has none, and their
 * count in *n. The caller frees them. */
static inline float *read_floats(int argc, char **argv, int64_t *n) {
    float *list = NULL;
    char word[64];
    *n = 0;
    for (int i = 1; i < argc; ++i, ++*n) list = append_float(list, *n, parse_float(argv[i], i));
    if (argc > 1) return list;
    if (isatty(STDIN_FILENO)) fprintf(stderr, "numbers to square, then Ctrl-D:\n");
    for (; scanf("%63s", word) == 1; ++*n) {
        if (strlen(word) == sizeof(word) - 1) {
            fprintf(stderr, "argument %lld: '%s...' is too long\n", (long long)*n + 1, word);
            exit(2);
        }
        list = append_float(list, *n, parse_float(word, *n + 1));
    }
    if (ferror(stdin)) {
        perror("standard input");
        exit(1);
    }
    return list;
}

/* Nine digits are enough to read the same float32 back. Ends the program with status 1 if the
 * output cannot be written. */
static inline void print_floats(const float *list, int64_t n) {
    for (int64_t i = 0; i < n; ++i) printf("%.9g\n", (double)list[i]);
    if (fflush(stdout) != 0) {
        perror("standard output");
        exit(1);
    }
}
