-- Which function a count is of: its full name and its file; what was inlined; what a user may call it.

local code = require "pmclua.ledger.code"
local functions = require "pmclua.workload.functions"
local made = require "tests.support.profiles"
local pmc = require "pmclua"
local spell = require("pmclua.core.symbols").spell
local support = require "tests.support"
local where = require "tests.support.where"

local function names(flags)
  support.need(support.have "c++", "no C++ compiler")
  return support.build(support.folder() .. "/names", "c++", "-O1", support.fixture "where/names.cc",
    unpack(flags or { "-g" }))
end

local function of(...)
  local words = { ... }
  words[#words + 1] = { event = "page-faults", repetitions = 1 }
  return pmc.where(unpack(words))
end

local function by_label(found, by)
  local rows = {}
  for _, row in ipairs(found:ledger(by).lines) do rows[row.label] = row end
  return rows
end

describe("the name of a function", function()
  local function is(full, plain, symbol)
    assert.same({ full, plain or full }, { spell(symbol) })
  end

  it("is without what compilers append to copies and parts, where that is known and at the end", function()
    for _, symbol in ipairs { "f.cold", "f.cold.3", "f.part.0", "f.isra.0.constprop.1", "f.lto_priv.0.cold",
      "f.llvm.1234", "f.localalias", "f.0", "f.12.cold" } do is("f", nil, symbol) end
    for _, symbol in ipairs { "main.coldPath", "f.partial.0", "f.cold.c", "f.constprop", "f.avx2.0", ".cold",
      ".0", "f@@LIB_2.1", "f._omp_fn.1", ".omp_outlined..2" } do is(symbol, nil, symbol) end
    is("ns::f(int)", "ns::f", "_ZN2ns1fEi.cold")
    is("ns::f(int)", "ns::f", "_ZN2ns1fEi.isra.0.constprop.0")
    is("f(int)", "f", "f(int) [clone .constprop.0] [clone .cold]")
    is("fill(int)", "fill", "_ZL4filli.1")
    is("f() [clone .resolver]", nil, "_Z1fv.resolver")
  end)

  it("is Rust's path, by either scheme, whatever LLVM appended", function()
    is("shapes::Sq::area", nil, "_ZN6shapes2Sq4area17h0123456789abcdefE")
    is("shapes::Sq::area", nil, "_ZN6shapes2Sq4area17h0123456789abcdefE.llvm.9D1C9369")
    is("<Test + 'static as foo::Bar<Test>>::bar", "Test + 'static::bar",
      "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE")
    is("<app::shapes::Sq>::area", "app::shapes::Sq::area", "_RNvMs_NtCs123_3app6shapesNtB4_2Sq4area")
    is("<app::shapes::Sq>::area", "app::shapes::Sq::area", "_RNvMs_NtCs123_3app6shapesNtB4_2Sq4area.llvm.12")
    is("std::mem::align_of::<usize, f64>", nil, "_RINvNtC3std3mem8align_ofjdE")
  end)

  it("is D's, with its parameters", function()
    is("app.work(int)", "app.work", "_D3app4workFiZi")
    is("app.work(int)", "app.work", "_D3app4workFiZi.part.0")
    is("D main", nil, "_Dmain")
  end)

  it("is not that of the variable which it initialises, nor of the function that a thunk leads to", function()
    is("TLS init function for foo", nil, "_ZTH3foo")
    is("non-virtual thunk to A::f()", nil, "_ZThn8_N1A1fEv")
  end)
end)

describe("the functions of one name", function()
  it("are told apart by their parameters, and only those have them shown", function()
    local rows = by_label(of(names() .. " 100 200 33"))
    assert.equal(100, rows["shapes::touch(char volatile*, int)"].a)
    assert.equal(200, rows["shapes::touch(char volatile*, double)"].a)
    assert.equal(70, rows["shapes::work<double>"].a)
  end)

  it("do not cancel out where A and B swap what they cost", function()
    for _, flags in ipairs { { "-g" }, {} } do
      local program = names(flags)
      local found = of(program .. " 100 200 33", program .. " 200 100 33 x")
      local rows = by_label(found)
      assert.equal(100, rows["shapes::touch(char volatile*, int)"].difference)
      assert.equal(-100, rows["shapes::touch(char volatile*, double)"].difference)
      assert.equal(-70, rows["shapes::work<double>"].difference)
      assert.equal(70, rows["shapes::work<int>"].difference)
    end
  end)

  it("are told apart where two source files have each a static one", function()
    support.need(support.have "cc", "no C compiler")
    local folder = support.folder()
    local body = support.read(support.fixture "where/names.cc"):match "static volatile.-\n}\n"
    for _, side in ipairs { "a", "b" } do
      support.run { "mkdir", folder .. "/" .. side }
      support.write(("%s/%s/util.c"):format(folder, side), "#include <sys/mman.h>\n" .. body
        .. "static __attribute__((noinline)) void touch(volatile char *at, long pages)\n{\n"
        .. "    for (long i = 0; i < pages; i++)\n        at[i * 4096] = 1;\n}\n"
        .. ("void in_%s(long pages) { touch(fresh(pages), pages); }\n"):format(side))
    end
    support.write(folder .. "/main.c", "#include <stdlib.h>\nvoid in_a(long), in_b(long);\n"
      .. "int main(int n, char **words) { in_a(atoi(words[1])); in_b(atoi(words[n - 1])); return 0; }\n")
    for _, flag in ipairs { "-g", "-g0" } do
      local program = support.build(folder .. "/twins" .. flag, "cc", "-O1", folder .. "/main.c",
        folder .. "/a/util.c", folder .. "/b/util.c", flag)
      local found, costs = of(program .. " 100 200", program .. " 200 100"), {}
      for _, row in ipairs(found:ledger().lines) do
        local place = row.line.place or row.line.other
        if place.fn == "touch" then costs[#costs + 1] = row end
      end
      assert.same({ 2, 100, 100 }, { #costs, math.abs(costs[1].difference), math.abs(costs[2].difference) })
      assert.not_equal(costs[1].label, costs[2].label)
      assert.is_true(flag == "-g0" or by_label(found)["touch (a/util.c)"].difference == 100)
      local regions = functions.find("touch", { program = program })
      assert.equal(2, #regions)
      for _, region in ipairs(regions) do
        local one = functions.find(region.name, { program = program })
        assert.same({ 1, region.points }, { #one, one[1].points })
      end
    end
  end)
end)

describe("a function that is nested in another", function()
  it("has the name of its source, whatever number the compiler gave it", function()
    support.need(support.have "gcc", "no GCC: others do not nest functions")
    local folder, programs = support.folder(), {}
    for i, before in ipairs { "", "static int used; used++; " } do
      programs[i] = folder .. "/" .. i
      support.run { "mkdir", programs[i] }
      support.write(programs[i] .. "/nested.c", "#include <stdlib.h>\n#include <sys/mman.h>\n"
        .. "int main(int n, char **words) {\n" .. before .. "int done = 0;\n"
        .. "void fill(volatile char *at, long pages) { for (; done < pages; done++) at[done * 4096] = 1; }\n"
        .. "fill(mmap(0, 4096 * 500, 3, 0x22, -1, 0), atoi(words[1])); return 0; }\n")
      support.build(programs[i] .. "/nested", "gcc", "-O0", "-g", programs[i] .. "/nested.c")
    end
    local rows = by_label(of(programs[1] .. "/nested 200", programs[2] .. "/nested 300"))
    assert.equal(100, rows.fill.difference)
  end)
end)

describe("a function that was inlined", function()
  it("is a line of its own by --inlined, and else in the function that it stands in", function()
    local found = of(names() .. " 100 200 33")
    assert.is_true(by_label(found).main.a >= 33)
    assert.equal(33, by_label(found, "inlined")["fill (inlined)"].a)
    local line = support.read(support.fixture "where/names.cc"):match "^(.-)at%[i"
    local _, number = line:gsub("\n", "")
    assert.equal(33, by_label(found, "line")[("names.cc:%d fill (inlined into main)"):format(number + 1)].a)
    for _, by in ipairs { "function", "inlined", "line", "inlined line" } do
      local ledger, sum = found:ledger(by), 0
      for _, row in ipairs(ledger.lines) do sum = sum + row.a end
      for _, row in ipairs(ledger.rest) do sum = sum + row.a end
      assert.equal(ledger.total.a, sum)
    end
    assert.matches("did you mean 'inlined'", support.message_of(found.ledger, found, "inline"))
  end)

  it("is annotated where it was copied to", function()
    local shown = of(names() .. " 100 200 33"):report { annotate = "fill", width = 100, utf8 = true }
    assert.matches("^fill %(inlined%) · page%-faults · 33", shown)
    assert.matches("inlined\nmean +called at +inlined function\n +33 +names%.cc:%d+ +fill in main", shown)
    assert.matches("\n +33 +%d+ +at%[i %* 4096%] = 1;\n", shown)
  end)

  it("is in stacks, JSON and what is stored", function()
    local path = support.folder() .. "/names.jsonl"
    local found = pmc.where(names() .. " 100 200 33", { event = "page-faults", store = path })
    local again = pmc.load(path):where()
    for _, one in ipairs { found, again } do
      assert.matches("names;main;fill 33\n", one:report { format = "folded" })
      assert.matches('"fill"', one:report { format = "speedscope" })
      local json = require("dkjson").decode(one:report { format = "json", by = "inlined" })
      local row
      for _, line in ipairs(json.lines) do row = line.label == "fill (inlined)" and line or row end
      assert.same({ 33, { main = 33 } }, { row.a, row.code.into })
    end
  end)
end)

describe("a function that a user names", function()
  it("is meant by its name, its parameters, the end of its path, and what is shown of it", function()
    local found = of(names() .. " 100 200 33")
    for _, name in ipairs { "shapes::touch(char volatile*, int)", "touch(volatile char *, int)",
      "shapes::touch(volatile char*,int)" } do assert.equal(100, found:row(name).a) end
    for _, name in ipairs { "shapes::work<double>", "work", "work<double>" } do
      assert.equal(70, found:row(name).a)
    end
    assert.equal(33, found:row("fill").a)
  end)

  it("may be followed by its file, as it is shown", function()
    local split = require("pmclua.event.function_files").split
    assert.same({ "libc.so.6", "memcpy" }, { split "memcpy [libc.so.6]" })
    assert.same({ "libc.so.6", "f(int)" }, { split "libc.so.6:f(int)" })
    assert.same({ nil, "operator new[](unsigned long)" }, { split "operator new[](unsigned long)" })
  end)

  it("is refused where it means several", function()
    local found = of(names() .. " 100 200 33")
    assert.matches("'touch' means several functions: 'shapes::touch%(char volatile%*, double%)' and "
      .. "'shapes::touch%(char volatile%*, int%)'", support.message_of(found.row, found, "touch"))
  end)

  it("is Rust's by the end of its path, without the brackets of an impl", function()
    local line = made.line("app::shapes::Sq::area", 9, { full = "<app::shapes::Sq>::area" })
    local found = made.code({ made.profile { line } }, { made.profile { line } })
    for _, name in ipairs { "shapes::Sq::area", "app::shapes::Sq::area", "<app::shapes::Sq>::area" } do
      assert.equal(9, found:row(name).a)
    end
  end)
end)

describe("a function of two builds", function()
  local NEW = { file = "/home/u/new/parse2", build_id = "bb", source = "/home/u/new/parse.c" }

  local function matched(a, b, more)
    local found = code.new { a = { made.profile(a) }, b = { made.profile(b, support.merged({
      program = "/home/u/new/parse2" }, more)) } }
    local rows = {}
    for _, row in ipairs(found.lines) do rows[row.label] = { row.a, row.b, row.line.is_guess } end
    return rows
  end
  local function new(fn, count, more) return made.line(fn, count, support.merged(NEW, more)) end

  it("is never matched with another of the same build", function()
    local rows = matched({ made.line("work<int>", 5, { text = "aa" }) },
      { made.line("work<double>", 7, { text = "aa", file = NEW.file }) })
    assert.same({ ["work<int>"] = { 5, 0 }, ["work<double>"] = { 0, 7 } }, rows)
    rows = matched({ made.line("init", 5, { which = 16 }) }, { made.line("init", 7, { which = 32 }) },
      { program = "/home/u/parse" })
    assert.same({ ["init (parse.c) at 0x10"] = { 5, 0 }, ["init (parse.c) at 0x20"] = { 0, 7 } }, rows)
  end)

  it("is matched by full name and source file, in whatever folder that is", function()
    local rows = matched({ made.line("init", 5, { source = "/old/a/u.c" }),
        made.line("init", 6, { source = "/old/b/u.c" }) },
      { new("init", 7, { source = "/new/a/u.c" }), new("init", 8, { source = "/new/b/u.c" }) })
    assert.same({ ["init (a/u.c)"] = { 5, 7 }, ["init (b/u.c)"] = { 6, 8 } }, rows)
  end)

  it("was renamed, as a guess, where the text of its lines and its callers say so", function()
    local rows = matched({ made.line("old", 5, { text = "aa" }) }, { new("new", 7, { text = "aa" }) })
    assert.same({ ["old = new (a guess)"] = { 5, 7, true } }, rows)
    rows = matched({ made.line("old", 5) }, { new("new", 7) })
    assert.same({ old = { 5, 0 }, new = { 0, 7 } }, rows)
    rows = matched({ made.line("work<int>", 5, { text = "aa" }) }, { new("work<long>", 7, { text = "aa" }) })
    assert.same({ ["work<int>"] = { 5, 0 }, ["work<long>"] = { 0, 7 } }, rows)
  end)

  it("was not renamed where it has other callers", function()
    local function both(chain_a, chain_b)
      local old = made.line("old", 5, { text = "aa" })
      return code.new { a = { made.profile({ old }, { chains = { [chain_a] = 5 } }) },
        b = { made.profile({ new("new", 7, { text = "aa" }) }, { program = NEW.file,
          chains = { [chain_b] = 7 } }) } }
    end
    assert.equal(1, #both("main;old", "main;new").lines)
    assert.equal(2, #both("main;old", "other;new").lines)
    assert.equal(1, #both("old", "new").lines)                  -- both begin their thread
    assert.equal(2, #both("main;old", "new").lines)
    assert.equal(2, #both("old", "main;new").lines)
  end)

  it("has hashes of its source that leave out its name, and none where the source is newer", function()
    support.need(support.have "cc", "no C compiler")
    local folder = support.folder()
    local function text_of(fn, is_newer)
      local source = ("%s/%s.c"):format(folder, fn)
      local body = support.read(support.fixture "where/twice.c"):gsub("parse", fn)
      support.write(source, body)
      local program = support.build(folder .. "/" .. fn, "cc", "-O1", "-g", source)
      if is_newer then support.run { "touch", "-d", "+1 hour", source } end
      local profile = where.profiles({ program, "200000000" }, "cpu-clock:u")[1]
      for _, line in ipairs(profile.lines) do
        if line.fn == fn then return line.text end
      end
    end
    local old = assert(text_of "parse")
    assert.equal(old, text_of "read_all")
    assert.is_nil(text_of("later", true))
  end)
end)
