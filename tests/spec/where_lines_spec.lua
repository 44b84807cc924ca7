-- Which source line of A is which of B: by its text, never by its number.

local core = require "pmclua.core"
local dkjson = require "dkjson"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local profiles = require "tests.support.profiles"
local sources = require "pmclua.ledger.sources"
local support = require "tests.support"

-- A text as written.lua hashes it.
local function hashed(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = core.hash((line:gsub("%s+", ""))):sub(-8) end
  return { hashes = table.concat(list) }
end

-- The numbers of B's lines, each beside the number of A's line that it is.
local function paired(a, b)
  local pairing, list = sources.new({ ["x.c"] = hashed(a) }, { ["x.c"] = hashed(b) }), {}
  local _, lines_a = a:gsub("[^\n]+", "")
  local _, lines_b = b:gsub("[^\n]+", "")
  local number_of = {}
  for number = 1, lines_a do number_of[pairing:line("a", "x.c", number)] = number end
  for number = 1, lines_b do
    local own, is_changed = pairing:line("b", "x.c", number)
    list[number] = number_of[own] and number_of[own] .. (is_changed and " changed" or "") or "new"
  end
  return table.concat(list, " ")
end

describe("a line of B", function()
  it("is the line of A that reads alike, however many stand above it", function()
    assert.equal("new 1 2 new 3", paired("a\nb\nc", "// more\na\nb\n\t\nc"))
    assert.equal("1 3", paired("a\nb\nc", "a\nc"))
  end)

  it("is that line where blanks or the ends of lines alone are others", function()
    assert.equal("1 2", paired("if (a)\n\tb = c;", "if ( a )\r\n    b=c;\r"))
  end)

  it("is that line where its function was moved", function()
    assert.equal("4 5 6 1 2 3", paired("f {\n i++\n}\ng {\n i++\n}", "g {\n i++\n}\nf {\n i++\n}"))
  end)

  it("that often stands there is told by the lines beside it", function()
    assert.equal("1 2 new new 3 4 5", paired("f {\ni++\n}\ng {\n}", "f {\ni++\ni--\nj\n}\ng {\n}"))
  end)

  it("is a guess where a few lines stand in the place of as many others", function()
    assert.equal("1 2 changed 3", paired("f {\n i = 1\n}", "f {\n i = 2\n}"))
    assert.equal("1 new new 3", paired("f {\n i = 1\n}", "f {\n i = 2\n j = 3\n}"))
    local pairing = sources.new({ ["x.c"] = hashed "f {\n i = 1\n}" }, { ["x.c"] = hashed "f {\n i = 2\n}" })
    assert.same({ false, true, false, false }, { pairing:is_changed("x.c", 1), pairing:is_changed("x.c", 2),
      pairing:is_changed("x.c", 3), pairing:is_changed("y.c", 1) })
  end)

  it("may be in a file of another name or folder", function()
    local a = { ["/a/x.c"] = hashed "f {\n i++\n}", ["/a/y.c"] = hashed "g {\n i++\n}" }
    local b = { ["/b/x.c"] = hashed "g {\n i++\n}", ["/b/z.c"] = hashed "// moved\nf {\n i++\n}" }
    local pairing = sources.new(a, b)
    assert.equal(pairing:line("a", "/a/x.c", 2), (pairing:line("b", "/b/z.c", 3)))
    assert.equal(pairing:line("a", "/a/y.c", 2), (pairing:line("b", "/b/x.c", 2)))
    assert.same({ "/a/y.c", "/a/x.c" }, { pairing:file "/b/x.c", pairing:file "/b/z.c" })
  end)
end)

-- ---- programs that are built ---------------------------------------------------------------------------

local SOURCE = [[
#include <stdlib.h>
#include <string.h>
static char *page;
static inline void fill(char *p, int n)
{
    for (int i = 0; i < n; i++)
        p[i * 4096] = 1;
}
__attribute__((noinline)) static void touch(char *p, int n)
{
    for (int i = 0; i < n; i++)
        p[i * 4096] = 2;
}
__attribute__((noinline)) void other(char *p, int n)
{
    fill(p, n);
}
int main(void)
{
    page = aligned_alloc(4096, 4096 * 2000);
    touch(page, 300);
    other(page + 4096 * 500, 100);
    return 0;
}
]]

local number = 0

-- A program of a source, in a folder of its own.
local function built(source, options)
  options = options or {}
  number = number + 1
  local folder = ("%s/build%d"):format(support.folder(), number)
  local path = support.write(("%s/%s"):format(folder, options.name or "w.c"), source)
  support.need(support.have(options.cc or "cc"), "no C compiler")
  return support.build(folder .. "/w", options.cc or "cc", "-g", options.level or "-O1", path), path
end

local function compared(a, b, event, options)
  return pmc.where(a, b, support.merged({ event = event, repetitions = 3, lines = true }, options))
end

-- The lines of w.c that differ, with A's and B's counts.
local function differing(found, by)
  local list = {}
  for _, row in ipairs(found:ledger(by or "line").lines) do
    if row.verdict == "more" or row.verdict == "fewer" then
      list[#list + 1] = ("%s: %g %g"):format(row.label, row.a, row.b)
    end
  end
  table.sort(list)
  return list
end

local FUNCTION = "__attribute__%(%(noinline%)%) void other.-\n}\n"

-- SOURCE with other texts, and what stands above all of it.
local function changed(above, ...)
  local text = SOURCE
  for i = 1, select("#", ...), 2 do
    local plain, by = select(i, ...)
    local first, last = text:find(plain, 1, true)
    text = text:sub(1, first - 1) .. by .. text:sub(last + 1)
  end
  return above .. text
end

-- Sources whose code is the same.
local function alike()
  local other = SOURCE:match(FUNCTION)
  local moved = SOURCE:gsub(FUNCTION, ""):gsub("__attribute", function() return other .. "__attribute" end, 1)
  return {
    { "a comment above it", (SOURCE:gsub("\nstatic", "\n/* more\n * of it */\nstatic", 1)) },
    { "comments at each line", (SOURCE:gsub("\n}", "\n// end\n}")) },
    { "other blanks", (SOURCE:gsub("    ", "\t"):gsub("%) ", ")  ")) },
    { "other ends of lines", (SOURCE:gsub("\n", "\r\n")) },
    { "another order of its functions", moved },
    { "another name of its file", SOURCE, { name = "renamed.c" } },
  }
end

describe("where by line", function()
  for _, one in ipairs(alike()) do
    it("has no line that differs where B has " .. one[1], function()
      local a, b = built(SOURCE), built(one[2], one[3])
      for _, by in ipairs { "function", "line", "inlined line" } do
        local found = compared(a, b, "page-faults", { seed = 3 })
        assert.same({}, differing(found, by))
        local own = 0
        for _, row in ipairs(found:ledger(by).lines) do
          if row.line.place and row.line.other and row.a >= 100 and row.a == row.b then own = own + 1 end
        end
        assert.equal(2, own)
      end
    end)
  end

  it("names the line of a planted difference, with its number in A and in B", function()
    local found = compared(built(SOURCE), built(changed("/* 1 */\n/* 2 */\n", "300", "350")), "page-faults")
    assert.same({ "w.c:12 (B 14) touch: 300 350" }, differing(found))
    assert.same({ "w.c:12 (B 14) touch: 300 350" }, differing(found, "inlined line"))
  end)

  it("does so with each compiler and level of optimisation", function()
    for _, options in ipairs { { cc = "gcc", level = "-O0" }, { cc = "gcc", level = "-O3" },
      { cc = "clang", level = "-O2" } } do
      if support.have(options.cc) then
        local b = built(changed("/* 1 */\n", "100);", "140);"), options)
        local seen = differing(compared(built(SOURCE, options), b, "page-faults"), "inlined line")
        assert.equal(1, #seen, options.cc)
        assert.matches("^w%.c:7 %(B 8%) fill.*: 100 140$", seen[1])
      end
    end
  end)

  it("counts what Valgrind counts by the text of lines, too", function()
    support.need(support.have "valgrind", "no Valgrind")
    local b = built(changed("/* 1 */\n", "300", "350"))
    -- The loader's own may differ: the programs have other paths.
    local seen = lists.where(differing(compared(built(SOURCE), b, "valgrind::instructions")),
      function(label) return label:find "^w%.c" end)
    assert.equal(2, #seen)
    for _, label in ipairs(seen) do assert.matches("^w%.c:1[12] %(B 1[23]%) touch: ", label) end
  end)

  it("says whose a line is that one side alone has, and of one in its place that it changed", function()
    local b = built(changed("", "= 2;", "= 3;",
      "fill(p, n);", "p[0] = p[1] = 4;\n    fill(p + 4096, n);"))
    local ledger = compared(built(SOURCE), b, "page-faults"):ledger "line"
    local labels = lists.by(ledger.lines, "label")
    assert.is_true(labels["w.c:12 touch (changed)"].line.is_guess)
    assert.equal(300, labels["w.c:12 touch (changed)"].b)
    assert.equal(1, labels["w.c:16 (B) other"].b)
  end)

  it("has no counts on a side that has the line itself, which is not said to lack it", function()
    local b = built(changed("/* 1 */\n", "touch(page, 300);", "touch(page, 0);"))
    local rows = lists.by(compared(built(SOURCE), b, "page-faults"):ledger("line").lines, "label")
    assert.same({ 300, 0 }, { rows["w.c:12 (B 13) touch"].a, rows["w.c:12 (B 13) touch"].b })
  end)

  it("is refused for functions of which a source is newer than its program, or gone", function()
    local a = built(SOURCE)
    local b, path = built(changed("", "300", "350"))
    os.execute(("touch -d '+1 hour' %s"):format(path))
    local found = compared(a, b, "page-faults")
    assert.same({ "touch: 300 350" }, differing(found))
    assert.matches("functions with lines of w%.c.- are one line each: the source is newer than",
      (found:report { by = "line" }:gsub("%s+", " ")))
    local said = dkjson.decode(found:report { by = "line", format = "json" }).uncompared
    assert.same({ { why = "the source is newer than what was made of it", sources = { path } } }, said)
    os.remove(path)
    assert.same({ "touch: 300 350" }, differing(compared(a, b, "page-faults")))
  end)

  it("needs no source where A and B are one build", function()
    local a, path = built(SOURCE)
    os.remove(path)
    local found = compared(a, a .. " x", "page-faults")
    assert.same({}, found:ledger("line").uncompared)
    assert.same({}, differing(found))
  end)
end)

describe("an annotated function of two builds", function()
  local found

  setup(function()
    support.need(support.have "cc", "no C compiler")
    local b = built(changed("/* 1 */\n/* 2 */\n", "300", "350", "= 2;", "= 2;\n        // here"))
    found = compared(built(SOURCE), b, "page-faults")
  end)

  it("is one listing, whose lines have the counts of both, the difference and a verdict", function()
    local annotation = found:annotation(found:row "touch")
    assert.same({ 1, 1 }, { #annotation.sources, #annotation.codes })
    local hot, alone = {}, {}
    for _, row in ipairs(annotation.sources[1].lines) do
      if row.values then hot[#hot + 1] = row end
      if not row.number then alone[#alone + 1] = row.text end
    end
    assert.same({ 1, 12, 14, 300, 350, "more" },
      { #hot, hot[1].number, hot[1].number_b, hot[1].a, hot[1].b, hot[1].verdict })
    assert.same({ "        // here" }, alone)
  end)

  it("has instructions that do the same as one row, at both offsets", function()
    local code = found:annotation(found:row "touch").codes[1]
    support.need(code.why == nil, code.why)
    local both, hot = 0, {}
    for _, row in ipairs(code.list) do
      if row.offset and row.offset_b then both = both + 1 end
      if row.values then hot[#hot + 1] = row end
    end
    assert.equal(#code.list, both)
    assert.same({ 1, 300, 350, "more" }, { #hot, hot[1].a, hot[1].b, hot[1].verdict })
  end)

  it("is shown so as a table, in HTML and as JSON", function()
    local shown = found:report { annotate = "touch", width = 100, utf8 = true }
    assert.matches("\n300%S* +350%S* +%+50%S* +more +12 %(B 14%) +p%[i", shown)
    assert.matches("12 (B 14)", found:report { format = "html" }, 1, true)
    local said = dkjson.decode(found:report { annotate = "touch", format = "json" })
    assert.same({ "annotation", "touch", 50 }, { said.kind, said["function"], said.difference })
    local line = lists.find(said.sources[1].lines, function(row) return row.verdict end)
    assert.same({ 12, 14, 50, "more" }, { line.number, line.number_b, line.difference, line.verdict })
  end)

  it("has instructions matched whatever registers and addresses they use", function()
    local function listed(...)
      return lists.map({ ... }, function(text) return { text = text } end)
    end
    local partner = require("pmclua.ledger.instructions").aligned(
      listed("mov eax, dword ptr [rdi + 8]", "add eax, 2", "jne 0x1140", "ret"),
      listed("push rbx", "mov ecx, dword ptr [rsi + 8]", "add ecx, 2", "jne 0x2240", "ret"))
    local matched = {}
    for k = 1, 5 do matched[k] = partner(k) or false end
    assert.same({ false, 1, 2, 3, 4 }, matched)
  end)
end)

describe("a stored result", function()
  it("has what its sources read like, once, and is compared by that when they are gone", function()
    local a, path_a = built(SOURCE)
    local b, path_b = built(changed("/* more */\n", "300", "350"))
    local stored = support.folder() .. "/lines.jsonl"
    compared(a, b, "page-faults", { store = stored })
    os.remove(path_a)
    os.remove(path_b)
    local found = pmc.load(stored):where()
    assert.same({ "w.c:12 (B 13) touch: 300 350" }, differing(found))
    local seen, count = {}, 0
    for key in support.read(stored):gmatch '"(%x+)":"%x+"' do
      if #key == 32 then
        assert.is_nil(seen[key], key)
        seen[key], count = true, count + 1
      end
    end
    assert.is_true(count >= 2)
  end)

  it("without them has functions alone", function()
    local function profile(id, line)
      return profiles.profile { profiles.line("f", 50, { build_id = id, lines = { [line] = 50 } }) }
    end
    local a, b = {}, {}
    for i = 1, 12 do a[i], b[i] = profile("aa", 3), profile("bb", 4) end
    local ledger = profiles.code(a, b):ledger "line"
    assert.same({ "f", 50, 50 }, { ledger.lines[1].label, ledger.lines[1].a, ledger.lines[1].b })
    assert.matches("not in the stored result", ledger.uncompared[1].why)
  end)
end)
