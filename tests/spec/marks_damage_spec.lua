-- A program that writes over the table of its marks: its marks are not counted, which is said, and the rest is.

local support = require "tests.support"

local HEAD = [[
#include <pmclua_mark.h>
#include <stdio.h>
#include <sys/stat.h>
static struct pmclua_mark_table *marks(void) { return pmclua_mark_table; }
static struct pmclua_mark_slot *slot(int i)
{ return (void *)((char *)marks() + marks()->slots_at + i * marks()->slot_bytes); }
static void *log_of(void) { return (char *)marks() + marks()->log_at; }
int main(void)
{
    pmclua_mark_begin("work");
    pmclua_mark_end("work");
    if (!marks()) return 0;
    (void)slot; (void)log_of;
    %s
    _exit(0);
}
]]

-- What is written, and what is said of it.
local DAMAGE = {
  { "more marks than can be", "marks()->slots_used = -1;", "the number of marks is 18446744073709551615" },
  { "processes", "marks()->processes = UINT64_C(1) << 60;", "the number of processes is" },
  { "an errno", "marks()->refused_errno = 1 << 30;", "an errno is 1073741824" },
  { "the length of the log", "marks()->log_used = -8;", "the length of its log is" },
  { "what pmclua wrote", "marks()->slot_bytes = 0;", "word 7 of its header is 0" },
  { "a name to its end and beyond", 'memset(slot(1)->name, 65, 64);', "a name has no end" },
  { "entries of a mark", "slot(1)->ended = -1;", "'ended' of a mark is 18446744073709551615" },
  { "a time", "slot(1)->wall_ns = UINT64_C(1) << 50;", "a mark took 1125899906842624 ns" },
  { "a count", "slot(1)->words[2] = -3;", "a count is 18446744073709551613" },
  { "all of it", "memset(marks(), 65, marks()->log_at);", "word 1 of its header is" },
  { "a file that is shorter", 'if (truncate(getenv("PMCLUA_MARKS"), 100)) return 1;', "it was cut off" },
  { "the log", "memset(log_of(), 1, 16); marks()->log_used = 1 << 20;", "a mark's number is", true },
  { "a mark that is not there", "*(uint64_t *)log_of() = 77;", "there is no mark 77", true },
}

describe("a program that writes over the table of its marks", function()
  local folder
  lazy_setup(function() folder = support.folder() end)
  before_each(function() support.need(support.have "cc", "no C compiler") end)

  local function program(body)
    local source = support.write(folder .. "/damage.c", HEAD:format(body))
    local include = "-I" .. support.root .. "/core"
    return support.build(folder .. "/damage", "cc", "-O1", include, source, "-lpthread")
  end

  local SCRIPT = [[
    local pmc = require "pmclua"
    return pmc.experiment { events = { "page-faults", "task-clock" }, repetitions = 3, warmup = 0,
      regions = { "marks", entries = ENTRIES }, workloads = { pmc.command { "PROGRAM", name = "it" } } }]]

  for _, case in ipairs(DAMAGE) do
    local name, body, said, in_log = unpack(case)
    it(("loses its marks alone where that is %s"):format(name), function()
      local script = support.write(folder .. "/run.lua", (SCRIPT:gsub("PROGRAM", program(body))
        :gsub("ENTRIES", in_log and "4" or "nil")))
      local result = support.pmclua { script, "--no-store" }
      assert.equal(0, result.status, result.err)
      local shown = (result.out .. result.err):gsub("%s+", " ")
      assert.is_truthy(shown:find("wrote over their table, in which " .. said, 1, true), shown)
      assert.is_nil(shown:find "traceback" or shown:find "%.lua:%d")
      assert.matches("page%-faults +%d+", result.out)
      assert.is_nil(result.out:find("work", 1, true))
    end)
  end

  it("puts something else in its place, which is not read", function()
    local body = 'unlink(getenv("PMCLUA_MARKS")); mkfifo(getenv("PMCLUA_MARKS"), 0600);'
    local result = support.pmclua({ "stat", "--marks", "-e", "page-faults", "-r", "2", "--", program(body) },
      { limit_s = 20 })
    assert.equal(0, result.status, result.err)
    assert.matches("work", result.err)
  end)
end)
