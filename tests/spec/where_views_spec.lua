-- How code ledgers are shown: as tables, for programs, for flame graph tools; and end to end.

local dkjson = require "dkjson"
local pmc = require "pmclua"
local profiles = require "tests.support.profiles"
local support = require "tests.support"
local where = require "tests.support.where"

-- 12 pairs: parse costs 10 more in B, copy is in a library, and 3 were lost.
local function code()
  local a, b = {}, {}
  for i = 1, 12 do
    for side, list in ipairs { a, b } do
      local parse = 100 + i % 3 + (side == 2 and 10 or 0)
      list[i] = profiles.profile({ profiles.line("parse", parse, { lines = { [3] = parse - 40, [5] = 40 } }),
        profiles.line("copy", 50, { file = "/lib/libc.so.6", source = "copy.c" }) },
        { rest = { lost = 3 }, exact = false })
    end
  end
  return profiles.code(a, b)
end

local function text(options) return code():report(support.merged({ width = 80, utf8 = true }, options)) end

describe("a table of where the counts are", function()
  it("has functions with both sides, what is not attributed, and the total", function()
    assert.equal([[
A old (baseline), B new · page-faults · 12 pairs · each event sampled
function            A    B  B - A  interval  share  verdict
parse             101  111    +10  =         100 %  more
copy [libc.so.6]   50   50      0  =           0 %  undecided
(lost samples)      3    3      0  =           0 %
total             154  164    +10  =         100 %
means, which add up; their intervals do not · verdicts hold together at 99 %
  for 2 lines (Holm's procedure)

lost samples: 1.9 % of the total; shorter runs lose fewer, and root's rings
  are larger
the difference is in parse (100 %)
]], text {})
  end)


  it("names no line in its conclusion that differs by less than a hundredth of the largest", function()
    local a, b = {}, {}
    for i = 1, 12 do
      for side, list in ipairs { a, b } do
        local more = side == 2 and 1 or 0
        list[i] = profiles.profile { profiles.line("parse", 5000 + 1000 * more),
          profiles.line("copy", 50 + 9 * more), profiles.line("join", 50 + 10 * more) }
      end
    end
    local shown = profiles.code(a, b):report { width = 80, utf8 = true }
    assert.matches("\ncopy +50 +59 +%+9 .- more\n", shown)
    assert.matches("\nthe difference is in parse %(98 %%%) and join %(1 %%%)\n", shown)
  end)

  it("says of data that most of it is the stack, as it is without optimisation", function()
    local function shown(stack)
      local profile = profiles.profile { profiles.line("main", 100) }
      local function object(fn, kind, count)
        return { fn = fn, kind = kind, file = "x", count = count, samples = count,
          at = { { fn = "main", count = count, samples = count } } }
      end
      profile.unit, profile.data = "ns", { rest = {}, sharing = {},
        lines = { object("frame of main", "stack", stack), object("table", "variable", 100 - stack) } }
      return profiles.code({ profile }, { profile }):report { by = "data", width = 200 }
    end
    assert.matches("60 % of the total is at stacks: where a program is built without optimisation (-O0)",
      shown(60), 1, true)
    assert.not_matches("at stacks", shown(40), 1, true)
  end)

  it("says what gives names to code without them, unless a remark says why it has none", function()
    local function said(fn, more)
      more.nameless = true
      local list = { profiles.profile { profiles.line(fn, 50, more), profiles.line("parse", 50) } }
      return (profiles.code(list, list):report { width = 500, utf8 = true })
    end
    assert.matches("50 % of the total is in code without names: install its debug symbols",
      said("lib.so+0x1f0", { file = "/lib/lib.so" }), 1, true)
    assert.matches("50 % of the total is in code made at run time, without names: have its program write",
      said("[memory]", { file = "[memory]", kind = "jit" }), 1, true)
    for _, fn in ipairs { "lib.so", "[linux]" } do
      local file = fn == "[linux]" and fn or "/lib/" .. fn
      assert.is_nil(said(fn, { file = file }):find("without names", 1, true))
    end
  end)

  it("has source lines, and shows what it leaves out as one row", function()
    local shown = text { by = "line", most = 1 }
    assert.matches("\nparse%.c:3 parse +61 +71 +%+10 ", shown)
    assert.matches("\n2 more +90 +90 +0 ", shown)
    assert.matches("\ntotal +154 +164 ", shown)
  end)

  it("has one side's shares", function()
    local alone = code().result:only { workload = "new" }:where()
    local shown = alone:report { width = 80, utf8 = true }
    assert.matches("new · page%-faults · 12 repetitions", shown)
    assert.matches("\nparse +111 +68 %% +111 +110 … 112\n", shown)
    assert.not_matches("verdict", shown)
  end)

  it("is no wider than the terminal, nor has anything but ASCII where that is all it can show", function()
    for _, width in ipairs { 50, 60, 80 } do
      assert.is_true(support.widest(text { width = width }) <= width)
    end
    assert.not_matches("[\128-\255]", text { utf8 = false })
  end)

  it("is Markdown too", function()
    assert.matches("| parse | 101 | 111 | +10 | = | 100 % | more |", text { format = "markdown" }, 1, true)
  end)
end)

describe("for programs, a code ledger", function()
  it("is JSON whose lines and rest add up to the total, in every repetition", function()
    for _, by in ipairs { "function", "line" } do
      local found = dkjson.decode(text { format = "json", by = by })
      for _, side in ipairs { "a_values", "b_values" } do
        for i = 1, 12 do
          local sum = 0
          for _, rows in ipairs { found.lines, found.rest } do
            for _, row in ipairs(rows) do sum = sum + row[side][i] end
          end
          assert.equal(found.total[side][i], sum)
        end
      end
      assert.same({ "named", 12, "lost" }, { found.conclusion, found.a.repetitions, found.rest[1].reason })
    end
  end)

  it("is CSV with a value of each line, side and repetition", function()
    local sums, n = {}, 0
    for line in text({ format = "csv" }):gmatch "[^\n]+" do
      local kind, side, value = line:match "^(%a+),.*,([AB]),[^,]+,%d+,(%d+),"
      if kind then
        n = n + 1
        sums[side .. kind] = (sums[side .. kind] or 0) + tonumber(value)
      end
    end
    assert.equal(4 * 2 * 12, n)
    assert.same({ sums.Atotal, sums.Btotal }, { sums.Acode + sums.Arest, sums.Bcode + sums.Brest })
  end)

  it("is folded stacks whose counts are those of all repetitions", function()
    local lines = {}
    for line in text({ format = "folded" }):gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.same({ "[lost samples] 36 36", "libc.so.6;copy 600 600", "parse;parse 1212 1332" }, lines)
  end)

  it("is folded call chains where they were recorded, and says how much has none", function()
    local own = { chains = { ["main;parse"] = 60, ["main;copy"] = 30 } }
    local chained = profiles.profile({ profiles.line("parse", 70), profiles.line("copy", 30) }, own)
    local shown = profiles.code({ chained }, { chained }):report { format = "folded" }
    assert.equal("[caller unknown] 10 10\nmain;copy 30 30\nmain;parse 60 60\n", shown)
  end)

  -- The fields of a message of Protocol Buffers, by number: lists of numbers and texts.
  local function fields_of(bytes)
    local fields, at = {}, 1
    local function varint()
      local value, scale = 0, 1
      repeat
        local byte = bytes:byte(at)
        value, scale, at = value + byte % 128 * scale, scale * 128, at + 1
      until byte < 128
      return value
    end
    while at <= #bytes do
      local tag = varint()
      local number, value = math.floor(tag / 8), varint()
      if tag % 8 == 2 then
        at = at + value
        value = bytes:sub(at - value, at - 1)
      end
      fields[number] = fields[number] or {}
      table.insert(fields[number], value)
    end
    return fields
  end

  local function varints(bytes)
    return fields_of((bytes:gsub("()", function(at)
      return (at == 1 or bytes:byte(at - 1) < 128) and at <= #bytes and "\8" or ""
    end)))[1]
  end

  it("is profile.proto, gzipped, as pprof reads it", function()
    local path = support.folder() .. "/profile.pb"
    profiles.code({ profiles.profile { profiles.line("parse", 70), profiles.line("copy", 300) } },
      { profiles.profile { profiles.line("parse", 90) } }):write(path, { format = "pprof" })
    local found = fields_of(support.output_of("gzip -dc " .. path))
    local function text_at(index) return found[6][index + 1] end
    local type_a = fields_of(found[1][1])
    assert.equal("", text_at(0))
    assert.matches("^[%w-]+ of ", text_at(type_a[1][1]))
    local values = {}
    for _, sample in ipairs(found[2]) do
      local one = fields_of(sample)
      local leaf = fields_of(found[5][varints(one[1][1])[1]])
      values[text_at(leaf[2][1])] = varints(one[2][1])
    end
    assert.same({ parse = { 70, 90 }, copy = { 300, 0 } }, { parse = values.parse, copy = values.copy })
    for i, location in ipairs(found[4]) do
      assert.same({ i, i }, { fields_of(location)[1][1], fields_of(fields_of(location)[4][1])[1][1] })
    end
    support.need(support.have "go", "go is not installed")
    local shown = support.output_of("go tool pprof -sample_index=0 -top " .. path .. " 2>&1")
    assert.matches("300 81.08%% 81.08%%", shown)
  end)

  it("is profile.proto with a rest below 0, where fewer were counted than samples say", function()
    local path = support.folder() .. "/profile.pb"
    local less = profiles.profile({ profiles.line("parse", 70) }, { rest = { lost = -3 } })
    profiles.code({ less }, { less }):write(path, { format = "pprof" })
    local found = fields_of(support.output_of("gzip -dc " .. path))
    local minus_3 = "\253" .. ("\255"):rep(8) .. "\1"
    local count = 0
    for _, sample in ipairs(found[2]) do
      count = count + (fields_of(sample)[2][1] == minus_3:rep(2) and 1 or 0)
    end
    assert.equal(1, count)
  end)

  it("is speedscope's JSON: a profile of each side, whose weights are its total", function()
    local found = dkjson.decode(text { format = "speedscope" })
    assert.equal("https://www.speedscope.app/file-format-schema.json", found["$schema"])
    for i, total in ipairs { 36 + 600 + 1212, 36 + 600 + 1332 } do
      local profile, sum = found.profiles[i], 0
      for _, weight in ipairs(profile.weights) do sum = sum + weight end
      assert.same({ total, total, #profile.weights }, { sum, profile.endValue, #profile.samples })
      for _, sample in ipairs(profile.samples) do
        for _, frame in ipairs(sample) do assert.is_string(found.shared.frames[frame + 1].name) end
      end
    end
  end)

  it("has no format that is not there", function()
    local said = support.message_of(text, { format = "foled" })
    assert.matches("there is no format 'foled'; did you mean 'folded'", said)
  end)
end)

describe("of two sides", function()
  it("the baseline is A by its name, even where that reads like a condition, else the first", function()
    local sides = require("pmclua.result.select").sides
    local plus, less = { workload = "+a", levels = { n = 1 } }, { workload = "<b", levels = { n = 2 } }
    local function baseline(value) return { header = { baseline = value } } end
    assert.same({ less, plus }, { sides(baseline "<b", { plus, less }) })
    assert.same({ less, plus }, { sides(baseline { n = 2 }, { plus, less }) })
    assert.same({ plus, less }, { sides(baseline "+a", { plus, less }) })
    assert.same({ plus, less }, { sides(baseline(nil), { plus, less }) })
  end)
end)

describe("pmclua where", function()
  local function program() return where.program("faults.c", "-g", "-ldl", "-lpthread") end

  it("says which function makes B fault more than A, exactly", function()
    local found = pmc.where(program(), program() .. " thread", { event = "page-faults", repetitions = 2 })
    local rows = {}
    for _, row in ipairs(found:ledger().lines) do rows[row.label] = row end
    assert.same({ 1000, 1000, 0 }, { rows.f.a, rows.f.b, rows.f.difference })
    assert.same({ 0, 300, "more", true }, { rows.g.a, rows.g.b, rows.g.verdict, rows.g.exact })
  end)

  it("stores its profiles, and shows them again from the file", function()
    local path = support.folder() .. "/where.jsonl"
    local run = support.pmclua { "where", "-e", "page-faults", "-r", "2", "--store", path, program(),
      program() .. " thread" }
    assert.equal(0, run.status)
    assert.matches("\ng +0 +300 +%+300 += ", run.out:gsub("%.0", ""))
    local again = support.pmclua { "where", path }
    assert.equal(run.out, again.out)
    local lines = support.pmclua { "where", "--lines", "--top", "1", path }
    assert.matches("\nfaults%.c:%d+ g ", lines.out)
  end)

  it("leaves a command's output alone and reports beside it", function()
    local run = support.pmclua { "where", "-e", "page-faults", "--", "echo", "-n", "hello" }
    assert.equal(0, run.status)
    assert.matches("^hello", run.out)
    assert.matches("\ntotal +%d+ +100 %%", run.err)
  end)

  it("says how commands are quoted", function()
    local run = support.pmclua { "where", "ls", "x", "y" }
    assert.equal(125, run.status)
    assert.matches("quote a command with its arguments", run.err)
  end)

  it("tells instructions exactly by line, counted by Valgrind", function()
    support.need(support.have "valgrind", "no Valgrind")
    local twice = where.program("twice.c", "-g")
    local found = pmc.where(twice .. " 1000", twice .. " 3000", { event = "valgrind::instructions",
      repetitions = 2 })
    local ledger, lines = found:ledger(), found:ledger "line"
    local names = ledger.conclusion.names
    assert.same({ 1, "parse", true }, { #names, names[1].label, names[1].exact })
    assert.equal(0, names[1].difference % 2000)
    assert.equal(ledger.total.difference, names[1].difference)
    local sum = 0
    for _, row in ipairs(lines.lines) do sum = sum + row.difference end
    assert.equal(ledger.total.difference, sum)
    for _, row in ipairs(lines.conclusion.names) do assert.matches("^twice%.c:[89] parse$", row.label) end
  end)
end)

describe("the numbers of a ledger", function()
  it("have one unit, and a digit that is not 0 where they are not 0", function()
    local scale = require("pmclua.report.where.scale").of { unit = "ns", lines = {}, rest = {},
      total = { a = 4.2e9, b = 4.7e9 } }
    assert.same({ "4.700", "0.012", "0.0003", "-0.00006", "0.000000", "0.000" }, { scale:value(4.7e9),
      scale:value(12e6), scale:value(3e5), scale:value(-6e4), scale:value(1), scale:value(0) })
    assert.same({ "+0.0003", "-0.0003", "0" }, { scale:signed(3e5), scale:signed(-3e5), scale:signed(0) })
  end)
end)
