-- System calls counted without rights: syscalls::getppid and its like, against a program whose calls are known.

local support = require "tests.support"

-- Of fixtures/simulated/system_calls.c: in the first thread, 10 threads and their process, a vforked program, under
-- signals, in a child that was stopped, and in the program that takes its place.
local KNOWN = 1000 + 8 * 100 + 2 * 100 + 1000 + 3000 + 5 + 1000

local function need()
  support.need(support.have "gcc", "no C compiler is installed")
  support.need_unwatched "what is traced already cannot be traced by pmclua"
end

local function program(...)
  return support.build(support.folder() .. "/calls", "gcc", "-O1", "-pthread",
    support.fixture "simulated/system_calls.c", ...)
end

local function stat(events, ...)
  return support.pmclua { "stat", "-j", "-o", "-", "-r", "3", "-e", events, "--", ... }
end

local function values(result)
  return require("dkjson").decode(result.out).cells[1].values
end

describe("counts of system calls", function()
  it("are those of threads, forked and vforked children, stopped ones and the programs that they execute",
    function()
      need()
      local result = stat("syscalls::getppid,syscalls::dup", program())
      assert.equal(0, result.status, result.err)
      local of = values(result)
      assert.same({ KNOWN, true, "counted" },
        { of.syscalls_getppid.median, of.syscalls_getppid.exact, of.syscalls_getppid.status })
      assert.same({ 3000, true }, { of.syscalls_dup.median, of.syscalls_dup.exact })
    end)

  it("are the same without rights, of a static program, too", function()
    need()
    support.need(require("pmclua.core").uid() == 0, "only root can run it as an ordinary user")
    local static = program "-static"
    local result = support.pmclua({ "stat", "-j", "-o", "-", "-r", "3", "-e", "syscalls::getppid", "--",
      static }, { user = true })
    assert.equal(0, result.status, result.err)
    local count = values(result).syscalls_getppid
    assert.same({ KNOWN, true }, { count.median, count.exact })
  end)

  it("are those of the tracepoints, one by one and in all", function()
    need()
    local result = stat("syscalls::openat,syscalls::total,syscalls:sys_enter_openat,raw_syscalls:sys_enter",
      program(), "last")
    local of = values(result)
    local one, all = of["syscalls:sys_enter_openat"], of["raw_syscalls:sys_enter"]
    support.need(one and one.median and all and all.median, "tracepoints cannot be counted here")
    assert.same({ one.median, all.median }, { of.syscalls_openat.median, of.syscalls_total.median })
  end)

  it("have the call that is not made as 0, and the first execve as none", function()
    need()
    local of = values(stat("syscalls::sethostname,syscalls::execve,syscalls::total", program(), "last"))
    assert.same({ 0, 0 }, { of.syscalls_sethostname.median, of.syscalls_execve.median })
    assert.is_true(of.syscalls_total.median > 1000)
  end)

  it("are those up to the signal that ends the program", function()
    need()
    local result = stat("syscalls::getppid", program(), "be", "killed")
    assert.equal(1000, values(result).syscalls_getppid.median)
    assert.matches("%d signalled", result.out)
  end)

  it("are absent where a process outlives the program, which is ended", function()
    need()
    local path = program()
    local result = support.pmclua { "stat", "-e", "syscalls::getppid", "--", path, "leave" }
    assert.matches("it has left processes running", result.err)
    assert.is_nil(support.run({ "pgrep", "-f", path:gsub("calls$", "[c]alls") .. " leave" }).out:match "%d")
  end)

  it("are absent where a time limit ends the program, of which nothing is left", function()
    need()
    local result = support.pmclua { "stat", "-e", "syscalls::getppid", "--timeout", "0.2s", "--",
      "sleep", "61.7" }
    assert.matches("killed at its time limit", result.err .. result.out)
    assert.is_nil(support.run({ "pgrep", "-fx", "sleep 61.7" }).out:match "%d")
  end)

  it("can be gated on by their names in formulae", function()
    need()
    local path = program()
    local function gate(limit)
      return support.pmclua { "gate", "--against", path .. " last", "--limit", limit, "--", path }
    end
    assert.equal(3, gate("syscalls_getppid <= +0%").status)
    assert.equal(0, gate("syscalls_getppid <= 7005").status)
  end)

  it("say which call there is not, and what they cannot be counted of", function()
    local unknown = support.pmclua { "stat", "-e", "syscalls::opnat", "--", "true" }
    assert.matches("no system call 'opnat', at character 11 .* did you mean 'openat'", unknown.err)
    local modified = support.pmclua { "stat", "-e", "syscalls::read:u", "--", "true" }
    assert.matches("takes no modifiers", modified.err)
    assert.matches("counts of system calls and target cannot be combined",
      support.pmclua { "stat", "-e", "syscalls::read", "-a", "true" }.err)
    assert.matches("counted by ptrace", support.pmclua { "events", "--explain", "syscalls::read" }.out)
  end)
end)
