#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lists.h"
#include "proc.h"

long read_text(const char *path, char *text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, bytes - 1);
    int errnum = errno;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got < 0 ? -errnum : got;
}

static void name_file(char path[64], int pid, const char *file)
{
    if (pid)
        snprintf(path, 64, "/proc/%d/%s", pid, file);
    else
        snprintf(path, 64, "/proc/self/%s", file);
}

uint64_t proc_number(int pid, const char *name, int base, uint64_t otherwise)
{
    char path[64], line[256];
    size_t length = strlen(name);
    uint64_t value = otherwise;
    name_file(path, pid, "status");
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, name, length) == 0) {
            value = strtoull(line + length, NULL, base);
            break;
        }
    if (status)
        fclose(status);
    return value;
}

size_t proc_name(int pid, int tid, char name[16])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", pid, tid);
    long length = read_text(path, name, 16);
    /* The newline at its end is the file's; others are the name's, which may have any character. */
    if (length > 0 && name[length - 1] == '\n')
        name[length - 1] = '\0';
    return strlen(name);
}

int proc_tasks(int pid, int32_t **tids)
{
    char path[64];
    int count = 0;
    name_file(path, pid, "task");
    if (tids)
        *tids = NULL;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!isdigit((unsigned char)entry->d_name[0])
            || (tids && list_extend(tids, (size_t)count, sizeof **tids) < 0))
            continue;
        if (tids)
            (*tids)[count] = atoi(entry->d_name);
        count++;
    }
    if (folder)
        closedir(folder);
    return count;
}
