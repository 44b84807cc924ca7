-- Call chains by frame pointer: page faults, recorded one by one, of a program that knows who calls whom.

local chains = require "pmclua.profile.chains"
local dkjson = require "dkjson"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"
local where = require "tests.support.where"

local USER = { "setpriv", "--reuid=1003", "--regid=1003", "--clear-groups" }

-- At -O1 GCC gives functions that call nothing no frame.
local function framed() return where.program("chains.c", "-lpthread", "-O0", "-fno-omit-frame-pointer") end
local function leafless() return where.program("chains.c", "-lpthread", "-O1", "-fno-omit-frame-pointer") end
local function frameless()
  support.need(support.have "cc", "no C compiler")
  return support.build(support.folder() .. "/frameless", "cc", "-O1", "-fomit-frame-pointer",
    support.fixture "where/chains.c", "-lpthread")
end

local function faults(program, ...)
  local found = pmc.where(pmc.command { program, ... }, { event = "page-faults", call_chains = true })
  return found.profiles[1], found
end

-- Those chains of a profile that end in leaf(), which the program counts, as they are shown.
local function of_leaf(profile)
  local list, shorten = {}, chains.shortener { profile.chains }
  for chain, count in pairs(profile.chains) do
    local shown = shorten(chain)
    if shown:find ";leaf$" then list[shown] = count end
  end
  return list
end

local PLAIN = { ["main;once;leaf"] = 100, ["main;twice;once;leaf"] = 200, ["main;twice;leaf"] = 20,
  ["main;recurse;leaf"] = 4, ["main;recurse;recurse;leaf"] = 3, ["main;recurse;recurse;recurse;leaf"] = 2,
  ["main;recurse;recurse;recurse;recurse;leaf"] = 1 }

local function with(more)
  return support.merged(PLAIN, more)
end

local function sum(map)
  local total = 0
  for _, count in pairs(map) do total = total + count end
  return total
end

describe("a call chain", function()
  it("leads from main to the fault, through recursion, exactly", function()
    assert.same(PLAIN, of_leaf((faults(framed()))))
  end)

  it("goes through a function without a frame of its own, which a call of it establishes", function()
    support.need(jit.arch == "x64", "Arm keeps the return address in a register")
    assert.same(PLAIN, of_leaf((faults(leafless()))))
    local source = support.write(support.folder() .. "/copy.c", [[
      #include <stdlib.h>
      #include <string.h>
      static char from[1 << 20];
      static char *volatile to;
      volatile long size = sizeof from;
      __attribute__((noinline)) void step(void)
      {
          memcpy(to = aligned_alloc(4096, size), from, size);
          to = from;
      }
      __attribute__((noinline)) void run(int n) { while (n-- > 0) step(); to = from; }
      int main(void) { run(3); return 0; }]])
    local copies = support.build(support.folder() .. "/copy", "cc", "-O2", "-fno-omit-frame-pointer", source)
    local by_step = 0
    for chain, count in pairs(faults(copies).chains) do
      if chain:find "^main;run;step;__mem" then by_step = by_step + count end
    end
    assert.is_true(by_step >= 700, tostring(by_step))
  end)

  it("of a thread leads from where threads start", function()
    local profile = faults(framed(), "thread")
    assert.same(with { ["start_thread;threaded;once;leaf"] = 100 }, of_leaf(profile))
  end)

  it("of a goroutine leads from where Go starts them", function()
    support.need(support.have "go", "go is not installed")
    local folder = support.folder()
    local source = support.write(folder .. "/main.go", [[
      package main
      import "syscall"
      //go:noinline
      func leaf(at []byte) { for i := 0; i < len(at); i += 4096 { at[i] = 1 } }
      func main() {
        at, _ := syscall.Mmap(-1, 0, 4096 * 70, 3, syscall.MAP_PRIVATE | syscall.MAP_ANON)
        done := make(chan bool)
        go func() { leaf(at[:4096 * 50]); done <- true }()
        <-done
        leaf(at[4096 * 50:])
      }]])
    support.run { "env", "GO111MODULE=off", "GOCACHE=" .. folder .. "/cache", "GOPATH=" .. folder,
      "go", "build", "-o", folder .. "/program", source }
    local found = {}
    for chain, count in pairs((faults(folder .. "/program")).chains) do
      if chain:find ";main%.leaf$" then found[chain:gsub("%.abi0", "")] = count end
    end
    assert.same({ ["runtime.goexit;main.main.func1;main.leaf"] = 50,
      ["runtime.goexit;runtime.main;main.main;main.leaf"] = 20 }, found)
  end)

  it("of a child leads from main as well", function()
    local profile = faults(framed(), "children")
    assert.same(with { ["main;in_children;once;leaf"] = 300 }, of_leaf(profile))
  end)

  it("that is deeper than Linux follows is under [caller unknown]", function()
    local file = assert(io.open "/proc/sys/kernel/perf_event_max_stack")
    local most = file:read "*n"
    file:close()
    support.need(most > 10 and most < 190, "the fixture is not so deep")
    local complete, cut = 0, 0
    for chain, count in pairs(of_leaf((faults(framed(), "deep")))) do
      if chain:find "^main;recurse" then complete = complete + count end
      if chain:find "^%[caller unknown%];recurse" then cut = cut + count end
    end
    -- leaf and main are two of the frames; at depth d there are 201 - d pages.
    local expected = 0
    for depth = 1, most - 2 do expected = expected + 201 - depth end
    assert.same({ expected, 200 * 201 / 2 - expected }, { complete, cut })
  end)

  it("of a program without frame pointers is not known beyond who calls, and the report says so", function()
    local profile, found = faults(frameless())
    assert.same(jit.arch ~= "x64" and { ["[caller unknown];leaf"] = 330 }
      or { ["[caller unknown];once;leaf"] = 300, ["[caller unknown];twice;leaf"] = 20,
        ["[caller unknown];recurse;leaf"] = 10 }, of_leaf(profile))
    assert.equal(sum(profile.chains), where.sum(profile))
    assert.matches("call chains %(.-%): [%d.]+ %% complete.*under%s+%[caller unknown%]: compile with",
      found:report { format = "table" })
  end)

  it("is there for ordinary users", function()
    support.need(support.have_root(), "not root")
    local folder = support.folder()
    assert.equal(0, support.run({ "chmod", "755", folder }).status)
    assert.equal(0, support.run({ "cp", framed(), folder .. "/program" }).status)
    local words = { unpack(USER) }
    for _, word in ipairs { support.program, "where", "-g", "-e", "page-faults:u", "--format", "folded", "-o",
      "-", "--", folder .. "/program" } do words[#words + 1] = word end
    local shown = support.run(words)
    assert.equal(0, shown.status, shown.err)
    assert.matches("\nmain;twice;once;leaf 200\n", shown.out, 1, true)
  end)

  it("of a thread starts where the C library starts them, though it has no names", function()
    local libc = { path = "/lib/libc.so.6" }
    local frames = { { 1, 0, 1, 16, 0 }, { 2, 1, 2, 32, 3 }, { 3, 0, 2, 32, 4 } }
    local files = { libc, { path = "/bin/x" } }
    local found = { period = 5, files = files, thread_file = libc, thread_offset = 20 }
    function found.each_frame()
      local i = 0
      return function()
        i = i + 1
        return unpack(frames[i] or {})
      end
    end
    local attribution = {}
    function attribution.place(_, file) return { fn = file == libc and "libc.so.6+0x10" or "work" } end
    assert.same({ ["start_thread;work"] = 15, ["[caller unknown];work"] = 20 }, chains.of(found, attribution))
  end)

  it("is absent where nobody asks, and must be asked for with true or false", function()
    local found = pmc.where("true", { event = "page-faults" })
    assert.is_nil(found.profiles[1].chains)
    local said = support.message_of(pmc.where, "true", { event = "page-faults", call_chains = "fp" })
    assert.matches("call_chains must be true or false", said)
  end)

  it("is told by Valgrind, too, to the last instruction but those of the end", function()
    support.need(support.have "valgrind", "no Valgrind")
    local profile = pmc.where(pmc.command { frameless() },
      { event = "valgrind::instructions", call_chains = true }).profiles[1]
    local leaf = sum(of_leaf(profile))
    assert.equal(leaf, where.count(profile, "leaf"))
    local function calls_of(chain) return profile.calls[chain] end
    assert.equal(8, sum(lists.map(lists.keys(of_leaf(profile)), calls_of)))
    assert.is_nil(of_leaf(profile)["main;recurse;recurse;leaf"])
    assert.is_true(of_leaf(profile)["main;recurse;leaf"] > 0)
    assert.is_true(sum(profile.chains) <= profile.total and sum(profile.chains) >= 0.99 * profile.total)
  end)
end)

describe("call chains", function()
  it("take no more memory than is said: what finds no room is under [caller unknown]", function()
    local profile, found = faults(framed(), "many")
    assert.matches("found no room among the 131072 frames", table.concat(found.result.remarks, "\n"))
    local kept, folded = of_leaf(profile)["main" .. (";both"):rep(17) .. ";leaf"], 0
    assert.is_true(kept > 10000 and kept < 65536)
    local shown = found:report { format = "folded" }
    for count in shown:gmatch " (%d+)\n" do folded = folded + tonumber(count) end
    assert.equal(profile.total, folded)
  end)
end)

describe("stored call chains", function()
  local stored

  setup(function()
    stored = support.folder() .. "/chains.jsonl"
    pmc.where(pmc.command { framed(), "thread" }, { event = "page-faults", call_chains = true,
      repetitions = 2, store = stored })
  end)

  it("are folded stacks that add up to the total", function()
    local found, total = pmc.load(stored):where(), 0
    local shown = found:report { format = "folded" }
    for count in shown:gmatch " (%d+)\n" do total = total + tonumber(count) end
    assert.equal(found.profiles[1].total + found.profiles[2].total, total)
    assert.matches("\nmain;twice;once;leaf 400\n", shown, 1, true)
  end)

  it("are stacks in speedscope", function()
    local found = dkjson.decode(pmc.load(stored):where():report { format = "speedscope" })
    local weights = {}
    for i, sample in ipairs(found.profiles[1].samples) do
      local names = {}
      for k, frame in ipairs(sample) do names[k] = found.shared.frames[frame + 1].name end
      weights[table.concat(names, ";")] = found.profiles[1].weights[i]
    end
    assert.equal(200, weights["start_thread;threaded;once;leaf"])
    assert.equal(8, weights["main;recurse;leaf"])
  end)
end)
