/*
 * names.c: names of functions as people write them: of C++, Rust (both schemes) and D, by libiberty.
 *
 * Invariant: a full name belongs to one function of its source file. A clone suffix is cut only where it is known, at
 * the end, and never of Go or Rust, whose names have dots of their own.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "names.h"
#include "pmclua.h"

static int begins_with(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

static int ends_with(const char *text, size_t length, const char *end)
{
    size_t count = strlen(end);
    return length >= count && memcmp(text + length - count, end, count) == 0;
}

/* ---- clone suffixes ---- */

enum numbered { MAYBE, ALWAYS };

/* The suffixes of GCC and LLVM. COPY: a clone; PART: code split off the function; PRIVATE: another function of that name,
 * of another file (LTO) or nested. A bare number identifies nothing: one more variable in the source changes it. */
enum kind { COPY, PART, PRIVATE };
static const struct suffix { const char *text; enum numbered numbered; enum kind kind; } suffixes[] = {
    { ".constprop", ALWAYS, COPY }, { ".isra", ALWAYS, COPY }, { ".localalias", MAYBE, COPY },
    { ".clone", ALWAYS, COPY }, { ".specialized", ALWAYS, COPY }, { ".argprom", MAYBE, COPY },
    { ".argelim", MAYBE, COPY }, { ".retelim", MAYBE, COPY }, { ".part", ALWAYS, PART }, { ".cold", MAYBE, PART },
    { ".__part", ALWAYS, PART }, { ".lto_priv", ALWAYS, PRIVATE }, { ".llvm", ALWAYS, PRIVATE },
    { ".__uniq", ALWAYS, PRIVATE },
}, number = { "", ALWAYS, PRIVATE };

/* Where the last dot before `end` is; 0: there is none behind the first character. */
static size_t dot_before(const char *text, size_t end)
{
    while (end > 0 && text[--end] != '.')
        ;
    return end;
}

static int is_number(const char *text, size_t length)
{
    return length > 0 && strspn(text, "0123456789") >= length;
}

/* The suffix that a text ends in, and where it begins; NULL: none that is known. */
static const struct suffix *last_suffix(const char *text, size_t length, size_t *start)
{
    size_t end = length, dot = dot_before(text, end);
    int has_number = dot > 0 && is_number(text + dot + 1, end - dot - 1);
    if (has_number) {
        end = dot;
        dot = dot_before(text, end);
    }
    *start = dot;
    for (size_t i = 0; dot > 0 && i < sizeof suffixes / sizeof *suffixes; i++)
        if (strlen(suffixes[i].text) == end - dot && memcmp(text + dot, suffixes[i].text, end - dot) == 0
            && (has_number || suffixes[i].numbered == MAYBE))
            return &suffixes[i];
    *start = end;
    /* "f@LIB_2.1" has a version; "f._omp_fn.1" is the second part of f that threads run. */
    return has_number && !memchr(text, '@', end) && !memchr(text, '.', end) ? &number : NULL;
}

static size_t without_suffixes(const char *text, size_t length, int *is_part)
{
    size_t start;
    for (const struct suffix *suffix; (suffix = last_suffix(text, length, &start)); length = start)
        *is_part |= suffix->kind == PART;
    return length;
}

size_t name_base(const char *symbol, int *is_part)
{
    *is_part = 0;
    return without_suffixes(symbol, strlen(symbol), is_part);
}

size_t name_home(const char *symbol)
{
    size_t length = strlen(symbol), start;
    for (const struct suffix *suffix; (suffix = last_suffix(symbol, length, &start)) && suffix->kind != PRIVATE;)
        length = start;
    return length;
}

/* ---- from a C++ spelling to the name alone ---- */

/* The length without the qualifiers after the parameters. */
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

/* "f(int) [clone .cold]"; a clone that is not known is another function. */
static size_t without_clone(const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == ']') {
        const char *place = memrchr(text, '[', length);
        if (!place || place == text || !begins_with(place, "[clone "))
            break;
        const char *space = place + strlen("[clone");
        int is_part = 0;
        if (without_suffixes(space, (size_t)(text + length - 1 - space), &is_part) != 1)
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
        else if (strchr(")]}", text[i]) || (text[i] == '>' && (i == 0 || text[i - 1] != '-')))
            depth--;
        else if (text[i] == ' ' && depth == 0)
            start = i + 1;
    }
    return start;
}

/* ---- from a Rust spelling to its path ---- */

/* The place behind the bracket that closes the one at text[0] ("->" closes nothing); *as: where it has " as ", or 0. */
static size_t behind_bracket(const char *text, size_t *as)
{
    int depth = 0;
    *as = 0;
    for (size_t i = 0; text[i]; i++) {
        depth += text[i] == '<';
        depth -= text[i] == '>' && text[i - 1] != '-';
        if (depth == 0)
            return i + 1;
        if (depth == 1 && begins_with(text + i, " as "))
            *as = i;
    }
    return 0;
}

/* Where the last component of a path begins: "area" of "<app::Sq as app::Shape>::area". */
static size_t last_component(const char *text)
{
    size_t start = 0;
    int depth = 0;
    for (size_t i = 0; text[i]; i++) {
        depth += text[i] == '<' || text[i] == '(' || text[i] == '[';
        depth -= (text[i] == '>' && i > 0 && text[i - 1] != '-') || text[i] == ')' || text[i] == ']';
        if (depth == 0 && begins_with(text + i, "::"))
            start = i + 2;
    }
    return start;
}

/* "<app::Sq as app::Shape>::area" becomes "app::Sq::area". */
static void to_path(char *text)
{
    size_t behind, as;
    while (text[0] == '<' && (behind = behind_bracket(text, &as)) > 0) {
        size_t type = (as ? as : behind - 1) - 1;
        memmove(text, text + 1, type);
        memmove(text + type, text + behind, strlen(text + behind) + 1);
    }
}

/* ---- the whole ---- */

/* The mangling scheme of a name. */
enum language { PLAIN_TEXT, RUST, RUST_LEGACY, CPP, CPP_SPECIAL, D };

/* The spelling of a mangled symbol, which is freed by the caller; NULL: it is not mangled, or nothing here can undo
 * it. Special are thunks, a thread-local variable's initialiser and the like: they are not what they are named after. */
static char *demangled(const char *symbol, enum language *language)
{
    char *text = NULL;
    if (begins_with(symbol, "_R") || begins_with(symbol, "_ZN")) {
        *language = symbol[1] == 'R' ? RUST : RUST_LEGACY;
        text = rust_demangle(symbol, 0);
    }
    if (!text && begins_with(symbol, "_Z")) {
        *language = begins_with(symbol, "_ZT") || begins_with(symbol, "_ZG") ? CPP_SPECIAL : CPP;
        text = cplus_demangle_v3(symbol, DMGL_PARAMS | DMGL_TYPES);
    }
    if (!text && begins_with(symbol, "_D")) {
        *language = D;
        text = dlang_demangle(symbol, 0);
    }
    if (!text)
        *language = PLAIN_TEXT;
    return text;
}

/* The full name of a spelling without known clones, from *start to *whole, and the plain one, which ends at *plain. */
static void split(const char *text, enum language language, size_t *start, size_t *whole, size_t *plain)
{
    int is_whole = strstr(text, "thunk to ") || (language == CPP && strstr(text, " [clone "));
    int has_return_type = !is_whole && (language == CPP || language == PLAIN_TEXT);
    *whole = language == PLAIN_TEXT ? without_clone(text, strlen(text)) : strlen(text);
    int has_parameters = language == CPP || language == D || language == PLAIN_TEXT;
    *plain = has_parameters ? without_parameters(text, without_qualifiers(text, *whole)) : *whole;
    *start = has_return_type ? name_at(text, *plain) : 0;
}

/* All spellings in one piece of memory: what is shown, the full name, the plain one. */
static int write_spellings(struct name *name, const char *spelt, const char *clone, enum language language)
{
    size_t start, whole, plain, room = strlen(spelt) + strlen(clone) + sizeof " [clone ]";
    split(spelt, language, &start, &whole, &plain);
    char *text = malloc(room + 2 * (whole + 1));
    if (!text)
        return -ENOMEM;
    char *full = text + room, *short_name = full + whole + 1;
    snprintf(text, room, *clone && language != PLAIN_TEXT ? "%s [clone %s]" : "%s%s", spelt, clone);
    snprintf(full, whole + 1, "%.*s", (int)(whole - start), spelt + start);
    snprintf(short_name, whole + 1, "%.*s", (int)(plain - start), spelt + start);
    if (language == RUST || language == RUST_LEGACY)
        to_path(short_name);
    *name = (struct name){ text, full, short_name, text, language == RUST_LEGACY };
    return 0;
}

int name_spell(struct name *name, const char *symbol, int is_go)
{
    *name = (struct name){ symbol, symbol, symbol, NULL, is_go && strstr(symbol, "[...]") };
    if (is_go)
        return 0;
    int is_part, result = 0;
    size_t base = name_base(symbol, &is_part);
    char *cut = strndup(symbol, base);
    if (!cut) {
        name_free(name);
        return -ENOMEM;
    }
    enum language language;
    char *spelt = demangled(cut, &language);
    if (spelt || symbol[base] || strpbrk(symbol, " (<["))
        result = write_spellings(name, spelt ? spelt : cut, symbol + base, language);
    free(spelt);
    free(cut);
    if (result < 0)
        name_free(name);
    return result;
}

int name_complete(struct name *name, const char *last)
{
    char *whole;
    if (asprintf(&whole, "%.*s%s", (int)last_component(name->full), name->full, last) < 0)
        return -ENOMEM;
    struct name completed;
    int result = write_spellings(&completed, whole, "", RUST);
    free(whole);
    if (result == 0) {
        name_free(name);
        *name = completed;
    }
    return result;
}

void name_free(struct name *name)
{
    free(name->text);
    *name = (struct name){ NULL, NULL, NULL, NULL, 0 };
}

/* ---- what a pattern means ---- */

/* Without the template's arguments: "convert" of "convert<long>", "work" of Rust's "work::<i32>". */
static size_t base_length(const char *name)
{
    size_t length = strlen(name);
    int depth = 0;
    for (size_t i = length; i-- > 0 && (depth > 0 || i + 1 == length);) {
        depth += (name[i] == '>') - (name[i] == '<');
        if (depth == 0)
            return i == 0 || name[i] != '<' ? length : ends_with(name, i, "::") ? i - 2 : i;
    }
    return length;
}

/* "parse" is meant by itself; "Parser::parse" where the source says "json::Parser::parse". */
static enum match match_end(const char *name, size_t length, const char *pattern)
{
    size_t count = strlen(pattern);
    if (length < count || memcmp(name + length - count, pattern, count) != 0)
        return NO_MATCH;
    if (length == count)
        return BY_NAME;
    return ends_with(name, length - count, "::") || ends_with(name, length - count, ".") ? BY_TAIL : NO_MATCH;
}

enum match name_match(const struct name *name, const char *pattern)
{
    if (strcmp(name->shown, pattern) == 0 || strcmp(name->full, pattern) == 0)
        return BY_NAME;
    enum match whole = match_end(name->plain, strlen(name->plain), pattern);
    enum match base = match_end(name->plain, base_length(name->plain), pattern);
    enum match how = whole > base ? whole : base;
    /* Parameters behind a path's tail. */
    return how ? how : match_end(name->full, strlen(name->full), pattern);
}

/* ---- for others ---- */

int pmclua_spell(const char *spelling, char *full, char *plain, size_t bytes)
{
    struct name name;
    int result = name_spell(&name, spelling, 0);
    if (result < 0)
        return result;
    int full_bytes = snprintf(full, bytes, "%s", name.full), plain_bytes = snprintf(plain, bytes, "%s", name.plain);
    name_free(&name);
    return (size_t)full_bytes < bytes && (size_t)plain_bytes < bytes ? 0 : -ENAMETOOLONG;
}

int32_t pmclua_means(const char *full, const char *plain, const char *pattern)
{
    struct name name = { .shown = full, .full = full, .plain = plain };
    return (int32_t)name_match(&name, pattern);
}
