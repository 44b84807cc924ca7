/*
 * x86.c: instructions of x86-64 as steps.
 */
#include <string.h>

#include "step.h"

/* ---- registers ---- */

/* Capstone's names of one register, of 8 to 64 bits. */
static const struct { uint16_t names[5]; int8_t number; } GENERALS[] = {
    { { X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH }, 0 },
    { { X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH }, 1 },
    { { X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH }, 2 },
    { { X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH }, 3 },
    { { X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL }, 4 },
    { { X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL }, 5 },
    { { X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL }, 6 },
    { { X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL }, 7 },
    { { X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B }, 8 },
    { { X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B }, 9 },
    { { X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B }, 10 },
    { { X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B }, 11 },
    { { X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B }, 12 },
    { { X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B }, 13 },
    { { X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B }, 14 },
    { { X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B }, 15 },
};

static int8_t general(unsigned name)
{
    for (size_t i = 0; name && i < sizeof GENERALS / sizeof *GENERALS; i++)
        for (int k = 0; k < 5; k++)
            if (GENERALS[i].names[k] == name)
                return GENERALS[i].number;
    return NONE;
}

static int8_t number(unsigned name)
{
    if (name >= X86_REG_XMM0 && name <= X86_REG_XMM31)
        return (int8_t)(VECTORS + (name - X86_REG_XMM0));
    if (name >= X86_REG_YMM0 && name <= X86_REG_YMM31)
        return (int8_t)(VECTORS + (name - X86_REG_YMM0));
    if (name >= X86_REG_ZMM0 && name <= X86_REG_ZMM31)
        return (int8_t)(VECTORS + (name - X86_REG_ZMM0));
    if (name >= X86_REG_K0 && name <= X86_REG_K7)
        return (int8_t)(X86_MASKS + (name - X86_REG_K0));
    return name == X86_REG_EFLAGS ? X86_FLAGS : general(name);
}

static uint64_t bits_of(const uint16_t *names, uint8_t count)
{
    uint64_t bits = 0;
    for (uint8_t i = 0; i < count; i++) {
        int8_t one = number(names[i]);
        bits |= one == NONE ? 0 : BIT(one);
    }
    return bits;
}

/* ---- kinds ---- */

static int is_any(unsigned id, const uint16_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == id)
            return 1;
    return 0;
}

#define IS_ANY(id, list) is_any(id, list, sizeof list / sizeof *list)

static const uint16_t COMPUTING[] = {
    X86_INS_DIV, X86_INS_IDIV, X86_INS_DIVSS, X86_INS_DIVSD, X86_INS_DIVPS, X86_INS_DIVPD, X86_INS_SQRTSS, X86_INS_SQRTSD,
    X86_INS_SQRTPS, X86_INS_SQRTPD, X86_INS_VDIVSS, X86_INS_VDIVSD, X86_INS_VDIVPS, X86_INS_VDIVPD, X86_INS_VSQRTSS,
    X86_INS_VSQRTSD, X86_INS_VSQRTPS, X86_INS_VSQRTPD, X86_INS_FDIV, X86_INS_FDIVP, X86_INS_FDIVR, X86_INS_FDIVRP,
    X86_INS_FIDIV, X86_INS_FIDIVR, X86_INS_FSQRT,
};

static const uint16_t FUSED[] = { X86_INS_CMP, X86_INS_TEST, X86_INS_ADD, X86_INS_SUB, X86_INS_AND, X86_INS_INC,
                                  X86_INS_DEC };
static const uint16_t LOOPS[] = { X86_INS_LOOP, X86_INS_LOOPE, X86_INS_LOOPNE };   /* Capstone calls none of them a jump */
static const uint16_t NOTHING[] = { X86_INS_NOP, X86_INS_ENDBR64, X86_INS_PAUSE };
static const uint16_t ONLY_READS[] = { X86_INS_CMP, X86_INS_TEST, X86_INS_BT, X86_INS_UCOMISS, X86_INS_UCOMISD, X86_INS_COMISS,
                                       X86_INS_COMISD, X86_INS_PTEST, X86_INS_PUSH, X86_INS_MUL, X86_INS_IMUL,
                                       X86_INS_PREFETCH, X86_INS_PREFETCHNTA, X86_INS_PREFETCHT0, X86_INS_PREFETCHT1,
                                       X86_INS_PREFETCHT2 };

/* By the opcode's low bits: jo jno jb jae je jne jbe ja js jns jp jnp jl jge jle jg. */
static int8_t condition_of(const cs_x86 *detail)
{
    if (detail->opcode[0] >= 0x70 && detail->opcode[0] <= 0x7f)
        return (int8_t)(detail->opcode[0] & 15);
    if (detail->opcode[0] == 0x0f && detail->opcode[1] >= 0x80 && detail->opcode[1] <= 0x8f)
        return (int8_t)(detail->opcode[1] & 15);
    return NONE;
}

int x86_is_taken(int condition, uint64_t flags)
{
    int carry = flags & 1, parity = flags >> 2 & 1, zero = flags >> 6 & 1, sign = flags >> 7 & 1, over = flags >> 11 & 1;
    const int holds[] = { over, carry, zero, carry | zero, sign, parity, sign != over, zero | (sign != over) };
    return holds[condition >> 1] != (condition & 1);
}

static int is_string(const cs_x86 *detail)
{
    return detail->opcode[0] >= 0xa4 && detail->opcode[0] <= 0xaf && detail->opcode[0] != 0xa8 && detail->opcode[0] != 0xa9;
}

static uint8_t kind_of(const struct disassembler *with)
{
    const cs_insn *instruction = with->instruction;
    const cs_x86 *detail = &instruction->detail->x86;
    const struct capstone *library = capstone();
    if (IS_ANY(instruction->id, COMPUTING))
        return STEP_COMPUTING;
    if (IS_ANY(instruction->id, NOTHING))
        return STEP_NOTHING;
    if (instruction->id == X86_INS_JMP)
        return STEP_JUMP;
    if (library->insn_group(with->handle, instruction, CS_GRP_CALL) || library->insn_group(with->handle, instruction, CS_GRP_INT))
        return STEP_CALL;
    if (library->insn_group(with->handle, instruction, CS_GRP_RET))
        return STEP_RETURN;
    if (library->insn_group(with->handle, instruction, CS_GRP_JUMP) || IS_ANY(instruction->id, LOOPS))
        return STEP_BRANCH;
    int repeats = detail->prefix[0] == X86_PREFIX_REP || detail->prefix[0] == X86_PREFIX_REPNE;
    return is_string(detail) && repeats ? STEP_REPEATED : STEP_OTHER;
}

/* ---- memory ---- */

/* Capstone 4 does not know of all instructions whether they write: then the first operand is written. */
static int writes(const cs_insn *instruction, uint8_t index)
{
    uint8_t access = instruction->detail->x86.operands[index].access;
    if (IS_ANY(instruction->id, ONLY_READS))
        return 0;
    return access ? (access & CS_AC_WRITE) != 0 : index == 0 && instruction->detail->x86.op_count > 1;
}

static void take_place(const cs_insn *instruction, uint8_t index, struct step *step)
{
    const cs_x86_op *operand = &instruction->detail->x86.operands[index];
    struct place *place = &step->place;
    int is_of_file = operand->mem.base == X86_REG_RIP;
    *place = (struct place){ .base = general(operand->mem.base), .index = general(operand->mem.index),
                             .scale = (uint8_t)operand->mem.scale, .bytes = operand->size ? operand->size : 1,
                             .displacement = operand->mem.disp,
                             .is_of_thread = operand->mem.segment == X86_REG_FS };
    if (is_of_file)
        place->displacement += (int64_t)(step->address + step->size);
    place->is_written = (uint8_t)writes(instruction, index);
    place->is_read = (uint8_t)((operand->access & CS_AC_READ) || !place->is_written);
}

/* Both strings may be accessed; what is written is taken before what is read. */
static void take_string(struct step *step, const cs_x86 *detail)
{
    int stores = detail->opcode[0] == 0xa4 || detail->opcode[0] == 0xa5 || detail->opcode[0] == 0xaa || detail->opcode[0] == 0xab;
    int by_source = detail->opcode[0] == 0xac || detail->opcode[0] == 0xad;
    step->place = (struct place){ .base = by_source ? 6 : 7, .index = NONE, .bytes = 1, .is_written = (uint8_t)stores,
                                  .is_read = (uint8_t)!stores };
}

/* ---- values ---- */

static int is_register(const cs_x86_op *operand) { return operand->type == X86_OP_REG && general(operand->reg) != NONE; }

static void take_address(struct step *step, const cs_x86_op *memory)
{
    step_add(step, general(memory->mem.base), general(memory->mem.index), memory->mem.scale, memory->mem.disp);
    if (memory->mem.base == X86_REG_RIP) {
        step->is_constant_of_file = 1;
        step->constant += (int64_t)(step->address + step->size);
    }
}

/* From one register or constant to another. */
static void take_move(struct step *step, const cs_x86_op *from, unsigned id)
{
    step->is_signed = id == X86_INS_MOVSXD || id == X86_INS_MOVSX;
    step->is_half |= step->is_signed;
    if (from->type == X86_OP_IMM)
        step_add(step, NONE, NONE, 0, from->imm);
    else if (is_register(from) && from->size >= 4)
        step_add(step, general(from->reg), NONE, 0, 0);
    else if (is_register(from) && !step->is_signed)
        step_form(step, FORM_AND, general(from->reg), from->size == 1 ? 0xff : 0xffff);
}

static void take_sum(struct step *step, const cs_x86_op *other, int sign)
{
    if (other->type == X86_OP_IMM)
        step_add(step, step->to, NONE, 0, sign * other->imm);
    else if (is_register(other) && general(other->reg) != step->to)
        step_add(step, step->to, general(other->reg), sign, 0);
}

/* Where the new value of a register follows from values that are known. */
static void take_value(const cs_insn *instruction, struct step *step)
{
    const cs_x86 *detail = &instruction->detail->x86;
    const cs_x86_op *first = &detail->operands[0], *second = &detail->operands[1];
    if (detail->op_count == 0 || !is_register(first) || first->size < 4)
        return;
    step->to = general(first->reg);
    step->is_half = first->size == 4;
    int has_constant = detail->op_count == 2 && second->type == X86_OP_IMM;
    switch (instruction->id) {
    case X86_INS_MOV: case X86_INS_MOVABS: case X86_INS_MOVSXD: case X86_INS_MOVSX: case X86_INS_MOVZX:
        if (second->type == X86_OP_MEM)
            step->load = instruction->id == X86_INS_MOVSXD || instruction->id == X86_INS_MOVSX ? 2 : 1;
        take_move(step, second, instruction->id);
        break;
    case X86_INS_LEA: take_address(step, second); break;
    case X86_INS_ADD: take_sum(step, second, 1); break;
    case X86_INS_SUB: take_sum(step, second, -1); break;
    case X86_INS_INC: step_add(step, step->to, NONE, 0, 1); break;
    case X86_INS_DEC: step_add(step, step->to, NONE, 0, -1); break;
    case X86_INS_XOR:
        if (is_register(second) && general(second->reg) == step->to) {
            step_add(step, NONE, NONE, 0, 0);
            step->reads &= ~BIT(step->to);
        }
        break;
    case X86_INS_SHL: if (has_constant) step_form(step, FORM_LEFT, step->to, second->imm); break;
    case X86_INS_SHR: if (has_constant) step_form(step, FORM_RIGHT, step->to, second->imm); break;
    case X86_INS_AND: if (has_constant) step_form(step, FORM_AND, step->to, second->imm); break;
    case X86_INS_IMUL:
        if (detail->op_count == 3 && is_register(second) && detail->operands[2].type == X86_OP_IMM)
            step_form(step, FORM_MULTIPLY, general(second->reg), detail->operands[2].imm);
        break;
    default: break;
    }
}

/* Instructions that move the stack pointer by a constant; a pop loads its register. */
static void take_stack(const cs_insn *instruction, struct step *step)
{
    int is_push = instruction->id == X86_INS_PUSH;
    if (!is_push && instruction->id != X86_INS_POP)
        return;
    step->to = X86_STACK;
    step->is_half = 0;
    step_add(step, X86_STACK, NONE, 0, is_push ? -8 : 8);
    if (step->place.bytes == 0)
        step->place = (struct place){ .base = X86_STACK, .index = NONE, .bytes = 8, .is_read = (uint8_t)!is_push,
                                      .is_written = (uint8_t)is_push, .displacement = is_push ? -8 : 0 };
}

void x86_step(const struct disassembler *with, struct step *step)
{
    const cs_insn *instruction = with->instruction;
    const cs_x86 *detail = &instruction->detail->x86;
    cs_regs read, written;
    uint8_t reads = 0, writes_count = 0;
    step->kind = kind_of(with);
    step->condition = step->kind == STEP_BRANCH ? condition_of(detail) : NONE;
    step->is_fused = (uint8_t)IS_ANY(instruction->id, FUSED);
    if (capstone()->regs_access(with->handle, instruction, read, &reads, written, &writes_count) == CS_ERR_OK) {
        step->reads = bits_of(read, reads);
        step->writes = bits_of(written, writes_count);
    }
    int is_jump = step->kind == STEP_JUMP || step->kind == STEP_BRANCH;
    if (is_jump && detail->op_count == 1 && detail->operands[0].type == X86_OP_IMM)
        step->target = (uint64_t)detail->operands[0].imm;
    int has_memory = instruction->id != X86_INS_LEA && step->kind != STEP_NOTHING;
    for (uint8_t i = 0; has_memory && i < detail->op_count; i++)
        if (detail->operands[i].type == X86_OP_MEM)
            take_place(instruction, i, step);
    if (is_string(detail))
        take_string(step, detail);
    take_value(instruction, step);
    take_stack(instruction, step);
}
