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
  it("ends a kernel that does not end, and keeps the session", function()
    support.need(support.have "tmux" and support.have "cc", "tmux or a C compiler is not installed")
    local terminal = require "tests.support.terminal"
    local place = support.folder()
    support.write(place .. "/hang.c", ENDLESS)
    local screen = terminal.open { support.program }
    finally(function() screen:close() end)
    screen:expect "Ctrl-D leaves\n>"
    screen:type(("r = pmc.measure(pmc.kernel { source = '%s/hang.c', symbol = 'hang', "
      .. "params = { begun = '%s/begun' } }, "
      .. "{ events = 'page-faults', iterations = 1, repetitions = 9, warmup = 0 })"):format(place, place))
    screen:press "Enter"
    support.await(function() return support.exists(place .. "/begun") end, "the kernel to hang")
    screen:press "C-c"
    screen:enter("40 + 2", "42\n>")
  end)
end)
