-- Loops that LuaJIT compiles for arm64, as pmclua has it set.

local lab = require "tests.lab.support"
local support = require "tests.support"

-- A loop with so many values at once, which goes another way after it was compiled: to a loop within it that has a
-- trace of its own by then. With 13 of them no register is left for the address of the Lua stack.
local LOOPS = [[
local ROUNDS, MOST = 6000, 24
local turns = {}
for round = 1, ROUNDS do turns[round] = round > ROUNDS / 3 and 4 or 1 end

local function each(count, form)
  local lines = {}
  for i = 1, count do lines[i] = form:gsub("#", i) end
  return table.concat(lines, "\n")
end

for count = 1, MOST do
  local loop = assert(loadstring(table.concat({
    "local new, rounds, turns = require('ffi').new, ...",
    each(count, "local sum#"),
    "for round = 1, rounds do",
    each(count, "local value# = new('int64_t', round + #)"),
    "if round > rounds / 2 then else end",
    each(count, "sum# = tonumber(value#)"),
    "for _ = 1, turns[round] do end",
    "end",
    ("return sum%d"):format(count) }, "\n")))
  assert(loop(ROUNDS, turns) == ROUNDS + count)
end
print "done"]]

describe("in the lab, LuaJIT", function()
  lazy_setup(lab.need_lab)

  it("keeps the Lua stack where a loop goes another way and no register is left", function()
    local script = support.folder() .. "/loops.lua"
    support.write(script, LOOPS)
    local done = support.pmclua { script }
    assert.same({ 0, "done\n", "" }, { done.status, done.out, done.err })
  end)
end)
