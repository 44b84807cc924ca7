/*
 * turns.S: a program without libc: 2 instructions a turn, 10000 turns for each word of its command
 * line (its own name is one), and 6 more: 20000 * argc + 6 in all.
 */
    .global _start
_start:
    ldr     x1, [sp]            /* argc */
    mov     x2, #10000
    mul     x1, x1, x2
1:  subs    x1, x1, #1
    b.ne    1b
    mov     x0, #0
    mov     x8, #93             /* exit */
    svc     #0

    .section .note.GNU-stack, "", %progbits
