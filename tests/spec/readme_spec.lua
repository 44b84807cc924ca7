-- README.md: every command in it runs, every target in it is there.

local support = require "tests.support"

local text = support.read(support.root .. "/README.md")

local function commands()
  local list = {}
  for line in text:gmatch "\n%$ ([^\n]+)" do list[#list + 1] = line end
  return list
end

describe("README.md", function()
  for _, command in ipairs(commands()) do
    it("has a command that runs: " .. command, function()
      support.need(support.have "cc" or not command:find "matrix", "no C compiler")
      local bin = support.folder()
      os.execute(("ln -s '%s' '%s/pmclua'"):format(support.program, bin))
      local got = support.run({ "sh", "-c", 'PATH="$0:$PATH"; ' .. command, bin },
        { env = { XDG_STATE_HOME = bin .. "/state" }, limit_s = 120 })
      assert.equal(0, got.status, got.err)
      assert.is_true(#got.out + #got.err > 0)
    end)
  end

  it("names only targets that the Makefile has", function()
    local makefile = support.read(support.root .. "/Makefile")
    for target in text:gmatch "make (%l+) " do
      assert.is_truthy(makefile:find("\n" .. target .. ":", 1, true), target)
    end
  end)

  it("shows the script that it says it shows", function()
    local shown = text:match "```lua\n(.-)```"
    local script = support.read(support.root .. "/scripts/matrix.lua")
    assert.is_truthy(script:find(shown, 1, true))
  end)
end)
