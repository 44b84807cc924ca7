/*
 * elfutils.h: libdw and libelf, opened when first needed and never linked. Private to the core.
 */
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <zlib.h>

/* Each function of elfutils, and of zlib, which libelf needs, that the core calls, by its own name. */
#define ELFUTILS_FUNCTIONS(X) \
    X(dwfl_begin) X(dwfl_end) X(dwfl_report_begin) X(dwfl_report_offline) X(dwfl_report_end) \
    X(dwfl_standard_find_debuginfo) X(dwfl_offline_section_address) \
    X(dwfl_module_build_id) X(dwfl_module_info) X(dwfl_module_getelf) X(dwfl_module_getsymtab) X(dwfl_module_getsym_info) \
    X(dwfl_module_getdwarf) X(dwfl_module_nextcu) \
    X(dwarf_getfuncs) X(dwarf_func_inline) X(dwarf_func_inline_instances) X(dwarf_diename) \
    X(dwarf_attr_integrate) X(dwarf_formstring) X(dwarf_decl_line) \
    X(dwarf_ranges) X(dwarf_getelf) X(dwarf_setalt) X(dwelf_dwarf_gnu_debugaltlink) X(dwelf_elf_gnu_build_id) X(dwarf_tag) X(dwarf_child) X(dwarf_siblingof) \
    X(dwarf_formudata) X(dwarf_getsrcfiles) X(dwarf_filesrc) X(dwarf_attr) X(dwarf_cu_info) \
    X(dwarf_getlocation) X(dwarf_getlocation_attr) X(dwarf_formaddr) X(dwarf_formref_die) X(dwarf_peel_type) \
    X(dwarf_aggregate_size) X(dwfl_module_eh_cfi) X(dwarf_cfi_addrframe) X(dwarf_frame_cfa) X(dwarf_cu_getdwarf) X(dwarf_begin) X(dwarf_begin_elf) X(dwarf_end) X(dwarf_nextcu) X(dwarf_offdie) X(dwarf_lowpc) \
    X(elf_memory) X(elf_getphdrnum) X(gelf_getehdr) X(gelf_getphdr) X(elf_nextscn) X(gelf_getshdr) X(elf_getshdrstrndx) \
    X(elf_strptr) X(elf_getscn) X(elf_getdata) X(gelf_getrela) X(gelf_getchdr) X(elf_compress) X(gelf_getsym) \
    X(elf_version) X(elf_begin) X(elf_end) X(elf_kind) X(elf_getdata_rawchunk) X(gelf_getclass) X(gelf_getdyn) \
    X(crc32)

#define ELFUTILS_MEMBER(name) __typeof__(name) *name;
struct elfutils { ELFUTILS_FUNCTIONS(ELFUTILS_MEMBER) };

/* Takes DEBUGINFOD_URLS out of the environment, by which libdw asks servers for what it does not find, and puts it back. */
char *elfutils_hide_servers(void);
void  elfutils_show_servers(char *servers);

/* NULL: elfutils is not installed. */
const struct elfutils *elfutils(void);
/* The section of that name, and its header; NULL: there is none. */
Elf_Scn *elfutils_section(Elf *elf, const char *name, GElf_Shdr *header);
