/*
 * demangle.h: names of functions as people write them. Private to the core.
 */
#pragma once

/* The source's spelling of an ELF symbol, "ns::parse(int)" of "_ZN2ns5parseEi"; NULL where the symbol is
 * not mangled, or nothing here can undo it. Freed by the caller. */
char *demangle(const char *symbol);
/* A spelling without return type, parameters, qualifiers and clone suffix: "ns::parse". "f" of
 * "f.constprop.0". Freed by the caller; NULL: no memory. */
char *plain_name(const char *spelling);
