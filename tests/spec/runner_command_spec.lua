-- The runner of commands: what they count, print and inherit, how they end, and why they cannot begin.

local core = require "pmclua.core"
local session = require "pmclua.workload.session"
local sessions = require "tests.support.sessions"
local support = require "tests.support"

local FAULTS, TASK_CLOCK = support.software(2), support.software(1)

-- Holds sleep(1), interrupts it while it is held, releases it and says by which signal it ended.
local HELD = [[
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runner/launching/launch.h"
extern char **environ;
static void swallow(int signal) { (void)signal; }
int main(void)
{
    struct held held;
    const char *stage;
    int status;
    char *const argv[] = { "sleep", "60", NULL };
    struct launch launch = { .path = "/bin/sleep", .argv = argv, .envp = environ, .standard = { 3, 4, 5 } };
    for (int fd = 0; fd < 3; fd++) dup2(fd, 3 + fd);
    sigaction(SIGINT, &(struct sigaction){ .sa_handler = swallow }, NULL);
    if (launch_hold(&held, &launch) < 0) return 1;
    kill(held.pid, SIGINT);
    launch_release(&held);
    alarm(10);
    waitpid(held.pid, &status, 0);
    launch_end(&held, &stage);
    printf("%d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}
]]

describe("the runner", function()
  local runner, events

  before_each(function()
    runner = session.new()
    events = runner:events { { attrs = { FAULTS, TASK_CLOCK } } }
  end)
  after_each(function() runner:close() end)

  local function command(...) return sessions.command(runner, ...) end

  local function run(workload, more)
    return runner:run(support.merged({ workload = workload, events = events }, more))
  end

  it("keeps of a flood of output what its limit says", function()
    local result = run(command("sh", "-c", "yes | head -c 50000000"), { capture_limit = 1000 })
    assert.equal("done", result.outcome)
    assert.equal(1000, #result.output)
  end)

  it("says at which stage a command could not begin, and with which folder, input or program", function()
    local function refused(fields, layout)
      local result = run(runner:workload(function(message)
        message:text("argument", fields.argument or "/bin/true")
        if fields.directory then message:text("directory", fields.directory) end
        if fields.stdin then message:text("stdin", fields.stdin) end
      end), { layout = layout })
      return { result.outcome, result.stage, core.errno_name(result.errnum), result.output }
    end
    assert.same({ "not-started", "enter", "ENOENT", "/no\nfolder" }, refused { directory = "/no\nfolder" })
    assert.same({ "not-started", "read", "ENOENT", "/no/input" }, refused { stdin = "/no/input" })
    assert.same({ "not-started", "execute", "ENOENT", "/no/program" }, refused { argument = "/no/program" })
    assert.same({ "not-started", "node", "EINVAL", "" }, refused({}, { node = 5000 }))
  end)

  it("counts a command with all its children from exec to the end", function()
    local result = run(command("sh", "-c", "true; true; exit 7"))
    assert.equal("done", result.outcome)
    assert.equal(7, result.exit)
    assert.is_true(result.readings[3] > run(command "true").readings[3])
    assert.is_true(result.wall_ns > 0)
  end)

  it("captures output and errors apart, and tells signals from exit statuses", function()
    local result = run(command("sh", "-c", "echo out; echo err >&2; kill -9 $$"))
    assert.equal("out\n", result.output)
    assert.equal("err\n", result.errors)
    assert.equal("signalled", result.outcome)
    assert.equal(9, result.signal)
  end)

  it("keeps no dead child that a command left behind", function()
    run(command("sh", "-c", "true & true & exit 0"))
    local pid = runner.common.runner:pid()
    local function children() return support.read(("/proc/%d/task/%d/children"):format(pid, pid)) end
    for child in children():gmatch "%d+" do support.await_end(tonumber(child)) end
    run(command "true")
    assert.equal("", children())
  end)

  it("kills a command and its children at its time limit, and leaves none of them", function()
    run(command "true")                          -- the runner has started
    local words = { "sh", "-c", "sleep 60 & echo $!; sleep 60" }
    local result = run(command(unpack(words)), { timeout_ns = 2e8 * support.slower })
    assert.equal("timed-out", result.outcome)
    support.await_end(tonumber(result.output:match "%d+"))
  end)

  it("leaves to a command the interrupt that came while it was held", function()
    support.need(support.have "cc", "no C compiler")
    local folder = support.folder()
    support.write(folder .. "/held.c", HELD)
    local built = support.run { "cc", "-I" .. support.root .. "/core", "-o", folder .. "/held",
      folder .. "/held.c", support.root .. "/core/runner/launching/launch.c" }
    assert.equal(0, built.status, built.err)
    assert.equal("2", support.run({ folder .. "/held" }).out)
  end)

  it("says what cannot be executed, with the errno", function()
    assert.equal(2, run(command "/no/such/program").errnum)
    assert.equal(2, run(command "no-such-program-here").errnum)
    assert.equal(13, run(command "/etc/passwd").errnum)
    local folder = support.folder()
    os.execute(("chmod +x '%s'"):format(support.write(folder .. "/noexec", "no program\n")))
    assert.equal(8, run(command(folder .. "/noexec")).errnum)     -- ENOEXEC: no shell unless asked
  end)

  it("says which event could not be opened, and ends the held command", function()
    local bad = runner:events { { attrs = { FAULTS } }, { attrs = { FAULTS, support.software(999) } } }
    local result = runner:run { workload = command "true", events = bad }
    assert.equal("not-counted", result.outcome)
    assert.equal("ENOENT", result.failure.code)
    assert.equal(2, result.failure.group)
    assert.equal(2, result.failure.index)
  end)

  it("gives a command no descriptor but its own three", function()
    local result = run(command("ls", "/proc/self/fd"))
    assert.equal("0\n1\n2\n3\n", result.output)      -- 3 is ls's own, of the folder
  end)

  it("runs a command in its folder, with its environment and input", function()
    local folder = support.folder()
    support.write(folder .. "/in", "given\n")
    local id = runner:workload(function(m)
      m:text("argument", "sh"):text("argument", "-c"):text("argument", 'pwd; echo "$A-$HOME"; cat')
      m:text("environment", "A=1"):text("environment", "PATH=/usr/bin:/bin"):text("directory", folder)
      m:text("stdin", folder .. "/in"):number("output", core.OUTPUT.capture)
    end)
    assert.equal(folder .. "\n1-\ngiven\n", run(id).output)
  end)

  it("leaves no child and no descriptor when it is closed", function()
    local function descriptors()
      collectgarbage()
      collectgarbage()
      local count = 0
      for _ in require("lfs").dir "/proc/self/fd" do count = count + 1 end
      return count
    end
    local before = descriptors()
    local other = session.new()
    local id = other:workload(function(m) m:text("argument", "true") end)
    other:run { workload = id }
    local pid = other.host.runner:pid()
    other:close()
    assert.is_false(support.exists("/proc/" .. pid))
    assert.equal(before, descriptors())
  end)

  it("ends with pmclua, even when pmclua is killed", function()
    local result = support.run({ "sh", "-c", ([['%s' -e '
      local core = require "pmclua.core"
      local s = require("pmclua.workload.session").new()
      local id = s:workload(function(m) m:text("argument", "sleep"):text("argument", "47.11") end)
      s:run{ workload = id, timeout_ns = 1e6 }
      io.stderr:write(s.host.runner:pid(), "\n")
      os.execute("kill -9 " .. core.pid())']]):format(support.program) })
    support.await_end(tonumber(result.err:match "%d+"))
  end)
end)
