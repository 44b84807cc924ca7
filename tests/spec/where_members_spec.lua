-- Which member of a variable a byte belongs to, against what the compiler of the program says.

local core_data = require "pmclua.core.data"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"
local symbols = require "pmclua.core.symbols"
local where = require "tests.support.where"

local function built(...)
  support.need(support.have "c++", "no C++ compiler")
  return support.build(support.folder() .. "/members", "c++", "-O1", support.fixture "where/members.cc", ...)
end

-- The variables of a program by name: their first byte is found by looking at each offset of its file.
local function variables(path, its)
  local found, file = {}, io.open(path, "rb")
  local bytes = file:seek "end"
  file:close()
  for offset = 0, bytes + 65536, 8 do
    local variable = core_data.variable(its, offset)
    if variable then found[variable.name] = variable end
  end
  for distance = -256, -1, 8 do
    local variable = core_data.thread_variable(its, distance)
    if variable then found[variable.name] = variable end
  end
  return found
end

local function check_all(...)
  local path = built("-g", ...)
  local its = assert(symbols.open(path))
  local known, said, count = variables(path, its), support.run({ path }).out, 0
  for name, offset, most, wanted in said:gmatch "(%S+) (%d+) (%d+) ([^\n]*)\n" do
    local variable = assert(known[name], name .. " has no symbol")
    local member, _, is_padding = core_data.member(its, variable, tonumber(offset), tonumber(most))
    assert.equal(name .. wanted, name .. tostring(member) .. (is_padding and " padding" or ""))
    count = count + 1
  end
  its:close()
  assert.equal(16, count)
end

describe("a profile by member", function()
  it("says of a variable where the place is not certain, and of nothing else", function()
    local function object(fn, kind, address, member)
      return { file = "/x", fn = fn, kind = kind, count = 1, samples = 1,
        at = { { address = address, member = member, fn = "f", count = 1, samples = 1 } } }
    end
    local profile = { data = { rest = {}, lines = { object("lost", "variable"),
      object("plain", "variable", 8), object("slots", "variable", 8, "[1].n"), object("stack", "stack") } } }
    local seen = require("pmclua.ledger.objects").profiles({ profile }, "data member")[1]
    assert.same({ "lost (place not certain)", "plain", "slots[1].n", "stack" },
      lists.column(seen.lines, "fn"))
  end)
end)

describe("members of variables", function()
  it("are those that the compiler laid out, in arrays, nested, in unions, in padding, of threads", function()
    check_all()
  end)

  it("are the same by DWARF 4", function() check_all "-gdwarf-4" end)

  it("are unknown beyond a variable's bound and without debug information", function()
    local path = built "-g"
    local its = assert(symbols.open(path))
    local counters = variables(path, its)["shop::counters"]
    assert.is_nil(core_data.member(its, counters, counters.bytes))
    assert.equal("[3].misses", (core_data.member(its, counters, counters.bytes - 1)))
    its:close()
    path = built "-s"
    its = assert(symbols.open(path))
    assert.is_nil(core_data.member(its, counters, 8))
    its:close()
  end)

  it("are lines of where --data --by member, which add up", function()
    local program = where.program("data.c", "-O2", "-g", "-pthread")
    local found = pmc.where(pmc.command { program, "pages", "7" },
      { data = true, event = "page-faults", seed = 5 })
    local ledger, sum, labels = found:ledger "data member", 0, {}
    for _, rows in ipairs { ledger.lines, ledger.rest } do
      for _, row in ipairs(rows) do sum = sum + row.a_sum end
    end
    for _, row in ipairs(ledger.lines) do labels[row.label] = row.a_sum end
    assert.equal(ledger.total.a_sum, sum)
    -- 50 elements are told apart, 100 are not.
    assert.is_true((labels["touched[][]"] or 0) >= 99, tostring(labels["touched[][]"]))
  end)

  it("tell a function's own frame from those of its callers", function()
    support.need(jit.arch == "x64", "no decoding of this machine's instructions")
    local program = where.program("data.c", "-O2", "-pthread")
    local ok, found = pcall(pmc.where, pmc.command { program, "stack", "1" },
      { data = true, event = "cpu-clock:u", seed = 5 })
    support.need(ok, tostring(found))
    local line = found.profiles[1].data.lines[1]
    assert.equal("frame of stack, first thread", line.fn)
  end)
end)
