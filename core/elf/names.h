/*
 * names.h: the spellings of a function's name, and which of them a pattern means. Private to the core.
 */
#pragma once

#include <stddef.h>

struct name {
    const char *shown;             /* as the source has it: "int ns::f<int>(int) [clone .cold]" */
    const char *full;              /* what tells it from other functions: "ns::f<int>(int)" */
    const char *plain;             /* without parameters: "ns::f<int>" */
    char *text;                    /* has those that are not the symbol itself; owned */
    int is_vague;                  /* others may have the same full name: type arguments are left out by Rust's older
                                    * scheme, and by Go's own table ("main.sum[...]") */
};

/* The spellings of a symbol, or of a name that is spelt already. They may point into `symbol`. `is_go`: a name of Go,
 * whose dots are its own. Freed by name_free. -ENOMEM. */
int  name_spell(struct name *name, const char *symbol, int is_go);
void name_free(struct name *name);
/* Gives a vague name its last component as the debug information has it: "work<i32>". -ENOMEM. */
int  name_complete(struct name *name, const char *last);

/* How many bytes of a symbol stand before what compilers append to copies (".constprop.0") and parts (".cold") of a
 * function, and whether one of these is a part. */
size_t name_base(const char *symbol, int *is_part);
/* The same, with what tells functions of several source files apart: "f.lto_priv.1" of "f.lto_priv.1.cold". */
size_t name_home(const char *symbol);

/* How a name is meant by what a user wrote: the higher the better. */
enum match { NO_MATCH, BY_GLOB, BY_TAIL, BY_NAME };

/* Whether `pattern` is one of a name's spellings, with or without its template's arguments, or what follows a "::" or
 * "." in it. */
enum match name_match(const struct name *name, const char *pattern);
