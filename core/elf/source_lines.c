/*
 * source_lines.c: the source lines of a unit's code, as its line program in .debug_line gives them.
 *
 * libdw sorts the rows of all sequences together. What a linker left out keeps its sequence, at address 0, and in a
 * program that is loaded anywhere code begins so low that its rows would then stand among those of code that is there.
 * So sequences stay apart here. Everything read is checked: a damaged program ends where it is damaged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/lists.h"
#include "symbols.h"

struct sequence { uint64_t start, end; size_t first, count; };

struct lines {
    struct source_line *line;      /* by sequence; of each by address */
    struct sequence *sequence;     /* by start */
    size_t lines, sequences;
};

void lines_free(struct lines *lines)
{
    if (!lines)
        return;
    free(lines->line);
    free(lines->sequence);
    free(lines);
}

/* ---- reading ---- */

struct bytes { const uint8_t *at, *end; };

/* A number of at most 8 bytes; 0 where the bytes end before. */
static uint64_t take(struct bytes *bytes, size_t count)
{
    uint64_t value = 0;
    size_t left = (size_t)(bytes->end - bytes->at);
    if (count <= sizeof value && count <= left)
        memcpy(&value, bytes->at, count);
    bytes->at += count < left ? count : left;
    return value;
}

static uint64_t take_unsigned(struct bytes *bytes)
{
    uint64_t value = 0;
    for (unsigned shift = 0; bytes->at < bytes->end; shift += 7) {
        uint8_t byte = *bytes->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

static int64_t take_signed(struct bytes *bytes)
{
    uint64_t value = 0;
    for (unsigned shift = 0; bytes->at < bytes->end;) {
        uint8_t byte = *bytes->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if (shift < 64 && (byte & 0x40))
            value |= ~(uint64_t)0 << shift;
        break;
    }
    return (int64_t)value;
}

/* ---- the program ---- */

enum { COPY = 1, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC = 8, FIXED_ADVANCE_PC };
enum { END_SEQUENCE = 1, SET_ADDRESS };

struct program {
    struct bytes code;
    const uint8_t *operands;       /* of standard opcodes, from 1 */
    uint8_t shortest, line_range, opcode_base;
    int8_t line_base;
    struct source_line row;
    size_t first;                  /* line of the sequence that is read */
};

/* From the header at an offset in .debug_line; 0: none that is understood. */
static int open_program(struct program *program, const Elf_Data *section, uint64_t offset)
{
    if (!section->d_buf || offset >= section->d_size)
        return 0;
    const uint8_t *all = section->d_buf;
    struct bytes at = { all + offset, all + section->d_size };
    uint64_t length = take(&at, 4);
    size_t word = length == 0xffffffffu ? 8 : 4;
    if (word == 8)
        length = take(&at, 8);
    if (length > (size_t)(at.end - at.at))
        return 0;
    at.end = at.at + length;
    uint64_t version = take(&at, 2);
    if (version < 2 || version > 5)
        return 0;
    if (version == 5)
        take(&at, 2);                          /* sizes of addresses and of segment selectors */
    uint64_t rest = take(&at, word);
    if (rest > (size_t)(at.end - at.at))
        return 0;
    program->code = (struct bytes){ at.at + rest, at.end };
    program->shortest = (uint8_t)take(&at, 1);
    if (version >= 4)
        take(&at, 1);                          /* operations of an instruction */
    take(&at, 1);                              /* whether rows are statements at first */
    program->line_base = (int8_t)take(&at, 1);
    program->line_range = (uint8_t)take(&at, 1);
    program->opcode_base = (uint8_t)take(&at, 1);
    program->operands = at.at - 1;
    return program->line_range > 0 && program->opcode_base > 0 && at.at + program->opcode_base - 1 <= at.end;
}

static void begin_sequence(struct program *program, const struct lines *lines)
{
    program->row = (struct source_line){ .address = 0, .file = 1, .number = 1 };
    program->first = lines->lines;
}

static int add_row(struct lines *lines, const struct program *program)
{
    return LIST_ADD(lines->line, lines->lines, program->row);
}

/* Keeps the rows of a sequence of code that is there, in which addresses never go down. */
static int end_sequence(struct lines *lines, const struct program *program, const struct pmclua_symbols *symbols)
{
    size_t first = program->first, count = lines->lines - first;
    int is_kept = lines->line && count > 0 && units_have(symbols, lines->line[first].address, program->row.address);
    for (size_t i = first + 1; is_kept && i < lines->lines; i++)
        is_kept = lines->line[i].address >= lines->line[i - 1].address;
    if (!is_kept) {
        lines->lines = first;
        return 0;
    }
    struct sequence sequence = { lines->line[first].address, program->row.address, first, count };
    return LIST_ADD(lines->sequence, lines->sequences, sequence);
}

static int do_extended(struct lines *lines, struct program *program, const struct pmclua_symbols *symbols)
{
    uint64_t length = take_unsigned(&program->code);
    if (length == 0 || length > (size_t)(program->code.end - program->code.at)) {
        program->code.at = program->code.end;
        return 0;
    }
    struct bytes operands = { program->code.at, program->code.at + length };
    program->code.at += length;
    uint64_t opcode = take(&operands, 1);
    if (opcode == SET_ADDRESS)
        program->row.address = take(&operands, (size_t)(operands.end - operands.at));
    if (opcode != END_SEQUENCE)
        return 0;
    int result = end_sequence(lines, program, symbols);
    begin_sequence(program, lines);
    return result;
}

static void advance(struct program *program, uint64_t operations)
{
    program->row.address += operations * program->shortest;
}

static int do_standard(struct lines *lines, struct program *program, uint8_t opcode)
{
    switch (opcode) {
    case COPY:             return add_row(lines, program);
    case ADVANCE_PC:       advance(program, take_unsigned(&program->code)); break;
    case ADVANCE_LINE:     program->row.number += (int32_t)take_signed(&program->code); break;
    case SET_FILE:         program->row.file = (uint32_t)take_unsigned(&program->code); break;
    case CONST_ADD_PC:     advance(program, (uint64_t)(255 - program->opcode_base) / program->line_range); break;
    case FIXED_ADVANCE_PC: program->row.address += take(&program->code, 2); break;
    default:
        for (uint8_t i = program->operands[opcode]; i > 0; i--)
            take_unsigned(&program->code);
    }
    return 0;
}

static int do_special(struct lines *lines, struct program *program, uint8_t opcode)
{
    uint8_t adjusted = (uint8_t)(opcode - program->opcode_base);
    advance(program, adjusted / program->line_range);
    program->row.number += program->line_base + adjusted % program->line_range;
    return add_row(lines, program);
}

int lines_read(const struct pmclua_symbols *symbols, const Elf_Data *section, uint64_t offset, struct lines **out)
{
    struct program program = { .shortest = 0 };
    struct lines *lines = *out = calloc(1, sizeof *lines);
    int result = lines ? 0 : -ENOMEM;
    if (result < 0 || !open_program(&program, section, offset))
        return result;
    begin_sequence(&program, lines);
    while (result == 0 && program.code.at < program.code.end) {
        uint8_t opcode = *program.code.at++;
        if (opcode == 0)
            result = do_extended(lines, &program, symbols);
        else if (opcode < program.opcode_base)
            result = do_standard(lines, &program, opcode);
        else
            result = do_special(lines, &program, opcode);
    }
    list_sort(lines->sequence, lines->sequences, sizeof *lines->sequence);
    return result;
}

/* ---- finding ---- */

const struct source_line *lines_find(const struct lines *lines, uint64_t place, const struct source_line **beyond)
{
    size_t up_to = list_up_to(lines->sequence, lines->sequences, sizeof *lines->sequence, place);
    const struct sequence *sequence = up_to ? &lines->sequence[up_to - 1] : NULL;
    if (!sequence || place >= sequence->end)
        return NULL;
    const struct source_line *first = lines->line + sequence->first;
    *beyond = first + sequence->count;
    return first + list_up_to(first, sequence->count, sizeof *first, place) - 1;
}
