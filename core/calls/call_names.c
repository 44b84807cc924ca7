/*
 * call_names.c: the names of system calls, as the installed header numbers them.
 */
#include <asm/unistd.h>
#include <stddef.h>

#include "pmclua.h"

const char *pmclua_system_call_name(uint64_t number)
{
    static const char *const names[] = {
#include "call_names.inc"
    };
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}
