-- Commands under cachegrind that start, leave or lose processes, read their input, write to a terminal.

local support = require "tests.support"

local has_valgrind = support.have "valgrind"

local function need()
  support.need(has_valgrind, "Valgrind is not installed")
  support.need_unwatched "what Valgrind runs is run under nothing else"
end

local function compiled(name, code, ...)
  support.need(support.have "gcc", "no C compiler")
  local folder = support.folder()
  local source = support.write(folder .. "/" .. name .. ".c", code)
  return support.build(folder .. "/" .. name, "gcc", "-O1", source, ...)
end

-- What stat says of valgrind::Ir in a command, and how it ended.
local function stat(words, more, options)
  local report = support.folder() .. "/report"
  local args = { "stat", "-j", "-o", report, "-e", "valgrind::Ir" }
  for _, list in ipairs { more or {}, { "--" }, words } do
    for _, word in ipairs(list) do args[#args + 1] = word end
  end
  local result = support.pmclua(args, options)
  local text = support.exists(report) and support.read(report)
  if not text or text == "" then return nil, result end
  return require("dkjson").decode(text).cells[1].values.valgrind_Ir, result
end

-- A pmclua that is killed while its command runs; then what there is before and after another one, and beside them a
-- folder of a process that lives, this shell.
local KILLED = [[
  export TMPDIR="$0"
  boot=$(cut -c 1-5 /proc/sys/kernel/random/boot_id)
  here=$((0x$boot * 4294967296 + $(readlink /proc/self/ns/pid | tr -dc 0-9)))
  mkdir "$0/pmclua-simulate-$here-$$-$(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 20)-living"
  "$1" stat -e valgrind::Ir -- sh -c 'echo > "$0/runs"
    for i in $(seq 100); do [ ! -e "$0/runs" ] || sleep 0.1; done' "$0" >/dev/null 2>&1 &
  for i in $(seq 300); do [ -e "$0/runs" ] || sleep 0.1; done
  kill -KILL $!; wait $! 2>/dev/null
  ls "$0" | grep -c "simulate-$here-$!-"
  "$1" stat -e valgrind::Ir -o /dev/null true
  ls "$0" | grep simulate | sed "s/.*-//"
  rm "$0/runs"
]]

describe("a command under Valgrind", function()
  it("whose pmclua is killed leaves a folder until the next one of that user", function()
    need()
    local pipe = io.popen(("exec sh -c %s %s %s"):format(support.quote(KILLED),
      support.quote(support.folder()), support.quote(support.program)))
    local said = pipe:read "*a"
    pipe:close()
    assert.equal("1\nliving\n", said)
  end)

  it("that leaves a process behind is counted when that has ended", function()
    need()
    local left, plain = stat { "sh", "-c", "(sleep 0.1)& exit 0" }, stat { "sleep", "0.1" }
    assert.is_true(left.median > plain.median + 150000, left.median .. " " .. plain.median)
  end)

  it("of which a forked child is killed has no count, and the reason", function()
    need()
    local _, result = stat { compiled("killed", [[
      #include <signal.h>
      #include <unistd.h>
      #include <sys/wait.h>
      int main(void)
      {
          int pid = fork();
          if (pid == 0)
              for (;;)
                  pause();
          kill(pid, SIGKILL);
          waitpid(pid, 0, 0);
          return 0;
      }
    ]]) }
    assert.matches("a child that it forked ended without writing its counts", result.err)
  end)

  it("with threads runs until three agree: two prove nothing", function()
    need()
    local found = stat({ compiled("threads", [[
      #include <pthread.h>
      static void *nothing(void *argument) { return argument; }
      int main(void)
      {
          pthread_t thread;
          pthread_create(&thread, 0, nothing, 0);
          pthread_join(thread, 0);
          return 0;
      }
    ]], "-pthread") }, { "-r", "9" })
    assert.is_true(found.n >= 3)
    assert.is_true(found.n == 3 or not found.exact)
  end)

  it("reads a file on standard input in each of its runs; what can be read only once is noticed", function()
    need()
    local folder = support.folder()
    local lines = support.write(folder .. "/lines", ("line\n"):rep(20000))
    local shell = ("%s stat -e valgrind::Ir -r 2 -- sh -c 'wc; true'"):format(support.quote(support.program))
    local whole = support.run { "sh", "-c", shell .. " < " .. lines }
    assert.same({ 0, 2 }, { whole.status, select(2, whole.out:gsub("20000", "")) / 2 })
    assert.matches("simulated, exact", whole.err)
    local once = support.run { "sh", "-c", ("cat %s | %s"):format(lines, shell) }
    assert.matches("it did something else when it was run again", once.err)
  end)

  it("counts the same in a terminal, whose output it still gets", function()
    need()
    support.need(support.have "script", "no script(1)")
    local folder = support.folder()
    local command = ("%s stat -j -o %s/inside -e valgrind::Ir -- ls -d /"):format(support.program, folder)
    local typed = support.run { "script", "-qec", command, "/dev/null" }
    assert.matches("^/\r?\n", typed.out)
    local inside = require("dkjson").decode(support.read(folder .. "/inside")).cells[1].values.valgrind_Ir
    assert.equal(stat({ "ls", "-d", "/" }).median, inside.median)
  end)

  it("counts the same beside eight busy processes", function()
    need()
    local alone = stat({ "true" }).median
    local pipe = assert(io.popen("for i in 1 2 3 4 5 6 7 8; do timeout 20 sh -c 'while :; do :; done' "
      .. ">/dev/null 2>&1 & echo $!; done"))
    local pids = pipe:read "*a"
    pipe:close()
    local ok, beside = pcall(stat, { "true" })
    os.execute("kill " .. pids:gsub("\n", " "))
    assert(ok, beside)
    assert.equal(alone, beside.median)
  end)

  it("that is ended by its time limit, or ends otherwise than without Valgrind, costs that alone", function()
    need()
    local found, result = stat({ "sleep", "60" }, { "--timeout", "300", "-e", "page-faults" })
    assert.equal(137, result.status)
    assert.equal(0, found.n)
    assert.matches("its time limit ended it under Valgrind", found.why)
    local both = compiled("under", [[
      #include <stdlib.h>
      int main(void) { return getenv("PYTHONHASHSEED") ? 3 : 0; }
    ]])
    local otherwise = support.pmclua { "stat", "-r", "2", "-e", "valgrind::Ir,page-faults", "--", both }
    assert.matches("with%s+status%s+3%s+under%s+Valgrind%s+and%s+with%s+status%s+0%s+without", otherwise.err)
  end)
end)
