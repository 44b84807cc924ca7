-- C snippets: the work of each copy is in the machine code, and what is not there is said. Times are no proof here:
-- the compiler's listing is, whose instructions the header of a result keeps.

local support = require "tests.support"
local pmc = require "pmclua"

local INIT = "int x = 7, y = 3; double d = 1.5, e = 1.25; float f = 2; int a[16] = {0}, *p = &a[2];"
  .. " struct { int m, n; } s = {1, 2}; volatile int v = 1; long double l = 1; unsigned char u = 1;"

-- The compilers that are here.
local function compilers()
  local list = {}
  for _, cc in ipairs { "gcc", "clang" } do
    if support.have(cc) then list[#list + 1] = cc end
  end
  support.need(#list > 0, "no C compiler")
  return list
end

local function machine_code(spec, compiler)
  return support.with_env({ CC = compiler }, function()
    local result = pmc.measure(pmc.snippet(spec), { events = "duration_time", repetitions = 1, warmup = 0,
      iterations = 1 })
    return result.header.cells[1].machine_code, result
  end)
end

local function of_c(c, compiler, more)
  local spec = { c = c, init = INIT, unroll = 10 }
  for key, value in pairs(more or {}) do spec[key] = value end
  return machine_code(spec, compiler)
end

local function kinds(result)
  local list = {}
  for i, warning in ipairs(result:warnings()) do list[i] = warning.kind end
  return list
end

describe("a C snippet", function()
  it("has its work in the machine code as often as it is unrolled", function()
    local patterns = { { "x += y", "add" }, { "x *= y", "mul" }, { "d = cos(d);", "%a" }, { "x /= y", "div" },
      { "d += e", "add" }, { "x++ /* y */ ; // done", "%a" }, { "d *= e", "mul" }, { "d /= e", "div" },
      { "*p += y", "%a" }, { "f *= f", "mul" }, { "sqrt(d)", "sqrt" }, { "int t = x * y", "mul" },
      { "x + y", "%a" }, { "x = y * y", "mul" }, { "l *= l", "mul" }, { "a[3] += x", "%a" },
      { "s.m += y", "%a" }, { "v++", "%a" }, { "u++", "%a" },
      { "if (x > y) x -= y; else x += 5", "%a" }, { "x;\ny += x", "add" } }
    for k, compiler in ipairs(compilers()) do
      -- The second compiler has a third of them: each takes two thirds of a second.
      for i = 1, #patterns, k == 1 and 1 or 3 do
        local c, pattern = unpack(patterns[i])
        local code, result = of_c(c, compiler)
        local where = compiler .. ": " .. c
        assert.same({ 10, 10 }, { code.unroll, code.copies }, where)
        assert.is_true(code.least > 0, where)
        assert.matches(pattern, code.text, where)
        assert.is_nil(table.concat(kinds(result), " "):match "snippet", where)
      end
    end
  end)

  it("is kept at no cost where its variables are in registers", function()
    for _, compiler in ipairs(compilers()) do
      for _, optimisation in ipairs { "-O2", "-O3" } do
        for _, c in ipairs { "x += y", "x *= y", "d /= e" } do
          local code = of_c(c, compiler, { cflags = optimisation })
          local where = ("%s %s: %s: %s"):format(compiler, optimisation, c, code.text)
          assert.same({ 1, 1 }, { code.least, code.most }, where)
        end
      end
    end
  end)

  it("that is empty says that it shows the loop alone", function()
    for _, spec in ipairs { { c = "" }, { c = " ; // nothing" }, { asm = "" }, { asm = " ; " } } do
      compilers()
      local _, result = machine_code(spec)
      assert.equal("snippet", kinds(result)[1])
      assert.matches("empty: this is what the loop alone costs", result:warnings()[1].message)
    end
  end)

  it("of which the compiler leaves no instruction says so", function()
    for _, compiler in ipairs(compilers()) do
      for _, c in ipairs { "pmclua_keep(0)", "x", "(void)(x + y)", "{ int inner = x * y; (void)inner; }" } do
        local _, result = of_c(c, compiler)
        assert.matches("left no instruction", result:warnings()[1].message, compiler .. ": " .. c)
      end
    end
  end)

  it("says where its machine code cannot be seen", function()
    support.need(support.have "gcc", "no gcc")
    local _, result = of_c("x += y", "gcc", { cflags = "-flto -fno-fat-lto-objects" })
    assert.matches("cannot be read", result:warnings()[1].message)
  end)

  it("may be unrolled by a factor, as often as that says", function()
    compilers()
    local snippet = pmc.snippet { c = "x += y", init = INIT, unroll = "{unroll}" }
    local result = pmc.measure(snippet, { events = "duration_time", repetitions = 1, iterations = 1,
      factors = { { "unroll", { 1, 7 } } } })
    for i, copies in ipairs { 1, 7 } do assert.equal(copies, result.header.cells[i].machine_code.copies) end
    local said = support.message_of(pmc.snippet, { c = "x++", init = INIT, unroll = 0.5 })
    assert.matches("unroll must be a whole number from 1", said, 1, true)
  end)

  it("names the instructions of one copy in its report, and in what is stored", function()
    local compiler = compilers()[1]
    local file = support.folder() .. "/snippet.jsonl"
    local _, result = of_c("x *= y", compiler)
    result:store(file)
    for _, shown in ipairs { tostring(result), tostring(pmc.load(file)) } do
      assert.matches("x %*= y: one copy is 1 instruction: %a*mul", shown)
    end
  end)
end)
