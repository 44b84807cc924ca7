/*
 * crash.c: where a kernel crashed, told before the runner dies of it.
 *
 * Invariants: the handler calls nothing that takes a lock or memory; the runner then dies of the same signal, by the
 * same instruction, so that a core file and who waits for it see what they would have seen. A kernel that catches the
 * signal itself keeps it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "message/message.h"
#include "crash.h"

enum { STACK_BYTES = 48 * 1024, LINE_BYTES = 4096 + 256 };

static int channel = -1;
static pid_t runner;
static volatile uint64_t answered;

void crash_answers(uint64_t sequence) { answered = sequence; }

static uint64_t place_of(const void *context)
{
    const ucontext_t *at = context;
#if defined __x86_64__
    return (uint64_t)at->uc_mcontext.gregs[REG_RIP];
#elif defined __i386__
    return (uint32_t)at->uc_mcontext.gregs[REG_EIP];
#elif defined __aarch64__
    return at->uc_mcontext.pc;
#elif defined __riscv
    return at->uc_mcontext.__gregs[REG_PC];
#else
    (void)at;
    return 0;
#endif
}

/* ---- which file it is in ---- */

/* Lines of /proc/self/maps, one at a time. */
struct maps {
    int fd;
    size_t used, next;
    char bytes[LINE_BYTES];
};

/* NULL at the end. A line that is longer than our room ends it, too. */
static char *next_line(struct maps *maps)
{
    for (;;) {
        char *line = maps->bytes + maps->next, *end = memchr(line, '\n', maps->used - maps->next);
        if (end) {
            *end = '\0';
            maps->next = (size_t)(end + 1 - maps->bytes);
            return line;
        }
        maps->used -= maps->next;
        memmove(maps->bytes, line, maps->used);
        maps->next = 0;
        ssize_t got = read(maps->fd, maps->bytes + maps->used, sizeof maps->bytes - maps->used);
        if (got <= 0)
            return NULL;
        maps->used += (size_t)got;
    }
}

static uint64_t take_hex(const char **text)
{
    uint64_t value = 0;
    for (;; ++*text) {
        char one = **text;
        int digit = one >= '0' && one <= '9' ? one - '0' : one >= 'a' && one <= 'f' ? one - 'a' + 10 : -1;
        if (digit < 0)
            return value;
        value = value << 4 | (uint64_t)digit;
    }
}

/* The file of a line that `place` is in, and where in it; NULL: it is not there, or in no file. */
static const char *file_of(const char *line, uint64_t place, uint64_t *offset)
{
    uint64_t start = take_hex(&line), end = (line++, take_hex(&line));
    if (place < start || place >= end || strlen(line) < 6)
        return NULL;
    line += 6;                                 /* " r-xp " */
    *offset = place - start + take_hex(&line);
    return strchr(line, '/');
}

/* In static memory: the path, "" where it is in no file. */
static const char *find_file(uint64_t place, uint64_t *offset)
{
    static struct maps maps;
    const char *line, *file = NULL;
    maps.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (maps.fd >= 0 && !file && (line = next_line(&maps)))
        file = file_of(line, place, offset);
    if (maps.fd >= 0)
        close(maps.fd);
    return file ? file : "";
}

/* ---- telling it ---- */

static void tell(int number, const siginfo_t *info, uint64_t place)
{
    static struct {
        struct message_header header;
        struct pmclua_result result;
        char text[LINE_BYTES];
    } answer;
    struct pmclua_result *result = &answer.result;
    result->sequence = answered;
    result->outcome = PMCLUA_CRASHED;
    result->signal = number;
    result->threads = 1;
    result->fault_address = (uintptr_t)info->si_addr;
    result->fault_known = info->si_code != SI_KERNEL;
    const char *file = find_file(place, &result->fault_offset);
    result->output_bytes = (uint32_t)strlen(file);
    memcpy(answer.text, file, result->output_bytes);
    size_t bytes = sizeof answer.header + sizeof *result + result->output_bytes;
    answer.header = (struct message_header){ (uint32_t)(bytes - sizeof answer.header), MSG_RESULT, answered };
    message_send(channel, &answer, bytes);
}

/* The client looks at our descendants while we are still their parent, then closes the connection. */
static void await_end(void)
{
    char bytes[256];
    ssize_t got;
    do
        got = recv(channel, bytes, sizeof bytes, 0);
    while (got > 0 || (got < 0 && errno == EINTR));
}

/* Threads may crash together: one tells, the others wait, and die with it. */
static void on_crash(int number, siginfo_t *info, void *context)
{
    static int is_told;
    int errnum = errno, is_sent = info->si_code <= 0;
    if (!is_sent && answered && getpid() == runner) {
        while (__atomic_exchange_n(&is_told, 1, __ATOMIC_ACQ_REL))
            pause();
        tell(number, info, place_of(context));
        await_end();
    }
    signal(number, SIG_DFL);
    if (is_sent)                               /* by kill(2): no instruction raises it again */
        raise(number);
    errno = errnum;
}

void crash_take_stack(void)
{
    static __thread char stack[STACK_BYTES] __attribute__((aligned(16)));
    sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
}

void crash_watch(int fd)
{
    static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
    channel = fd;
    runner = getpid();
    crash_take_stack();
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        struct sigaction action = { .sa_sigaction = on_crash,
                                    .sa_flags = SA_SIGINFO | SA_ONSTACK };
        sigaction(crashes[i], &action, NULL);
    }
}
