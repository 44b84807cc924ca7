/*
 * children.S: a program without libc that forks a child for each word after its name, one after the
 * other, and waits for it. A child: 10000 turns of 2 instructions and 5 more: 20005.
 * The parent: 16 a child and 6 more.
 */
    .global _start
_start:
    ldr     x19, [sp]           /* argc: children and one */
1:  subs    x19, x19, #1
    b.eq    3f
    mov     x0, #17             /* SIGCHLD: as fork */
    mov     x1, #0
    mov     x2, #0
    mov     x3, #0
    mov     x4, #0
    mov     x8, #220            /* clone */
    svc     #0
    cbz     x0, child
    mov     x1, #0
    mov     x2, #0
    mov     x3, #0
    mov     x8, #260            /* wait4 */
    svc     #0
    b       1b
child:
    mov     x1, #10000
2:  subs    x1, x1, #1
    b.ne    2b
3:  mov     x0, #0
    mov     x8, #93             /* exit */
    svc     #0

    .section .note.GNU-stack, "", %progbits
