/*
 * release.c: which Linux this is.
 */
#include <stdio.h>
#include <sys/utsname.h>

#include "release.h"

int release_is_from(int major, int minor)
{
    struct utsname system;
    int here_major = 0, here_minor = 0;
    if (uname(&system) == 0)
        sscanf(system.release, "%d.%d", &here_major, &here_minor);
    return here_major > major || (here_major == major && here_minor >= minor);
}
