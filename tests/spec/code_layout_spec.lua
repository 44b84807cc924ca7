-- The place of code as a part of the layout: of kernels that are compiled here, of commands that a script builds.

local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"
local results = require "tests.support.results"

-- Two functions besides the kernel, whose addresses it reports.
local SOURCE = [[
#include <stdint.h>
#include <stdio.h>
__attribute__((noinline)) int first(int n) { return n * 3; }
__attribute__((noinline)) int second(int n) { return n * 5; }
void work(void *state, uint64_t iterations)
{
    volatile int sink;
    (void)state;
    for (uint64_t i = 0; i < iterations; i++)
        sink = first((int)i) + second((int)i);
}
]]

local function kernel(more)
  return pmc.kernel(support.merged({ code = SOURCE, symbol = "work", name = "work" }, more))
end

-- Where an object has its functions, by name.
local function places(object)
  local symbols, list = require("pmclua.core.symbols").open(object), {}
  for index = 1, symbols.count do
    local symbol = symbols:at(index)
    if not symbol.imported then list[symbol.name] = symbol.offset end
  end
  symbols:close()
  return list
end

local function object_of(shown, ...) return require("pmclua.workload").from(shown):object(...) end

local function with_session(fn)
  local session = require("pmclua.workload.session").new()
  local ok, why = pcall(fn, session)
  session:close()
  if not ok then error(why, 0) end
end

describe("a compiled kernel", function()
  it("has its functions in another order and elsewhere for each seed, the same for the same seed", function()
    with_session(function(session)
      local plain, orders, starts = object_of(kernel(), session, {}), {}, {}
      assert.equal(plain, object_of(kernel(), session, {}, 0))
      for seed = 1, 12 do
        local object = object_of(kernel(), session, {}, seed)
        local made = require("pmclua.core").stat(object)
        assert.equal(object, object_of(kernel(), session, {}, seed))
        assert.equal(made.mtime_ns, require("pmclua.core").stat(object).mtime_ns)      -- from the cache
        assert.not_equal(plain, object)
        local at = places(object)
        local names = { "first", "second", "work" }
        table.sort(names, function(x, y) return at[x] < at[y] end)
        orders[table.concat(names, " ")], starts[at[names[1]] % 4096] = true, true
      end
      local order_count, start_count = 0, 0
      for _ in pairs(orders) do order_count = order_count + 1 end
      for _ in pairs(starts) do start_count = start_count + 1 end
      assert.is_true(order_count >= 3 and start_count >= 8, order_count .. " orders, " .. start_count
        .. " starts")
    end)
  end)

  it("runs the same instructions wherever it lies", function()
    with_session(function(session)
      local function body(object)
        local symbols, list = require("pmclua.core.symbols").open(object), {}
        local symbol = symbols:match("first")[1]
        local offset = symbol.offset
        while offset < symbol.offset + symbol.bytes do
          local one, why = symbols:instruction(offset)
          support.need(one ~= nil, "no Capstone: " .. tostring(why))
          list[#list + 1], offset = one.text, offset + #one.bytes
        end
        symbols:close()
        return list
      end
      assert.same(body(object_of(kernel(), session, {}, 1)), body(object_of(kernel(), session, {}, 2)))
    end)
  end)

  it("says so where its linker cannot place code", function()
    with_session(function(session)
      local one = kernel { cflags = "-fuse-ld=gold" }
      support.need(pcall(object_of, one, session, {}), "no gold")
      local said = support.message_of(object_of, one, session, {}, 3)
      if said then assert.matches('layout = "fixed" leaves it where it is', said, 1, true) end
    end)
  end)
end)

describe("layout = \"randomise\"", function()
  it("draws where the code of kernels lies, stores it, and repeats it from the seed", function()
    local path = support.folder() .. "/layouts.jsonl"
    local function run(store)
      return pmc.experiment { workloads = { kernel() }, events = "page-faults", layout = "randomise",
        seed = 5,
        repetitions = 6, warmup = 0, iterations = 10 }:run { store = store, quiet = true }
    end
    local result, again = run(path), run(false)
    for i, layout in ipairs(result.header.layouts) do
      assert.is_true(layout.code > 0)
      assert.equal(layout.code, again.header.layouts[i].code)
    end
    assert.not_equal(result.header.layouts[1].code, result.header.layouts[2].code)
    assert.equal(6, #result.header.layouts)
    assert.equal(6, #result:values "page_faults")
    assert.equal(result.header.layouts[3].code, pmc.load(path).header.layouts[3].code)
  end)

  it("keeps a layout for two repetitions, of few for one: 6 have 6 layouts", function()
    for repetitions, layouts in pairs { [6] = 6, [11] = 11, [12] = 6, [13] = 7 } do
      local path = support.folder() .. "/layouts.jsonl"
      pmc.measure("true", { layout = "randomise", events = "page-faults", repetitions = repetitions,
        store = path })
      assert.same({ layouts, "layouts" }, { pmc.load(path):list()[1]:clusters() })
    end
  end)

  it("is merged of results that kept layouts for one and for two repetitions", function()
    local paths = {}
    for i, repetitions in ipairs { 6, 13 } do
      paths[i] = ("%s/%d.jsonl"):format(support.folder(), i)
      pmc.measure("true", { layout = "randomise", events = "page-faults", repetitions = repetitions,
        store = paths[i] })
    end
    local both = support.folder() .. "/both.jsonl"
    pmc.stored.merge({ by = "none", paths[1], paths[2] }, both)
    assert.same({ 3 + 7, "layouts" }, { pmc.load(both):list()[1]:clusters() })
    for _, apart in ipairs { pmc.load(paths[1], paths[2]), pmc.load(paths[2], paths[1]) } do
      for _, cell in ipairs(apart:list()) do
        assert.equal(cell.repetitions == 6 and 6 or 7, (cell:clusters()))
      end
    end
  end)

  it("leaves the code of commands alone that nobody builds", function()
    local result = pmc.measure("true", { layout = "randomise", events = "page-faults", repetitions = 2 })
    assert.is_nil(result.header.layouts[1].code)
  end)
end)

describe("layout.build", function()
  local function build(folder, line) return support.write(folder .. "/build", "#!/bin/sh\n" .. line
    .. "\n") end

  -- A builder that notes each call and makes a program that exits well.
  local function builder()
    local folder = support.folder()
    local script = build(folder,
      ('echo "$1" >> %s/calls; printf "#!/bin/sh\\ntouch %s/ran-$1\\n" > %s/prog-$1; '
      .. "chmod +x %s/prog-$1; cp %s/prog-$1 %s/prog"):format(folder, folder, folder, folder, folder, folder))
    return folder, ("sh %s {seed}"):format(script)
  end

  it("builds each layout once, before its first repetition, and runs what it built", function()
    local folder, line = builder()
    local result = pmc.experiment { workloads = { pmc.command(folder .. "/prog-{seed}"), pmc.command(folder
      .. "/prog") },
      events = "page-faults", layout = { build = line }, repetitions = 12, warmup = 0, seed = 3,
      baseline = folder .. "/prog-{seed}" }:run { store = false, quiet = true }
    local calls = support.lines_of(folder .. "/calls")
    assert.equal(6, #calls)
    for i, layout in ipairs(result.header.layouts) do
      assert.equal(("%d"):format(layout.code), calls[i])
      assert.is_true(support.exists(("%s/ran-%d"):format(folder, layout.code)))
    end
    assert.equal(24, #result:values("page_faults", { workload = folder .. "/prog" })
      + #result:values("page_faults", { workload = folder .. "/prog-{seed}" }))
  end)

  it("can be a factor: the same place again and again", function()
    local folder, line = builder()
    pmc.experiment { workloads = { folder .. "/prog-{seed}" }, events = "page-faults",
      layout = { build = line },
      factors = { { "code_layout", { 1, 2 } } }, repetitions = 3, warmup = 0 }:run { store = false,
      quiet = true }
    local calls = support.lines_of(folder .. "/calls")
    table.sort(calls)
    assert.same({ "1", "2" }, calls)
  end)

  it("says what failed", function()
    local folder = support.folder()
    local line = ("sh %s {seed}"):format(build(folder, "echo no rule >&2; exit 2"))
    local experiment = pmc.experiment { workloads = { "true" }, events = "page-faults",
      layout = { build = line },
      repetitions = 2, warmup = 0 }
    local said = support.message_of(experiment.run, experiment, { store = false, quiet = true })
    assert.matches("layout: build: 'sh .*/build %d+' failed: no rule", said)
  end)

  it("is said to have done nothing where the program is as it was, and which source is newer", function()
    local folder = support.folder()
    support.write(folder .. "/prog", "#!/bin/sh\n")
    os.execute(("chmod +x %s/prog && touch -d 2020-01-01 %s/prog"):format(folder, folder))
    support.write(folder .. "/prog.c", "")
    local function remarks(line)
      return table.concat(pmc.experiment { workloads = { folder .. "/prog" }, events = "page-faults",
        layout = { build = ("sh %s {seed}"):format(build(folder, line)) }, repetitions = 4, warmup = 0 }
        :run { store = false, quiet = true }.remarks, "\n")
    end
    local said = remarks ":"
    local path = folder .. "/prog"
    assert.matches(("did nothing: %s is as it was, older than %s.c"):format(path, path), said, 1, true)
    assert.not_matches("did nothing", remarks(("touch %s/prog"):format(folder)))
    require("lfs").mkdir(folder .. "/new")
    local told = support.pmclua({ "compare", "-r", "2", "--against-dir", "..", "--build", "true {seed}",
      "./prog" }, { folder = folder .. "/new" })
    assert.matches("the build command did nothing: ../prog is as it was", told.err, 1, true)
  end)

  it("is refused where a folder is missing, before anything is built", function()
    for _, words in ipairs { { "touch ../built-{seed}" }, { "touch ../built", "--layouts", "shuffle" } } do
      local folder = support.folder()
      require("lfs").mkdir(folder .. "/new")
      local found = support.pmclua(lists.joined { { "compare", "--against-dir", "../old", "--build" }, words,
        { "true" } }, { folder = folder .. "/new" })
      assert.same({ 2, "pmclua compare: layout: there is no folder '../old' to build in\n" },
        { found.status, found.err })
      assert.equal("new\n", support.output_of(("ls '%s'"):format(folder)))
    end
  end)

  it("is refused where it would be ignored", function()
    local function mistakes(spec)
      return support.message_of(pmc.experiment, support.merged({ workloads = { "true" },
        events = "page-faults" }, spec))
    end
    assert.matches("must be a command with {seed} in it", mistakes { layout = { build = "make" } }, 1, true)
    assert.matches("shuffle = true links again", mistakes { layout = { build = "make" } }, 1, true)
    assert.matches("layout has no key 'bild'", mistakes { layout = { bild = "make {seed}" } })
    assert.matches("no kernel is compiled here", mistakes { factors = { { "code_layout", { 1, 2 } } } })
    assert.matches("the command must name what was built", mistakes { layout = { build = "make {seed}" },
      factors = { { "code_layout", { 1, 2 } } } })
  end)

  it("is built in each folder by all that the shell is given, its comments too", function()
    local folder = support.folder()
    for _, side in ipairs { "old", "new" } do require("lfs").mkdir(folder .. "/" .. side) end
    local done = support.pmclua({ "compare", "--against-dir", "../old", "--build",
      "true; echo {seed} >>seeds # of each side", "-e", "page-faults", "-r", "2", "test -s seeds" },
      { folder = folder .. "/new" })
    assert.equal(0, done.status, done.err)
    local seeds = support.lines_of(folder .. "/new/seeds")
    assert.is_true(#seeds > 0)
    assert.same(seeds, support.lines_of(folder .. "/old/seeds"))
  end)
end)

describe("layouts that are drawn by linking again", function()
  local has_lld = os.execute "command -v ld.lld >/dev/null" == 0

  -- Two folders with a program of three functions that writes down how these lie.
  local function project()
    local folder = support.folder()
    for _, side in ipairs { "old", "new" } do
      local place = folder .. "/" .. side
      require("lfs").mkdir(place)
      support.write(place .. "/main.c", ([[
        #include <stdio.h>
        int first(void) { return %d; }
        int second(void) { return 2; }
        int third(void) { return 3; }
        int main(void)
        {
            FILE *file = fopen("%s/order-%s", "a");
            char *names[] = {"f", "s", "t"}, *at[] = {(char *)first, (char *)second, (char *)third};
            for (int place = 0; place < 3; place++) {
                int below = 0;
                for (int i = 0; i < 3; i++)
                    below += at[i] < at[place];
                fprintf(file, "%%s%%d", names[place], below);
            }
            return fputs("\n", file) < 0;
        }]]):format(side == "new" and 11 or 1, folder, side))
      support.write(place .. "/build", "cc -O1 -c main.c && cc -o prog main.o && echo built >>calls\n")
    end
    return folder
  end

  local function orders(path) return lists.unique(support.lines_of(path)) end

  it("run the build of each side once, shuffle its functions, and leave what it had made", function()
    support.need(has_lld, "lld is not installed")
    local folder = project()
    local found = support.pmclua({ "gate", "--against-dir", "../old", "--build", "sh ./build", "--layouts",
      "shuffle", "-r", "16", "-l", "page_faults <= +90%", "--", "./prog" },
      { folder = folder .. "/new" })
    assert.same({ 0, "gate: the limit holds for 8 layouts\n" }, { found.status, found.out })
    for _, side in ipairs { "old", "new" } do
      assert.same({ "built" }, support.lines_of(folder .. "/" .. side .. "/calls"))
      local seen = orders(folder .. "/order-" .. side)
      assert.is_true(#seen > 1, table.concat(seen, " "))
      os.remove(folder .. "/order-" .. side)
      os.execute(("cd %s/%s && ./prog"):format(folder, side))
      assert.same({ "f0s1t2" }, orders(folder .. "/order-" .. side))
    end
  end)

  it("leave what the build had made after an interrupt, too", function()
    support.need(has_lld, "lld is not installed")
    local folder = project()
    local place = folder .. "/new"
    local found = support.pmclua({ "-e", ([[
      local experiment = pmc.experiment { workloads = { pmc.command { "./prog", cwd = "%s" } },
        layout = { build = "sh ./build", folders = { "%s" }, shuffle = true }, events = "page-faults",
        repetitions = 1000 }
      local result = experiment:run { store = false, quiet = true, each = function()
        io.popen("kill -INT $PPID"):close()
      end }
      io.write(result.status)
    ]]):format(place, place) })
    assert.equal("interrupted", found.out, found.err)
    os.remove(folder .. "/order-new")
    os.execute(("cd %s && ./prog"):format(place))
    assert.same({ "f0s1t2" }, orders(folder .. "/order-new"))
  end)

  it("leave PMCLUA_PATH to what the build runs", function()
    support.need(has_lld, "lld is not installed")
    local folder = project()
    local build = "sh ./build; echo $PMCLUA_PATH >path"
    support.pmclua({ "compare", "--against-dir", "../old", "--build", build, "--layouts", "shuffle", "-e",
      "page-faults", "-r", "2", "./prog" },
      { folder = folder .. "/new", env = { PMCLUA_PATH = "/my/scripts" } })
    assert.same({ "/my/scripts" }, support.lines_of(folder .. "/new/path"))
  end)

  it("know what a linker makes by each of its options", function()
    support.need(has_lld, "lld is not installed")
    for _, option in ipairs { "-olib.so", "-o lib.so", "--output=lib.so", "--output lib.so" } do
      local folder = project()
      local build = ("cc -fPIC -c main.c && ld -shared %s main.o"):format(option)
      local found = support.pmclua({ "compare", "--against-dir", "../old", "--build", build, "--layouts",
        "shuffle", "-e", "page-faults", "-r", "2", "test -f lib.so" }, { folder = folder .. "/new" })
      assert.same({ 0, "" }, { found.status, found.status == 0 and "" or found.err })
    end
  end)

  it("are refused where the build links nothing, or fails", function()
    support.need(has_lld, "lld is not installed")
    local folder = project()
    local function said(build)
      local found = support.pmclua({ "compare", "--against-dir", "../old", "--build", build, "--layouts",
        "shuffle", "-e", "page-faults", "-r", "2", "./prog" }, { folder = folder .. "/new" })
      assert.equal(1, found.status)
      return found.err
    end
    assert.matches("it linked nothing in ../old: it must make all anew", said "true", 1, true)
    assert.matches("failed: no rule", said "echo no rule >&2; exit 3", 1, true)
  end)
end)

describe("a result of layouts with code", function()
  local function of(values, layouts)
    local records = results.records({ values, values }, { workload = "rows" })
    return results.result(results.header { layouts = layouts, layout = "randomise", factors = {},
      cells = { { workload = "rows", levels = {} } }, repetitions = #values,
      events = { results.event "instructions", results.event "cycles" }, pass_events = { { 1, 2 } } },
      records)
  end

  local function warned(result)
    for _, warning in ipairs(result:warnings()) do
      if warning.kind == "moved" then return warning.message end
    end
  end

  it("warns of instructions that change with the layout, not of cycles", function()
    local moved, same = {}, {}
    for i = 1, 20 do
      moved[i] = 1e6 + 1e4 * (math.ceil(i / 2) % 3) + i % 2
      same[i] = 1e6 + 30 * (i * 7 % 5)
    end
    local code = { { padding = 16, stack_offset = 0, code = 7 } }
    assert.matches("^instructions change with where the code lies: by 0%.8 %%", warned(of(moved, code)))
    assert.is_nil(warned(of(same, code)))
    assert.is_nil(warned(of(moved, { { padding = 16, stack_offset = 0 } })))
  end)

  it("names the code in its variance components", function()
    local values = {}
    for i = 1, 20 do values[i] = 1e6 + 1e4 * (math.ceil(i / 2) % 3) + i % 2 end
    local shown = of(values, { { code = 7 } }):report { width = 100, utf8 = true }
    assert.matches("cycles: layout and code [%d.]+ %%, run", shown)
  end)
end)
