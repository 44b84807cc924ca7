-- simulation = { random = "fixed" }: what programs draw from is the same in every simulated run, and it is said what.

local support = require "tests.support"

local function need()
  support.need(support.have "valgrind" and support.have "gcc", "Valgrind or a C compiler is not installed")
  support.need_unwatched "what Valgrind runs is run under nothing else"
end

local function draws(...)
  return support.build(support.folder() .. "/draws", "gcc", "-O1", support.fixture "simulated/draws.c", ...)
end

-- What stat says of valgrind::Ir in a command, and how it ended.
local function stat(words, random, more)
  local report = support.folder() .. "/report"
  local args = { "stat", "-j", "-o", report, "-e", "valgrind::Ir",
    "--simulation", "random=" .. (random or "fixed") }
  for _, list in ipairs { more or {}, { "--" }, words } do
    for _, word in ipairs(list) do args[#args + 1] = word end
  end
  local ended = support.pmclua(args)
  local text = support.exists(report) and support.read(report) or ""
  local found = text ~= "" and require("dkjson").decode(text)
  return found and found.cells[1].values.valgrind_Ir, ended, found and table.concat(found.remarks or {}, "\n")
end

-- What a program printed of what it drew, by name.
local function drawn(text)
  local by_name = {}
  for name, value in text:gmatch "(%S+) (%x[%x.]+)\n" do by_name[name] = value end
  return by_name
end

local EVERYTHING = "draws from getrandom, getentropy, /dev/urandom, /dev/random, time, gettimeofday and "
  .. "clock_gettime: fixed, as is AT_RANDOM"

describe("what a program draws, where it is fixed", function()
  for name, options in pairs { ["is linked dynamically"] = {}, ["is static"] = { "-static" } } do
    it("is the same in every run of one that " .. name .. ", and so is its count", function()
      need()
      local program = draws(unpack(options))
      local one, first, said = stat({ program }, nil, { "-r", "2" })
      local _, second = stat { program }
      assert.equal(0, first.status, first.err)
      assert.same({ 2, true }, { one.n, one.exact })
      assert.equal(first.out, second.out .. second.out)
      assert.matches(EVERYTHING, said, 1, true)
    end)
  end

  it("is never twice the same in one run", function()
    need()
    local _, ended = stat { draws() }
    local by_name, seen = drawn(ended.out), {}
    for _, name in ipairs { "getrandom", "getentropy", "direct", "urandom", "again", "random",
        "AT_RANDOM" } do
      assert.matches("^%x+$", by_name[name])
      assert.is_nil(seen[by_name[name]])
      seen[by_name[name]] = name
    end
    assert.is_true(tonumber(by_name.time) <= tonumber(by_name.gettimeofday))
    assert.is_true(tonumber(by_name.gettimeofday) < tonumber(by_name.clock_gettime))
  end)

  it("differs from run to run where it is not", function()
    need()
    local program = draws()
    local _, first, said = stat({ program }, "inherit")
    local _, second = stat({ program }, "inherit")
    local one, other = drawn(first.out), drawn(second.out)
    one.time = nil                                    -- two runs may be within one second
    for name, value in pairs(one) do assert.are_not.equal(value, other[name], name) end
    assert.is_nil(said:find("draws from", 1, true))
  end)

  it("goes on in the processes that it starts", function()
    need()
    local shell = { "sh", "-c", ('%s; "$0"; true'):format(draws()), draws() }
    local _, first = stat(shell)
    local _, second = stat(shell)
    assert.equal(0, first.status, first.err)
    assert.equal(first.out, second.out)
    local half = first.out:sub(1, #first.out / 2)
    assert.are_not.equal(half, first.out:sub(#half + 1))
  end)

  it("is that of a kernel in each repetition", function()
    need()
    local source = support.write(support.folder() .. "/draw.c", [[
      #include <sys/random.h>
      #include <pmclua_kernel.h>
      void draw(void *state, uint64_t iterations)
      {
          (void)state;
          for (unsigned char byte; iterations-- && getrandom(&byte, 1, 0) == 1;)
              for (volatile int i = byte; i > 0; i--)
                  ;
      }
    ]])
    local pmc = require "pmclua"
    local function counts(random)
      local kernel = pmc.kernel { source = source, symbol = "draw" }
      local r = pmc.measure(kernel, { events = "valgrind::instructions", iterations = 100, repetitions = 3,
        simulation = { random = random }, quiet = true })
      return r:cells()().valgrind_instructions, r
    end
    local fixed, r = counts "fixed"
    assert.same({ 2, true }, { fixed.n, fixed.exact })
    assert.matches("draw draws from getrandom", table.concat(r.remarks, "\n"), 1, true)
    assert.is_false(counts("inherit").exact)
  end)
end)

describe("a program whose draws are fixed", function()
  it("ends as it does without", function()
    need()
    assert.equal(7, select(2, stat { draws(), "7" }).status)
    assert.equal(128 + 15, select(2, stat { "sh", "-c", "kill -TERM $$" }).status)
    assert.equal(128 + 11, select(2, stat { "sh", "-c", "kill -SEGV $$" }).status)
    local _, late = stat({ "sleep", "60" }, nil, { "--timeout", "3s" })
    assert.matches("its time limit ended it under Valgrind", late.err, 1, true)
  end)

  it("counts as without where it draws nothing", function()
    need()
    local with, _, said = stat { "true" }
    assert.equal(stat({ "true" }, "inherit").median, with.median)
    assert.matches("true draws from nothing but AT_RANDOM, which is fixed", said, 1, true)
  end)

  it("is said to vary all the same where it draws from what is not fixed", function()
    need()
    local folder = support.folder()
    local own = support.build(folder .. "/own", "gcc", support.write(folder .. "/own.c", [[
      #include <unistd.h>
      int main(void) { for (volatile int i = 100 * getpid(); i; i--) ; return 0; }
    ]]))
    local twice = { "-r", "2" }
    local _, _, said = stat({ own }, "fixed", twice)
    assert.matches("counts of .*own differ all the same: random=fixed leaves process ids, ", said)
    assert.is_nil(select(3, stat({ draws(), "0" }, "fixed", twice)):find("differ all the same", 1, true))
    assert.is_nil(select(3, stat({ own }, "inherit", twice)):find("differ all the same", 1, true))
  end)

  it("may leave processes behind, which are counted when they have ended", function()
    need()
    local left, plain = stat { "sh", "-c", "(sleep 0.1)& exit 0" }, stat { "sleep", "0.1" }
    assert.is_true(left.median > plain.median + 150000)
  end)

  it("has no count where it reads more of a device than there is", function()
    need()
    local _, ended = stat { "sh", "-c", "cat /dev/urandom > /dev/null" }
    assert.matches("random=fixed: /dev/urandom could not be fixed: over 2 MB were read of it",
      ended.err, 1, true)
  end)

  it("has none where Linux refuses seccomp's notifications", function()
    need()
    local folder = support.folder()
    local refusing = support.build(folder .. "/refusing", "gcc", support.write(folder .. "/refusing.c", [[
      #include <errno.h>
      #include <linux/filter.h>
      #include <linux/seccomp.h>
      #include <stddef.h>
      #include <sys/prctl.h>
      #include <sys/syscall.h>
      #include <unistd.h>
      int main(int argc, char **argv)
      {
          struct sock_filter filter[] = {
              BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
              BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
          };
          struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
          if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
              || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
              return 99;
          execvp(argv[1], argv + 1);
          return 98;
      }
    ]]))
    local ended = support.run { refusing, support.program, "stat", "-e", "valgrind::Ir", "--simulation",
      "random=fixed", "--", "true" }
    assert.matches("random=fixed takes Linux 5.9 or later and seccomp's notifications: they are refused here",
      (ended.err:gsub("\n%s*", " ")), 1, true)
  end)
end)

describe("--simulation random=", function()
  it("is fixed or inherit, also in a script", function()
    local refused = support.pmclua { "stat", "-e", "valgrind::Ir", "--simulation", "random=pinned", "--",
      "true" }
    assert.matches('simulation: random is "fixed" or "inherit", not pinned', refused.err, 1, true)
  end)

  it("is part of what must agree between a baseline and a check", function()
    need()
    local folder = support.folder()
    local function stored(random)
      local path = ("%s/%s.jsonl"):format(folder, random)
      assert.equal(0, select(2, stat({ "true" }, random, { "-r", "2", "--store", path })).status)
      return path
    end
    local fixed, inherited = stored "fixed", stored "inherit"
    local checked = support.pmclua { "gate", inherited, fixed, "-l", "valgrind_Ir <= +1%" }
    assert.equal(77, checked.status)
    assert.matches("simulated with random fixed here, inherit in the baseline", checked.out, 1, true)
    -- Files that are older than it inherited.
    local text = support.read(inherited):gsub('"random":"inherit",', "")
    local old = support.write(folder .. "/old.jsonl", text)
    assert.equal(0, support.pmclua({ "gate", old, inherited, "-l", "valgrind_Ir <= +1%" }).status)
  end)
end)
