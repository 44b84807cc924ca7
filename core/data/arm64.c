/*
 * arm64.c: instructions of arm64 as steps. Capstone 4 does not know the atomic ones of Armv8.1 and 8.3: those are decoded here.
 */
#include <string.h>

#include "step.h"

enum { ZERO = 31 };                /* as the number of an operand: reads as 0; of a base: the stack pointer */

/* ---- registers ---- */

static int8_t general(unsigned name)
{
    if (name >= ARM64_REG_X0 && name <= ARM64_REG_X28)
        return (int8_t)(name - ARM64_REG_X0);
    if (name >= ARM64_REG_W0 && name <= ARM64_REG_W30)
        return (int8_t)(name - ARM64_REG_W0);
    return name == ARM64_REG_X29 ? 29 : name == ARM64_REG_X30 ? 30 : name == ARM64_REG_SP || name == ARM64_REG_WSP ? ARM64_STACK : NONE;
}

/* First registers of each width, and its bytes. */
static const struct { unsigned first; uint8_t bytes; } WIDTHS[] = {
    { ARM64_REG_B0, 1 }, { ARM64_REG_H0, 2 }, { ARM64_REG_S0, 4 }, { ARM64_REG_D0, 8 }, { ARM64_REG_Q0, 16 }, { ARM64_REG_V0, 16 },
};

static int vector(unsigned name, uint8_t *bytes)
{
    for (size_t i = 0; i < sizeof WIDTHS / sizeof *WIDTHS; i++)
        if (name >= WIDTHS[i].first && name < WIDTHS[i].first + 32) {
            *bytes = WIDTHS[i].bytes;
            return (int)(name - WIDTHS[i].first);
        }
    return NONE;
}

static int is_word(unsigned name)
{
    return (name >= ARM64_REG_W0 && name <= ARM64_REG_W30) || name == ARM64_REG_WZR || name == ARM64_REG_WSP;
}

static uint64_t bit_of(unsigned name)
{
    uint8_t bytes;
    int8_t own = general(name);
    if (own != NONE)
        return BIT(own);
    int number = vector(name, &bytes);
    return number == NONE ? 0 : BIT(VECTORS + number);
}

/* ---- kinds ---- */

static int begins(const cs_insn *instruction, const char *with) { return strncmp(instruction->mnemonic, with, strlen(with)) == 0; }

static uint8_t kind_of(const cs_insn *instruction)
{
    switch (instruction->id) {
    case ARM64_INS_SDIV: case ARM64_INS_UDIV: case ARM64_INS_FDIV: case ARM64_INS_FSQRT:
        return STEP_COMPUTING;
    case ARM64_INS_NOP: case ARM64_INS_HINT: case ARM64_INS_YIELD:
        return STEP_NOTHING;
    case ARM64_INS_B:
        return instruction->detail->arm64.cc == ARM64_CC_INVALID || instruction->detail->arm64.cc == ARM64_CC_AL ? STEP_JUMP : STEP_BRANCH;
    case ARM64_INS_BR:
        return STEP_JUMP;
    case ARM64_INS_CBZ: case ARM64_INS_CBNZ: case ARM64_INS_TBZ: case ARM64_INS_TBNZ:
        return STEP_BRANCH;
    case ARM64_INS_BL: case ARM64_INS_BLR: case ARM64_INS_SVC: case ARM64_INS_BRK:
        return STEP_CALL;
    case ARM64_INS_RET:
        return STEP_RETURN;
    default:
        return STEP_OTHER;
    }
}

/* ---- memory ---- */

/* The bytes that a load or store moves by one register. */
static uint8_t bytes_of(const cs_insn *instruction, unsigned name)
{
    size_t length = strlen(instruction->mnemonic);
    uint8_t bytes = 8;
    char last = instruction->mnemonic[length - 1];
    if (begins(instruction, "prfm"))
        return 1;
    if (vector(name, &bytes) != NONE)
        return bytes;
    if (instruction->id == ARM64_INS_LDPSW || (last == 'w' && begins(instruction, "ld")))
        return 4;
    return last == 'b' ? 1 : last == 'h' ? 2 : is_word(name) ? 4 : 8;
}

static void take_place(const cs_insn *instruction, const cs_arm64_op *memory, struct step *step)
{
    const cs_arm64 *detail = &instruction->detail->arm64;
    int is_store = begins(instruction, "st"), has_status = begins(instruction, "stx") || begins(instruction, "stlx");
    uint32_t bytes = 0;
    for (const cs_arm64_op *operand = detail->operands + has_status; operand < memory; operand++)
        bytes += operand->type == ARM64_OP_REG ? bytes_of(instruction, operand->reg) : 1;
    int is_indexed = memory->mem.index != ARM64_REG_INVALID;
    int is_behind = detail->writeback && memory + 1 < detail->operands + detail->op_count;      /* the base moves on afterwards */
    step->place = (struct place){ .base = general(memory->mem.base), .index = is_indexed ? general(memory->mem.index) : NONE,
        .scale = (uint8_t)(1u << (memory->shift.type == ARM64_SFT_LSL ? memory->shift.value & 7 : 0)),
        .bytes = (uint8_t)(bytes ? bytes : 1), .is_read = !is_store, .is_written = (uint8_t)is_store,
        .displacement = is_behind ? 0 : memory->mem.disp };
    if (is_indexed && is_word(memory->mem.index))
        step->place.index_form = memory->ext == ARM64_EXT_SXTW ? INDEX_SIGNED : INDEX_UNSIGNED;
}

/* ---- values ---- */

/* a + b, a - b; b may be shifted to the left, or a constant. */
static void take_sum(const cs_arm64 *detail, struct step *step, int sign)
{
    const cs_arm64_op *a = &detail->operands[1], *b = &detail->operands[2];
    if (detail->op_count != 3 || a->type != ARM64_OP_REG || general(a->reg) == NONE)
        return;
    unsigned shift = b->shift.type == ARM64_SFT_LSL ? b->shift.value : 0;
    if (b->type == ARM64_OP_IMM)
        step_add(step, general(a->reg), NONE, 0, sign * (b->imm << shift));
    else if (b->type == ARM64_OP_REG && general(b->reg) != NONE && b->ext == ARM64_EXT_INVALID && shift < 7
             && (b->shift.type == ARM64_SFT_INVALID || b->shift.type == ARM64_SFT_LSL))
        step_add(step, general(a->reg), general(b->reg), sign * (1 << shift), 0);
}

static void take_move(const cs_arm64_op *from, struct step *step)
{
    if (from->type == ARM64_OP_IMM)
        step_add(step, NONE, NONE, 0, from->shift.type == ARM64_SFT_LSL ? from->imm << from->shift.value : from->imm);
    else if (from->type == ARM64_OP_REG && (from->reg == ARM64_REG_XZR || from->reg == ARM64_REG_WZR))
        step_add(step, NONE, NONE, 0, 0);
    else if (from->type == ARM64_OP_REG && general(from->reg) != NONE)
        step_add(step, general(from->reg), NONE, 0, 0);
}

static void take_value(const cs_insn *instruction, struct step *step)
{
    const cs_arm64 *detail = &instruction->detail->arm64;
    const cs_arm64_op *first = &detail->operands[0], *second = &detail->operands[1], *third = &detail->operands[2];
    if (detail->op_count < 2 || first->type != ARM64_OP_REG || general(first->reg) == NONE || !(step->writes & bit_of(first->reg)))
        return;
    step->to = general(first->reg);
    step->is_half = (uint8_t)is_word(first->reg);
    int has_constant = detail->op_count == 3 && second->type == ARM64_OP_REG && third->type == ARM64_OP_IMM
        && general(second->reg) != NONE;
    switch (instruction->id) {
    case ARM64_INS_MOV: case ARM64_INS_MOVZ: take_move(second, step); break;
    case ARM64_INS_SXTW:
        step->is_half = step->is_signed = 1;
        take_move(second, step);
        break;
    case ARM64_INS_ADR: case ARM64_INS_ADRP:
        step_add(step, NONE, NONE, 0, second->imm);
        step->is_constant_of_file = 1;
        break;
    case ARM64_INS_ADD: take_sum(detail, step, 1); break;
    case ARM64_INS_SUB: take_sum(detail, step, -1); break;
    case ARM64_INS_LSL: if (has_constant) step_form(step, FORM_LEFT, general(second->reg), third->imm); break;
    case ARM64_INS_LSR: if (has_constant) step_form(step, FORM_RIGHT, general(second->reg), third->imm); break;
    case ARM64_INS_AND: if (has_constant) step_form(step, FORM_AND, general(second->reg), third->imm); break;
    case ARM64_INS_LDR: case ARM64_INS_LDUR: case ARM64_INS_LDRB: case ARM64_INS_LDRH: case ARM64_INS_LDAR: step->load = 1; break;
    case ARM64_INS_LDRSW: case ARM64_INS_LDURSW: step->load = 2; break;
    default: break;
    }
}

/* The base moves: that is what can be undone. */
static void take_writeback(const cs_arm64 *detail, const cs_arm64_op *memory, struct step *step)
{
    const cs_arm64_op *behind = memory + 1;
    int is_behind = behind < detail->operands + detail->op_count;
    if (step->place.base == NONE || (is_behind && behind->type != ARM64_OP_IMM))
        return;
    step->to = step->place.base;
    step->load = step->is_half = 0;
    step_add(step, step->place.base, NONE, 0, is_behind ? behind->imm : memory->mem.disp);
}

/* ---- operands ---- */

static int is_only_read(const cs_insn *instruction)
{
    return begins(instruction, "st") || begins(instruction, "prfm") || begins(instruction, "cb") || begins(instruction, "tb")
        || begins(instruction, "cmp") || begins(instruction, "cmn") || begins(instruction, "tst") || begins(instruction, "fcmp")
        || begins(instruction, "ccm") || begins(instruction, "b");
}

static void take_registers(const cs_insn *instruction, struct step *step)
{
    const cs_arm64 *detail = &instruction->detail->arm64;
    int is_load = begins(instruction, "ld"), has_status = begins(instruction, "stx") || begins(instruction, "stlx");
    for (uint8_t i = 0, is_before = 1; i < detail->op_count; i++) {
        const cs_arm64_op *operand = &detail->operands[i];
        if (operand->type == ARM64_OP_MEM) {
            step->reads |= bit_of(operand->mem.base) | bit_of(operand->mem.index);
            is_before = 0;
        }
        if (operand->type != ARM64_OP_REG)
            continue;
        int is_written = is_load ? is_before : has_status ? i == 0 : i == 0 && !is_only_read(instruction);
        if (is_written)
            step->writes |= bit_of(operand->reg);
        if (!is_written || (operand->access & CS_AC_READ))
            step->reads |= bit_of(operand->reg);
    }
}

void arm64_step(const struct disassembler *with, struct step *step)
{
    const cs_insn *instruction = with->instruction;
    const cs_arm64 *detail = &instruction->detail->arm64;
    const cs_arm64_op *last = detail->op_count ? &detail->operands[detail->op_count - 1] : NULL, *memory = NULL;
    step->kind = kind_of(instruction);
    step->is_fused = detail->update_flags;
    if ((step->kind == STEP_JUMP || step->kind == STEP_BRANCH) && last && last->type == ARM64_OP_IMM)
        step->target = (uint64_t)last->imm;
    take_registers(instruction, step);
    for (uint8_t i = 0; i < detail->op_count; i++)
        if (detail->operands[i].type == ARM64_OP_MEM)
            memory = &detail->operands[i];
    if (memory)
        take_place(instruction, memory, step);
    take_value(instruction, step);
    if (memory && detail->writeback) {
        step->writes |= bit_of(memory->mem.base);
        take_writeback(detail, memory, step);
    }
}

/* ---- atomic instructions ---- */

static uint64_t bit_at(uint32_t word, int low)
{
    uint32_t number = word >> low & 31;
    return number == ZERO ? 0 : BIT(number);
}

static void put_atomic(struct step *step, uint32_t word, unsigned bytes, int reads, int writes, int64_t displacement)
{
    uint32_t base = word >> 5 & 31;
    step->kind = STEP_OTHER;
    step->place = (struct place){ .base = (int8_t)base, .index = NONE, .scale = 1, .bytes = (uint8_t)bytes,
        .is_read = (uint8_t)reads, .is_written = (uint8_t)writes, .displacement = displacement };
    step->reads = BIT(base);
    if (reads)
        step->writes = bit_at(word, 0);
}

/* By the Arm Architecture Reference Manual, C4.1: loads and stores. */
int arm64_atomic(uint32_t word, struct step *step)
{
    unsigned bytes = 1u << (word >> 30);
    if ((word & 0x3ffffc00) == 0x38bfc000)             /* ldapr */
        put_atomic(step, word, bytes, 1, 0, 0);
    else if ((word & 0x3f200c00) == 0x38200000) {      /* ldadd, ldclr, ldeor, ldset, ldsmax …, swp, stadd … */
        put_atomic(step, word, bytes, 1, 1, 0);
        step->reads |= bit_at(word, 16);
    } else if ((word & 0x3fa07c00) == 0x08a07c00) {    /* cas: the compared register is what is read */
        put_atomic(step, word, bytes, 1, 1, 0);
        step->writes = bit_at(word, 16);
        step->reads |= bit_at(word, 16) | bit_at(word, 0);
    } else if ((word & 0xbfa07c00) == 0x08207c00) {    /* casp: a pair of each */
        put_atomic(step, word, word >> 30 ? 16 : 8, 1, 1, 0);
        step->writes = bit_at(word, 16) | bit_at(word, 16) << 1;
        step->reads |= step->writes | bit_at(word, 0) | bit_at(word, 0) << 1;
    } else if ((word & 0x3f200c00) == 0x19000000) {    /* stlur, ldapur */
        int is_load = (word >> 22 & 3) != 0;
        int64_t displacement = (int64_t)((word >> 12 & 0x1ff) ^ 0x100) - 0x100;
        put_atomic(step, word, bytes, is_load, !is_load, displacement);
        if (!is_load)
            step->reads |= bit_at(word, 0);
    } else
        return 0;
    return 1;
}
