-- What the lab is to whom runs something in it; these specs run here, and boot it.

local support = require "tests.support"

local LAB = support.root .. "/tests/lab/lab.sh"
local BOOT_LIMIT_S = 120

--- Runs lab.sh. The cache is the user's, whatever the suite's own home is.
local function lab(words, options)
  options = options or {}
  options.limit_s = options.limit_s or BOOT_LIMIT_S
  return support.run({ LAB, unpack(words) }, options)
end

describe("the lab", function()
  it("keeps output, errors and the exit status of a command apart", function()
    local command = [[printf 'a  b\r\n'; echo problem >&2; kill -9 $$]]
    local run = lab { "run", "--", "sh", "-c", command }
    assert.equal("a  b\r\n", run.out)
    assert.equal("problem\nKilled\n", run.err)
    assert.equal(137, run.status)
  end)

  it("brings what a script names, files among its arguments, the standard input, and no more", function()
    local folder, other = support.folder(), support.folder()
    support.run { "fallocate", "-l", "300M", folder .. "/not named" }
    local script = support.write(folder .. "/it's.lua", [[
      local beside = require "beside"
      local other = io.open(arg[0]:match "^.*/" .. "not" .. " named")
      print(beside, arg[1], io.open(arg[2]):read "*a", io.read "*a", other)
      os.exit(3)]])
    support.write(folder .. "/beside.lua", "return 'beside'")
    local data = support.write(other .. "/data", "from a file")
    local run = lab({ "script", "--stdin", "--", script, "a 'word'\n", data }, { stdin = "typed" })
    assert.matches("^beside\ta 'word'\n\tfrom a file\ttyped\tnil\n$", run.out)
    assert.equal(3, run.status)
  end)

  it("finds modules, sources, what these include, and data by the words of a script", function()
    local folder = support.folder()
    for path, content in pairs { ["s.lua"] = [[
        local first, second = require "beside", require 'lib.other'
        local kernel, more = { source = "kernels/k.c" }, { source = "more/{n}.c" }
        local words = "cat data.txt /etc/passwd /tmp / . .. nothing.txt"]], ["beside.lua"] = "",
      ["lib/other.lua"] = 'return "from/other"', ["lib/from/other"] = "", ["kernels/k.c"] = '#include "k.h"',
      ["kernels/k.h"] = "", ["kernels/unused.c"] = "", ["more/1.c"] = "", ["data.txt"] = "",
      ["unused.txt"] = "" } do
      support.run { "mkdir", "-p", (folder .. "/" .. path):match "^(.*)/" }
      support.write(folder .. "/" .. path, content)
    end
    local out = support.run { "luajit", support.root .. "/tests/lab/names.lua", folder .. "/s.lua" }.out
    local names = {}
    for path in out:gmatch "%Z+" do names[#names + 1] = path:sub(#folder + 2) end
    table.sort(names)
    assert.same({ "beside.lua", "data.txt", "kernels/k.c", "kernels/k.h", "lib/from/other", "lib/other.lua",
      "more", "s.lua" }, names)
  end)

  it("refuses to bring very much, and says what is much", function()
    local folder = support.folder()
    local script = support.write(folder .. "/s.lua", "os.exit(3)")
    support.run { "fallocate", "-l", "300M", folder .. "/large" }
    local run = lab { "script", "--", script, folder .. "/large" }
    assert.equal(2, run.status)
    assert.matches("^lab: 30%d MB are brought along:\n  30%d MB  [^\n]*/large\n", run.err)
    assert.matches("lab: that is more than 256 MB\n", run.err, 1, true)
  end)

  it("leaves out files that vanish while they are packed", function()
    local folder, tools = support.folder(), support.folder()
    support.write(folder .. "/s.lua", "print 'here'")
    support.write(tools .. "/find", [[#!/bin/sh
      case "$*" in */s.lua*-print0) printf './vanished/file\0' ;; esac
      exec /usr/bin/find "$@"]])
    support.run { "chmod", "+x", tools .. "/find" }
    local env = { PATH = tools .. ":" .. os.getenv "PATH" }
    local run = lab({ "script", "--", folder .. "/s.lua" }, { env = env })
    assert.same({ "here\n", "", 0 }, { run.out, run.err, run.status })
  end)

  it("ends a hang at its time limit, with the guest's last words, and leaves nothing behind", function()
    local folder = support.folder()
    local words = { "run", "--timeout", "40", "--", "sh", "-c",
      "echo before; echo 'last words' >/dev/console; sleep 1000" }
    local run = lab(words, { env = { TMPDIR = folder } })
    assert.equal(124, run.status)
    assert.equal("before\n", run.out)
    assert.matches("not done after 40 s; the guest's console ends:\nlast words", run.err, 1, true)
    assert.equal("", support.run({ "ls", "-A", folder }).out)
  end)

  it("tells a crash of the OS kernel from the end of the command", function()
    local run = lab { "run", "--", "sh", "-c", "echo c >/proc/sysrq-trigger" }
    assert.equal(125, run.status)
    assert.matches("the guest ended by itself; its console ends:.*panic", run.err)
  end)

  -- Runs a command of the lab where few programs are installed.
  local function with_few_programs(command)
    local folder = support.folder()
    for _, program in ipairs { "bash", "sh", "cat", "cut", "dirname", "sha256sum", "touch" } do
      support.run { "ln", "-s", "/usr/bin/" .. program, folder .. "/" .. program }
    end
    return support.run { "/bin/bash", "-c", ("PATH=%s exec %s"):format(folder, command) }
  end

  it("says in one line which packages are missing, and that the cross compiler is", function()
    local run = with_few_programs(("bash -c 'PMCLUA_LAB_CACHE=%s exec %s/tests/lab/build.sh'")
      :format(support.folder(), support.root))
    assert.equal(77, run.status)
    assert.matches("^lab: needs packages that are not installed: [^\n]*mmdebstrap[^\n]*\n$", run.err)
    run = with_few_programs(("bash %s build"):format(LAB))
    assert.equal(77, run.status)
    assert.matches("^lab: there is no aarch64%-linux%-gnu%-gcc [^\n]*apt%-get install [^\n]*\n$", run.err)
  end)

  it("refuses what it does not know", function()
    local function assert_says(what, words) assert.matches(what, lab(words).err, 1, true) end
    assert_says("no action 'dance'", { "dance" })
    assert_says("no OS kernel 5.4: there are 6.12 6.1", { "run", "--kernel", "5.4", "--", "true" })
    assert_says("no file or folder /nowhere", { "run", "--copy", "/nowhere", "--", "true" })
  end)
end)
