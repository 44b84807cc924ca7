-- Temporary folders: where they are made, and that none is left, however pmclua ends.

local core = require "pmclua.core"
local lfs = require "lfs"
local support = require "tests.support"

-- Calls fn(folder) with a small file system; `bytes` of it are taken.
local function with_small(kib, taken, fn)
  support.need(support.have_root(), "mounting needs root")
  local folder = support.folder()
  local mounted = support.run { "mount", "-t", "tmpfs", "-o", ("size=%dk"):format(kib), "none", folder }
  support.need(mounted.status == 0, "a file system cannot be mounted here")
  local ok, why = pcall(function()
    support.write(folder .. "/taken", ("x"):rep(taken * 1024))
    fn(folder)
  end)
  support.run { "umount", "-l", folder }
  if not ok then error(why, 0) end
end

local function names(folder)
  local list = {}
  for name in lfs.dir(folder) do
    if name:find "^pmclua%-" then list[#list + 1] = name end
  end
  return list
end

local KERNEL = support.root .. "/tests/faults/scenarios/kernel.lua"

describe("a full temporary folder", function()
  it("is named, and another one is used", function()
    support.need(support.have "cc", "no C compiler")
    with_small(256, 256, function(full)
      local run = support.pmclua({ KERNEL, "--no-store", "--repetitions", "1" },
        { env = { TMPDIR = full, XDG_CACHE_HOME = support.folder() } })
      local said = "pmclua: %s (TMPDIR): no space left on device; temporary files go to /tmp\n"
      assert.equal(0, run.status, run.err)
      assert.matches(said:format(full), run.err, 1, true)
      assert.same({}, names(full))
    end)
  end)

  it("for kernels is named, and a private one is used that goes", function()
    support.need(support.have "cc", "no C compiler")
    with_small(256, 256, function(full)
      local place = support.folder()
      local run = support.pmclua({ KERNEL, "--no-store", "--repetitions", "1" },
        { env = { TMPDIR = place, XDG_CACHE_HOME = full } })
      assert.equal(0, run.status, run.err)
      assert.matches(("pmclua: compiled kernels are not kept: %s/pmclua/kernels: no space left on device; "
        .. "set XDG_CACHE_HOME to a folder of yours\n"):format(full), run.err, 1, true)
      assert.same({}, names(place))
    end)
  end)
end)

-- A compiler that says that it runs, by a file, and goes on.
local SLOW_CC = [[#!/bin/sh
case "$*" in *-shared*) touch FOLDER/started; sleep 30;; esac
exec cc "$@"
]]

local FOLDERS = {
  compile = { tool = "cc", words = { KERNEL, "--no-store", "--repetitions", "1" } },
  simulate = { tool = "valgrind", words = { "stat", "-e", "valgrind::Ir", "--", "sh", "-c",
    "echo >FOLDER/started; read line <FOLDER/never" } },
}

-- Starts pmclua, waits until it has a folder and something runs, sends it a signal, waits for its end.
-- What is left in the temporary folder, and how it ended.
local function left_after(purpose, signal)
  local case, folder = FOLDERS[purpose], support.folder()
  support.need(support.have(case.tool), case.tool .. " is not installed")
  support.need_unwatched "what Valgrind runs is run under nothing else"
  support.write(folder .. "/cc", (SLOW_CC:gsub("FOLDER", folder)))
  os.execute("chmod 755 " .. support.quote(folder .. "/cc"))
  lfs.mkdir(folder .. "/tmp")
  local words = {}
  for i, word in ipairs(case.words) do words[i] = support.quote((word:gsub("FOLDER", folder))) end
  local variables = ("TMPDIR=FOLDER/tmp XDG_CACHE_HOME=FOLDER/cache CC=FOLDER/cc"):gsub("FOLDER", folder)
  local command = table.concat({ variables, support.quote(support.program), unpack(words) }, " ")
  os.execute(("cd %s; mkfifo never; (env --default-signal %s & echo $! >pid; wait $!; echo $? >status) "
    .. ">/dev/null 2>&1 &"):format(folder, command))
  support.await(function() return support.exists(folder .. "/started") end, "the program to run", 60)
  assert.equal(1, #names(folder .. "/tmp"))
  os.execute(("kill -%s $(cat %s/pid)"):format(signal, folder))
  support.await(function() return support.lines_of(folder .. "/status")[1] end, "its end", 60)
  return names(folder .. "/tmp"), tonumber(support.lines_of(folder .. "/status")[1]), folder
end

describe("a pmclua that ends by", function()
  for purpose in pairs(FOLDERS) do
    for signal, number in pairs { QUIT = 3, PIPE = 13 } do
      it(("SIG%s leaves no folder to %s in, and dies of it"):format(signal, purpose), function()
        local left, status = left_after(purpose, signal)
        assert.same({ {}, 128 + number }, { left, status })
      end)
    end
  end

  it("SIGTERM while it compiles leaves no folder", function()
    assert.same({}, (left_after("compile", "TERM")))
  end)

  it("SIGKILL leaves one, which the next one removes", function()
    local left, _, folder = left_after("compile", "KILL")
    assert.equal(1, #left)
    local env = { TMPDIR = folder .. "/tmp", XDG_CACHE_HOME = folder .. "/cache" }
    local run = support.pmclua({ KERNEL, "--no-store", "--repetitions", "1" }, { env = env })
    assert.equal(0, run.status, run.err)
    assert.same({}, names(folder .. "/tmp"))
  end)

  it("os.exit leaves none", function()
    local place = support.folder()
    local run = support.pmclua({ "-e", [[
      local folder = require("pmclua.host.temporary").make "test"
      io.open(folder .. "/file", "w"):close()
      require("lfs").mkdir(folder .. "/inner")
      print(folder)
      os.exit(3)
    ]] }, { env = { TMPDIR = place } })
    assert.equal(3, run.status)
    assert.matches(place .. "/pmclua%-test%-", run.out)
    assert.same({}, names(place))
  end)
end)

describe("removing a temporary folder", function()
  it("removes all that is in it, and nothing behind its links", function()
    local kept = support.write(support.folder() .. "/kept/file", "kept")
    local folder = require("pmclua.host.temporary").make "test"
    for i = 1, 300 do support.write(("%s/inner/%d/file%d"):format(folder, i % 7, i), "") end
    lfs.link(kept:match "^(.*)/", folder .. "/link", true)
    require("pmclua.host.temporary").remove(folder)
    assert.is_nil(core.stat(folder))
    assert.equal("kept", support.read(kept))
  end)

  it("lets a process go that waits to open a FIFO in it", function()
    local folder = require("pmclua.host.temporary").make "test"
    local name, tasks = support.folder() .. "/pid", require "pmclua.host.tasks"
    os.execute(("cd %s; mkfifo log; sh -c 'echo $$ >%s; echo >log' 2>/dev/null &"):format(folder, name))
    local pid = tonumber(support.await_text(name, "^(%d+)\n"))
    support.await(function() return tasks.state(pid) == "S" end, "it to wait")
    require("pmclua.host.temporary").remove(folder)
    support.await(function() return not tasks.is_alive(pid) end, "it to go on, and to end")
  end)
end)
