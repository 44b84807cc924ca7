#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "library.h"

static int load(const struct library *library)
{
    void *file = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    if (!file)
        return -ELIBACC;
    for (int i = 0; i < library->count; i++) {
        void *function = dlsym(file, library->names[i]);
        if (!function)
            return -ELIBACC;
        memcpy((void **)library->functions + i, &function, sizeof function);
    }
    return 1;
}

int library_open(struct library *library)
{
    if (library->state == 0)
        library->state = load(library);
    return library->state < 0 ? library->state : 0;
}
