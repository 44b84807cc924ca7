/*
 * package.c: split debug information, in a file for each unit or packed into one, PROGRAM.dwp. libdw would open the
 * former by itself, whatever is there, and reads the latter from 0.191 on. So a unit is put into a file of its own in
 * memory, with what it refers to in the program, which libdw does read.
 *
 * Everything in the package is checked; one that is damaged has no unit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/lists.h"
#include "symbols.h"

struct package { int fd; Elf *elf; };

struct piece { const uint8_t *bytes; size_t size; };

/* A unit of a package, and what libdw reads it from. */
struct packed { Elf *elf; Dwarf *dwarf; uint8_t *image; struct piece lists; };      /* lists: .debug_rnglists.dwo */

/* ---- opening ---- */

/* Takes over the descriptor. */
static struct package *open_at(int fd)
{
    struct package *package = fd >= 0 ? calloc(1, sizeof *package) : NULL;
    Elf *elf = package ? elfutils()->elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    if (elf) {
        *package = (struct package){ fd, elf };
        return package;
    }
    if (fd >= 0)
        close(fd);
    free(package);
    return NULL;
}

struct package *package_open(const struct pmclua_symbols *symbols)
{
    const char *files[2] = { NULL, NULL };
    struct package *package = NULL;
    elfutils()->dwfl_module_info(symbols->module, NULL, NULL, NULL, NULL, NULL, &files[0], &files[1]);
    for (int i = 0; !package && i < 2; i++) {
        char *path = NULL;
        uint32_t uid;
        if (!files[i] || asprintf(&path, "%s.dwp", files[i]) < 0)
            continue;
        package = open_at(file_open_mapped(path, &uid));
        free(path);
    }
    return package;
}

static const char *text_of(Dwarf_Die *die, unsigned name, unsigned before_5)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Attribute attribute;
    return dw->dwarf_attr(die, name, &attribute) || dw->dwarf_attr(die, before_5, &attribute)
        ? dw->dwarf_formstring(&attribute) : NULL;
}

struct package *package_of_unit(const struct pmclua_symbols *symbols, Dwarf_Die *skeleton)
{
    const char *name = text_of(skeleton, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
    const char *folder = text_of(skeleton, DW_AT_comp_dir, DW_AT_comp_dir);
    return name ? open_at(debug_unit_open(symbols, name, folder)) : NULL;
}

void package_close(struct package *package)
{
    if (!package)
        return;
    elfutils()->elf_end(package->elf);
    close(package->fd);
    free(package);
}

/* ---- its index ---- */

static struct piece section_of(Elf *elf, const char *wanted)
{
    const struct elfutils *dw = elfutils();
    GElf_Shdr header;
    Elf_Scn *scn = elfutils_section(elf, wanted, &header);
    int is_readable = scn && (!(header.sh_flags & SHF_COMPRESSED) || dw->elf_compress(scn, 0, 0) >= 0);
    Elf_Data *data = is_readable ? dw->elf_getdata(scn, NULL) : NULL;
    return data && data->d_buf ? (struct piece){ data->d_buf, data->d_size } : (struct piece){ NULL, 0 };
}

static uint64_t number_at(struct piece piece, uint64_t offset, size_t bytes)
{
    uint64_t value = 0;
    if (offset <= piece.size && piece.size - offset >= bytes)
        memcpy(&value, piece.bytes + offset, bytes);
    return value;
}

/* Sections of which the index says where a unit's part is. */
enum { INFO = 1, ABBREV = 3, LINE = 4, STR_OFFSETS = 6, RNGLISTS = 8, SECTIONS };

static const char *const section_names[SECTIONS] = {
    [INFO] = ".debug_info.dwo", [ABBREV] = ".debug_abbrev.dwo", [LINE] = ".debug_line.dwo",
    [STR_OFFSETS] = ".debug_str_offsets.dwo", [RNGLISTS] = ".debug_rnglists.dwo",
};

/* The row of a unit, from 1; 0: it is not in the package. */
static uint64_t row_of(struct piece index, uint64_t slots, uint64_t id)
{
    for (uint64_t i = 0; i < slots && 16 + 12 * slots <= index.size; i++)
        if (number_at(index, 16 + 8 * i, 8) == id && number_at(index, 16 + 8 * slots + 4 * i, 4))
            return number_at(index, 16 + 8 * slots + 4 * i, 4);
    return 0;
}

/* A file without an index has one unit. */
static int take_all(const struct package *package, struct piece parts[SECTIONS])
{
    for (size_t i = 0; i < SECTIONS; i++)
        if (section_names[i])
            parts[i] = section_of(package->elf, section_names[i]);
    return parts[INFO].bytes && parts[ABBREV].bytes && parts[STR_OFFSETS].bytes;
}

/* A unit's parts of the sections. */
static int find_parts(const struct package *package, uint64_t id, struct piece parts[SECTIONS])
{
    struct piece index = section_of(package->elf, ".debug_cu_index");
    if (!index.bytes)
        return take_all(package, parts);
    uint64_t version = number_at(index, 0, 2), columns = number_at(index, 4, 4), units = number_at(index, 8, 4),
             slots = number_at(index, 12, 4), row = row_of(index, slots, id), table = 16 + 12 * slots;
    if ((version != 2 && version != 5) || row == 0 || row > units || columns > 16
        || table + 4 * columns * (1 + 2 * units) > index.size)
        return 0;
    for (uint64_t i = 0; i < columns; i++) {
        uint64_t section = number_at(index, table + 4 * i, 4);
        if (section >= SECTIONS || !section_names[section] || (section == RNGLISTS && version == 2))
            continue;
        struct piece whole = section_of(package->elf, section_names[section]);
        uint64_t offset = number_at(index, table + 4 * (row * columns + i), 4);
        uint64_t size = number_at(index, table + 4 * ((units + row) * columns + i), 4);
        if (offset > whole.size || whole.size - offset < size)
            return 0;
        parts[section] = (struct piece){ whole.bytes + offset, (size_t)size };
    }
    return parts[INFO].bytes && parts[ABBREV].bytes && parts[STR_OFFSETS].bytes;
}

/* ---- the unit as a file ---- */

/* An offset of 0 would not be that of a list of ranges, for libdw. */
enum { BEFORE_RANGES = 16 };

/* Bytes that are put one behind the other; is_short: there was no memory for some. */
struct buffer { uint8_t *bytes; size_t size, room; int is_short; };

static void append(struct buffer *buffer, const void *bytes, size_t count)
{
    size_t needed = buffer->size + count;
    if (needed > buffer->room) {
        uint8_t *larger = realloc(buffer->bytes, 2 * needed);
        if (!larger) {
            buffer->is_short = 1;
            return;
        }
        buffer->bytes = larger;
        buffer->room = 2 * needed;
    }
    if (count)
        memcpy(buffer->bytes + buffer->size, bytes, count);
    buffer->size = needed;
}

/* The ELF file in memory. */
struct image {
    struct buffer file, names;
    Elf64_Shdr section[10];
    uint32_t sections;
};

static void add_section(struct image *image, const char *name, uint32_t type, const void *bytes, size_t size)
{
    if (image->sections == 0)
        image->sections = 1;                   /* the first means none */
    image->section[image->sections++] = (Elf64_Shdr){ .sh_name = (uint32_t)image->names.size, .sh_type = type,
        .sh_offset = image->file.size, .sh_size = size, .sh_addralign = 1 };
    append(&image->names, name, strlen(name) + 1);
    append(&image->file, bytes, size);
}

/* Adds the strings of the package that the unit uses, with offsets of their own. */
static void add_strings(struct image *image, const struct package *package, struct piece offsets, int version)
{
    struct piece all = section_of(package->elf, ".debug_str.dwo");
    struct buffer own = { .bytes = NULL }, strings = { .bytes = NULL };
    size_t at = version >= 5 && offsets.size >= 8 ? 8 : 0;
    append(&own, offsets.bytes, at);
    for (; at + 4 <= offsets.size; at += 4) {
        uint64_t offset = number_at(offsets, at, 4);
        const char *text = offset < all.size && memchr(all.bytes + offset, 0, all.size - offset)
            ? (const char *)all.bytes + offset : "";
        uint32_t place = (uint32_t)strings.size;
        append(&own, &place, sizeof place);
        append(&strings, text, strlen(text) + 1);
    }
    add_section(image, ".debug_str_offsets.dwo", SHT_PROGBITS, own.bytes, own.size);
    add_section(image, ".debug_str.dwo", SHT_PROGBITS, strings.bytes, strings.size);
    image->file.is_short |= own.is_short | strings.is_short;
    free(own.bytes);
    free(strings.bytes);
}

/* Adds the program's section that a unit refers to, from the unit's own part on. */
static void add_of_program(struct image *image, Dwarf_Die *skeleton, unsigned attribute, const char *name,
                           const char *dwo_name, size_t before)
{
    static const uint8_t nothing[BEFORE_RANGES];
    const struct elfutils *dw = elfutils();
    Dwarf_Attribute base;
    Dwarf_Word offset = 0;
    struct piece whole = section_of(dw->dwarf_getelf(dw->dwarf_cu_getdwarf(skeleton->cu)), name);
    if (dw->dwarf_attr(skeleton, attribute, &base))
        dw->dwarf_formudata(&base, &offset);
    if (!whole.bytes || offset > whole.size)
        return;
    add_section(image, dwo_name, SHT_PROGBITS, nothing, before);
    append(&image->file, whole.bytes + offset, whole.size - offset);
    image->section[image->sections - 1].sh_size += whole.size - offset;
}

static int finish(struct image *image)
{
    static const uint8_t zero[8];
    add_section(image, ".shstrtab", SHT_STRTAB, NULL, 0);
    image->section[image->sections - 1].sh_size = image->names.size;
    append(&image->file, image->names.bytes, image->names.size);
    append(&image->file, zero, -image->file.size % sizeof zero);
    Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
        .e_type = ET_REL, .e_version = EV_CURRENT, .e_shoff = image->file.size, .e_ehsize = sizeof header,
        .e_shentsize = sizeof *image->section, .e_shnum = (uint16_t)image->sections,
        .e_shstrndx = (uint16_t)(image->sections - 1) };
    append(&image->file, image->section, image->sections * sizeof *image->section);
    if (image->file.is_short || image->names.is_short)
        return -ENOMEM;
    memcpy(image->file.bytes, &header, sizeof header);
    return 0;
}

static int make_image(struct image *image, const struct package *package, Dwarf_Die *skeleton,
                      const struct piece parts[SECTIONS], int version)
{
    static const uint8_t header[sizeof(Elf64_Ehdr)];
    static const uint8_t plain[] = { INFO, ABBREV, LINE, RNGLISTS };
    append(&image->file, header, sizeof header);
    for (size_t i = 0; i < sizeof plain; i++)
        if (parts[plain[i]].bytes)
            add_section(image, section_names[plain[i]], SHT_PROGBITS, parts[plain[i]].bytes, parts[plain[i]].size);
    add_strings(image, package, parts[STR_OFFSETS], version);
    add_of_program(image, skeleton, version >= 5 ? DW_AT_addr_base : DW_AT_GNU_addr_base, ".debug_addr",
                   ".debug_addr.dwo", 0);
    if (version < 5)
        add_of_program(image, skeleton, DW_AT_GNU_ranges_base, ".debug_ranges", ".debug_ranges.dwo", BEFORE_RANGES);
    return finish(image);
}

void packed_free(struct packed *packed)
{
    if (!packed)
        return;
    elfutils()->dwarf_end(packed->dwarf);
    elfutils()->elf_end(packed->elf);
    free(packed->image);
    free(packed);
}

/* The unit of that id; of another one of its file, such as one of types, it is not. */
static int find_unit(Dwarf *dwarf, uint64_t wanted, Dwarf_Die *unit)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Off next;
    uint64_t id;
    uint8_t type;
    size_t header;
    for (Dwarf_Off at = 0; dw->dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL) == 0; at = next)
        if (dw->dwarf_offdie(dwarf, at + header, unit)
            && dw->dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, &id, NULL, NULL) == 0
            && type == DW_UT_split_compile && id == wanted)
            return 1;
    return 0;
}

int package_find(const struct package *package, Dwarf_Die *skeleton, struct packed **out, Dwarf_Die *unit)
{
    const struct elfutils *dw = elfutils();
    struct piece parts[SECTIONS] = { { NULL, 0 } };
    struct image image = { .sections = 0 };
    Dwarf_Half version = 0;
    uint64_t id = 0;
    *out = NULL;
    if (dw->dwarf_cu_info(skeleton->cu, &version, NULL, NULL, NULL, &id, NULL, NULL) != 0
        || !find_parts(package, id, parts))
        return 0;
    struct packed *packed = calloc(1, sizeof *packed);
    int result = packed ? make_image(&image, package, skeleton, parts, version) : -ENOMEM;
    free(image.names.bytes);
    if (packed) {
        packed->image = image.file.bytes;
        packed->lists = parts[RNGLISTS];
    }
    if (result == 0 && (packed->elf = dw->elf_memory((char *)image.file.bytes, image.file.size)))
        packed->dwarf = dw->dwarf_begin_elf(packed->elf, DWARF_C_READ, NULL);
    if (result == 0 && packed->dwarf && find_unit(packed->dwarf, id, unit)) {
        *out = packed;
        return 1;
    }
    packed_free(packed);
    return result;
}

ptrdiff_t packed_ranges(const struct packed *packed, Dwarf_Die *die)
{
    enum { HEADER = 12 };
    const struct elfutils *dw = elfutils();
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (!dw->dwarf_attr(die, DW_AT_ranges, &attribute) || dw->dwarf_formudata(&attribute, &value) != 0)
        return 0;
    if (attribute.form != DW_FORM_rnglistx)
        return (ptrdiff_t)value + BEFORE_RANGES;
    return value < packed->lists.size ? (ptrdiff_t)(HEADER + number_at(packed->lists, HEADER + 4 * value, 4)) : 0;
}
