-- What hot loops call stays compilable: LuaJIT gives up a function whose own traces always fail, and from
-- then on compiles nothing that calls it (lua/README.md).

local core = require "pmclua.core"
local ffi = require "ffi"
local support = require "tests.support"

-- A loop of its own, which LuaJIT has not met yet.
local function new_loop()
  return assert(loadstring "local times, fn, a, b = ... for _ = 1, times do fn(a, b) end")
end

-- Makes so many interpreted calls that LuaJIT gives up a function whose own traces always fail.
local function call_interpreted(fn, a, b)
  local loop = new_loop()
  jit.off(loop)
  loop(300000, fn, a, b)
end

-- Whether LuaJIT compiles a loop that calls it.
local function is_compiled(fn, a, b)
  local loop, begun, made = new_loop(), nil, false
  local function note(what, _, begins)
    if what == "start" then begun = begins end
    if what == "stop" then made = made or begun == loop end
  end
  jit.attach(note, "trace")
  loop(100000, fn, a, b)
  jit.attach(note)
  return made
end

local buffer = ffi.new("uint64_t[2]", 7)

local CASES = {
  ["an exact number"] = { core.exact, 7ULL },
  ["an exact sum"] = { core.sum, 7ULL, 1 },
  ["an exact word of a reading"] = { core.word, buffer, 1 },
  ["a plain word of a reading"] = { core.number, buffer, 1 },
  ["the clock"] = { core.now_ns },
}

describe("a loop is compiled, however often interpreted code did the same before it:", function()
  for name, case in pairs(CASES) do
    it(name, function()
      support.need(jit.status(), "LuaJIT compiles nothing here")
      call_interpreted(unpack(case))
      assert.is_true(is_compiled(unpack(case)))
    end)
  end
end)

describe("pairs() and next()", function()
  -- LuaJIT has numbers for the builtin functions that it knows how to compile.
  local function is_plain_c(fn)
    local facts = require("jit.util").funcinfo(fn)
    return facts.addr ~= nil and facts.ffid == nil
  end

  it("are not compiled where LuaJIT would cut their pointers to 32 bits", function()
    local version = tonumber(jit.version:match "^LuaJIT 2%.1%.(%d+)$")
    support.need(jit.arch == "x64" and not version, jit.version .. " compiles them rightly")
    for _, fn in ipairs { pairs, next, (pairs {}) } do
      assert.is_true(is_plain_c(fn))
    end
  end)

  it("go through a table as Lua's do, and refuse what is none", function()
    local seen = {}
    for key, value in pairs { 5, x = 6 } do seen[key] = value end
    assert.same({ 5, x = 6 }, seen)
    assert.same({ nil, 1, 5 }, { next {}, next { 5 } })
    assert.error_matches(function() pairs(nil) end, "bad argument #1 to 'pairs' %(table expected, got nil%)")
    assert.error_matches(function() next({}, "no key") end, "invalid key to 'next'")
  end)
end)
