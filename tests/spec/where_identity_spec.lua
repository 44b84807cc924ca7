-- Functions have names only where it is established which file was mapped: in other mount namespaces and below other
-- roots, of files that were removed, replaced or rewritten, with build ids and without.

local pmc = require "pmclua"
local support = require "tests.support"
local where = require "tests.support.where"

local FAULTS = 500

-- Builds by their names: compiler and flags.
local BUILDS = {
  ["with a build id"] = { "cc", "-Wl,--build-id=sha1" },
  ["without a build id"] = { "cc", "-Wl,--build-id=none" },
  ["static-pie without a build id"] = { "cc", "-static-pie", "-Wl,--build-id=none" },
  ["of musl"] = { "musl-gcc", "-static" },
}

local compiled = {}

-- The program of a build whose faults are in FN; more: for the compiler.
local function compile(build, fn, ...)
  local words = BUILDS[build]
  support.need(support.have(words[1]), "no " .. words[1])
  local key = table.concat({ build, fn, ... }, " ")
  local list = { "-O1", "-pthread", "-DFN=" .. fn, ... }
  for _, flag in ipairs { unpack(words, 2) } do list[#list + 1] = flag end
  list[#list + 1] = support.fixture "where/planted.c"
  compiled[key] = compiled[key] or support.build(support.folder() .. "/planted", words[1], unpack(list))
  return compiled[key]
end

-- Two programs of a build, the faults of the second at another place and in `wrong`; and a folder.
local function programs_of(build, ...)
  return compile(build, "right", ...), compile(build, "wrong", "-DBEHIND"), support.folder()
end

local function copy(from, to) assert.equal(0, support.run({ "cp", from, to }).status) end

local function said_of(result) return table.concat(result.remarks or {}, "\n") end

-- The profile, as a record's `profiles` has it, and the result of `workload`; `target`: of this alone.
local function profile_of(workload, target)
  local list = {}
  local result = pmc.experiment { sample = "page-faults", events = { "page-faults" },
    workloads = { workload }, target = target, repetitions = 1, warmup = 0,
  }:run { store = false, quiet = true, each = function(record)
    list[#list + 1] = not record.warmup and record.profiles and record.profiles[1] or nil
  end }
  assert.is_nil(result.problem)
  assert.equal(1, #list)
  assert.equal(list[1].total, where.sum(list[1]))
  return list[1], result
end

-- Calls `fn` while the words of a shell run that execute a program with "ASK ANSWER", and gives what it returns:
-- `fn(profile)`, where `profile()` has the process touch its pages and gives its profile.
local function while_running(folder, words, fn)
  local ask, answer = folder .. "/ask", folder .. "/answer"
  assert.equal(0, support.run({ "mkfifo", ask, answer }).status)
  local line = words:gsub("ASK ANSWER", ask .. " " .. answer)
  local pid = tonumber(support.output_of(("{ %s; } >/dev/null & echo $!"):format(line)))
  local once = { "sh", "-c", ("printf x > %s; head -c 1 < %s > /dev/null"):format(ask, answer) }
  assert.equal(0, support.run(once).status)
  local ok, why = pcall(fn, function(before)
    local workload = pmc.command(once)
    if before then
      workload = pmc.command { "sh", "-c", before .. "; " .. once[3] }
    end
    return profile_of(workload, pmc.pid(pid))
  end)
  os.execute(("kill %d"):format(pid))
  os.remove(ask)
  os.remove(answer)
  if not ok then error(why, 0) end
end

local function has_right(profile)
  assert.same({ FAULTS, FAULTS, 0 },
    { profile.total, where.count(profile, "right"), where.count(profile, "wrong") })
end

-- Of a program that names may not be given to.
local function is_nameless(profile, result, why)
  assert.same({ 0, 0 }, { where.count(profile, "right"), where.count(profile, "wrong") })
  assert.matches(why, said_of(result))
end

for build in pairs(BUILDS) do
  describe("functions of a program " .. build, function()
    it("are its own in another mount namespace, where its path leads to another program", function()
      support.need(support.have_root(), "not root")
      support.need(support.run({ "unshare", "-m", "true" }).status == 0, "no mount namespaces")
      local right, wrong, folder = programs_of(build)
      local path = folder .. "/program"
      copy(wrong, path)
      local line = ("exec unshare -m sh -c 'mount --bind %s %s; exec %s ASK ANSWER'"):format(right, path,
        path)
      while_running(folder, line, function(profile) has_right(profile()) end)
    end)

    it("are its own below another root", function()
      support.need(support.have_root() and support.have "chroot", "not root")
      support.need(build:find "static" or build == "of musl", "it needs libraries below that root")
      local right, wrong, folder = programs_of(build)
      local root = folder .. "/root"
      assert.equal(0, support.run({ "mkdir", "-p", root .. folder }).status)
      copy(right, root .. folder .. "/program")
      copy(wrong, folder .. "/program")
      local path = folder .. "/program"
      assert.equal(0, support.run({ "mkfifo", root .. folder .. "/ask", root .. folder .. "/answer" }).status)
      local start = ("chroot %s %s %s/ask %s/answer >/dev/null & echo $!"):format(root, path, folder, folder)
      local pid = tonumber(support.output_of(start))
      local inside = root .. folder
      local once = ("printf x > %s/ask; head -c 1 < %s/answer > /dev/null"):format(inside, inside)
      assert.equal(0, support.run({ "sh", "-c", once }).status)
      local ok, profile = pcall(profile_of, pmc.command { "sh", "-c", once }, pmc.pid(pid))
      os.execute(("kill %d"):format(pid))
      assert.is_true(ok, profile)
      has_right(profile)
    end)

    it("are its own after it was removed, or replaced by another", function()
      support.need(support.have_root(), "not root")
      local right, wrong, folder = programs_of(build)
      local path = folder .. "/program"
      copy(right, path)
      while_running(folder, ("exec %s ASK ANSWER"):format(path), function(profile)
        has_right(profile())
        assert(os.remove(path))
        has_right(profile())
        copy(wrong, path)
        has_right(profile())
      end)
    end)

    it("are its own where it is replaced while it is sampled", function()
      support.need(support.have_root(), "not root")
      local right, wrong, folder = programs_of(build)
      local path = folder .. "/program"
      copy(right, path)
      copy(wrong, path .. ".new")
      while_running(folder, ("exec %s ASK ANSWER"):format(path), function(profile)
        has_right(profile(("mv %s.new %s"):format(path, path)))
      end)
    end)

    it("have no names where a command replaces it after it ran", function()
      local right, wrong, folder = programs_of(build)
      local path = folder .. "/program"
      local function replace(program)
        return ("cp %s %s.new; mv %s.new %s"):format(program, path, path, path)
      end
      local steps = table.concat({ replace(right), path, replace(wrong) }, "; ")
      local profile, result = profile_of(pmc.command { "sh", "-c", steps })
      is_nameless(profile, result, "the file is another one than was run")
    end)

    it("have no names of what was written into it after it ran", function()
      local right, wrong, folder = programs_of(build)
      local path = folder .. "/program"
      local steps = ("rm -f %s; cp %s %s; %s; cat %s > %s"):format(path, right, path, path, wrong, path)
      local profile, result = profile_of(pmc.command { "sh", "-c", steps })
      is_nameless(profile, result, "its functions have no names")
    end)
  end)
end

describe("functions of a process", function()
  it("have names where its first thread has ended", function()
    local right, _, folder = programs_of("with a build id", "-DLEADERLESS")
    while_running(folder, ("exec %s ASK ANSWER"):format(right), function(profile) has_right(profile()) end)
  end)

  it("that it made itself have no names from a map that is older than it", function()
    local jit, core = require "pmclua.profile.jit", require "pmclua.core"
    local folder = support.folder()
    support.write(("%s/perf-%d.map"):format(folder, core.pid()), "1000 20 mine\n")
    local now = core.now_ns()
    assert.equal("mine", assert(jit.open(core.pid(), { folder = folder, began_ns = now - 1e9 })):find(0x1000))
    local map, why = jit.open(core.pid(), { folder = folder, began_ns = now + 1e9 })
    assert.is_nil(map)
    assert.matches("is older than that process", why)
  end)

  it("have no names where the file's time does not tell whether it was changed since", function()
    local mapped = require "pmclua.profile.mapped"
    local step = mapped.CLOCK_STEP_NS
    assert.equal("the file was changed after it was mapped", mapped.change_since(5 * step, 5 * step + 1))
    assert.matches("its time does not tell", mapped.change_since(5 * step, 5 * step))
    assert.matches("its time does not tell", mapped.change_since(5 * step, 4 * step + 1))
    assert.is_nil(mapped.change_since(5 * step, 4 * step))
  end)

  it("have names by the file's time alone, if that is earlier", function()
    local mapped, core = require "pmclua.profile.mapped", require "pmclua.core"
    local path, second = support.folder() .. "/program", 1e9
    copy(compile("without a build id", "right"), path)
    local now = assert(core.identity(path))
    local file = { path = path, device = now.device, inode = now.inode, from = 0, to = 0, task = 0,
      since_ns = now.changed_ns + second }
    local opened = assert(mapped.open(file))
    opened.symbols:close()
    file.since_ns = now.changed_ns - second
    assert.same({ nil, "the file was changed after it was mapped" }, { mapped.open(file) })
  end)

  it("of 32 bits have no names of the 64-bit page of Linux's code", function()
    local mapped = require "pmclua.profile.mapped"
    local function page(from)
      return { path = "[vdso]", from = from, to = from + 8192, task = 0, inode = 0 }
    end
    local opened, why = mapped.open(page(0xf7f00000))
    assert.is_nil(opened)
    assert.matches("32 bits", why)
    local own = assert(mapped.open(page(0x7fff00000000)))
    own.symbols:close()
    assert.not_equal(mapped.id(page(0xf7f00000)), mapped.id(page(0x7fff00000000)))
  end)
end)

describe("a stored result", function()
  it("is annotated with the instructions that were sampled, whatever stands at the path by now", function()
    support.need(support.have "cc", "no C compiler")
    for _, build in ipairs { "with a build id", "without a build id" } do
      local right, wrong, folder = programs_of(build)
      local path, stored = folder .. "/program", folder .. "/stored.jsonl"
      copy(right, path)
      local run = support.pmclua { "where", "-e", "page-faults", "-r", "2", "--store", stored, "--", path }
      assert.equal(0, run.status, run.err)
      local function instructions()
        local shown = support.pmclua { "where", "--annotate", "right", stored }
        assert.equal(0, shown.status, shown.err)
        return shown.out:gsub("   ; line %d+", "")
      end
      local then_shown = instructions()
      assert.matches("500%.0 +%x+  %w+ ", then_shown)
      copy(wrong, path)
      assert.equal(then_shown, instructions())
      assert(os.remove(path))
      assert.equal(then_shown, instructions())
      -- A result without the code says so.
      support.write(stored, (support.read(stored):gsub(',"code":%b{}', ""):gsub('"code":%b{},', "")))
      copy(wrong, path)
      local without = instructions()
      assert.matches("not the one that was sampled, and its code was not kept", (without:gsub("%s+", " ")))
      assert.not_matches("500%.0 +%x+  %w+ ", without)
    end
  end)
end)
