/*
 * arm64.c: instructions of arm64 as steps.
 */
#include "step.h"

void arm64_step(const struct disassembler *with, const uint8_t *bytes, int is_known, struct step *step)
{
    (void)with; (void)bytes; (void)is_known; (void)step;
}
