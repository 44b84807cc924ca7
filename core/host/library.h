/*
 * library.h: libraries that are opened when first needed and never linked. Private to core/.
 */
#pragma once

/* One of them. `functions` is a struct of pointers to functions alone, in the order of `names`. */
struct library {
    const char *file;
    const char *const *names;
    int count;
    void *functions;
    int state;                     /* 0: not tried; 1: ready; -ELIBACC */
};

/* X-macros of a library make its names and the members of its struct of functions. */
#define LIBRARY(file_name, struct_of_functions, ...) \
    { .file = file_name, .names = (const char *const[]){ __VA_ARGS__ }, .functions = struct_of_functions, \
      .count = sizeof (const char *const[]){ __VA_ARGS__ } / sizeof (char *) }

/* 0; -ELIBACC: it is not installed, or lacks one of the functions. What came of the first call is remembered. */
int library_open(struct library *library);
