-- Several pmclua at once on one process and one function: none disturbs another.

local support = require "tests.support"

local PROGRAM = [[
#include <unistd.h>
__attribute__((noinline)) void work(void) { usleep(1000); __asm__ volatile("" ::: "memory"); }
int main(void) { for (;;) work(); }
]]

local WAYS = {
  { "regions", "-e", "page-faults", "-f", "work", "-p", "PID", "--duration", "2s" },
  { "regions", "-e", "context-switches", "-f", "work", "-p", "PID", "--duration", "2s" },
  { "where", "-e", "context-switches", "-p", "PID", "--timeout", "2000" },
  { "where", "-e", "cpu-clock", "-g", "-p", "PID", "--timeout", "2000" },
  { "stat", "-e", "context-switches,task-clock", "-p", "PID", "--timeout", "2000" },
}

-- What a run counted of the process's switches or calls.
local PATTERNS = { regions = "work · ([%d,]+) calls", where = "\ntotal +([%d,]+)",
  stat = "\ncontext%-switches +([%d,]+)" }

describe("several pmclua on one process", function()
  it("count it as each of them alone would", function()
    support.need(support.have_root() and support.have_tracefs() and support.have "cc",
      "functions of a running process cannot be followed here")
    local folder = support.folder()
    local program = support.build(folder .. "/program", "cc", "-O1", "-xc",
      support.write(folder .. "/program.c", PROGRAM))
    local lines = { program .. " & target=$!" }
    for number = 1, 2 * #WAYS do
      local words = table.concat(WAYS[(number - 1) % #WAYS + 1], " "):gsub("PID", "$target")
      lines[#lines + 1] = ("(timeout 50 %s %s; echo status $?) >%s/%d 2>&1 & runs=\"$runs $!\""):format(
        support.program, words, folder, number)
    end
    lines[#lines + 1] = "wait $runs; kill $target"
    assert.equal(0, support.run({ "sh", "-c", table.concat(lines, "\n") }).status)
    for number = 1, 2 * #WAYS do
      local said, tool = support.read(("%s/%d"):format(folder, number)), WAYS[(number - 1) % #WAYS + 1][1]
      assert.equal("0", said:match "status (%d+)\n$", said)
      local count = (said:match(PATTERNS[tool]) or "0"):gsub(",", "")
      assert.is_true(tonumber(count) >= 20, said)
    end
  end)
end)
