-- pmclua stat: what it counts, where it writes, and above all how it exits.

local core = require "pmclua.core"
local dkjson = require "dkjson"
local support = require "tests.support"

local function stat(words, options) return support.pmclua({ "stat", unpack(words) }, options) end

local function faults(...) return stat { "-e", "page-faults", ... } end

-- The columns of CSV text by their names in the header, a table for each line.
local function rows_of(csv, separator)
  local rows, names = {}, nil
  for line in csv:gmatch "[^\n]+" do
    local fields = {}
    for field in (line .. separator):gmatch("(.-)" .. separator) do fields[#fields + 1] = field end
    if names then
      local row = {}
      for i, name in ipairs(names) do row[name] = fields[i] end
      rows[#rows + 1] = row
    else
      names = fields
    end
  end
  return rows
end

--- pmclua stat in the background, until `file` is there; then `kill` sends it a signal. What it left.
local function signalled(words, signal, to_group)
  local folder = support.folder()
  local command = ("cd %s; echo $$ >pid; exec %s stat %s 2>err"):format(folder, support.program, words)
  local shell = to_group and "setsid -w sh" or "sh"
  local pipe = io.popen(("%s -c %s; echo $?"):format(shell, support.quote(command)))
  support.await(function() return support.exists(folder .. "/ready") end, "the file ready")
  os.execute(("kill -%s %s$(cat %s/pid)"):format(signal, to_group and "-" or "", folder))
  local status = tonumber((pipe:read "*a"))
  pipe:close()
  return status, support.read(folder .. "/err"), folder
end

describe("pmclua stat exits", function()
  it("as the command did", function()
    for _, status in ipairs { 0, 1, 2, 3, 77, 125, 255 } do
      assert.equal(status, faults("--", "sh", "-c", "exit " .. status).status)
    end
  end)

  it("with 128 + n when a signal ended it", function()
    for _, signal in ipairs { 6, 9, 11, 15 } do
      assert.equal(128 + signal, faults("--", "sh", "-c", ("kill -%d $$"):format(signal)).status)
    end
  end)

  it("with -r as the first failing run did", function()
    local folder = support.folder()
    local counter = ("cd %s; echo x >>n; case $(wc -l <n) in 2) exit 5;; 3) exit 6;; esac"):format(folder)
    local run = faults("-r", "4", "--", "sh", "-c", counter)
    assert.equal(5, run.status)
    assert.equal("xxxx", (support.read(folder .. "/n"):gsub("\n", "")))
    assert.matches("exit status 5", run.err)
  end)

  it("with 127 when there is no such command, and 126 when it cannot be executed", function()
    local missing = faults("--", "no-such-command")
    assert.equal(127, missing.status)
    assert.matches("no such command", missing.err)
    assert.equal(127, faults("--", "/no/such/file").status)
    local folder = support.folder()
    local plain = support.write(folder .. "/plain", "text\n")
    assert.equal(126, faults("--", plain).status)
    assert.equal(126, faults("--", folder).status)
  end)

  it("with 125 when it failed itself", function()
    for message, words in pairs {
      ["which command%?"] = {},
      ["unknown option '%-%-evnet', did you mean '%-%-event'%?"] = { "--evnet", "x", "--", "true" },
      ["did you mean 'page%-faults'%?"] = { "-e", "page-fautls", "--", "true" },
      ["there is no metric 'icp'"] = { "-M", "icp", "--", "true" },
      ["%-%-repeat: 'many' is not a whole number"] = { "-r", "many", "--", "true" },
      ["repetitions must be a whole number"] = { "-r", "0", "--", "true" },
      ["there is no process 4194304"] = { "-e", "page-faults", "-p", "4194304" },
      ["%-p and %-a name different targets"] = { "-p", "1", "-a" },
      ["%-%-per%-cpu needs %-a, %-C or %-G"] = { "--per-cpu", "--", "true" },
      ["%-I goes with neither %-r, %-%-warmup, %-%-marks, %-%-store nor %-%-limit"] = { "-I",
        "100", "-r", "2", "--", "true" },
      ["%-D takes milliseconds"] = { "-D", "x", "--", "true" },
      ["%-%-format: 'xml' is not table, json, "] = { "--format",
        "xml", "--", "true" },
      ["cannot write the report"] = { "-o", "/no/such/folder/file", "-e", "page-faults", "--", "true" },
      ["%-x takes what is to stand between fields"] = { "-x", "", "--", "true" },
      ["%-x is for CSV, and %-%-format says json"] = { "-x", ";", "--format", "json", "--", "true" },
      ["%-%-entries goes with %-%-marks"] = { "--entries", "--", "true" },
      ["%-%-timeout takes milliseconds"] = { "--timeout", "x", "--", "true" },
    } do
      local run = stat(words)
      assert.matches(message, run.err)
      assert.equal(125, run.status, message)
      assert.equal("", run.out)
    end
  end)

  it("with 0 after its help", function()
    local help = stat { "--help" }
    assert.equal(0, help.status)
    assert.matches("^What does a command, process", help.out)
    assert.matches("%-I, %-%-interval", help.out)
  end)

  it("as the command did when its time limit struck", function()
    local run = faults("--timeout", "50ms", "--", "sleep", "100")
    assert.equal(137, run.status)
  end)
end)

describe("pmclua stat", function()
  it("splits no word, as where a program's path has a blank", function()
    local program = support.write(support.folder() .. "/it's a program", "#!/bin/sh\nexit 7\n")
    os.execute("chmod +x " .. support.quote(program))
    assert.equal(7, faults("--", program).status)
    assert.equal(127, faults("--", "true x").status)
    for _, tool in ipairs { "stat", "monitor" } do
      assert.equal(7, support.pmclua({ tool, "-I", "1000", "-e", "page-faults", "--", program }).status, tool)
    end
  end)

  it("leaves the command's streams alone, and reports on standard error", function()
    local command = { "sh", "-c", "cat; echo error >&2" }
    local run = stat({ "-e", "page-faults", "--", unpack(command) }, { stdin = "in\0put\n" })
    assert.equal("in\0put\n", run.out)
    assert.matches("^error\n.*page%-faults +%d+", run.err)
  end)

  it("writes to a file, adds to it, or to standard output", function()
    local file = support.folder() .. "/report"
    local run = faults("-o", file, "--", "true")
    assert.equal("", run.err)
    local once = support.read(file)
    assert.matches("page%-faults", once)
    faults("-o", file, "--append", "--", "true")
    assert.is_true(#support.read(file) > #once)
    faults("-o", file, "--", "true")
    assert.is_true(#support.read(file) < 2 * #once)
    assert.matches("page%-faults", faults("-o", "-", "--", "true").out)
  end)

  it("prints nothing and exits as the command, when asked", function()
    local run = faults("--no-report", "--", "sh", "-c", "echo out; exit 4")
    assert.same({ "out\n", "", 4 }, { run.out, run.err, run.status })
  end)

  it("writes valid JSON", function()
    local run = faults("-j", "-o", "-", "-r", "3", "--", "true")
    local object = dkjson.decode(run.out)
    assert.equal(3, object.cells[1].repetitions)
    assert.equal("number", type(object.cells[1].values.page_faults.median))
  end)

  it("writes CSV with a header, separated as asked", function()
    for option, separator in pairs { [","] = ",", [";"] = ";", ["\\t"] = "\t" } do
      local run = faults("-x", option, "-o", "-", "-r", "2", "--", "true")
      local rows = rows_of(run.out, separator)
      assert.equal(2, #rows)
      assert.equal("page_faults", rows[2].name)
      assert.equal("counted", rows[2].status)
      assert.is_true(tonumber(rows[2].value) > 0)
    end
  end)

  it("keeps fields that have the separator in them apart", function()
    local run = faults("-x", ";", "-o", "-", "--", "sh", "-c", 'true; echo "a,b" >/dev/null')
    assert.matches('\n"sh %-c \'true; echo ""a,b"" >/dev/null\'";;;;;page_faults;', run.out)
  end)

  it("says why an event is not counted, and has no number for it", function()
    support.need(not support.have_pmu(), "cycles count here")
    local run = stat { "-e", "cycles,page-faults", "-x", ",", "-o", "-", "--", "true" }
    local rows = rows_of(run.out, ",")
    assert.equal(0, run.status)
    for _, row in ipairs(rows) do
      assert.equal(row.name == "cycles" and "unsupported" or "counted", row.status)
      assert.equal(row.name == "cycles", row.value == "")
    end
  end)

  it("counts threads and children, or without them with -i", function()
    support.need(support.have_root() and support.have_tracefs(), "tracepoints count system calls, as root")
    local function calls(...)
      local run = stat { "-e", "n = syscalls:sys_enter_exit_group", "-x", ",", "-o", "-", ... }
      return tonumber(rows_of(run.out, ",")[1].value)
    end
    local command = { "--", "sh", "-c", "true & wait; /bin/true; exit 0" }
    assert.equal(3, calls(unpack(command)))
    assert.equal(1, calls("-i", unpack(command)))
  end)

  it("shows a line each interval with -I", function()
    local run = faults("-I", "10000", "-x", ",", "--", "sh", "-c", "exit 6")
    assert.equal(6, run.status)
    local header, line = run.err:match "^([^\n]+)\n([^\n]+)\n$"
    assert.equal("time_s,seconds,missed,page_faults,page_faults_status", header)
    assert.matches("^[%d.]+,[%d.]+,0,%d+,counted$", line)
    local file = support.folder() .. "/lines"
    local seen = faults("-I", "10000", "-o", file, "--", "ls", "-l", "/proc/self/fd")
    assert.matches("^ +time +page%-faults\n +%d", support.read(file))
    assert.is_nil(seen.out:find(file, 1, true))          -- the command has no descriptor of ours
    local function count(...)
      local words = { "-I", "10000", "-j", ... }
      for _, word in ipairs { "--", "sh", "-c", "ls >/dev/null; :" } do words[#words + 1] = word end
      return dkjson.decode(faults(unpack(words)).err).events.page_faults.value
    end
    assert.is_true(count "-i" < count())
  end)

  it("begins to count after a delay with -D", function()
    local run = faults("-D", "20000", "--", "true")
    assert.equal(0, run.status)
    assert.matches("a run ended before its delay: nothing was counted", (run.err:gsub("%s+", " ")))
    assert.matches("page%-faults +–", run.err)
    run = faults("-D", "1", "-x", ",", "-o", "-", "--", "sh", "-c", "while [ ! -e /no/such ]; do i=$((i+1)); "
      .. "[ $i -gt 20000 ] && exit 8; done")
    assert.equal(8, run.status)
  end)

  it("counts a target while a command runs", function()
    support.need(support.have_root(), "counting CPUs needs root")
    local run = stat { "-e", "context-switches", "-a", "--per-cpu", "-x", ",", "-o", "-", "--", "true" }
    local rows, sum = rows_of(run.out, ","), 0
    for i = 2, #rows do
      assert.equal(tostring(i - 2), rows[i].cpu)
      sum = sum + rows[i].value
    end
    assert.is_true(#rows > 1)
    assert.equal(tonumber(rows[1].value), sum)
    assert.equal(0, run.status)
    assert.equal(3, stat({ "-e", "context-switches", "-C", "0", "--", "sh", "-c", "exit 3" }).status)
  end)

  it("counts a process until it ends", function()
    local folder = support.folder()
    local run = support.run({ "sh", "-c", ([[
      mkfifo fifo; cat fifo >/dev/null & pid=$!
      %s stat -I 20 -e page-faults -x , -o lines -p $pid & stat=$!
      tries=0
      while [ ! -s lines ] && [ $tries -lt 2000 ]; do sleep 0.005; tries=$((tries + 1)); done
      echo >fifo; wait $stat; echo "status $?"]]):format(support.program) }, { folder = folder })
    assert.equal("status 0\n", run.out)
    assert.is_true(#rows_of(support.read(folder .. "/lines"), ",") >= 1)
  end)

  it("says who was counted, from when on", function()
    support.need(support.have_root(), "counting CPUs needs root")
    local function title(...) return (faults(...).err:match "[^\n]+") end
    assert.equal("true · 1 repetition · exec to exit, children in", title "true")
    assert.equal("true · 1 repetition · exec to exit, first thread alone", title("-i", "true"))
    assert.equal("sleep 0.1 · 1 repetition · 1.00 ms after exec to exit, children in",
      title("-D", "1", "sleep", "0.1"))
    assert.equal("true · 1 repetition · counted: process 1", title("-p", "1", "true"))
    assert.equal("sleep 0.1 · 1 repetition · counted: CPU 0, from 1.00 ms after exec",
      title("-C", "0", "-D", "1", "sleep", "0.1"))
    assert.equal("process 1 · 1 repetition", title("-p", "1", "--timeout", "1ms"))
  end)

  it("counts no longer than its time limit without a command", function()
    local run = stat { "-e", "page-faults", "--timeout", "20", "-p", tostring(core.pid()) }
    assert.equal(0, run.status, run.err)
    assert.matches("process " .. core.pid(), run.err)
  end)

  it("counts between marks", function()
    support.need(support.have "cc", "no C compiler")
    local folder = support.folder()
    local built = support.run { "cc", "-O1", "-I" .. support.root .. "/core", "-o", folder .. "/demo",
      support.root .. "/scripts/marks/demo.c" }
    assert.equal(0, built.status, built.err)
    local run = faults("--marks", "-x", ",", "-o", "-", "--", folder .. "/demo")
    local by_region = {}
    for _, row in ipairs(rows_of(run.out, ",")) do
      if row.name == "page_faults" then by_region[row.region] = row end
    end
    assert.is_true(tonumber(by_region.fill.value) >= 1024, by_region.fill.value)     -- 4 MiB at least once
    assert.equal("5", by_region.fill.iterations)
    assert.equal("0", by_region.sum.value)
    run = faults("--marks", "--entries", "-x", ",", "-o", "-", "--", folder .. "/demo")
    assert.matches("region sum.-entries +5 ", faults("--marks", "--", folder .. "/demo").err)
    local entries = 0
    for _, row in ipairs(rows_of(run.out, ",")) do entries = entries + (row.region == "sum" and 1 or 0) end
    assert.equal(5, entries)
  end)

  it("raises the limit of descriptors for itself and not for its command", function()
    support.need_unwatched("it keeps descriptors of its own, beyond a limit of its own", "valgrind")
    local events = {}
    for i = 1, 30 do events[i] = ("e%d = page-faults"):format(i) end
    local script = ('ulimit %%s; exec %s stat -e "$0" -x, sh -c "ulimit -Sn"'):format(support.program)
    local function limited(option)
      return support.run(support.with_few_descriptors { "sh", "-c", script:format(option),
        table.concat(events, ",") })
    end
    local soft = limited "-Sn 30"
    assert.equal(0, soft.status, soft.err)
    assert.same({ "30\n", 30 }, { soft.out, #rows_of(soft.err, ",") })
    local hard = limited "-n 30"
    assert.equal(125, hard.status)
    assert.matches("the events need 30 descriptors besides those already open, and the limit is 30", hard.err)
    assert.equal("", hard.out)
  end)

  it("serves an ordinary user, who is told what he may not", function()
    support.need(support.have_root(), "only root can become an ordinary user")
    local mine = stat({ "-e", "page-faults,context-switches", "--", "true" }, { user = true })
    assert.equal(0, mine.status)
    assert.matches("page%-faults +%d+", mine.err)
    assert.matches("context%-switches +–", mine.err)
    local all = stat({ "-e", "page-faults", "-a", "--", "touch", "/tmp/pmclua-never" }, { user = true })
    assert.equal(125, all.status)
    assert.matches("nothing can be counted for all CPUs: .*CAP_PERFMON", all.err)
    assert.is_nil(io.open "/tmp/pmclua-never")
    local others = stat({ "-e", "page-faults", "-p", "1" }, { user = true })
    assert.equal(125, others.status)
    assert.matches("process 1 belongs to another user", others.err)
  end)
end)

describe("pmclua stat that is interrupted", function()
  local READY = "sh -c 'touch ready; exec sleep 100'"

  it("from the terminal reports what the command did until then, and exits as it did", function()
    local status, err = signalled("-e page-faults -- " .. READY, "INT", true)
    assert.equal(130, status)
    assert.matches("page%-faults +%d+", err)
  end)

  it("by SIGTERM ends the command, and says so in its status", function()
    local command = "-e page-faults -- sh -c 'echo $$ >child; touch ready; exec sleep 100'"
    local status, _, folder = signalled(command, "TERM")
    assert.equal(143, status)
    support.await_end(tonumber(support.read(folder .. "/child")))
  end)

  it("lets a command that handles the interrupt decide", function()
    local status, err = signalled("-e page-faults -- sh -c 'trap \"exit 4\" INT; touch ready; "
      .. "while :; do sleep 0.01; done'", "INT", true)
    assert.equal(4, status)
    assert.matches("page%-faults +%d+", err)
  end)

  it("while it counts a target reports what was counted", function()
    local folder = support.folder()
    local command = ("cd %s; echo $$ >pid; exec %s stat -I 20 -e page-faults -o ready -p %d"):format(folder,
      support.program, core.pid())
    local pipe = io.popen(("sh -c %s; echo $?"):format(support.quote(command)))
    support.await_text(folder .. "/ready", "page%-faults")
    os.execute(("kill -INT $(cat %s/pid)"):format(folder))
    assert.equal("130\n", (pipe:read "*a"))
    pipe:close()
    assert.matches("page%-faults\n", support.read(folder .. "/ready"))
  end)
end)
