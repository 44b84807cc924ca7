/*
 * debug_files.c: the files that a program names as having its debug information.
 *
 * Invariant: whoever made a program chose these names, so they may be those of FIFOs, to which nobody writes, and of
 * devices. Elfutils opens whatever is there: it is asked for the system's own folder alone. Only regular files are
 * opened here, and only those of the same build are used. What is mapped is read at any time later, and who cuts a file
 * short ends every process that has it mapped: files of others are copied.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/written.h"
#include "symbols.h"

/* ---- opening ---- */

enum { MOST_BYTES = 1 << 29 };          /* of a copy */

/* A copy of a file in memory; takes over the descriptor. */
static int copy_of(int fd, uint64_t bytes)
{
    char block[16384];
    int copy = bytes > MOST_BYTES ? -1 : memfd_create("pmclua-copy", MFD_CLOEXEC);
    int64_t got = copy < 0 ? (bytes > MOST_BYTES ? -EFBIG : -errno) : 1;
    for (uint64_t at = 0; at < bytes && got > 0; at += (uint64_t)got) {
        got = pmclua_read_at(fd, at, block, sizeof block);
        int result = got > 0 ? pmclua_write(copy, block, (uint64_t)got) : 0;
        got = result < 0 ? result : got;
    }
    close(fd);
    if (got < 0 && copy >= 0)
        close(copy);
    return got < 0 ? (int)got : copy;
}

int file_open_mapped(const char *path, uint32_t *uid)
{
    struct stat facts;
    uint64_t bytes;
    int fd = pmclua_open_plain(path, 0, uid, &bytes);
    int is_still = fd < 0 || (fstat(fd, &facts) == 0 && user_is_trusted(*uid) && !(facts.st_mode & S_IWOTH));
    return is_still ? fd : copy_of(fd, bytes);
}

/* Opens a regular file; a relative name is below `folder`. -1: there is none. */
static int open_below(const char *folder, const char *name)
{
    char path[PATH_MAX];
    uint32_t uid;
    int length = *name == '/' ? snprintf(path, sizeof path, "%s", name)
                              : snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = length < (int)sizeof path ? file_open_mapped(path, &uid) : -1;
    return fd < 0 ? -1 : fd;
}

/* The folder of a file, without links; "" where it is not there. */
static void find_folder(const char *path, char folder[PATH_MAX])
{
    char *end = path && realpath(path, folder) ? strrchr(folder, '/') : folder;
    *end = '\0';
}

/* ---- the same build ---- */

static int has_id(int fd, const void *id, ssize_t bytes)
{
    const struct elfutils *dw = elfutils();
    Elf *elf = dw->elf_begin(fd, ELF_C_READ, NULL);
    const void *own;
    int has = elf && dw->dwelf_elf_gnu_build_id(elf, &own) == bytes && memcmp(own, id, (size_t)bytes) == 0;
    dw->elf_end(elf);
    return has;
}

/* As .gnu_debuglink has it. */
static int has_crc(int fd, uint32_t wanted)
{
    unsigned long crc = 0;
    uint8_t block[16384];
    ssize_t got;
    for (off_t at = 0; (got = pread(fd, block, sizeof block, at)) > 0; at += got)
        crc = elfutils()->crc32(crc, block, (unsigned)got);
    return got == 0 && crc == wanted;
}

/* ---- what was split off ---- */

/* A file beside the program, or in .debug there, by the name that .gnu_debuglink has, or PROGRAM.debug. */
static int find_beside(Dwfl_Module *module, const char *path, const char *link, GElf_Word crc, char **found)
{
    static const char *const places[] = { "", ".debug/" };
    const unsigned char *id;
    GElf_Addr address;
    char folder[PATH_MAX];
    int id_bytes = elfutils()->dwfl_module_build_id(module, &id, &address), fd = -1;
    const char *base = strrchr(path, '/');
    find_folder(path, folder);
    for (int i = 0; fd < 0 && i < 2; i++) {
        char *name = NULL;
        int made = link ? asprintf(&name, "%s/%s%s", folder, places[i], link)
                        : asprintf(&name, "%s/%s%s.debug", folder, places[i], base ? base + 1 : path);
        fd = made > 0 ? open_below("", name) : -1;
        if (fd >= 0 && !(id_bytes > 0 ? has_id(fd, id, id_bytes) : link && has_crc(fd, crc))) {
            close(fd);
            fd = -1;
        }
        if (fd >= 0)
            *found = name;
        else
            free(made > 0 ? name : NULL);
    }
    return fd;
}

int debug_file_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, const char *path,
                    const char *link, GElf_Word crc, char **found)
{
    struct pmclua_symbols *symbols = *userdata;
    if (symbols->debug_file) {
        *found = symbols->debug_file;
        symbols->debug_file = NULL;
        return open_below("", *found);
    }
    /* A part that dwz moved has no checksum: debug_shared. .gnu_debuglink never has a name with folders. */
    if (link && (crc == 0 || strchr(link, '/')))
        return -1;
    char *servers = elfutils_hide_servers();
    int fd = elfutils()->dwfl_standard_find_debuginfo(module, userdata, name, base, path, link, crc, found);
    elfutils_show_servers(servers);
    return fd >= 0 || !path ? fd : find_beside(module, path, link, crc, found);
}

/* Where the debug information is: in a file of its own, or in the program. */
static void find_own_folder(const struct pmclua_symbols *symbols, char folder[PATH_MAX])
{
    const char *program = NULL, *separate = NULL;
    elfutils()->dwfl_module_info(symbols->module, NULL, NULL, NULL, NULL, NULL, &program, &separate);
    find_folder(separate ? separate : program, folder);
}

int debug_unit_open(const struct pmclua_symbols *symbols, const char *name, const char *built_in)
{
    char folder[PATH_MAX];
    find_own_folder(symbols, folder);
    int fd = open_below(folder, name);
    return fd < 0 && built_in && *built_in == '/' ? open_below(built_in, name) : fd;
}

/* ---- what several files share ---- */

/* libdw's mark of a file that it did not find: it does not look again. */
static Dwarf *const none = (Dwarf *)-1;

int debug_shared(struct pmclua_symbols *symbols, Dwarf *dwarf, const char **missing)
{
    const struct elfutils *dw = elfutils();
    char folder[PATH_MAX];
    const void *id;
    ssize_t bytes = dw->dwelf_dwarf_gnu_debugaltlink(dwarf, missing, &id);
    if (bytes <= 0)
        return 0;
    find_own_folder(symbols, folder);
    if (symbols->shared_fd < 0)
        symbols->shared_fd = open_below(folder, *missing);
    if (!symbols->shared && symbols->shared_fd >= 0 && has_id(symbols->shared_fd, id, bytes))
        symbols->shared = dw->dwarf_begin(symbols->shared_fd, DWARF_C_READ);
    dw->dwarf_setalt(dwarf, symbols->shared ? symbols->shared : none);
    return symbols->shared ? 0 : -ENOENT;
}

/* ---- what cannot be read ---- */

/* Whether a file has sections that are compressed in a way that is not zlib's, which all elfutils know. */
static int is_compressed_otherwise(const char *path)
{
    const struct elfutils *dw = elfutils();
    uint32_t uid;
    int fd = file_open_mapped(path, &uid), result = 0;
    Elf *elf = fd >= 0 ? dw->elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    for (Elf_Scn *scn = NULL; elf && (scn = dw->elf_nextscn(elf, scn));) {
        GElf_Shdr header;
        GElf_Chdr how;
        result |= dw->gelf_getshdr(scn, &header) && (header.sh_flags & SHF_COMPRESSED)
            && dw->gelf_getchdr(scn, &how) && how.ch_type != ELFCOMPRESS_ZLIB;
    }
    dw->elf_end(elf);
    if (fd >= 0)
        close(fd);
    return result;
}

const char *debug_compressed(const struct pmclua_symbols *symbols)
{
    const char *files[2] = { NULL, NULL };
    elfutils()->dwfl_module_info(symbols->module, NULL, NULL, NULL, NULL, NULL, &files[0], &files[1]);
    for (int i = 1; i >= 0; i--)
        if (files[i] && is_compressed_otherwise(files[i]))
            return files[i];
    return NULL;
}
