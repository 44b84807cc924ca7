/*
 * questions.h: a program whose system calls are asked about before they are made (seccomp's notifications).
 *
 * The filter is permanent and inherited: every call that is asked about blocks until it is answered. Linux 5.9 and later.
 */
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#if defined __x86_64__
enum { QUESTIONS_MACHINE = AUDIT_ARCH_X86_64 };
#elif defined __aarch64__
enum { QUESTIONS_MACHINE = AUDIT_ARCH_AARCH64 };
#elif defined __riscv && __riscv_xlen == 64
enum { QUESTIONS_MACHINE = AUDIT_ARCH_RISCV64 };
#else
#error "what does seccomp call this machine?"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "which half of an argument comes first?"
#endif

/* ---- a filter's steps ---- */

static inline struct sock_filter filter_load(size_t offset)
{
    return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset);
}

/* Skips `is_so` steps if the comparison (BPF_JEQ, BPF_JGE, BPF_JSET) holds, else `is_not`. */
static inline struct sock_filter filter_jump(unsigned kind, unsigned operand, unsigned char is_so, unsigned char is_not)
{
    return (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | kind | BPF_K), operand, is_so, is_not);
}

static inline struct sock_filter filter_answer(unsigned what)
{
    return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what);
}

/* The low half of an argument: the first one. */
static inline size_t filter_argument(int index)
{
    return offsetof(struct seccomp_data, args) + (size_t)index * sizeof(uint64_t);
}

/* ---- the program ---- */

struct questions {
    const char *path;
    char *const *argv, *const *envp;
    struct sock_fprog filter;
    void (*take)(struct questions *questions, const struct seccomp_notif *question,
                 struct seccomp_notif_resp *answer);
    /* Set by questions_ask. */
    int listener;                    /* where the questions come */
    int status;                      /* as waitpid has it */
};

/* Runs a program and has each question of it and its children taken until it ends; a child of ours answers those that it
 * leaves running. Our process is there for this alone: SIGTERM for it is for the program. `answer` has the call go on as
 * it is unless `take` says otherwise. 0; -1: it cannot be asked about, its end is not known, or it was killed because a
 * question could not be answered. */
int questions_ask(struct questions *questions);
/* Like ioctl(2) on the listener, or -errno; -ENOENT where the process has ended, or was interrupted and asks again. */
int questions_control(const struct questions *questions, unsigned long request, void *argument);
/* Copies a text of another process, in parts that do not cross a page: 0, or -1. */
int questions_text(int pid, unsigned long from, char *text, size_t bytes);
