-- Whom a command's first thread waits for, and what that one does meanwhile, through all that it waits for in turn.

local pmc = require "pmclua"
local profiles = require "pmclua.result.profiles"
local support = require "tests.support"

local BURN_MS = 20

describe("what a first thread waits for is followed to the work of", function()
  local program

  setup(function()
    if not support.have "cc" then return end
    program = support.build(support.folder() .. "/waits", "cc", "-O2", "-pthread",
      support.fixture "why/waits.c")
  end)

  local function need()
    support.need(support.have "cc", "no C compiler")
    support.need(support.have_root() and support.have_tracefs(), "system calls take root's rights")
    support.need_unwatched "a watcher changes who waits for whom"
  end

  -- The chain of a run that is longest, and its ns.
  local function work_of(kind)
    local result = pmc.experiment { workloads = { pmc.command { program, kind, tostring(BURN_MS) } }, events =
      "duration_time", system_calls = true, repetitions = 1, warmup = 0 }:run { store = false, quiet = true }
    local calls, longest = profiles.calls_by_index(result, 1)[1], nil
    for _, chain in ipairs(calls.chains) do
      if chain.what == "work" and (not longest or chain.ns > longest.ns) then longest = chain end
    end
    return longest
  end

  for _, case in ipairs {
    { "a thread that it joins", "join", "futex", 2, is_end = true },
    { "the holder of a lock", "lock", "futex", 2 },
    { "who signals a condition", "condition", "futex", 2 },
    { "the last of a pipeline of three", "pipeline", "read", 3 },
    { "a server, another process, over a socket", "server", "read", 2, is_process = true },
  } do
    it(case[1], function()
      need()
      local chain = work_of(case[2])
      assert.same({ case[3], case[4], case.is_process or false, case.is_end or false },
        { chain.name, chain.thread, chain.is_process, chain.is_end })
      -- The other may have begun before the first thread waits.
      assert.is_true(chain.ns > 0.5e6 * BURN_MS and chain.ns < 1.5e6 * BURN_MS, tostring(chain.ns))
    end)
  end

  it("a worker with more of it: the ledger names its function, and the sentence the wait", function()
    need()
    local found
    for _ = 1, 3 do
      found = pmc.why(pmc.command { program, "join", "1", name = "a" },
        pmc.command { program, "join", "21", name = "b" },
        { repetitions = 12, budget = 120, simulate = false, quiet = true })
      local first = found.ledger.conclusion.names[1]
      local says_wait = found.sentence:find("end of thread 2, at work in burn", 1, true)
      if first and first.line.name == "burn" and says_wait then
        return
      end
    end
    error(found.sentence)
  end)
end)
