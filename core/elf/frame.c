/*
 * frame.c: where a function's frame ends, by .eh_frame.
 */
#include <errno.h>
#include <stdlib.h>

#include "symbols.h"

/* base + distance, if the rule has that form, as functions have; stubs of the PLT have others. */
static int take_rule(const Dwarf_Op *op, size_t ops, int32_t *base, int64_t *distance)
{
    if (ops != 1 || (op->atom != DW_OP_bregx && (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31)))
        return -ENODATA;
    int has_register = op->atom == DW_OP_bregx;
    *base = has_register ? (int32_t)op->number : op->atom - DW_OP_breg0;
    *distance = (int64_t)(has_register ? op->number2 : op->number);
    return 0;
}

int frame_end(struct pmclua_symbols *symbols, uint64_t address, int32_t *base, int64_t *distance)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Addr bias;
    Dwarf_CFI *rules = dw->dwfl_module_eh_cfi(symbols->module, &bias);
    Dwarf_Frame *frame;
    Dwarf_Op *op;
    size_t ops;
    if (!rules || dw->dwarf_cfi_addrframe(rules, address + symbols->bias - bias, &frame) != 0)
        return -ENODATA;
    int result = dw->dwarf_frame_cfa(frame, &op, &ops) == 0 ? take_rule(op, ops, base, distance) : -ENODATA;
    free(frame);
    return result;
}
