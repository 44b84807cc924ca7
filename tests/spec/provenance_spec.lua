-- What a stored result says of how it was made, so that it can be made again; and what --resume says of what differs.

local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"

local SCRIPT = [[
local pmc = require "pmclua"
local opt = pmc.options { { "size", 1 }, { "api-token", "none" } }
return pmc.experiment { events = "page-faults", repetitions = 4, warmup = 0, seed = 1,
  workloads = { pmc.command { "./program", "{n}", cwd = %q,
    env = { MODE = "fast", MY_PASSWORD = "pw123" } } },
  factors = { { "n", { 1, 2 } } } }
]]

local KERNEL = [[
local pmc = require "pmclua"
return pmc.experiment { events = "page-faults", repetitions = 4, warmup = 0, seed = 1, iterations = 1,
  workloads = { pmc.kernel { source = "k.c", symbol = "f", cflags = "-DSIZE=%d" } } }
]]

local function command_in(folder)
  support.write(folder .. "/program", "#!/bin/sh\nexit 0\n")
  os.execute(("chmod +x '%s/program'"):format(folder))
  return support.write(folder .. "/s.lua", SCRIPT:format(folder))
end

local function kernel_in(folder, size)
  support.write(folder .. "/k.h", "#define TIMES 1\n")
  support.write(folder .. "/k.c", '#include "k.h"\n#include <pmclua_kernel.h>\n'
    .. "void f(void *s, uint64_t i) { (void)s; while (i--) pmclua_keep(SIZE * TIMES); }\n")
  return support.write(folder .. "/s.lua", KERNEL:format(size or 1))
end

-- Stores one result of a script, without its last lines: as if it had been killed.
local function stored(script, folder, ...)
  local file = folder .. "/r.jsonl"
  os.remove(file)
  local got = support.pmclua { script, "--store", file, "--quiet", ... }
  assert.equal(0, got.status, got.err)
  local lines = support.lines_of(file)
  support.write(folder .. "/cut.jsonl", table.concat({ lines[1], lines[2] }, "\n") .. "\n")
  return file, folder .. "/cut.jsonl"
end

local function resumed(script, file, ...)
  return support.pmclua { script, "--resume", file, "--quiet", ... }
end

describe("a stored result", function()
  it("has the script, its arguments, each command with its program's hash, and what it sets", function()
    local folder = support.folder()
    local file = stored(command_in(folder), folder, "--size", "7")
    local how = pmc.load(file).header.how
    assert.equal(folder .. "/s.lua", how.script.path)
    assert.equal(SCRIPT:format(folder), how.script.text)
    assert.same({ "--store", file, "--quiet", "--size", "7" }, how.script.args)
    local first, second = how.workloads[1], how.workloads[2]
    assert.same({ "./program", "1" }, first.argv)
    assert.same({ "n=2" }, second.cells)
    assert.equal(folder .. "/./program", first.program)
    assert.matches("^%x+$", first.program_hash)
    assert.equal("fast", first.env.MODE)
  end)

  describe("has the hashes of libraries that are brought in", function()
    local folder
    lazy_setup(function() folder = support.folder() end)
    before_each(function() support.need(support.have "cc", "no C compiler") end)

    -- A program that needs libf.so, and a library to preload; another libf.so is in `other`.
    local function built(value)
      local source = support.write(folder .. "/f.c", ("int f(void) { return %d; }\n"):format(value))
      for _, name in ipairs { "libf.so", "pre.so", "other/libf.so" } do
        os.execute("mkdir -p " .. folder .. "/other")
        support.build(folder .. "/" .. name, "cc", "-shared", "-fPIC", source)
      end
      local main = support.write(folder .. "/m.c", "int f(void); int main(void) { return f() * 0; }\n")
      return support.build(folder .. "/m", "cc", main, "-L" .. folder, "-lf", "-Wl,--enable-new-dtags",
        "-Wl,-rpath," .. folder)
    end

    local function brought(command)
      local path = os.tmpname()
      os.remove(path)
      pmc.measure(command, { events = "page-faults", repetitions = 1, warmup = 0, store = path,
        quiet = true })
      local how, shown = pmc.load(path).header.how, support.pmclua({ "report", "--how", path }).out
      local html = support.pmclua({ "report", "--format", "html", path }).out
      os.remove(path)
      local libraries = how.workloads[1].libraries
      for name, hash in pairs(libraries or {}) do
        assert.equal(require("pmclua.core").hash(support.read(name)), hash)
        assert.matches(name .. "=" .. hash, shown, 1, true)
        assert.matches(hash, html, 1, true)
      end
      return libraries and lists.keys(libraries)
    end

    it("by LD_PRELOAD, LD_AUDIT and LD_LIBRARY_PATH, and none where nothing is", function()
      local program, other, pre = built(1), folder .. "/other", folder .. "/pre.so"
      local theirs = { other .. "/libf.so" }
      assert.is_nil(brought(program))
      assert.same({ pre }, brought(pmc.command { program, env = { LD_PRELOAD = pre } }))
      assert.same(theirs, brought(pmc.command { program, env = { LD_LIBRARY_PATH = other } }))
      assert.same(theirs, brought(pmc.command { "env", "LD_LIBRARY_PATH=" .. other, program }))
      for _, options in ipairs { { "-i" }, { "-u", "HOME" }, { "-uHOME", "--unset=LANG", "-" } } do
        local words = lists.joined { { "env" }, options, { "LD_LIBRARY_PATH=" .. other, program } }
        assert.same(theirs, brought(pmc.command(words)))
        words = lists.joined { { "env" }, options, { program } }
        words.env = { LD_LIBRARY_PATH = other }
        local is_emptied = options[1] == "-i" or options[3] == "-"
        assert.same(not is_emptied and theirs or nil, brought(pmc.command(words)))
      end
      assert.same({ pre }, brought(pmc.command { program, env = { LD_AUDIT = pre } }))
      local env = { LD_LIBRARY_PATH = ":/nowhere" }
      assert.same(theirs, brought(pmc.command { program, cwd = other, env = env }))
      support.with_env({ LD_PRELOAD = pre }, function()
        assert.same({ pre }, brought(program))
        local script = support.write(folder .. "/s.sh", "#!/bin/sh\nexit 0\n")
        os.execute("chmod +x " .. script)
        assert.same({ pre }, brought(script))
        assert.is_nil(brought(pmc.command { program, env = { LD_PRELOAD = false } }))
      end)
    end)

    it("by the command's own variables alone where Valgrind runs it, in an environment of its own", function()
      support.need(support.have "valgrind", "no valgrind")
      local program = built(1)
      local function simulated(options)
        local path = support.folder() .. "/s.jsonl"
        local command = pmc.command { program, env = options.env }
        pmc.measure(command, { events = "valgrind::instructions", repetitions = 1, warmup = 0, store = path,
          quiet = true, simulation = options.simulation })
        local libraries = pmc.load(path).header.how.workloads[1].libraries
        return libraries and lists.keys(libraries)
      end
      local pre = folder .. "/pre.so"
      support.with_env({ LD_PRELOAD = pre }, function()
        assert.is_nil(simulated {})
        assert.same({ pre }, simulated { simulation = { environment = "inherit" } })
      end)
      assert.same({ pre }, simulated { env = { LD_PRELOAD = pre } })
    end)

    it("and is not resumed when one of them has changed", function()
      local path = folder .. "/r.jsonl"
      local command = pmc.command { built(1), env = { LD_PRELOAD = folder .. "/pre.so" } }
      local spec = { events = "page-faults", repetitions = 2, warmup = 0, seed = 1, quiet = true }
      pmc.measure(command, support.merged(spec, { store = path }))
      built(2)
      local said = support.message_of(pmc.measure, command, support.merged(spec, { resume = path }))
      assert.matches("the preloaded libraries %(LD_PRELOAD, LD_LIBRARY_PATH%) of .- was", said)
    end)
  end)

  it("has no secret of the command line or of a variable", function()
    local folder = support.folder()
    local file = stored(command_in(folder), folder, "--api-token", "s3cr3t-value")
    local how = pmc.load(file).header.how
    assert.is_nil(table.concat(how.script.args, " "):find "s3cr3t")
    assert.is_nil(how.workloads[1].env.MY_PASSWORD:find "pw123")
  end)

  it("has of kernels the source, the compiler and what it was told", function()
    support.need(support.have "cc", "no C compiler")
    local folder = support.folder()
    local file = stored(kernel_in(folder), folder)
    local kernel = pmc.load(file).header.how.workloads[1]
    assert.equal(support.read(folder .. "/k.c"), kernel.source_text)
    assert.matches("%d+%.%d+", kernel.compiler)
    assert.matches("%-O2.*%-DSIZE=1", table.concat(kernel.command, " "))
    local shown = support.pmclua { "report", "--how", file }
    for _, word in ipairs { "k.c", "-DSIZE=1", kernel.compiler, kernel.source_hash, "while (i--)" } do
      assert.matches(word, shown.out, 1, true)
    end
    local page = support.pmclua { "report", "--format", "html", file }.out
    for _, word in ipairs { "How to make it again", "-DSIZE=1", kernel.source_hash, "while (i--)" } do
      assert.matches(word, page, 1, true)
    end
  end)

  it("of an older pmclua is read, and says that it does not know", function()
    local folder = support.folder()
    local file = stored(command_in(folder), folder)
    local lines = support.lines_of(file)
    lines[1] = lines[1]:gsub(',"how":%b{}', "")
    support.write(file, table.concat(lines, "\n") .. "\n")
    assert.is_nil(pmc.load(file).header.how)
    assert.matches("does not say how it was made", support.pmclua({ "report", "--how", file }).out)
  end)
end)

describe("--resume", function()
  it("goes on where all is as it was, from any folder", function()
    local folder = support.folder()
    local script = command_in(folder)
    local _, cut = stored(script, folder)
    local got = support.pmclua({ "./s.lua", "--resume", cut, "--quiet" }, { folder = folder })
    assert.equal(0, got.status, got.err)
    assert.equal(4, pmc.load(cut):cells()().page_faults.n)
  end)

  it("refuses a program that was replaced, by its name", function()
    local folder = support.folder()
    local script = command_in(folder)
    local _, cut = stored(script, folder)
    support.write(folder .. "/program", "#!/bin/sh\nexit  0\n")
    local got = resumed(script, cut)
    assert.equal(1, got.status)
    assert.matches("the program of ./program {n} was '%x+' and is now '%x+'", got.err)
  end)

  it("names the flags, the source, the header, the events and the warm-ups that differ", function()
    support.need(support.have "cc", "no C compiler")
    local folder = support.folder()
    local script = kernel_in(folder)
    local _, cut = stored(script, folder)
    assert.equal(0, resumed(script, support.write(folder .. "/copy.jsonl", support.read(cut))).status)
    kernel_in(folder, 2)
    assert.matches("the compiler's command of f was .*SIZE=1.* and is .*SIZE=2", resumed(script, cut).err)
    kernel_in(folder)
    support.write(folder .. "/k.h", "#define TIMES 2\n")
    assert.matches("the source's headers of f was", resumed(script, cut).err)
    kernel_in(folder)
    support.write(folder .. "/k.c", support.read(folder .. "/k.c") .. "/* more */\n")
    assert.matches("the source of f was", resumed(script, cut).err)
    kernel_in(folder)
    assert.matches("its events differ", resumed(script, cut, "--events", "task-clock").err)
    assert.matches("its warm%-ups differ", resumed(script, cut, "--warmup", "3").err)
  end)

  it("names a variable that changes what programs do", function()
    local folder = support.folder()
    local script = command_in(folder)
    local _, cut = stored(script, folder)
    local got = support.with_env({ OMP_NUM_THREADS = "3" }, function() return resumed(script, cut) end)
    assert.equal(0, got.status, got.err)
    assert.matches("OMP_NUM_THREADS was nothing and is now '3'", (got.out:gsub("\n *", " ")))
  end)
end)
