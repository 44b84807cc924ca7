/*
 * linked.c: what the loader reads of a program or library to find the libraries that it needs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elfutils.h"
#include "pmclua.h"

/* The texts so far. */
struct texts { char *place, *end; int is_short; };

static void add(struct texts *texts, char kind, const char *text, size_t length)
{
    size_t room = (size_t)(texts->end - texts->place);
    int is_short = length + 2 > room;
    texts->is_short |= is_short;
    if (is_short)
        return;
    *texts->place++ = kind;
    texts->place = mempcpy(texts->place, text, length);
    *texts->place++ = '\0';
}

/* Where in the file an address is; 0: nowhere. */
static uint64_t offset_of(Elf *elf, uint64_t address)
{
    const struct elfutils *dw = elfutils();
    GElf_Phdr header;
    size_t count = 0;
    dw->elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++)
        if (dw->gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD
            && address - header.p_vaddr < header.p_filesz)
            return address - header.p_vaddr + header.p_offset;
    return 0;
}

static Elf_Data *bytes_of(Elf *elf, uint64_t offset, uint64_t bytes, Elf_Type type)
{
    return elfutils()->elf_getdata_rawchunk(elf, (int64_t)offset, bytes, type);
}

static void add_loader(Elf *elf, const GElf_Phdr *header, struct texts *texts)
{
    const Elf_Data *name = bytes_of(elf, header->p_offset, header->p_filesz, ELF_T_BYTE);
    if (name && name->d_buf)
        add(texts, 'I', name->d_buf, strnlen(name->d_buf, name->d_size));
}

static char kind_of(const GElf_Dyn *entry)
{
    return entry->d_tag == DT_NEEDED ? 'N' : entry->d_tag == DT_RPATH ? 'P' : entry->d_tag == DT_RUNPATH ? 'R' : 0;
}

/* The names of a dynamic section, and its flag that the customary folders are not to be searched. */
static void add_names(Elf *elf, Elf_Data *section, struct pmclua_linked *linked, struct texts *texts)
{
    const struct elfutils *dw = elfutils();
    GElf_Dyn entry;
    uint64_t address = 0, bytes = 0;
    for (int i = 0; dw->gelf_getdyn(section, i, &entry) && entry.d_tag != DT_NULL; i++) {
        address = entry.d_tag == DT_STRTAB ? entry.d_un.d_ptr : address;
        bytes = entry.d_tag == DT_STRSZ ? entry.d_un.d_val : bytes;
        if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_NODEFLIB))
            linked->has_no_defaults = 1;
    }
    const Elf_Data *names = bytes && address ? bytes_of(elf, offset_of(elf, address), bytes, ELF_T_BYTE) : NULL;
    for (int i = 0; names && names->d_buf && dw->gelf_getdyn(section, i, &entry) && entry.d_tag != DT_NULL; i++) {
        uint64_t start = entry.d_un.d_val;
        if (kind_of(&entry) && start < names->d_size) {
            const char *name = (const char *)names->d_buf + start;
            add(texts, kind_of(&entry), name, strnlen(name, names->d_size - start));
        }
    }
}

static int read_elf(Elf *elf, struct pmclua_linked *linked, struct texts *texts)
{
    const struct elfutils *dw = elfutils();
    GElf_Ehdr header;
    GElf_Phdr segment;
    size_t count = 0;
    if (!elf || dw->elf_kind(elf) != ELF_K_ELF || !dw->gelf_getehdr(elf, &header))
        return -ENOEXEC;
    *linked = (struct pmclua_linked){ .is_64 = dw->gelf_getclass(elf) == ELFCLASS64, .machine = header.e_machine };
    dw->elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count && dw->gelf_getphdr(elf, (int)i, &segment); i++) {
        Elf_Data *section = NULL;
        if (segment.p_type == PT_INTERP)
            add_loader(elf, &segment, texts);
        if (segment.p_type == PT_DYNAMIC)
            section = bytes_of(elf, segment.p_offset, segment.p_filesz, ELF_T_DYN);
        if (section)
            add_names(elf, section, linked, texts);
    }
    return texts->is_short ? -E2BIG : 0;
}

int32_t pmclua_linked_read(const char *path, struct pmclua_linked *linked, char *text, size_t bytes)
{
    const struct elfutils *dw = elfutils();
    struct texts texts = { text, text + bytes, 0 };
    if (!dw || dw->elf_version(EV_CURRENT) == EV_NONE)
        return -ELIBACC;
    int fd = pmclua_open_plain(path, 0, NULL, NULL);
    if (fd < 0)
        return fd;
    Elf *elf = dw->elf_begin(fd, ELF_C_READ, NULL);
    int result = read_elf(elf, linked, &texts);
    dw->elf_end(elf);
    close(fd);
    return result < 0 ? result : (int32_t)(texts.place - text);
}
