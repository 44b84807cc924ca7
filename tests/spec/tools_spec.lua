-- Programs that pmclua chooses are read within a limit of time and bytes, and have ended when their text is there.

local support = require "tests.support"
local tools = require "pmclua.host.tools"

local function script(body)
  local path = support.write(support.folder() .. "/tool", "#!/bin/sh\n" .. body .. "\n")
  os.execute("chmod 755 " .. path)
  return path
end

describe("a program that pmclua chooses", function()
  it("is read to its end, with its status", function()
    local three = script "echo \"$@\"; echo no >&2; exit 3"
    assert.same({ "one two\n", nil, 3 }, { tools.read(three, { "one", "two" }) })
    local said = tools.read(script "echo no >&2", {}, { errors = true })
    assert.equal("no\n", said)
    assert.equal(128 + 9, select(3, tools.read(script "kill -KILL $$", {})))
  end)

  it("has an empty input, and the environment without the working directory's folders", function()
    assert.equal("\n", (tools.read(script "cat; echo", {})))
    local path = support.with_env({ PATH = ".:" .. os.getenv "PATH", CPATH = "." }, function()
      return (tools.read(script 'echo "$PATH${CPATH-none}"', {}))
    end)
    assert.equal(os.getenv "PATH" .. "none\n", path)
  end)

  it("is ended where it writes too much", function()
    local path = script "exec yes"
    local said, why = tools.read(path, {}, { megabytes = 1 })
    assert.equal(path .. " wrote more than 1 MB, and was ended", why)
    assert.is_true(#said > 2 ^ 20 and #said < 2 ^ 21)
  end)

  for _, way in ipairs { "sleep 1000", "exec >&-; sleep 1000", "trap '' TERM INT HUP; sleep 1000; sleep 1000",
    "sleep 1000 & echo $!; wait" } do
    it("is ended with all that it started where it takes too long: " .. way, function()
      local path = script("echo $$ >$0.pid; " .. way)
      local said, why = tools.read(path, {}, { seconds = 0.3 })
      assert.equal(path .. " did not end in 0.3 s, and was ended", why)
      support.await_end(tonumber(support.read(path .. ".pid")))
      if said ~= "" then support.await_end(tonumber(said)) end
    end)
  end

  it("that cannot be run is named", function()
    assert.same({ "", "/no/such could not be run: ENOENT" }, { tools.read("/no/such", {}) })
  end)
end)
