-- The list of mutants that no spec can notice.

local support = require "tests.support"

describe("tests/mutants/equivalent.txt", function()
  it("names lines that there are, with the token at its column", function()
    local count = 0
    for _, entry in ipairs(support.lines_of(support.root .. "/tests/mutants/equivalent.txt")) do
      local path, line, column, from = entry:match "^(%S+) | (.-) | (%d+) | (%S+) %-> %S+ #"
      assert.is_string(path, entry)
      local source = "\n" .. support.read(support.root .. "/" .. path)
      assert.is_truthy(source:find("\n *" .. line:gsub("%p", "%%%0") .. "\n"), entry)
      assert.equal(from, line:sub(tonumber(column), tonumber(column) + #from - 1))
      count = count + 1
    end
    assert.is_true(count > 0)
  end)
end)
