/*
 * capstone.h: Capstone, opened when first needed and never linked. Private to the core.
 */
#pragma once

#include <capstone/capstone.h>

#define CAPSTONE_FUNCTIONS(X) X(open) X(close) X(option) X(malloc) X(free) X(disasm_iter) X(insn_group) X(regs_access)
#define CAPSTONE_MEMBER(name) __typeof__(cs_##name) *name;

struct capstone { CAPSTONE_FUNCTIONS(CAPSTONE_MEMBER) };

/* One instruction at a time of one machine's code. Zeroed is closed. */
struct disassembler {
    csh handle;
    cs_insn *instruction;
    int step;                      /* bytes of an instruction where all have one size; 0: they differ */
};

/* NULL: Capstone is not installed. */
const struct capstone *capstone(void);
/* Opens one for EM_*: 0; -ELIBACC: no Capstone here; -ENOTSUP: not for this machine; -ENOMEM. Closed by
 * disassembler_close, also on failure. */
int  disassembler_open(struct disassembler *disassembler, int machine);
void disassembler_close(struct disassembler *disassembler);
