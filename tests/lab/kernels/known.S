/*
 * known.S: kernels (see core/pmclua_kernel.h) whose instructions a reader can count, for arm64.
 *
 * NAME(state, iterations): x1 holds the turns left. Each is its turns times the length written at its
 * name, plus one for the return.
 */
    .text

.macro kernel name
    .global \name
    .type \name, %function
\name:
.endm

/* 2 a turn */
kernel turns_2
1:  subs    x1, x1, #1
    b.ne    1b
    ret

/* 7 a turn */
kernel turns_7
1:  .rept   5
    nop
    .endr
    subs    x1, x1, #1
    b.ne    1b
    ret

/* 3 a turn, one of them a load */
kernel turns_load
1:  ldr     x2, [sp]
    subs    x1, x1, #1
    b.ne    1b
    ret

/* 5 a turn, two of them in the function that it calls; 2 more, once */
kernel turns_call
    mov     x9, x30
1:  bl      leaf
    subs    x1, x1, #1
    b.ne    1b
    mov     x30, x9
    ret
leaf:
    nop
    ret

/* 4 a turn, and what the OS kernel does for getppid */
kernel turns_system
1:  mov     x8, #173
    svc     #0
    subs    x1, x1, #1
    b.ne    1b
    ret

    .section .note.GNU-stack, "", %progbits
