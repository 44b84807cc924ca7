-- What is said where the runner, or whoever reads debug information, is refused memory, one allocation at a time.

local support = require "tests.support"

-- Refuses the allocation that REFUSED names, in the program that it is loaded into.
local SHIM = [[
#include <errno.h>
#include <stdlib.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static long refused = -1, seen;
static int is_refused(void)
{
    const char *text = refused < 0 ? getenv("REFUSED") : 0;
    if (refused < 0)
        refused = text ? atol(text) : 0;
    if (__atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED) != refused)
        return 0;
    errno = ENOMEM;
    return 1;
}
void *malloc(size_t bytes) { return is_refused() ? 0 : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return is_refused() ? 0 : __libc_calloc(count, bytes); }
void *realloc(void *old, size_t bytes) { return is_refused() ? 0 : __libc_realloc(old, bytes); }
]]

local SCRIPT = [[
local pmc = require "pmclua"
local kernel = pmc.kernel { library = %q, symbol = "work", threads = 2 }
print(pmc.measure(kernel, { events = "page-faults", repetitions = 1, iterations = 10, store = false }))
]]

local KERNEL = [[
#include <stdlib.h>
#include <pmclua_kernel.h>
void *work_setup(const struct pmclua_params *params)
{
    void *state = malloc(100);
    return state ? state : pmclua_fail(params, "Cannot allocate memory");
}
void work(void *state, uint64_t iterations) { while (iterations--) pmclua_keep(state); }
]]

local RUNNER = [[
#!/bin/sh
LD_PRELOAD=%s exec %s "$@"
]]

local folder, runner

setup(function()
  if not support.have "cc" then return end
  folder = support.folder()
  support.write(folder .. "/shim.c", SHIM)
  local shim = support.build(folder .. "/shim.so", "cc", "-O1", "-shared", "-fPIC", folder .. "/shim.c")
  runner = folder .. "/runner"
  support.write(runner, RUNNER:format(shim, require("pmclua.host.paths").runner()))
  os.execute("chmod +x " .. support.quote(runner))
  support.write(folder .. "/work.c", KERNEL)
  local library = support.build(folder .. "/work.so", "cc", "-O1", "-shared", "-fPIC",
    "-I" .. support.root .. "/core", folder .. "/work.c")
  support.write(folder .. "/script.lua", SCRIPT:format(library))
end)

-- What pmclua said in `count` runs, each with another allocation refused.
local function said(words, count)
  support.need_unwatched "a watcher allocates, too"
  support.need(folder, "no C compiler")
  local all = {}
  collectgarbage()                   -- files that are still open would be inherited, and each is an allocation
  for refused = 1, count do
    local run = support.pmclua(words, { env = { PMCLUA_RUNNER = runner, REFUSED = tostring(refused) } })
    all[#all + 1] = run.out .. run.err
  end
  return table.concat(all, "\n")
end

local FALSE_REASONS = { "there is no such file", "be run: no such file", "Protocol",
  "it closed, replaced", "SIGSEGV",
  "ended with status" }

local function assert_true_reasons(text)
  assert.matches("memory", text)
  for _, reason in ipairs(FALSE_REASONS) do
    assert.is_nil(text:lower():find(reason:lower(), 1, true), reason)
  end
end

describe("a runner that is refused an allocation", function()
  it("says so of a command, and gives no other reason", function()
    assert_true_reasons(said({ "stat", "--", "true" }, 40))
  end)

  it("says so of a kernel with threads, and does not blame the kernel", function()
    assert_true_reasons(said({ folder and folder .. "/script.lua" }, 110))
  end)
end)

-- Refuses the n-th time, from when it is told to, that a list of the program's own grows. libdw ends the process where
-- it is refused any.
local REALLOC = [[
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
extern void *__libc_realloc(void *, size_t);
static long left;
long refuse_realloc(long n) { long before = left; left = n; return before; }
void *realloc(void *old, size_t bytes)
{
    Dl_info from;
    int is_ours = dladdr(__builtin_return_address(0), &from) && strstr(from.dli_fname, "/pmclua");
    if (is_ours && left > 0 && --left == 0) {
        errno = ENOMEM;
        return 0;
    }
    return __libc_realloc(old, bytes);
}
]]

-- Looks an instruction that was inlined up once for each allocation, which is refused. Prints what was said, or
-- "whole", and then whether it is known again.
local LOOKED_UP = [[
local ffi = require "ffi"
ffi.cdef "long refuse_realloc(long n);"
local json, open = require "pmclua.base.json", require("pmclua.core.symbols").open
local function at(symbols, offset) return json.encode(symbols:code(offset) or {}) end
local symbols, offset, truth = open(arg[1]), nil, nil
for i = 1, symbols.count do
  local start = symbols:at(i)
  for byte = 0, start.imported and -1 or start.bytes - 1 do
    local code = symbols:code(start.offset + byte)
    if code and #(code.inlined or {}) > 0 then offset = start.offset + byte break end
  end
  if offset then break end
end
truth = at(symbols, offset)
local n, is_met = 0, nil
repeat
  n = n + 1
  local fresh = open(arg[1])
  ffi.C.refuse_realloc(n)
  local ok, said = pcall(at, fresh, offset)
  is_met = ffi.C.refuse_realloc(0) == 0
  print(n, ok and (said == truth and "whole" or said) or said, at(fresh, offset) == truth)
until not is_met
]]

describe("debug information that there is no memory for", function()
  it("is never left out of a line: it is said, and read again the next time", function()
    support.need_unwatched "a watcher allocates, too"
    support.need(support.have "cc", "no C compiler")
    local place = support.folder()
    support.write(place .. "/realloc.c", REALLOC)
    support.write(place .. "/look.lua", LOOKED_UP)
    local shim = support.build(place .. "/realloc.so", "cc", "-O1", "-shared", "-fPIC", place .. "/realloc.c")
    local run = support.pmclua({ place .. "/look.lua", require("pmclua.host.paths").runner() },
      { env = { LD_PRELOAD = shim } })
    assert.equal("", run.err)
    local refused = 0
    for n, answer, again in run.out:gmatch "(%d+)\t([^\n]+)\t(%a+)\n" do
      assert.is_true(answer == "whole" or answer:find "no memory$" ~= nil, n .. ": " .. answer)
      assert.equal("true", again, n)
      refused = refused + (answer == "whole" and 0 or 1)
    end
    assert.is_true(refused >= 3, run.out)
  end)
end)
