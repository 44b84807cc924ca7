/*
 * thread.S: a program without libc whose second thread does 10000 turns of 2 instructions while the
 * first waits for its end. The first: 18 instructions. The second: 5 besides its turns: 20005.
 */
    .equ    FLAGS_LOW, 0x0f00   /* CLONE_VM, FS, FILES, SIGHAND */
    .equ    FLAGS_HIGH, 0x0035  /* CLONE_THREAD, SYSVSEM, PARENT_SETTID, CHILD_CLEARTID */

    .global _start
_start:
    mov     x0, #FLAGS_LOW
    movk    x0, #FLAGS_HIGH, lsl #16
    sub     x1, sp, #4096       /* the thread's stack, which it never uses */
    mov     x2, sp              /* its tid is put here, and taken away when it ends */
    mov     x3, #0
    mov     x4, sp
    mov     x8, #220            /* clone */
    svc     #0
    cbz     x0, thread
    mov     x2, x0
    mov     x0, sp
    mov     x1, #0              /* FUTEX_WAIT; at once where the thread has ended */
    mov     x3, #0
    mov     x8, #98             /* futex */
    svc     #0
    mov     x0, #0
    mov     x8, #94             /* exit_group */
    svc     #0
thread:
    mov     x1, #10000
1:  subs    x1, x1, #1
    b.ne    1b
    mov     x0, #0
    mov     x8, #93             /* exit: of this thread */
    svc     #0

    .section .note.GNU-stack, "", %progbits
