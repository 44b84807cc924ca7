/*
 * demangle.c: names of functions as people write them, undone by the C++ library's own __cxa_demangle.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "demangle.h"

typedef char *demangler(const char *name, char *buffer, size_t *bytes, int *status);

static demangler *find_demangler(void)
{
    static demangler *found;
    static int tried;
    static const char *const libraries[] = { "libstdc++.so.6", "libc++abi.so.1" };
    for (size_t i = 0; !tried && !found && i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        if (library)
            found = (demangler *)dlsym(library, "__cxa_demangle");
    }
    tried = 1;
    return found;
}

char *demangle(const char *symbol)
{
    if (strncmp(symbol, "_Z", 2) != 0 || !find_demangler())
        return NULL;
    return find_demangler()(symbol, NULL, NULL, NULL);
}

/* ---- from a spelling to the name alone ---- */

/* Rust's older scheme ends every name in "::h" and 16 hex digits. */
static size_t without_rust_hash(const char *text, size_t length)
{
    if (length < 20 || memcmp(text + length - 19, "::h", 3) != 0)
        return length;
    for (size_t i = length - 16; i < length; i++)
        if (!isxdigit((unsigned char)text[i]))
            return length;
    return length - 19;
}

static int ends_with(const char *text, size_t length, const char *end)
{
    size_t count = strlen(end);
    return length >= count && memcmp(text + length - count, end, count) == 0;
}

/* What may stand after the parameters. */
static size_t without_qualifiers(const char *text, size_t length)
{
    static const char *const qualifiers[] = { " const", " volatile", " &", " &&" };
    for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++) {
        if (ends_with(text, length, qualifiers[i])) {
            length -= strlen(qualifiers[i]);
            i = (size_t)-1;
        }
    }
    return length;
}

/* "f(int) [clone .cold]" */
static size_t without_clone(const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == ']') {
        const char *place = memrchr(text, '[', length);
        if (!place || place == text || strncmp(place, "[clone ", 7) != 0)
            break;
        length = (size_t)(place - text) - 1;
    }
    return length;
}

/* Cuts the last "(…)" of a spelling that has one. */
static size_t without_parameters(const char *text, size_t length)
{
    if (length == 0 || text[length - 1] != ')')
        return length;
    int depth = 0;
    for (size_t i = length; i-- > 0;) {
        depth += (text[i] == ')') - (text[i] == '(');
        if (depth == 0)
            return i == 0 || ends_with(text, i, "operator") ? length : i;
    }
    return length;
}

/* Where "operator" begins as a word of its own, or `length`: brackets after it are part of a name. */
static size_t operator_at(const char *text, size_t length)
{
    for (size_t i = 0; i + 8 <= length; i++) {
        int begins = i == 0 || !(isalnum((unsigned char)text[i - 1]) || text[i - 1] == '_');
        if (begins && memcmp(text + i, "operator", 8) == 0 && !isalnum((unsigned char)text[i + 8]))
            return i;
    }
    return length;
}

/* Where the name begins after a return type: behind the last space outside brackets. */
static size_t name_at(const char *text, size_t length)
{
    size_t start = 0, end = operator_at(text, length);
    int depth = 0;
    for (size_t i = 0; i < end; i++) {
        if (strchr("(<[{", text[i]))
            depth++;
        else if (strchr(")>]}", text[i]))
            depth--;
        else if (text[i] == ' ' && depth == 0)
            start = i + 1;
    }
    return start;
}

/* What compilers append to the name of a changed copy. Go's names have dots of their own. */
static size_t without_clone_suffix(const char *text, size_t length)
{
    static const char *const suffixes[] = {
        ".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm.", ".localalias", ".specialized.",
    };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const char *place = memmem(text, length, suffixes[i], strlen(suffixes[i]));
        if (place && place > text)
            length = (size_t)(place - text);
    }
    return length;
}

char *plain_name(const char *spelling)
{
    size_t length = strlen(spelling);
    /* A thunk is not the function that it leads to. */
    if (strstr(spelling, "thunk to "))
        return strdup(spelling);
    length = without_clone(spelling, length);
    length = without_parameters(spelling, without_qualifiers(spelling, length));
    length = without_rust_hash(spelling, without_clone_suffix(spelling, length));
    size_t start = name_at(spelling, length);
    return strndup(spelling + start, length - start);
}
