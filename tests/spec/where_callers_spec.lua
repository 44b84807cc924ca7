-- What functions cost with all that they call, and which of them makes the difference between A and B.

local callers = require "pmclua.ledger.callers"
local dkjson = require "dkjson"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local profiles = require "tests.support.profiles"
local support = require "tests.support"

-- Profiles of one side: chains and, where they were counted, calls; the code is of build `id`.
local function side(id, chains, calls, texts)
  local lines, own = {}, {}
  for chain, count in pairs(chains) do
    local leaf = chain:match "[^;]+$"
    own[leaf] = (own[leaf] or 0) + count
  end
  for fn, count in pairs(own) do
    local library = fn:find "^mem" and { file = "/lib/libc.so", build_id = "cc" }
    lines[#lines + 1] = profiles.line(fn, count, library or { build_id = id, text = (texts or {})[fn] })
  end
  local list = {}
  for i = 1, 12 do list[i] = profiles.profile(lines, { chains = chains, calls = calls }) end
  return list
end

local function ledger(a, b) return callers.new { a = a, b = b, paired = true, exact = true } end

local function grown(a, b) return ledger(a, b).grown end

describe("a function with all that it calls", function()
  it("has the counts of each chain that it is in, once, and its own beside", function()
    local chains = { ["main;f"] = 5, ["main;f;g"] = 20, ["main;f;f;f;g"] = 3, ["main;h"] = 2 }
    local rows = lists.by(ledger(side("aa", chains)).lines, "label")
    local values = {}
    for label, row in pairs(rows) do values[label] = { row.a, row.line.own.a[1] } end
    assert.same({ main = { 30, 0 }, f = { 28, 5 }, g = { 23, 23 }, h = { 2, 2 } }, values)
  end)

  it("is judged with all others by the rule of all ledgers", function()
    local found = ledger(side("aa", { ["main;f"] = 100, ["main;g"] = 50 }),
      side("bb", { ["main;f"] = 130, ["main;g"] = 50 }))
    local rows = lists.by(found.lines, "label")
    assert.same({ "more", "more", "same", 3 },
      { rows.main.verdict, rows.f.verdict, rows.g.verdict, found.comparisons })
    assert.equal(0, #found.rest)
  end)

  it("is not there where a side has no call chains", function()
    local bare = { profiles.profile { profiles.line("f", 3) } }
    assert.is_nil(ledger(bare))
    assert.is_nil(ledger(side("aa", { main = 3 }), bare))
  end)
end)

describe("the function that makes the difference", function()
  it("is the one whose callee the other side does not call", function()
    local found = grown(side("aa", { ["main;run;step"] = 10 }),
      side("bb", { ["main;run;step"] = 11, ["main;run;step;memcpy"] = 90, ["main;run;step;malloc"] = 9 }))
    assert.same({ "step", "memcpy" }, { found.maker, found.leaf })
    assert.same({ "main", "run", "step", "memcpy" }, found.names)
    assert.equal(1, found.maker_share)
    assert.equal(0.9, found.leaf_share)
  end)

  it("is the first that calls what it called before more often", function()
    local function called(id, count, times)
      local step = "main;run;step"
      return side(id, { [step .. ";memcpy;memmove"] = count, main = 1 }, { ["main;run"] = 1, [step] = 5,
        [step .. ";memcpy"] = times, [step .. ";memcpy;memmove"] = times })
    end
    local found = grown(called("aa", 10, 5), called("bb", 100, 50))
    assert.same({ "step", "memmove", { a = 5, b = 50 } }, { found.maker, found.leaf, found.calls })
  end)

  it("is no code that both sides share, where nobody counted calls", function()
    local found = grown(side("aa", { ["main;step;memcpy"] = 10, ["main;step"] = 1 }),
      side("bb", { ["main;step;memcpy"] = 100, ["main;step"] = 1 }))
    assert.same({ "step", "memcpy" }, { found.maker, found.leaf })
  end)

  it("is none whose source reads alike, but the one above it", function()
    local texts = { help = "same" }
    local found = grown(side("aa", { ["main;step;help"] = 10, ["main;step"] = 3 }, nil, texts),
      side("bb", { ["main;step;help"] = 100, ["main;step"] = 3 }, nil, texts))
    assert.same({ "step", "help" }, { found.maker, found.leaf })
  end)

  it("is the function itself where it calls nothing that differs", function()
    local found = grown(side("aa", { ["main;step"] = 10 }), side("bb", { ["main;step"] = 100 }))
    assert.same({ "step", "step" }, { found.maker, found.leaf })
  end)

  it("is followed by the largest of several callees that share it", function()
    local found = grown(side("aa", { ["main;step"] = 10 }), side("bb", { ["main;step"] = 12,
      ["main;step;free"] = 30, ["main;step;malloc"] = 4, ["main;step;malloc;grow"] = 40 }))
    assert.same({ "step", "grow", "main>step>malloc>grow" },
      { found.maker, found.leaf, table.concat(found.names, ">") })
  end)

  it("is not sought among callees that have less than half of it each", function()
    local step = "main;step"
    local function called(id, times)
      return side(id, { [step] = 1, [step .. ";parse;next"] = 4 * times, [step .. ";read"] = 3 * times,
        [step .. ";write"] = 3 * times }, { [step] = 1, [step .. ";parse"] = 5, [step .. ";read"] = 5,
        [step .. ";write"] = 5, [step .. ";parse;next"] = times })
    end
    local found = grown(called("aa", 5), called("bb", 50))
    assert.same({ "step", "main>step>parse>next" }, { found.maker, table.concat(found.names, ">") })
  end)

  it("may be one that costs less", function()
    local found = grown(side("aa", { ["main;step;memcpy"] = 90, ["main;step"] = 5 }),
      side("bb", { ["main;step"] = 5 }))
    assert.same({ "step", "memcpy", -90 }, { found.maker, found.leaf, found.difference })
  end)

  it("is told by the counts of one iteration, of kernels", function()
    local function repeated(id, times, chains)
      return lists.map(side(id, chains), function(profile)
        profile.iterations = times
        return profile
      end)
    end
    local found = grown(repeated("aa", 4, { ["main;step"] = 40, ["main;step;memcpy"] = 4 }),
      repeated("bb", 8, { ["main;step"] = 80, ["main;step;memcpy"] = 328 }))
    assert.same({ "step", "memcpy", 40, 1 }, { found.maker, found.leaf, found.difference, found.leaf_share })
    found = grown(repeated("aa", 4, { ["main;step;memcpy"] = 160, ["main;step"] = 20 }),
      repeated("bb", 8, { ["main;step;memcpy"] = 320, ["main;step"] = 160 }))
    assert.same({ "step", "step", 15 }, { found.maker, found.leaf, found.difference })
  end)

  it("is told from another one of its name by its source file", function()
    local a = side("aa", { ["main;help (a.c)"] = 10, ["main;help (b.c)"] = 90 })
    local b = side("bb", { ["main;help (a.c)"] = 90, ["main;help (b.c)"] = 10, ["main;once (b.c)"] = 1 })
    local rows = lists.by(ledger(a, b).lines, "label")
    assert.same({ 80, -80, 1 }, { rows["help (a.c)"].difference, rows["help (b.c)"].difference,
      rows.once.difference })
  end)

  it("is nobody where no callee of the outermost function is known to differ", function()
    local function noisy(id, count, step)
      local list = {}
      for i = 1, 12 do
        local noise = 30 * (i * step % 12)
        list[i] = side(id, { ["main;f"] = count + noise, ["main;g"] = count - noise })[1]
      end
      return list
    end
    local found = callers.new { a = noisy("aa", 500, 5), b = noisy("bb", 520, 7), paired = true }
    local rows = lists.by(found.lines, "label")
    assert.same({ "more", "undecided", "undecided" },
      { rows.main.verdict, rows.f.verdict, rows.g.verdict })
    assert.is_true(found.differs)
    assert.is_nil(found.grown)
  end)

  it("is nobody where the totals do not differ", function()
    assert.is_nil(grown(side("aa", { ["main;f"] = 10 }), side("bb", { ["main;f"] = 10 })))
  end)
end)

-- ---- a program -----------------------------------------------------------------------------------------

local SOURCE = [[
#include <stdlib.h>
#include <string.h>
static char from[8192], *volatile keep;
volatile int size = 4096;
__attribute__((noinline)) void step(int i)
{
    from[i & 4095]++;
#ifdef COPIES
    char *copy = malloc(size);
    memcpy(copy, from, size);
    keep = copy;
    free(copy);
#endif
#ifdef FAULTS
    char *page = aligned_alloc(4096, 4096);
    page[0] = 1;
    keep = page;
#endif
}
__attribute__((noinline)) void again(int n)
{
    step(n);
    if (n > 0)
        again(n - 1);
    keep = from;
}
__attribute__((noinline)) void run(void)
{
    for (int i = 0; i < 500; i++)
        step(i);
    again(20);
}
int main(void)
{
    run();
    return 0;
}
]]

local function built(...)
  support.need(support.have "cc", "no C compiler")
  local folder = support.folder()
  local path = support.write(folder .. "/callers.c", SOURCE)
  local name = ("%s/callers%s"):format(folder, table.concat({ ... }))
  return support.build(name, "cc", "-g", "-O1", "-fno-omit-frame-pointer", ..., path)
end

describe("where -g", function()
  it("names a planted caller of malloc and memcpy, by Valgrind's counts and calls", function()
    support.need(support.have "valgrind", "no Valgrind")
    local a, b = built("-DNONE"), built("-DCOPIES")
    local found = pmc.where(a, b, { event = "valgrind::instructions", call_chains = true, repetitions = 2 })
    local rows = lists.by(found:callers().lines, "label")
    assert.same({ "more", "more" }, { rows.step.verdict, rows.malloc.verdict })
    assert.is_true(rows.step.difference >= 0.99 * found:ledger().total.difference)
    assert.is_true(rows.again.b < rows.run.b)
    local shown = found:report {}:gsub("%s+", " ")
    assert.matches("step makes the difference: with what it calls it has %S+ %% of it, %S+ has %S+ %% "
      .. "%(main > run > step > [^)]*, %d+ calls instead of 0%)", shown)
    local said = dkjson.decode(found:report { format = "json" }).callers
    assert.same({ "step", "main" }, { said.grown.maker, said.grown.names[1] })
    assert.equal(#rows.step.line.a, #said.lines[1].own_a_values)
  end)

  it("tells static functions of one name apart, by samples and by Valgrind", function()
    local folder = support.folder()
    local sources = {}
    for _, name in ipairs { "first", "second" } do
      sources[#sources + 1] = support.write(("%s/%s.c"):format(folder, name), ([[
        extern char *volatile page;
        char *aligned_alloc(unsigned long, unsigned long);
        static __attribute__((noinline)) void help(int n)
        {
            while (n-- > 0)
                (page = aligned_alloc(4096, 4096))[0] = 1;
        }
        void %s(int n) { help(n); page = 0; }]]):format(name))
    end
    local main = support.write(folder .. "/main.c", [[
      #include <stdlib.h>
      void first(int), second(int);
      char *volatile page;
      int main(int count, char **words)
      {
          first(count > 1 ? atoi(words[1]) : 0);
          second(count > 2 ? atoi(words[2]) : 0);
          return 0;
      }]])
    support.need(support.have "cc", "no C compiler")
    local program = support.build(folder .. "/apart", "cc", "-g", "-O1", "-fno-omit-frame-pointer", main,
      unpack(sources))
    local a = pmc.command { program, "30", "90", name = "a" }
    local b = pmc.command { program, "90", "30", name = "b" }
    local by_samples = pmc.where(a, b, { event = "page-faults", call_chains = true, repetitions = 3 })
    local called = lists.by(by_samples:callers().lines, "label")
    assert.is_true(called["help (first.c)"].difference >= 59 and called["help (second.c)"].difference <= -59)
    local folded = by_samples:report { format = "folded" }
    assert.matches("main;first;help (first.c) ", folded, 1, true)
    assert.matches("main;second;help (second.c) ", folded, 1, true)
    if not support.have "valgrind" then return end
    local counted = pmc.where(a, b, { event = "valgrind::instructions", call_chains = true, repetitions = 2 })
    for _, one in ipairs { counted:ledger(), counted:callers() } do
      local rows = lists.by(one.lines, "label")
      assert.is_true(rows["help (first.c)"].difference > 0)
      assert.equal(-rows["help (first.c)"].difference, rows["help (second.c)"].difference)
    end
  end)

  it("names the function whose source changed where what it calls reads alike, by Valgrind, too", function()
    support.need(support.have "valgrind" and support.have "cc", "no Valgrind, or no C compiler")
    local programs = {}
    for i, steps in ipairs { "300", "900" } do
      local folder = ("%s/%d"):format(support.folder(), i)
      support.run { "mkdir", folder }
      local source = support.write(folder .. "/steps.c", [[
        static __attribute__((noinline)) void spin(volatile int steps)
        {
            while (steps-- > 0)
                ;
        }
        __attribute__((noinline)) void work(int rounds)
        {
            while (rounds-- > 0)
                spin(]] .. steps .. [[);
        }
        int main(int n, char **words)
        {
            work(n * 100);
            return 0;
        }]])
      programs[i] = support.build(folder .. "/steps", "cc", "-g", "-O1", source)
    end
    local a, b = pmc.command { programs[1], name = "a" }, pmc.command { programs[2], name = "b" }
    local found = pmc.where(a, b, { event = "valgrind::instructions", call_chains = true, repetitions = 2 })
    assert.same({ "main", "work", "spin" }, found:callers().grown.names)
    assert.equal("work", found:callers().grown.maker)
    local said = found:report { width = 500 }
    assert.matches("work makes the difference: with what it calls", said, 1, true)
    assert.is_nil(said:find("calls instead of", 1, true))
  end)

  it("says of page faults who calls what faults, recursion once", function()
    local a, b = built("-DNONE"), built("-DFAULTS")
    local found = pmc.where(a, b, { event = "page-faults", call_chains = true, repetitions = 12 })
    local rows = lists.by(found:callers().lines, "label")
    assert.is_true(rows.step.difference >= 521 and rows.step.difference < 560)
    assert.is_true(rows.again.difference >= 21 and rows.again.difference < 25)
    assert.matches("step makes the difference", found:report {}, 1, true)
  end)

  it("has them of one command, too, in tables, JSON and CSV, and from a stored result", function()
    local stored = support.folder() .. "/callers.jsonl"
    local found = pmc.where(built("-DFAULTS"), { event = "page-faults", call_chains = true, store = stored })
    for _, one in ipairs { found, pmc.load(stored):where() } do
      local row = lists.find(one:callers().lines, function(line) return line.label == "run" end)
      assert.is_true(row.a >= 521)
      assert.matches("functions with all that they call", one:report {}, 1, true)
      assert.matches("\ncallers,run,", one:report { format = "csv" }, 1, true)
      assert.matches("functions with all that they call", one:report { format = "html" }, 1, true)
    end
  end)
end)

describe("call chains of callgrind", function()
  it("have each function's symbol spelled once, in however many contexts it stands", function()
    local symbols, out_file = require "pmclua.core.symbols", require "pmclua.simulate.out_file"
    local real, loaded, count = symbols.spell, package.loaded["pmclua.simulate.callers"], 0
    symbols.spell = function(name)
      count = count + 1
      return real(name)
    end
    package.loaded["pmclua.simulate.callers"] = nil
    local fresh = require "pmclua.simulate.callers"
    symbols.spell, package.loaded["pmclua.simulate.callers"] = real, loaded
    local text = { "events: Ir", "fl=a.c" }
    for depth = 1, 40 do
      text[#text + 1] = ("fn=%smain"):format(("g'f'"):rep(depth))
      text[#text + 1] = "1 10"
    end
    text[#text + 1] = "totals: 400\n"
    local chains = fresh.of({ assert(out_file.parse(table.concat(text, "\n"))) }, { "Ir" })
    assert.equal(10, chains["main;f;g"])
    assert.equal(10, chains["main;f;g;f;g"])
    assert.is_true(count <= 2 * 3, count .. " times")
  end)
end)
