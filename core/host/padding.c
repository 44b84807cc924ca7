#include <stdlib.h>
#include <string.h>

#include "padding.h"

static const char NAME[] = "PMCLUA_PADDING=";

char **padding_add(char *const *envp, uint32_t bytes)
{
    size_t count = 0;
    while (envp[count])
        count++;
    char **padded = malloc((count + 2) * sizeof *padded);
    /* With its NUL the variable takes exactly `bytes`, if its name alone does not take more. */
    size_t length = bytes > sizeof NAME ? bytes - 1 : sizeof NAME - 1;
    char *variable = malloc(length + 1);
    if (!padded || !variable) {
        free(padded);
        free(variable);
        return NULL;
    }
    memset(variable, 'x', length);
    memcpy(variable, NAME, sizeof NAME - 1);
    variable[length] = '\0';
    padded[0] = variable;                     /* first, so that padding_free finds it */
    memcpy(padded + 1, envp, (count + 1) * sizeof *padded);
    return padded;
}

void padding_free(char **envp)
{
    if (envp)
        free(envp[0]);
    free(envp);
}
