/*
 * pmclua_symbols.h: what ELF files say: functions, variables, source lines; what samples accessed.
 * Part of pmclua.h, which includes it.
 */
#pragma once

#include "pmclua.h"

/* FFI-BEGIN symbols */

/* ---- symbols: the functions of ELF files, by elfutils, which is loaded when first needed --------- */

/* Functions of one file, sorted by address. */
struct pmclua_symbols;

enum pmclua_function_flag {
    PMCLUA_FUNCTION_IMPORTED = 1,  /* only named here: another file has it */
    PMCLUA_FUNCTION_INDIRECT = 2,  /* a resolver: which function is called is decided at run time */
    PMCLUA_FUNCTION_UNTYPED  = 4,  /* a label of assembly that does not say that it is a function */
    PMCLUA_FUNCTION_GUESSED  = 8,  /* states no size: taken to end where the next one begins */
    PMCLUA_FUNCTION_LOCAL    = 16,
    PMCLUA_FUNCTION_PART     = 32, /* a part that the compiler split off a function (.cold, .part.0) */
    PMCLUA_FUNCTION_VAGUE    = 64  /* others may have its full name: its type arguments are not in its symbol */
};

/* Texts live until the symbols are closed. */
struct pmclua_function {
    const char *name;              /* as the file has it: "_ZN2ns5parseEi" */
    const char *shown;             /* as the source has it: "int ns::get<int>(int) [clone .cold]" */
    const char *full;              /* what tells it from other functions: "ns::get<int>(int)" */
    const char *plain;             /* the name alone: "ns::get<int>" */
    uint64_t address;              /* before the file is loaded anywhere */
    uint64_t offset;               /* in the file, where probes are put */
    uint64_t bytes;
    uint32_t flags;
};

/* Reads a program or shared library, with its separate debug file: `debug_file` (NULL: where there is one in the
 * customary places, which are all on this machine). Freed by pmclua_symbols_close. -ELIBACC: no elfutils here; -ENOEXEC:
 * not a program or library. */
int pmclua_symbols_open(struct pmclua_symbols **symbols, const char *path, const char *debug_file);
void pmclua_symbols_close(struct pmclua_symbols *symbols);
/* The user that the file belongs to. */
uint32_t pmclua_symbols_owner(const struct pmclua_symbols *symbols);
int32_t pmclua_symbols_count(const struct pmclua_symbols *symbols);
/* Function `index`, counted from 0. -ENOENT. */
int pmclua_symbols_function(struct pmclua_symbols *symbols, int32_t index, struct pmclua_function *function);
/* Where in the file an address is (as the file has it). -ENXIO: in none of its code. */
int pmclua_symbols_offset(const struct pmclua_symbols *symbols, uint64_t address, uint64_t *offset);

struct pmclua_linked {
    int32_t is_64, machine;        /* its class, and EM_* */
    int32_t has_no_defaults;       /* the loader searches no customary folders for it */
};
/* Reads what the loader reads of a program or library: texts, each with its NUL and behind a letter of its kind, I: the
 * loader itself, N: a library that it needs, P: its RPATH, R: its RUNPATH. Their bytes; -E2BIG: there are more than
 * `bytes`; -ENOEXEC; -ELIBACC; another -errno. */
int32_t pmclua_linked_read(const char *path, struct pmclua_linked *linked, char *text, size_t bytes);
/* Whether two programs or libraries are one: the bytes of all sections that are loaded, but notes, are the same. 1; 0;
 * -ENOEXEC: one is neither; -ELIBACC; another -errno. */
int pmclua_is_same_program(const char *a, const char *b);
/* The functions that `pattern` means: the file's, the source's or the plain name; where there is none,
 * names that end in "::pattern"; where there is none, what matches one of these with its * ? [ ]. Aliases
 * of one address count once. How many there are (0: none); the first `size` go to `indices`. */
int32_t pmclua_symbols_match(struct pmclua_symbols *symbols, const char *pattern, int32_t *indices, int32_t size);

/* Copies of functions within their callers. `file` lives until the symbols are closed; NULL: unknown. */
struct pmclua_inlined { int32_t places, line; const char *file; };

/* How often functions called `name` were copied into their callers: in the compilation unit of function
 * `index`, or anywhere (-1). -ENODATA: the file has no debug information. */
int pmclua_symbols_inlined(struct pmclua_symbols *symbols, const char *name, int32_t index,
                           struct pmclua_inlined *inlined);

/* The full and the plain name of a function that somebody else spells: a symbol, "f.cold", "ns::f(int) [clone .cold]".
 * -ENAMETOOLONG: one of them has `bytes` bytes or more; -ENOMEM. */
int pmclua_spell(const char *spelling, char *full, char *plain, size_t bytes);
/* Whether `pattern` means a function of these names: 3: by its name, 2: by the end of its path, 0: it does not. */
int32_t pmclua_means(const char *full, const char *plain, const char *pattern);

/* The function and line of an instruction. Texts live until the symbols are closed. */
struct pmclua_code {
    const char *function;          /* the name alone, without clone suffix, "puts@plt" of a stub; NULL: it has none */
    const char *full;              /* its full name: pmclua_function */
    const char *source;            /* file of `line`, as the debug information has it; NULL: unknown */
    const char *declared;          /* file that the function is declared in; NULL: unknown */
    uint64_t which;                /* tells it from others of the same full name and `declared`; 0: they do */
    uint64_t address;              /* as the file has it */
    uint64_t start, bytes;         /* of the function; 0: not even where it begins is known */
    uint32_t flags;                /* enum pmclua_function_flag; LOCAL of no copy or part, which always is */
    int32_t line;                  /* 0: unknown */
    int32_t inlined;               /* functions that it was copied into with, one within the other */
};

/* A function that was copied into its caller at `line` of file `source`. */
struct pmclua_inlined_at { const char *function, *full, *source, *declared; int32_t line; };

/* Finds the function and line of the instruction at an offset in the file; the first `size` functions that it was copied
 * with, innermost first, go to `inlined`. -ENXIO: the offset is in none of the file's code. -ENOMEM. */
int pmclua_symbols_code(struct pmclua_symbols *symbols, uint64_t offset, struct pmclua_code *code,
                        struct pmclua_inlined_at *inlined, int32_t size);

/* The source lines of the function at an address, which pmclua_symbols_code has named: from where it is declared to its
 * last one, in its `declared`. -ENOENT: the debug information does not say. */
int pmclua_symbols_written(struct pmclua_symbols *symbols, uint64_t address, int32_t *first, int32_t *last);

/* Debug information that pmclua_symbols_code needed and could not read. `name`: the file that it is in; it lives until the symbols are closed. */
enum pmclua_unread_kind {
    PMCLUA_UNREAD_SPLIT,           /* a .dwo file, which is missing or of another build */
    PMCLUA_UNREAD_SHARED,          /* what dwz has moved to another file, which is missing */
    PMCLUA_UNREAD_COMPRESSED       /* in a way that this elfutils does not know (zstd) */
};
struct pmclua_unread { int32_t kind; const char *name; };
/* Number `index` of it, counted from 0. -ENOENT. */
int pmclua_symbols_unread(const struct pmclua_symbols *symbols, int32_t index, struct pmclua_unread *unread);

/* Whether the file has debug information here: source lines, inlined functions. */
int32_t pmclua_symbols_has_debug_information(const struct pmclua_symbols *symbols);

/* The build id of the file: how many bytes it has; 0: none. The first `size` go to `id`. */
int32_t pmclua_symbols_build_id(const struct pmclua_symbols *symbols, uint8_t *id, int32_t size);

/* Asks the servers of DEBUGINFOD_URLS for the debug file of a build, for some timeout_ms (about a second more where one does
 * not answer): its path, NUL-terminated. -ENOENT: they have none; -ENOSYS: no server is named; -ETIMEDOUT; -ELIBACC: no
 * libdebuginfod here; -ENAMETOOLONG; others as the network has them. */
int pmclua_debuginfod_find(const uint8_t *id, int32_t bytes, int32_t timeout_ms, char *path, size_t path_bytes);

/* The functions of Linux itself. */
struct pmclua_kallsyms;
enum { PMCLUA_SYMBOL_BYTES = 256 };
struct pmclua_linux_function { char name[PMCLUA_SYMBOL_BYTES], module[64]; };

/* Reads /proc/kallsyms, or a file like it. Freed by pmclua_kallsyms_close. -EACCES: Linux hides addresses from this
 * user. */
int pmclua_kallsyms_open(struct pmclua_kallsyms **out, const char *path);
void pmclua_kallsyms_close(struct pmclua_kallsyms *kallsyms);
/* The function that begins last before an address, and its module ("": none). -ENOENT. */
int pmclua_kallsyms_find(const struct pmclua_kallsyms *kallsyms, uint64_t address, struct pmclua_linux_function *out);

/* Objects that a breakpoint can watch. */
enum pmclua_object_flag {
    PMCLUA_OBJECT_DATA = 1,        /* a variable */
    PMCLUA_OBJECT_OF_THREADS = 2,  /* each thread has its own: `address` is an offset */
    PMCLUA_OBJECT_CODE = 4,        /* a function */
    PMCLUA_OBJECT_LABEL = 8        /* of assembly, which does not say what it is */
};
struct pmclua_object { uint64_t address, bytes; uint32_t flags; char name[512]; };

/* The first variable, function or label at or after `position` (from 0) of the file's symbols: the position
 * to ask for next; 0: none is left. */
int32_t pmclua_symbols_object(struct pmclua_symbols *symbols, int32_t position, struct pmclua_object *object);
/* 1: a program that is always loaded at the addresses that the file has. */
int32_t pmclua_symbols_is_fixed(const struct pmclua_symbols *symbols);
/* The lowest address that the file has: what a loaded file's first byte is at. */
uint64_t pmclua_symbols_base(const struct pmclua_symbols *symbols);

enum pmclua_exit_kind {
    PMCLUA_EXIT_RETURN = 0,
    PMCLUA_EXIT_TAIL               /* a tail call: an unconditional jump to another function */
};
struct pmclua_exit { uint64_t offset; uint64_t kind; };      /* offset: in the file */

/* Further facts about a function's code. */
struct pmclua_body {
    uint64_t unknown_at;           /* address of an instruction that was not understood; 0: none */
    uint64_t probe_at;             /* offset in the file where a probe tells its calls and costs least: the first
                                    * instruction that Linux emulates instead of stepping it, among those that every
                                    * call executes once, before any that touches memory or moves the stack pointer.
                                    * 0: none is known */
    int32_t loops_to_entry;        /* it jumps to its own first instruction: entries are not all calls */
    int32_t calls;                 /* it calls functions */
    int32_t jumps_out;             /* it has jumps, on a condition or through a pointer, that may leave it, too */
    int32_t is_stepped;            /* x86-64: there is none, and Linux steps the first one */
};

/* Where function `index` can be left, by Capstone, which is loaded when first needed: how many places;
 * the first `size` go to `exits`. Indirect and conditional jumps to other functions are not among them.
 * -ELIBACC: no Capstone here; -ENOTSUP: not for this kind of machine; -EILSEQ: body->unknown_at;
 * -ENODATA: its size is not known. */
int32_t pmclua_symbols_exits(struct pmclua_symbols *symbols, int32_t index, struct pmclua_exit *exits,
                             int32_t size, struct pmclua_body *body);

enum pmclua_instruction_flag {
    PMCLUA_INSTRUCTION_RETURN = 1,
    PMCLUA_INSTRUCTION_JUMP = 2,       /* or a call: to an address that it holds, relative to its end: `relative` */
    PMCLUA_INSTRUCTION_MEMORY = 4,     /* reads or writes at such an address: `relative` */
    PMCLUA_INSTRUCTION_UNFIT = 8       /* not to be executed with registers of no meaning: asks Linux for something,
                                        * jumps through a register, repeats */
};
/* relative, relative_bytes: where in it a relative address is; 0: it has none, or its bits are no bytes (arm64) */
struct pmclua_instruction {
    uint8_t bytes[16];
    uint32_t size, flags, relative, relative_bytes;
    char text[192];                    /* "mov eax, dword ptr [rdi]"; addresses in it are offsets in the file */
};

/* The instruction at an offset in the file. Errors as of pmclua_symbols_exits; -ENOTSUP: also where it is not of
 * the kind of machine that this is. */
int pmclua_symbols_instruction(struct pmclua_symbols *symbols, uint64_t offset, struct pmclua_instruction *out);
/* The same of the first of `count` bytes of this machine's code, which are at an offset. */
int pmclua_instruction(const uint8_t *bytes, uint64_t count, uint64_t offset, struct pmclua_instruction *instruction);

/* FFI-BEGIN data */

/* ---- data: what samples accessed ---------------------------------------------------------------- */

/* How a sample relates to data. AT: the instruction that was blocked accessed it; FED: it computes with what was loaded
 * from there; the others have no address: division or root; no memory near it; several instructions may have been blocked,
 * with different lines; the registers are lost; the code cannot be read; other registers than 64 bits'. RECORDING: it was taken
 * while an allocation was recorded. */
enum pmclua_data_kind {
    PMCLUA_DATA_AT, PMCLUA_DATA_FED, PMCLUA_DATA_COMPUTING, PMCLUA_DATA_NO_OPERAND, PMCLUA_DATA_AMBIGUOUS, PMCLUA_DATA_LOST,
    PMCLUA_DATA_NO_CODE, PMCLUA_DATA_RECORDING
};

/* How an address was found: told by the event; by the registers, undone; computed anew; it is that of the next execution;
 * where a chain goes on; the array's beginning. The last two tell the object, and not the place in it. */
enum pmclua_data_certainty {
    PMCLUA_DATA_TOLD, PMCLUA_DATA_EXACT, PMCLUA_DATA_REDONE, PMCLUA_DATA_NEXT, PMCLUA_DATA_CHAIN, PMCLUA_DATA_BASE
};

struct pmclua_access {
    uint64_t address;              /* of a thread's own variables: from its thread pointer on */
    uint64_t start, bytes;         /* of what is mapped there; 0: nothing known */
    uint64_t offset;               /* of `address` in the mapped file */
    uint64_t number;               /* tells mappings apart, in the order in which they began */
    uint64_t source;               /* as a PMU tells it (perf_mem_data_src); 0 */
    uint64_t code_offset;          /* of the sample's instruction in file `code` */
    uint64_t time_ns;              /* of the sample */
    uint32_t file, code;           /* counted from 1 as in the block; 0: nothing is mapped there that is known */
    uint32_t kind, certainty, size, is_write;
    uint32_t is_of_thread, is_stack;    /* variables of a thread; a stack */
    uint32_t is_in_frame;          /* of a stack: in the frame of the sample's function */
    uint32_t is_behind_file;       /* mapped behind `file`, whose zeroed variables may be there */
    uint32_t is_block;             /* a block of the heap: `start`, `bytes` are its */
    uint32_t site;                 /* of a block: for pmclua_data_site; 0: unknown */
    uint32_t cpu;                  /* where the event told the address */
    uint32_t pid, tid;
};

/* The samples of a block that was made with PMCLUA_DATA, which stays the caller's until the end. */
struct pmclua_data;
/* -EINVAL: the block has no such samples; -ENOMEM. Freed by pmclua_data_close. */
int pmclua_data_open(struct pmclua_data **data, const uint64_t *block);
void pmclua_data_close(struct pmclua_data *data);
/* Sets the symbols from which code of a file (counted from 1 as in the block) is read; they stay the caller's. */
void pmclua_data_code(struct pmclua_data *data, uint32_t file, struct pmclua_symbols *symbols);
/* Facts about a log of allocations: events kept and lost, processes that wrote, blocks whose site was lost, programs of another
 * PID namespace, which wrote nothing. */
struct pmclua_heap { uint64_t events, lost, processes, sites_lost, elsewhere; };
/* Makes an empty log for what will be run, in place of an older one, and reserves its room, or -ENOSPC. */
int pmclua_heap_make(const char *path);
/* The log of what still runs: the blocks that there are at this moment. As blocks of pmclua_data_heap are opened. */
struct pmclua_live;
struct pmclua_block { uint64_t address, bytes, time_ns; };
int pmclua_live_open(struct pmclua_live **live, const char *path);
void pmclua_live_close(struct pmclua_live *live);
/* Return addresses of site `number` of the log, innermost first, PMCLUA_SITE_FRAMES at most: how many; 0: there is none. */
uint32_t pmclua_live_site(const struct pmclua_live *live, uint32_t number, uint64_t *frame);
/* Blocks of a process of these sites, by address, and its parent's that it has from a fork: how many, `room` at most; -ENOMEM. */
int64_t pmclua_live_blocks(const struct pmclua_live *live, uint32_t pid, const uint32_t *site, size_t sites,
                           struct pmclua_block *block, size_t room);
/* Blocks of the heap are found by this log, too. -EINVAL: it is no log; -ENOMEM; as of opening a file. */
int pmclua_data_heap(struct pmclua_data *data, const char *path, struct pmclua_heap *facts);
/* Where blocks are allocated: return addresses, innermost first, by file (from 1; 0: unknown) and offset. */
enum { PMCLUA_SITE_FRAMES = 16 };
struct pmclua_site { uint32_t frames, file[PMCLUA_SITE_FRAMES]; uint64_t offset[PMCLUA_SITE_FRAMES]; };
/* Site `number` of the accesses that were found; -ENOENT. */
int pmclua_data_site(const struct pmclua_data *data, uint32_t number, struct pmclua_site *site);
/* Finds what each sample accessed, in their order: as many as the block has records. -ENOMEM; -ELIBACC: no Capstone. */
int pmclua_data_find(struct pmclua_data *data, struct pmclua_access *accesses);

/* A sample of a machine's code that is here as bytes: EM_X86_64 or EM_AARCH64; registers as the machine numbers them (rax rcx rdx
 * rbx rsp …; x0 to x30, sp), `known` of them as bits; the stack from its pointer on. */
struct pmclua_recorded {
    const uint8_t *code;
    uint64_t start, bytes, instruction;        /* addresses */
    const uint64_t *general;                   /* 32 */
    uint64_t known, flags;
    const uint64_t *stack;
    uint64_t stack_pointer, stack_bytes;
    int32_t machine;
};
/* Finds the access of its instruction. -ENOMEM, -ELIBACC. */
int pmclua_data_trace(const struct pmclua_recorded *recorded, struct pmclua_access *access);

/* A variable of a file that may be accessed. */
struct pmclua_variable { uint64_t address, bytes, offset; const char *name; int32_t is_of_threads; };
/* The variable that has the byte at an offset in the file: in `variable` its name, which lives until the symbols are closed,
 * and how far into it that is. What follows a file in memory counts as its zeroed variables do. -ENOENT: none; -ENOMEM. */
int pmclua_symbols_variable(struct pmclua_symbols *symbols, uint64_t offset, struct pmclua_variable *variable);
/* The same of a variable of threads, by its distance from the thread pointer: of the program alone. */
int pmclua_symbols_thread_variable(struct pmclua_symbols *symbols, int64_t distance, struct pmclua_variable *variable);

/* The member that has a byte of a variable, as it is written behind the variable's name: "[3].hits", "" where it has none.
 * `offset`: of the byte in it; is_padding: it belongs to none of the last structure's. */
struct pmclua_member { char name[512]; uint64_t offset; int32_t is_padding; };
/* By the debug information; elements of arrays that have more than `most` are all called "[]". -ENODATA: it does not have the
 * variable; -ENAMETOOLONG; -ENOMEM. */
int pmclua_symbols_member(struct pmclua_symbols *symbols, const struct pmclua_variable *variable, uint64_t most,
                          struct pmclua_member *member);

/* Where samples of an event stand on this CPU. Walks a chain of loads for some milliseconds: `behind` of `samples` stand
 * directly behind the load. -errno as of opening it, or of its ring (has_no_ring); -ENOTSUP: not on this kind of machine. */
struct pmclua_skid { uint64_t samples, behind; int32_t has_no_ring; };
int pmclua_skid_test(const struct pmclua_attr *attr, uint64_t period, uint32_t milliseconds, struct pmclua_skid *skid);

/* FFI-END */
