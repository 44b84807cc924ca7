-- Interrupts of an experiment whose workload or hook never ends by itself.

local support = require "tests.support"

local ENDLESS = [[
#include <stdio.h>
#include "pmclua_kernel.h"
void *hang_setup(const struct pmclua_params *params) { return (void *)pmclua_str(params, "begun", ""); }
void hang(void *state, uint64_t iterations)
{
    static int calls;
    if (++calls < 5) return;
    fclose(fopen(state, "w"));
    for (;;) ;
}
]]

describe("an interrupt", function()
  local place

  before_each(function() place = support.folder() end)

  -- Runs a script, waits until it says that it hangs, interrupts it so often; its status and what it says.
  local function interrupted(body, times)
    local script = support.write(place .. "/script.lua",
      'local pmc = require "pmclua"\n' .. body:format(place))
    -- The one who waits is a child: a shell's background jobs ignore interrupts.
    local shell = [[
      await() { for i in $(seq 600); do "$@" && break; sleep 0.05; done; }
      ( await [ -e "$3/begun" ]
        kill -INT $$
        [ "$4" = 1 ] || { await grep -q again "$3/err"; kill -INT $$; } ) &
      exec "$1" "$2" --store "$3/stored.jsonl" --format csv >"$3/out" 2>"$3/err"]]
    local ran = support.run { "bash", "-c", shell, "bash", support.program, script, place, tostring(times) }
    return ran.status, support.read(place .. "/err")
  end

  it("ends a kernel that does not end, says so, and keeps what was measured", function()
    support.need(support.have "cc", "no C compiler")
    local status, err = interrupted(([[
      return pmc.experiment { events = "page-faults", iterations = 1, repetitions = 9, warmup = 0,
        workloads = { pmc.kernel { symbol = "hang", params = { begun = "%%s/begun" }, code = %q } } }]])
      :format(ENDLESS), 1)
    assert.equal(130, status)
    assert.matches("killed the repetition that was running %(hang%)", err)
    local stored = require("pmclua").load(place .. "/stored.jsonl")
    assert.equal("interrupted", stored.status)
    assert.equal(4, #stored:values("page-faults", {}))
  end)

  it("lets a command decide, says that it is waited for, and the second one ends it", function()
    local status, err = interrupted([[
      return pmc.experiment { events = "page-faults", repetitions = 9, warmup = 0,
        workloads = { pmc.command { "trap '' INT; touch %s/begun; sleep 600", shell = true,
          name = "nap" } } }]], 2)
    assert.equal(130, status)
    assert.matches("interrupt again to end it now", err)
    assert.matches("killed the repetition that was running %(nap%)", err)
  end)

  it("ends a hook that is a command, and the run with it, as an interrupt", function()
    local status, err = interrupted([[
      return pmc.experiment { events = "page-faults", repetitions = 9, warmup = 0, workloads = { "true" },
        prepare = pmc.command { "trap '' INT; touch %s/begun; sleep 600", shell = true } }]], 2)
    assert.equal(130, status)
    assert.is_nil(err:find("failed", 1, true))
  end)

  it("leaves out the repetition of a command that it ends, and keeps one that is all there is", function()
    local function measured(kept, before)
      local run = support.run { support.program, "-e", ([[
        local pmc = require "pmclua"
        local ffi = require "ffi"
        ffi.cdef "int getpid(void);"
        local place = %q
        local words = ("echo >>%%s/runs; [ $(wc -l <%%s/runs) -le %d ] || { kill -INT %%d; kill -INT $$; }")
          :format(place, place, ffi.C.getpid())
        local r = pmc.measure(pmc.command { words, shell = true }, { events = "page-faults",
          repetitions = 9, warmup = 0, on_failure = %q, quiet = true })
        print(r.status, #r:values "page-faults", r.problem)
        os.remove(place .. "/runs")
      ]]):format(support.folder(), before, kept) }
      return run.out
    end
    assert.equal("interrupted\t3\tnil\n", measured("keep", 3))
    assert.equal("interrupted\t3\tnil\n", measured("stop", 3))
    assert.equal("interrupted\t1\tnil\n", measured("keep", 0))
    assert.equal("interrupted\t0\tnil\n", measured("stop", 0))
  end)

  it("ends a script that would begin another run, unless it has looked at how the first one ended", function()
    local function both(number, looks)
      return support.run { support.program, "-e", ([[
        local pmc = require "pmclua"
        local ffi = require "ffi"
        ffi.cdef "int getpid(void); int kill(int pid, int number);"
        local function endless() ffi.C.kill(ffi.C.getpid(), %d) end
        local r = pmc.measure(endless, { events = "page-faults", repetitions = 9, warmup = 0, quiet = true })
        print(#r:values "page-faults" %s)
        pmc.measure("true", { events = "page-faults", repetitions = 1 })
        print "went on"
      ]]):format(number, looks and ", r.status" or "") }
    end
    local run = both(2, false)
    assert.same({ 130, "1\n" }, { run.status, run.out })
    assert.matches("interrupted", run.err)
    run = both(2, true)
    assert.same({ 0, "1\tinterrupted\nwent on\n" }, { run.status, run.out })
    assert.equal(143, both(15, true).status)
  end)

  it("ends pmclua the second time where a script's own function never ends", function()
    local script = support.write(place .. "/script.lua", ([[
      local pmc = require "pmclua"
      return pmc.experiment { events = "page-faults", repetitions = 3, workloads = { "true" },
        prepare = function() io.open("%s/begun", "w"):close() while true do end end }]]):format(place))
    local ran = support.run { "bash", "-c", [[
      ( for i in $(seq 600); do [ -e "$3/begun" ] && break; sleep 0.05; done
        for i in $(seq 600); do kill -INT $$ || break; sleep 0.05; done ) 2>/dev/null &
      exec "$1" "$2" --no-store --quiet]], "bash", support.program, script, place }
    assert.equal(130, ran.status)
  end)
end)

describe("Ctrl-C at the prompt", function()
  local screen

  local function open()
    support.need(support.have "tmux", "tmux is not installed")
    screen = require("tests.support.terminal").open { support.program }
    finally(function() screen:close() end)
    screen:expect "Ctrl-D leaves\n>"
  end

  -- Types a line whose workload or hook calls `begin()`, interrupts it when that was called, and waits for a text.
  local function interrupt(line, expected)
    local place = support.folder() .. "/begun"
    screen:enter(("function begin() io.open(%q, 'a'):close() end"):format(place), ">")
    screen:type(line)
    screen:press "Enter"
    support.await(function() return support.exists(place) end, line)
    screen:press "C-c"
    screen:expect(expected)
  end

  it("ends what pmc.measure runs as interrupted, whatever it is, and gives what was measured", function()
    open()
    local ENDLESS_RUN = "{ events = 'page-faults', repetitions = 1e7, %s }"
    local cases = {
      { "begin" },                                                           -- between pmclua's own lines
      { "function() begin() for i = 1, 1e4 do math.sin(i) end end" },
      { "function() begin() while true do end end" },
      { "'true'", "prepare = begin" },
      { "'true'", "prepare = function() begin() while true do end end" },
      { "function() end", "conclude = begin" },
    }
    for i, case in ipairs(cases) do
      interrupt(("r = pmc.measure(%s, %s) print('%d:' .. ' ' .. r.status, r.problem, r.signal)")
        :format(case[1], ENDLESS_RUN:format(case[2] or ""), i), i .. ": interrupted")
      screen:expect "nil     2"
    end
    screen:enter("type(r:list()[1].repetitions)", "number")
  end)

  it("ends all that was typed, not one run of it", function()
    open()
    interrupt("for i = 1, 1e6 do pmc.measure(begin, { events = 'page-faults' }) end print('not' .. ' ended')",
      "interrupted\n>")
    assert.is_nil(screen:screen():find("not ended", 1, true))
    screen:enter("pmc.measure('true', { events = 'page-faults' }).status", "complete")
  end)

  it("ends a loop that keeps the interrupts of its runs, and the session goes on", function()
    open()
    interrupt("while true do pcall(pmc.measure, begin, { events = 'page-faults' }) end", "interrupted\n>")
    screen:enter("6 * 7", "42")
  end)

  it("ends a monitor or a wait for a target, and what was typed goes on", function()
    open()
    interrupt("for s in pmc.monitor { events = 'page-faults', interval = 0.1, target = pmc.self() } do "
      .. "if s.index == 1 then begin() end end print('went' .. ' on')", "went on")
    interrupt("begin() print(pmc.self():wait(60))", "signal        2")
  end)

  it("ends a kernel that does not end, and keeps the session", function()
    support.need(support.have "cc", "no C compiler")
    local place = support.folder()
    support.write(place .. "/hang.c", ENDLESS)
    open()
    screen:type(("r = pmc.measure(pmc.kernel { source = '%s/hang.c', symbol = 'hang', "
      .. "params = { begun = '%s/begun' } }, "
      .. "{ events = 'page-faults', iterations = 1, repetitions = 9, warmup = 0 })"):format(place, place))
    screen:press "Enter"
    support.await(function() return support.exists(place .. "/begun") end, "the kernel to hang")
    screen:press "C-c"
    screen:enter("40 + 2", "42\n>")
  end)
end)

describe("a terminal that is closed", function()
  it("ends the prompt, whatever loop of measures is running", function()
    support.need(support.have "tmux", "tmux is not installed")
    local folder = support.folder()
    local screen = require("tests.support.terminal").open { support.program }
    screen:expect "Ctrl-D leaves\n>"
    screen:type(("f = function() io.open('%s/' .. require('pmclua.core').pid(), 'w'):close() end "
      .. "while true do pcall(pmc.measure, f, { events = 'page-faults' }) end"):format(folder))
    screen:press "Enter"
    local pid
    support.await(function()
      for name in require("lfs").dir(folder) do pid = pid or name:match "^%d+$" end
      return pid
    end, "the loop")
    screen:close()
    support.await(function() return not support.exists("/proc/" .. pid) end, "its end")
  end)
end)
