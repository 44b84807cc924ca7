-- tests/beside, by which parts of the suite run at the same time.

local support = require "tests.support"

local BESIDE = support.root .. "/tests/beside"

describe("commands that run at the same time", function()
  it("print in their order, each in one piece, whichever ends first", function()
    local folder = support.folder()
    local made = support.run({ BESIDE, "echo a; until [ -e ended ]; do sleep 0.01; done; echo b",
      "echo c; echo d >&2; : >ended" }, { folder = folder })
    assert.same({ "a\nb\nc\nd\n", "", 0 }, { made.out, made.err, made.status })
  end)

  it("are no more than are wished", function()
    local once = "mkdir held && echo alone; sleep 0.05; rmdir held"
    local made = support.run({ BESIDE, "-j", "1", once, once, once }, { folder = support.folder() })
    assert.same({ "alone\nalone\nalone\n", 0 }, { made.out, made.status })
  end)

  it("end with the status of the first that fails, when all have ended", function()
    local made = support.run { BESIDE, "exit 0", "exit 5", "echo still; exit 6" }
    assert.same({ "still\n", 5 }, { made.out, made.status })
  end)

  for signal, status in pairs { INT = 130, TERM = 143 } do
    it("end at SIG" .. signal .. ", and what they have started, in groups of its own too", function()
      local folder = support.folder()
      local script = [[env --default-signal=INT "$0" 'sleep 600 & echo $! >one; wait' \
        'timeout 600 sh -c "echo \$\$ >two; sleep 600; true"' &
        until [ -s one ] && [ -s two ]; do sleep 0.01; done; kill -]] .. signal .. " $!; wait $!"
      local made = support.run({ "bash", "-c", script, BESIDE },
        { folder = folder, env = { TMPDIR = folder } })
      assert.equal(status, made.status, made.err)
      for _, name in ipairs { "one", "two" } do
        support.await_end(tonumber(support.read(folder .. "/" .. name)))
      end
      assert.equal("one\ntwo\n", support.run({ "ls", "-A", folder }).out)
    end)
  end
end)
