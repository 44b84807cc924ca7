-- Which function makes that another one costs more, by chains, calls, call sites and what reads otherwise.

local lists = require "pmclua.base.lists"
local origin = require "pmclua.ledger.origin"
local profiles = require "tests.support.profiles"

local unread = require "pmclua.ledger.unread"

local SOURCE = "/home/u/parse.c"

-- One side: the chains' costs, calls by chain, and sites { caller, callee, line, calls, cost }. Each function has its
-- lines from the number that `at` says.
local function side(at, chains, calls, sites)
  local own, lines = {}, {}
  for chain, count in pairs(chains) do
    local leaf = chain:match "[^;]+$"
    own[leaf] = (own[leaf] or 0) + count
  end
  for fn, first in pairs(at) do
    local count = own[fn] or 0
    lines[#lines + 1] = profiles.line(fn, count, { lines = { [first] = count, [first + 5] = 0 } })
  end
  for _, fn in ipairs { "memcpy" } do
    lines[#lines + 1] = profiles.line(fn, own[fn] or 0, { source = "libc.c", lines = { [1] = own[fn] or 0 } })
  end
  return { profiles.profile(lines, { chains = chains, calls = calls, sites = lists.map(sites, function(one)
    return { frame = one[1], full = one[1], callee = one[2], source = SOURCE, line = one[3], calls = one[4],
      cost = one[5] }
  end) }) }
end

-- A pairing in which some lines of B read otherwise; the library's source is not known.
local function pairing(changed)
  return {
    line = function(_, _, source, number) return source == SOURCE and number or nil end,
    differs = function(_, where, source, first, last)
      if source ~= SOURCE then return nil end
      return where == "b" and lists.any(changed, function(line) return line >= first and line <= last end)
    end,
  }
end

local AT = { main = 100, load = 10, grow = 20, save = 30 }

-- The origin of what `fn` costs more: its function, line, callee, and its caller.
local function origin_of(fn, a, b, changed)
  local way = origin.new(a, b, pairing(changed)):way(origin.key { full = fn,
    declared = fn == "memcpy" and "libc.c" or SOURCE }, 1)
  local k = origin.of(way)
  return { way[k].fn, way[k].line, way[k].callee or "-", way[k + 1] and way[k + 1].fn or "-" }
end

local function chains(load, save)
  return { ["main;load;grow;memcpy"] = load, ["main;save;grow;memcpy"] = save, ["main;load"] = 10,
    ["main;save"] = 10, ["main;load;grow"] = 5, ["main;save;grow"] = 5, main = 1 }
end

local function calls(load, save)
  return { ["main;load"] = 1, ["main;save"] = 1, ["main;load;grow"] = load, ["main;save;grow"] = save,
    ["main;load;grow;memcpy"] = load, ["main;save;grow;memcpy"] = save }
end

local function sites(load, save)
  return { { "main", "load", 101, 1, 20 + load }, { "main", "save", 102, 1, 20 + save },
    { "load", "grow", 12, load, load }, { "save", "grow", 33, save, save },
    { "grow", "memcpy", 22, load + save, load + save } }
end

describe("the origin of what a function costs more", function()
  it("is the line that calls it more often, where no source reads otherwise", function()
    assert.same({ "save", 33, "grow", "main" }, origin_of("memcpy", side(AT, chains(100, 100), calls(10, 10),
      sites(100, 100)), side(AT, chains(90, 400), calls(9, 40), sites(90, 400)), {}))
  end)

  it("is who gives it more to do, where it is called as often", function()
    local a = side(AT, chains(100, 100), calls(10, 10), sites(100, 100))
    local b = side(AT, chains(100, 400), calls(10, 10), sites(100, 400))
    assert.same({ "grow", 22, "memcpy", "save" }, origin_of("memcpy", a, b, {}))
    assert.same({ "grow", 22, "memcpy", "save" }, origin_of("memcpy", a, b, { 23 }))
    assert.same({ "save", 33, "grow", "main" }, origin_of("memcpy", a, b, { 31 }))
    assert.same({ "main", 102, "save", "-" }, origin_of("memcpy", a, b, { 104 }))
  end)

  it("is not one that reads otherwise and is called more often by as much", function()
    assert.same({ "save", 33, "grow", "main" }, origin_of("memcpy", side(AT, chains(100, 100), calls(10, 10),
      sites(100, 100)), side(AT, chains(100, 400), calls(10, 40), sites(100, 400)), { 21, 31 }))
  end)

  it("is the function itself where it has the cost and is called as often", function()
    local function own(count)
      return side(AT, { ["main;load"] = count, main = 1 }, { ["main;load"] = 1 },
        { { "main", "load", 101, 1, count } })
    end
    local found = origin_of("load", own(100), own(150), {})
    assert.same({ "load", "-", "main" }, { found[1], found[3], found[4] })
  end)

  it("has the caller whose chains grew most in all, not the one with the largest chain", function()
    local function spread(each)
      local of = { ["main;load"] = 50, ["main;load;grow"] = 40 }
      local called = { ["main;load;grow"] = 4 }
      for i = 1, 6 do
        of[("main;x%d;save;grow"):format(i)], called[("main;x%d;save;grow"):format(i)] = each, 4
      end
      if each > 10 then of["main;load;grow"] = 75 end
      return side(AT, of, called, {})
    end
    assert.equal("save", origin_of("grow", spread(10), spread(30), { 21 })[4])
  end)

  it("has the line that reads otherwise, or the nearest one that does", function()
    local a = side(AT, chains(100, 100), calls(10, 10), sites(100, 100))
    local function line_of(grown, changed)
      local key = origin.key { full = "grow", declared = SOURCE }
      return origin.new(a, a, pairing(changed)):line(key, grown).line
    end
    local hot = { source = SOURCE, line = 22, grown = 90 }
    assert.equal(22, line_of({ hot }, {}))
    assert.equal(24, line_of({ hot, { source = SOURCE, line = 24, grown = 10 } }, { 24, 21 }))
    assert.equal(21, line_of({ hot, { source = SOURCE, line = 24, grown = 1 } }, { 21 }))
  end)
end)

describe("a source that was changed since A was built from it", function()
  -- A's hashes where each line of B reads "b" and its number, by what the lines of `load` cost.
  local function told(a, b)
    local function side_of(lines, text)
      return { profiles.profile({ profiles.line("load", 100, { lines = lines }) },
        { sources = { [SOURCE] = text } }) }
    end
    local hashes = {}
    for i = 1, 40 do hashes[i] = ("b%07d"):format(i) end
    local found = unread.told(side_of(a, { why = "newer" }), side_of(b, { hashes = table.concat(hashes) }))
    return found[1].sources[SOURCE].hashes or ""
  end

  local function lines_of(hashes)
    local list = {}
    for hash in hashes:gmatch "........" do list[#list + 1] = tonumber(hash:match "^b(%d+)") or "-" end
    return table.concat(list, " ")
  end

  it("reads as it does now where the function has as many lines, wherever it stands", function()
    assert.equal("- - 4 5 6 7",
      lines_of(told({ [3] = 2, [4] = 20, [6] = 2 }, { [4] = 2, [5] = 90, [7] = 2 })))
  end)

  it("has the lines with the same counts for each call from both ends on, where it has others", function()
    assert.equal("- - 3 4 - 7 8", lines_of(told({ [3] = 2, [4] = 20, [5] = 8, [6] = 10, [7] = 2 },
      { [3] = 4, [4] = 40, [5] = 90, [6] = 4, [7] = 20, [8] = 4 })))
  end)

  it("is left alone where both are known, or B's is not", function()
    local known = { profiles.profile({ profiles.line("load", 1, { lines = { [3] = 1 } }) },
      { sources = { [SOURCE] = { hashes = "b0000001" } } }) }
    assert.equal(known, unread.told(known, known))
  end)
end)
