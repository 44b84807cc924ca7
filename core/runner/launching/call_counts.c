/*
 * call_counts.c: the system calls of a program and of all that it starts, counted by ptrace(2).
 *
 * A filter (seccomp) stops the calls that are counted, with their number; all others run at full speed. ptrace, not
 * seccomp's notifications, because a signal that comes while a notification waits has the call fail with EINTR, which the
 * program would see. A filter stays for good, and a stopped call whose tracer is gone fails: so what the program leaves
 * running ends with us.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call_counts.h"
#include "questions.h"
#include "stand_in.h"

/* ---- which calls stop ---- */

/* OTHER: a filter returns 16 bits. */
enum { MOST_NUMBERS = 1000, STEPS = 2 * MOST_NUMBERS + 8, OTHER = 0xffff };

static struct sock_fprog put_filter(struct sock_filter code[STEPS], const char *numbers)
{
    int is_all = strcmp(numbers, "all") == 0;
    unsigned short at = 0;
    code[at++] = filter_load(offsetof(struct seccomp_data, arch));
    code[at++] = filter_jump(BPF_JEQ, QUESTIONS_MACHINE, 1, 0);
    code[at++] = filter_answer(is_all ? SECCOMP_RET_TRACE | OTHER : SECCOMP_RET_ALLOW);
    code[at++] = filter_load(offsetof(struct seccomp_data, nr));
    if (is_all) {
        code[at++] = filter_jump(BPF_JGE, OTHER, 2, 0);
        code[at++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_TRACE);
        code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
        code[at++] = filter_answer(SECCOMP_RET_TRACE | OTHER);
        return (struct sock_fprog){ at, code };
    }
    for (char *end; *numbers && at < STEPS - 2; numbers = end + (*end == ',')) {
        unsigned number = (unsigned)strtoul(numbers, &end, 10);
        code[at++] = filter_jump(BPF_JEQ, number, 0, 1);
        code[at++] = filter_answer(SECCOMP_RET_TRACE | number);
    }
    code[at++] = filter_answer(SECCOMP_RET_ALLOW);
    return (struct sock_fprog){ at, code };
}

/* ---- the program ---- */

struct counted {
    int first;                       /* the program's pid */
    int status;                      /* as waitpid has it */
    int has_begun, has_ended;
    uint64_t counts[OTHER + 1];
};

/* The child's report before it becomes the program. */
struct told { int lost_rights, is_filtered, errnum; };

/* Without rights only who gives up those of set-user-ID programs may filter. */
static int filter_calls(const struct sock_fprog *filter, struct told *told)
{
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0L, filter) == 0)
        return 0;
    told->lost_rights = 1;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1
           : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0L, filter);
}

static void become(const int go[2], int tell, const struct sock_fprog *filter, const char *path, char *const *argv,
                   char *const *envp)
{
    struct told told = { 0 };
    char byte;
    close(go[1]);
    if (TEMP_FAILURE_RETRY(read(go[0], &byte, 1)) != 1)       /* we are not traced */
        _exit(127);
    told.is_filtered = filter_calls(filter, &told) == 0;
    if (told.is_filtered) {
        (void)!write(tell, &told, sizeof told);
        syscall(SYS_execve, path, argv, envp);
    }
    told.errnum = errno;
    (void)!write(tell, &told, sizeof told);
    _exit(127);
}

/* ---- its stops ---- */

static int is_job_control(int number)
{
    return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* Counts a stop and resumes its task, with its signal; a task that job control stops stays stopped. */
static void take_stop(struct counted *counted, int pid, int status)
{
    unsigned long number = 0;
    int event = status >> 16, signal = event ? 0 : WSTOPSIG(status);
    if (event == PTRACE_EVENT_EXEC)
        counted->has_begun = 1;
    else if (event == PTRACE_EVENT_SECCOMP && ptrace(PTRACE_GETEVENTMSG, pid, 0L, &number) == 0)
        counted->counts[number & OTHER] += (unsigned)counted->has_begun;
    int stays = event == PTRACE_EVENT_STOP && is_job_control(WSTOPSIG(status));
    ptrace(stays ? PTRACE_LISTEN : PTRACE_CONT, pid, 0L, (long)signal);
}

enum { LATE_S = 5 };

static volatile sig_atomic_t ticks;

static void tick(int signal) { ticks += signal == SIGALRM; }

/* Follows the program and its descendants until all have ended: 1 where some outlive it by LATE_S. */
static int follow(struct counted *counted)
{
    struct sigaction ticking = { .sa_handler = tick };
    sigaction(SIGALRM, &ticking, NULL);
    for (int status; ticks < LATE_S;) {
        int pid = waitpid(-1, &status, __WALL);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return 0;
        if (WIFSTOPPED(status)) {
            take_stop(counted, pid, status);
        } else if (pid == counted->first) {
            counted->status = status;
            counted->has_ended = 1;
            setitimer(ITIMER_REAL, &(struct itimerval){ { 1, 0 }, { 1, 0 } }, NULL);
        }
    }
    return 1;
}

/* ---- running it ---- */

enum { NOT_KNOWN = 125, OPTIONS = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE
                                  | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL };

/* Traces the child and lets it go on: 0, or an errno. */
static int trace(int pid, const int go[2])
{
    int ended = (int)syscall(SYS_pidfd_open, pid, 0);
    if (ended < 0 || ptrace(PTRACE_SEIZE, pid, 0L, (long)OPTIONS) < 0)
        return errno;
    stand_in_for(ended);
    return write(go[1], "", 1) == 1 ? 0 : errno;
}

static void report(FILE *to, const struct counted *counted, int is_late, int tells)
{
    struct told told, last = { 0 };
    while (read(tells, &told, sizeof told) == sizeof told)
        last = told;
    if (!last.is_filtered)
        fprintf(to, "! %d\n", last.errnum);
    else if (last.errnum)
        fprintf(to, "! exec %d\n", last.errnum);
    if (last.lost_rights)
        fputs("rights\n", to);
    if (is_late)
        fputs("! left\n", to);
    for (unsigned number = 0; number <= OTHER; number++)
        if (counted->counts[number])
            fprintf(to, "%u %llu\n", number, (unsigned long long)counted->counts[number]);
}

int run_counted(const char *list, const char *numbers, const char *path, char *const *argv, char *const *envp)
{
    static struct counted counted;
    static struct sock_filter code[STEPS];
    struct sock_fprog filter = put_filter(code, numbers);
    int go[2], tell[2];
    FILE *to = fopen(list, "we");
    if (!to || pipe2(go, O_CLOEXEC) < 0 || pipe2(tell, O_CLOEXEC | O_NONBLOCK) < 0)
        return NOT_KNOWN;
    counted.first = fork();
    if (counted.first == 0)
        become(go, tell[1], &filter, path, argv, envp);
    int errnum = counted.first < 0 ? errno : trace(counted.first, go);
    close(go[0]);
    close(go[1]);
    if (errnum)
        fprintf(to, "! %d\n", errnum);
    int is_late = follow(&counted);
    if (!errnum)
        report(to, &counted, is_late, tell[0]);
    int is_known = fclose(to) == 0 && !errnum && counted.has_ended;
    return is_known ? stand_in_end(counted.status) : NOT_KNOWN;
}
