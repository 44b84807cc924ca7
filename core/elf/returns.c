/*
 * returns.c: where a function can be left: the return instructions in its code, by Capstone.
 *
 * A probe in the middle of an instruction corrupts the program. So a function with one unknown instruction has no known
 * returns, unless instructions have one size (arm64): there unknown ones are stepped over.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capstone.h"
#include "symbols.h"

/* ---- a stretch of code ---- */

struct code {
    struct disassembler with;
    uint64_t start, end;           /* addresses */
    uint64_t start_offset;         /* of `start` in the file */
    uint8_t *bytes;
};

static int is_in(const struct code *code, cs_group_type group)
{
    return capstone()->insn_group(code->with.handle, code->with.instruction, group);
}

/* Capstone does not count x86's loop, loope and loopne among the jumps. */
static int jumps(const struct code *code)
{
    unsigned id = code->with.instruction->id;
    return is_in(code, CS_GRP_JUMP) || (!code->with.step && (id == X86_INS_LOOP || id == X86_INS_LOOPE || id == X86_INS_LOOPNE));
}

static void close_code(struct code *code)
{
    disassembler_close(&code->with);
    free(code->bytes);
}

enum { LONGEST = 16 << 20 };       /* bytes of a function: more is not code */

static int open_code(struct code *code, const struct pmclua_symbols *symbols, const struct symbol *function)
{
    *code = (struct code){ .start = function->address, .end = function->address + function->bytes };
    int result = disassembler_open(&code->with, symbols->machine);
    if (result == 0 && (function->bytes == 0 || function->bytes > LONGEST))
        result = -ENODATA;
    if (result == 0)
        result = pmclua_symbols_offset(symbols, function->address, &code->start_offset);
    if (result < 0)
        return result;
    code->bytes = malloc(function->bytes);
    if (!code->bytes)
        return -ENOMEM;
    ssize_t got = pread(symbols->fd, code->bytes, function->bytes, (off_t)code->start_offset);
    return got == (ssize_t)function->bytes ? 0 : -EIO;
}

/* Where a direct jump leads; 0: it is no direct jump. */
static uint64_t target_of(const struct code *code)
{
    const cs_detail *detail = code->with.instruction->detail;
    if (!jumps(code))
        return 0;
    if (code->with.step) {
        uint8_t last = detail->arm64.op_count;
        const cs_arm64_op *operand = last ? &detail->arm64.operands[last - 1] : NULL;
        return operand && operand->type == ARM64_OP_IMM ? (uint64_t)operand->imm : 0;
    }
    int is_direct = detail->x86.op_count == 1 && detail->x86.operands[0].type == X86_OP_IMM;
    return is_direct ? (uint64_t)detail->x86.operands[0].imm : 0;
}

/* Jumps on a condition may stay; a probe on them would not know. */
static int is_unconditional(const struct code *code)
{
    const cs_insn *instruction = code->with.instruction;
    if (!code->with.step)
        return instruction->id == X86_INS_JMP;
    return instruction->id == ARM64_INS_B && (instruction->detail->arm64.cc == ARM64_CC_INVALID ||
                                              instruction->detail->arm64.cc == ARM64_CC_AL);
}

/* ---- exits ---- */

struct found {
    struct pmclua_exit *exits;
    int32_t count, size;
    struct pmclua_body *body;
    struct entry {
        uint64_t emulated;         /* the first instruction on the straight way that Linux emulates; 0: none */
        uint64_t target;           /* the lowest place behind the entry that is jumped to or called */
        int is_over;               /* the straight way has ended */
        int is_unsure;             /* it jumps through a pointer: it may go anywhere in itself */
    } entry;
};

static void add_exit(struct found *found, const struct code *code, uint32_t kind)
{
    if (found->count < found->size)
        found->exits[found->count] = (struct pmclua_exit){
            code->with.instruction->address - code->start + code->start_offset, kind };
    found->count++;
}

/* The function's own cold part, which the linker put elsewhere; NULL: the target is something else. */
static const struct symbol *cold_part(const struct pmclua_symbols *symbols, const struct symbol *function,
                                      uint64_t target)
{
    size_t length = strlen(function->name);
    for (int32_t i = 0; i < symbols->count; i++) {
        const struct symbol *other = &symbols->symbol[i];
        if (target - other->address < other->bytes && strncmp(other->name, function->name, length) == 0 &&
            strncmp(other->name + length, ".cold", 5) == 0)
            return other;
    }
    return NULL;
}

static void take_jump(struct found *found, const struct code *code, const struct pmclua_symbols *symbols,
                      const struct symbol *function, const struct symbol **cold)
{
    uint64_t target = target_of(code);
    if (target == 0)
        found->body->jumps_out |= jumps(code);
    if (target == 0 || target - code->start < code->end - code->start) {
        found->body->loops_to_entry |= target == function->address;
        return;
    }
    if (target - function->address < function->bytes) {
        found->body->loops_to_entry |= target == function->address;   /* back from the cold part */
        return;
    }
    const struct symbol *part = cold_part(symbols, function, target);
    if (part)
        *cold = part;
    else if (is_unconditional(code))
        add_exit(found, code, PMCLUA_EXIT_TAIL);
    else
        found->body->jumps_out = 1;
}

/* ---- where a probe at the entry costs least ---- */

/* Whether every Linux in use emulates this x86-64 instruction when it is probed; it steps the others. */
static int is_emulated(const cs_insn *instruction)
{
    const uint8_t *byte = instruction->bytes;
    switch (instruction->size) {
    case 1: return (byte[0] & 0xf8) == 0x50 || byte[0] == 0x90;                    /* push, nop */
    case 2: return (byte[0] == 0x41 && (byte[1] & 0xf8) == 0x50)                   /* push %r8 … */
                   || (byte[0] & 0xf0) == 0x70 || byte[0] == 0xeb;                 /* jumps */
    case 5: return byte[0] == 0xe8 || byte[0] == 0xe9;                             /* call, jmp */
    case 6: return byte[0] == 0x0f && (byte[1] & 0xf0) == 0x80;
    default: return 0;
    }
}

/* Whether it may fault, or moves the stack pointer: a call's counts would differ behind it. */
static int changes_calls(const struct code *code)
{
    const cs_detail *detail = code->with.instruction->detail;
    const cs_x86 *x86 = &detail->x86;
    for (uint8_t i = 0; i < detail->regs_write_count; i++)
        if (detail->regs_write[i] == X86_REG_RSP)
            return 1;
    for (uint8_t i = 0; i < x86->op_count; i++) {
        const cs_x86_op *operand = &x86->operands[i];
        int is_nothing = code->with.instruction->id == X86_INS_LEA || code->with.instruction->id == X86_INS_NOP;
        int is_stack = operand->type == X86_OP_REG && (operand->reg == X86_REG_RSP || operand->reg == X86_REG_ESP ||
                                                       operand->reg == X86_REG_SP);
        if ((operand->type == X86_OP_MEM && !is_nothing) || (is_stack && i == 0))
            return 1;
    }
    return 0;
}

/* Code that every call executes ends at a jump, call, return or system call. */
static void follow_entry(struct entry *entry, const struct code *code, const struct symbol *function)
{
    int is_jump = jumps(code), calls = is_in(code, CS_GRP_CALL);
    const cs_x86 *detail = &code->with.instruction->detail->x86;
    int is_direct = detail->op_count == 1 && detail->operands[0].type == X86_OP_IMM;
    uint64_t target = is_direct ? (uint64_t)detail->operands[0].imm : 0;
    int is_within = target - function->address < function->bytes;
    if ((is_jump || calls) && is_within && target != function->address && (!entry->target || target < entry->target))
        entry->target = target;
    entry->is_unsure |= is_jump && !is_direct;
    if (entry->is_over || code->start != function->address)
        return;
    if (is_emulated(code->with.instruction) && (!is_jump || is_within))
        entry->emulated = code->with.instruction->address;
    entry->is_over = entry->emulated || is_jump || calls || is_in(code, CS_GRP_RET) || is_in(code, CS_GRP_INT) ||
                     changes_calls(code);
}

/* Whether another function, or another name with a place of its own, begins behind the entry and not behind `address`. */
static int is_entered_before(const struct pmclua_symbols *symbols, const struct symbol *function, uint64_t address)
{
    for (int32_t i = 0; i < symbols->count; i++)
        if (symbols->symbol[i].address > function->address && symbols->symbol[i].address <= address)
            return 1;
    return 0;
}

/* Where bytes at `at` lead if they are a jump or a call, relative to `at`; 0: they are neither. */
static int64_t leads(const uint8_t *at, size_t left)
{
    size_t opcodes = at[0] == 0x0f && left > 1 && (at[1] & 0xf0) == 0x80 ? 2 : at[0] == 0xe8 || at[0] == 0xe9;
    int32_t far;
    if (opcodes && left >= opcodes + sizeof far) {
        memcpy(&far, at + opcodes, sizeof far);
        return (int64_t)opcodes + (int64_t)sizeof far + far;
    }
    return left > 1 && (at[0] == 0xeb || (at[0] & 0xf0) == 0x70 || (at[0] & 0xfc) == 0xe0) ? 2 + (int8_t)at[1] : 0;
}

/* Whether bytes anywhere in the function's section would jump behind its entry and not behind `address`. They may be
 * no jump: then a probe is stepped that need not be. */
static int is_jumped_into(const struct pmclua_symbols *symbols, const struct symbol *function, uint64_t address)
{
    const struct section *section = symbols_section(symbols, function->address);
    uint64_t offset, bytes = section ? section->end - section->start : 0;
    if (bytes == 0 || bytes > LONGEST || pmclua_symbols_offset(symbols, section->start, &offset) < 0)
        return 1;
    uint8_t *text = malloc(bytes);
    int is_hit = !text || pread(symbols->fd, text, bytes, (off_t)offset) != (ssize_t)bytes;
    for (uint64_t i = 0; i < bytes && !is_hit; i++) {
        int64_t far = leads(text + i, bytes - i);
        is_hit = far && section->start + i + (uint64_t)far - function->address - 1 < address - function->address;
    }
    free(text);
    return is_hit;
}

static void place_probe(const struct entry *entry, const struct pmclua_symbols *symbols,
                        const struct symbol *function, uint64_t offset, struct pmclua_body *body)
{
    uint64_t into = entry->emulated - function->address;
    int is_sure = into == 0 || (!entry->is_unsure && (!entry->target || entry->target > entry->emulated) &&
                                !is_entered_before(symbols, function, entry->emulated) &&
                                !is_jumped_into(symbols, function, entry->emulated));
    body->is_stepped = !entry->emulated || !is_sure;
    if (!body->is_stepped)
        body->probe_at = offset + into;
}

/* ---- the whole of a function ---- */

/* Return and authenticate (Armv8.3), which Capstone 4 does not know. */
static int is_authenticated_return(const uint8_t *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return (word & 0xfffffbffu) == 0xd65f0bffu;
}

static int take_all(struct found *found, struct code *code, const struct pmclua_symbols *symbols,
                    const struct symbol *function, const struct symbol **cold)
{
    const uint8_t *place = code->bytes;
    size_t left = code->end - code->start;
    uint64_t address = code->start;
    while (left > 0) {
        if (capstone()->disasm_iter(code->with.handle, &place, &left, &address, code->with.instruction)) {
            if (symbols->machine == EM_X86_64)
                follow_entry(&found->entry, code, function);
            if (is_in(code, CS_GRP_RET))
                add_exit(found, code, PMCLUA_EXIT_RETURN);
            else if (is_in(code, CS_GRP_CALL))
                found->body->calls = 1;
            else
                take_jump(found, code, symbols, function, cold);
            continue;
        }
        if (!code->with.step || left < (size_t)code->with.step) {
            found->body->unknown_at = address;
            return -EILSEQ;
        }
        code->with.instruction->address = address;
        if (is_authenticated_return(place))
            add_exit(found, code, PMCLUA_EXIT_RETURN);
        place += code->with.step;
        left -= (size_t)code->with.step;
        address += (uint64_t)code->with.step;
    }
    return 0;
}

int32_t pmclua_symbols_exits(struct pmclua_symbols *symbols, int32_t index, struct pmclua_exit *exits,
                             int32_t size, struct pmclua_body *body)
{
    if (index < 0 || index >= symbols->count)
        return -ENOENT;
    const struct symbol *function = &symbols->symbol[index], *part = function, *cold = NULL;
    *body = (struct pmclua_body){ 0 };
    struct found found = { .exits = exits, .size = size, .body = body };
    uint64_t offset = 0;
    int parts = 0;
    do {
        struct code code;
        int result = open_code(&code, symbols, part);
        if (result == 0)
            result = take_all(&found, &code, symbols, function, &cold);
        close_code(&code);
        if (result < 0)
            return result;
        if (part == function)
            offset = code.start_offset;
    } while ((part = cold) && ++parts < 2);
    if (symbols->machine == EM_X86_64)
        place_probe(&found.entry, symbols, function, offset, body);
    return found.count;
}

/* ---- one instruction ---- */

#if defined __x86_64__
enum { OWN_MACHINE = EM_X86_64 };
#elif defined __aarch64__
enum { OWN_MACHINE = EM_AARCH64 };
#else
enum { OWN_MACHINE = EM_NONE };
#endif

/* Interrupts, system calls, what is for Linux alone, and what repeats as often as a register says. */
static int asks_for_more(const struct code *code)
{
    const uint8_t *opcode = code->with.instruction->detail->x86.opcode;
    uint8_t repeat = code->with.instruction->detail->x86.prefix[0];
    int is_string = (opcode[0] >= 0xa4 && opcode[0] <= 0xaf) || (opcode[0] >= 0x6c && opcode[0] <= 0x6f);
    return is_in(code, CS_GRP_INT) || is_in(code, CS_GRP_IRET) || is_in(code, CS_GRP_PRIVILEGE) ||
           (opcode[0] == 0x0f && (opcode[1] == 0x05 || opcode[1] == 0x34)) ||
           (is_string && (repeat == 0xf2 || repeat == 0xf3));
}

static void describe_x86(const struct code *code, struct pmclua_instruction *out)
{
    const cs_x86 *detail = &code->with.instruction->detail->x86;
    int leads_away = jumps(code) || is_in(code, CS_GRP_CALL);
    if (is_in(code, CS_GRP_RET)) {
        out->flags = PMCLUA_INSTRUCTION_RETURN;
    } else if (leads_away && detail->op_count == 1 && detail->operands[0].type == X86_OP_IMM) {
        out->flags = PMCLUA_INSTRUCTION_JUMP;
        int is_near = detail->opcode[0] == 0x0f || detail->opcode[0] == 0xe8 || detail->opcode[0] == 0xe9;
        out->relative_bytes = is_near ? 4 : 1;
        out->relative = out->size - out->relative_bytes;
    } else if (leads_away || asks_for_more(code)) {
        out->flags = PMCLUA_INSTRUCTION_UNFIT;
    }
    for (uint8_t i = 0; i < detail->op_count; i++) {
        if (detail->operands[i].type != X86_OP_MEM || detail->operands[i].mem.base != X86_REG_RIP)
            continue;
        out->flags |= PMCLUA_INSTRUCTION_MEMORY;
        out->relative = detail->encoding.disp_offset;
        out->relative_bytes = detail->encoding.disp_size;
    }
}

static void describe_arm64(const struct code *code, struct pmclua_instruction *out)
{
    uint32_t word;
    memcpy(&word, out->bytes, sizeof word);
    if (is_in(code, CS_GRP_RET) || is_authenticated_return(out->bytes))
        out->flags = PMCLUA_INSTRUCTION_RETURN;
    else if ((word & 0xfe000000u) == 0xd6000000u || (word & 0xff000000u) == 0xd4000000u)
        out->flags = PMCLUA_INSTRUCTION_UNFIT;     /* through a register; exceptions */
    else if (is_in(code, CS_GRP_CALL) || jumps(code))
        out->flags = PMCLUA_INSTRUCTION_JUMP;
    else if ((word & 0x3b000000u) == 0x18000000u)
        out->flags = PMCLUA_INSTRUCTION_MEMORY;    /* a load relative to it */
}

static int read_instruction(struct code *code, const uint8_t *bytes, size_t count, uint64_t offset,
                            struct pmclua_instruction *out)
{
    const uint8_t *place = bytes;
    size_t left = count;
    uint64_t address = offset;
    int is_known = capstone()->disasm_iter(code->with.handle, &place, &left, &address, code->with.instruction);
    if (!is_known && (!code->with.step || count < (size_t)code->with.step))
        return -EILSEQ;
    *out = (struct pmclua_instruction){ .size = is_known ? code->with.instruction->size : (uint32_t)code->with.step };
    memcpy(out->bytes, bytes, out->size);
    if (is_known)
        snprintf(out->text, sizeof out->text, "%s%s%s", code->with.instruction->mnemonic,
                 code->with.instruction->op_str[0] ? " " : "", code->with.instruction->op_str);
    if (is_known && code->with.step)
        describe_arm64(code, out);
    else if (is_known)
        describe_x86(code, out);
    else if (is_authenticated_return(bytes))
        out->flags = PMCLUA_INSTRUCTION_RETURN;
    return 0;
}

int pmclua_symbols_instruction(struct pmclua_symbols *symbols, uint64_t offset, struct pmclua_instruction *out)
{
    uint8_t bytes[16];
    if (symbols->machine != OWN_MACHINE)
        return -ENOTSUP;
    ssize_t got = pread(symbols->fd, bytes, sizeof bytes, (off_t)offset);
    return pmclua_instruction(bytes, got > 0 ? (size_t)got : 0, offset, out);
}

int pmclua_instruction(const uint8_t *bytes, uint64_t count, uint64_t offset, struct pmclua_instruction *out)
{
    struct code code = { 0 };
    int result = disassembler_open(&code.with, OWN_MACHINE);
    if (result == 0)
        result = read_instruction(&code, bytes, count, offset, out);
    close_code(&code);
    return result;
}
