#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/lists.h"
#include "descriptors.h"

enum { STANDARD_COPY = 10 };

static int standard[3];

int descriptors_standard(int fd) { return standard[fd]; }

/* Keeps the three as given; where one is closed, /dev/null stands in, so that no descriptor of ours
 * can become a standard one. */
static int keep_standard(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            return -EBADF;
        standard[fd] = fcntl(fd, F_DUPFD_CLOEXEC, STANDARD_COPY);
        if (standard[fd] < 0)                /* EINVAL: the limit is below the copies */
            return -EMFILE;
    }
    return 0;
}

/* Descriptors that pmclua inherited go to commands in the foreground alone, as if these were started without us. */
static int *inherited;
static int inherited_count;

int descriptors_inherited(const int **list)
{
    *list = inherited;
    return inherited_count;
}

static void keep_inherited(int channel)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        int fd = atoi(entry->d_name);
        if (fd <= 2 || fd == channel || fd == dirfd(folder))
            continue;
        if (LIST_ADD(inherited, inherited_count, fd) < 0)
            break;
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    if (folder)
        closedir(folder);
}

int descriptors_keep(int channel)
{
    keep_inherited(channel);
    return keep_standard();
}

/* A kernel that writes to unknown descriptors then reaches its runner's alone. */
void descriptors_close(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (standard[fd] >= 0)
            close(standard[fd]);
        standard[fd] = -1;
    }
    while (inherited_count > 0)
        close(inherited[--inherited_count]);
    free(inherited);
    inherited = NULL;
}
