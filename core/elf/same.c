/*
 * same.c: whether two files are one program: what is loaded of them, to the byte.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "elfutils.h"
#include "pmclua.h"

/* A file, and where it is in its list of sections. */
struct side { int fd; Elf *elf; GElf_Ehdr header; Elf_Scn *scn; GElf_Shdr section; };

static int open_side(struct side *side, const char *path)
{
    const struct elfutils *dw = elfutils();
    *side = (struct side){ .fd = pmclua_open_plain(path, 0, NULL, NULL) };
    if (side->fd < 0)
        return side->fd;
    side->elf = dw->elf_begin(side->fd, ELF_C_READ, NULL);
    return side->elf && dw->elf_kind(side->elf) == ELF_K_ELF && dw->gelf_getehdr(side->elf, &side->header) ? 0 : -ENOEXEC;
}

static void close_side(struct side *side)
{
    if (side->elf)
        elfutils()->elf_end(side->elf);
    if (side->fd >= 0)
        close(side->fd);
}

/* Goes to the next section that is loaded; 0: there is none. Notes are left out: a build id also depends on debug
 * information, which names folders. */
static int next_loaded(struct side *side)
{
    const struct elfutils *dw = elfutils();
    while ((side->scn = dw->elf_nextscn(side->elf, side->scn)))
        if (dw->gelf_getshdr(side->scn, &side->section) && (side->section.sh_flags & SHF_ALLOC)
            && side->section.sh_type != SHT_NOTE)
            return 1;
    return 0;
}

static int is_same_section(const struct side *a, const struct side *b)
{
    const GElf_Shdr *ours = &a->section, *theirs = &b->section;
    if (ours->sh_type != theirs->sh_type || ours->sh_flags != theirs->sh_flags || ours->sh_size != theirs->sh_size)
        return 0;
    if (ours->sh_type == SHT_NOBITS || ours->sh_size == 0)
        return 1;
    const Elf_Data *bytes = elfutils()->elf_getdata(a->scn, NULL), *others = elfutils()->elf_getdata(b->scn, NULL);
    return bytes && others && bytes->d_buf && others->d_buf && bytes->d_size == others->d_size
        && memcmp(bytes->d_buf, others->d_buf, bytes->d_size) == 0;
}

static int compare(struct side *a, struct side *b)
{
    int loaded = 0, more_a = 1, more_b = 1;
    if (a->header.e_machine != b->header.e_machine || a->header.e_type != b->header.e_type
        || a->header.e_entry != b->header.e_entry)
        return 0;
    while ((more_a = next_loaded(a), more_b = next_loaded(b), more_a && more_b)) {
        loaded++;
        if (!is_same_section(a, b))
            return 0;
    }
    return loaded > 0 && more_a == more_b;
}

int pmclua_is_same_program(const char *a, const char *b)
{
    struct side one = { .fd = -1 }, other = { .fd = -1 };
    if (!elfutils() || elfutils()->elf_version(EV_CURRENT) == EV_NONE)
        return -ELIBACC;
    int result = open_side(&one, a);
    if (result == 0)
        result = open_side(&other, b);
    if (result == 0)
        result = compare(&one, &other);
    close_side(&one);
    close_side(&other);
    return result;
}
