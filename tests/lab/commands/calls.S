/*
 * calls.S: a program without libc that calls `work` four times, with 1000, 2000, 3000 and 4000 turns of
 * 2 instructions; a call of n turns is 2n + 2 instructions.
 */
    .global _start
_start:
    mov     x19, #0
1:  add     x19, x19, #1000
    mov     x0, x19
    bl      work
    cmp     x19, #4000
    b.ne    1b
    mov     x0, #0
    mov     x8, #93             /* exit */
    svc     #0
    .type   _start, %function
    .size   _start, . - _start

    .global work
    .type   work, %function
work:
    mov     x1, x0              /* so that no turn passes the entry again */
2:  subs    x1, x1, #1
    b.ne    2b
    ret
    .size   work, . - work

    .section .note.GNU-stack, "", %progbits
