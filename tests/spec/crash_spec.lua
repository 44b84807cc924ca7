-- What is said of a kernel that crashes: where, and how to look at it in a debugger.

local support = require "tests.support"

local SOURCE = [[
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
__attribute__((noinline)) void poke(volatile int *place) { *place = 1; }
void wild(void *state, uint64_t iterations) { poke((int *)0x12345678); __asm__ volatile(""); }
__attribute__((noinline)) int deep(volatile char *last)
{
    volatile char room[4096];
    room[0] = *last;
    return deep(room) + room[0];
}
void endless(void *state, uint64_t iterations) { volatile char first = 0; deep(&first); }
void library(void *state, uint64_t iterations)
{
    memset((char *)state + 64, 1, 100000);
    __asm__ volatile("");
}
void sent(void *state, uint64_t iterations) { raise(SIGSEGV); }
static void *thread(void *unused) { poke((int *)0x4321); return unused; }
void threads(void *state, uint64_t iterations)
{
    pthread_t one;
    pthread_create(&one, 0, thread, 0);
    pthread_join(one, 0);
}
static sigjmp_buf back;
static void caught(int number) { siglongjmp(back, number); }
void own(void *state, uint64_t iterations)
{
    struct sigaction action = { .sa_handler = caught };
    sigaction(SIGSEGV, &action, 0);
    if (!sigsetjmp(back, 1)) poke((int *)0x5678);
}
]]

local library

local function object()
  support.need(support.have "cc", "no C compiler")
  if library then return library end
  local folder = support.folder()
  support.write(folder .. "/crash.c", SOURCE)
  local built = support.run { "cc", "-O1", "-w", "-shared", "-fPIC", "-o", folder .. "/crash.so",
    folder .. "/crash.c", "-lpthread" }
  assert(built.status == 0, built.err)
  library = folder .. "/crash.so"
  return library
end

-- What pmclua says of a kernel that crashes, on one line.
local function said(symbol, options, env)
  local script = support.folder() .. "/k.lua"
  support.write(script, ([[
local pmc = require "pmclua"
return pmc.experiment { workloads = { pmc.kernel { library = %q, symbol = %q%s } }, events = "page-faults",
  iterations = 1, repetitions = 2, warmup = 0 }
]]):format(object(), symbol, options or ""))
  local made = support.pmclua({ script, "--no-store" }, { env = env })
  return (made.err:gsub("\n *", " ")), made
end

describe("a kernel that crashes", function()
  it("is told of with the address, the function and the file", function()
    assert.matches("wild was ended by SIGSEGV at address 0x12345678, in poke%+0x%x+ of crash%.so",
      (said "wild"))
  end)

  it("is told of where its stack ran out", function()
    assert.matches("endless was ended by SIGSEGV at address 0x%x+, in deep[%w.]*%+0x%x+ of crash%.so",
      (said "endless"))
  end)

  it("is told of in another library's function", function()
    assert.matches("SIGSEGV at address 0x40, in [%w_]*memset[%w_]*%+0x%x+ of libc", (said "library"))
  end)

  it("is told of on each kind of thread", function()
    assert.matches("SIGSEGV at address 0x12345678, in poke", (said("wild", ", threads = 2")))
    assert.matches("SIGSEGV at address 0x4321, in poke", (said "threads"))
  end)

  it("is no place where somebody sent the signal", function()
    assert.matches("sent was ended by SIGSEGV[^%a]", (said "sent"))
    assert.is_nil((said "sent"):find "at address")
  end)

  it("may catch the signal itself", function()
    local words, made = said "own"
    assert.equal(0, made.status, words)
    assert.is_nil(words:find "SIGSEGV")
  end)

  it("can be run under a program of one word, and one that is not there is named", function()
    local path = support.folder() .. "/under"
    support.write(path, '#!/bin/sh\necho under >&2\nexec "$@"\n')
    os.execute("chmod 755 " .. path)
    local words = said("wild", nil, { PMCLUA_KERNEL_UNDER = path })
    assert.matches("^under", words)
    assert.matches("SIGSEGV at address 0x12345678", words)
    assert.matches("cannot start the runner '/nowhere': there is no such file",
      (said("wild", nil, { PMCLUA_KERNEL_UNDER = "/nowhere" })))
  end)

  it("can be run under gdb by the command that is named", function()
    support.need(support.have "gdb", "no gdb")
    support.need_unwatched("the runner is started otherwise there")
    local words = said "wild"
    local name, value = words:match "put (PMCLUA_[%u_]+)='([^']+)' before the command"
    assert.equal("gdb -q -ex run --args", value)
    local _, made = said("wild", nil, { [name] = "gdb -batch -ex run -ex bt --args" })
    assert.matches("received signal SIGSEGV", made.out .. made.err)
    assert.matches("in poke .- in wild ", (made.out .. made.err):gsub("\n", " "))
  end)
end)
