-- Commands under cachegrind: truths counted by hand, what forks and executes, and the same counts whatever surrounds
-- pmclua.

local support = require "tests.support"

local has_valgrind = support.have "valgrind"
local is_x64 = jit.arch == "x64"

local function need()
  support.need(has_valgrind, "Valgrind is not installed")
  support.need_unwatched "what Valgrind runs is run under nothing else"
end

local N = 1000

-- The program whose counts are known (fixtures/simulated/counted.s).
local function counted()
  support.need(is_x64, "the program is x86-64 assembly")
  local path = support.folder() .. "/counted"
  return support.build(path, "gcc", "-nostdlib", "-static", "-Wa,--defsym,N=" .. N,
    support.fixture "simulated/counted.s")
end

-- The values of a cell's events under stat, by their names as spelled.
local function values(text)
  local found = {}
  for _, cell in ipairs(require("dkjson").decode(text).cells) do
    for name, value in pairs(cell.values) do found[name] = value end
  end
  return found
end

local function stat(args, options)
  local report = support.folder() .. "/report"
  local words = { "stat", "-j", "-o", report }
  for _, word in ipairs(args) do words[#words + 1] = word end
  local result = support.pmclua(words, options)
  assert.equal(0, result.status, result.err)
  return values(support.read(report)), result
end

local function instructions(words, options)
  local found = stat({ "-e", "valgrind::instructions", "--", unpack(words) }, options)
  return found.valgrind_instructions.median
end

describe("a program that was counted by hand", function()
  it("has these counts: instructions, reads, writes, lines, branches of both kinds", function()
    need()
    local found = stat { "-e", "valgrind::Ir,valgrind::Dr,valgrind::Dw,valgrind::D1mr,valgrind::DLmr",
      "-e", "valgrind::Bc,valgrind::Bi,valgrind::ll-misses", "--", counted() }
    local function median(name) return found["valgrind_" .. name].median end
    assert.equal(15 * N + 9, median "Ir")
    assert.same({ 2 * N, N }, { median "Dr", median "Dw" })
    assert.same({ N, N }, { median "D1mr", median "DLmr" })
    assert.same({ 4 * N, N }, { median "Bc", median "Bi" })
    assert.equal("simulated", found.valgrind_Ir.status)
    assert.is_true(median "ll_misses" > N)
  end)

  it("has them by the name that reports show, too, wherever one is asked for", function()
    need()
    local pmc, name = require "pmclua", "valgrind::instructions"
    local function command() return pmc.command { counted() } end
    local result = pmc.experiment { workloads = { a = command(), b = command() }, baseline = "a",
      repetitions = 2, warmup = 0, events = { "valgrind::ll-misses", name }, primary = name,
      metrics = { "half = valgrind::instructions / 2" }, margin = { [name] = "1%" },
      gate = { "valgrind::instructions <= +1%" } }:run { quiet = true, store = false }
    local cell = result:cells()()
    assert.equal("valgrind_instructions", result.header.primary)
    assert.same({ 15 * N + 9, 15 * N + 9, (15 * N + 9) / 2 },
      { cell:summary(name).median, cell[name].median, cell.half.median })
    assert.same({ 15 * N + 9, 15 * N + 9 }, cell:values(name))
    assert.equal("valgrind_instructions", result:compare({ names = { name } }).pairs[1].rows[1].name)
    assert.equal("pass", result:gate({ limits = { "valgrind::instructions <= 1e9" } }).state)
  end)

  it("is counted twice where more were asked for: nothing in it varies", function()
    need()
    local found = stat { "-r", "9", "-e", "valgrind::instructions,page-faults", "--", counted() }
    assert.same({ 2, true, 15 * N + 9 }, { found.valgrind_instructions.n, found.valgrind_instructions.exact,
      found.valgrind_instructions.median })
    assert.equal(9, found.page_faults.n)
  end)
end)

describe("a program's counts", function()
  it("are the same in another folder, from another environment, with signals ignored", function()
    need()
    local plain = instructions { "ls", "-d", "/" }
    assert.equal(plain, instructions({ "ls", "-d", "/" }, { folder = "/" }))
    local elsewhere = { LC_ALL = "C.UTF-8", HOME = "/a/long/home/of/mine", SOMETHING = ("x"):rep(999),
      GLIBC_TUNABLES = "glibc.malloc.check=0", VALGRIND_OPTS = "--tool=none" }
    assert.equal(plain, instructions({ "ls", "-d", "/" }, { env = elsewhere }))
    local report = support.folder() .. "/report"
    support.run { "nohup", support.program, "stat", "-j", "-o", report, "-e", "valgrind::instructions", "--",
      "ls", "-d", "/" }
    assert.equal(plain, values(support.read(report)).valgrind_instructions.median)
  end)

  it("change with the environment that the script gives, or the user's where that is asked for", function()
    need()
    local pmc = require "pmclua"
    local function count(command, more)
      local r = support.experiment(support.merged({ events = "valgrind::Ir", workloads = { command },
        repetitions = 1, warmup = 0 }, more))
      return r:cells()().valgrind_Ir.median
    end
    local plain = count(pmc.command { "true" })
    assert.is_true(count(pmc.command { "true", env = { ANOTHER = "1" } }) > plain)
    assert.not_equal(plain, count(pmc.command { "true" }, { simulation = { environment = "inherit" } }))
    assert.equal(plain, count(pmc.command { "true" }, { simulation = { D1 = "65536,16,64" } }))
  end)
end)

describe("what a command starts", function()
  it("is counted: a program that replaces it, children that execute and children that do not", function()
    need()
    local alone = instructions { "/bin/true" }
    local replaced = instructions { "env", "/bin/true" }
    assert.is_true(replaced > alone + 50000, replaced .. " " .. alone)
    local twice = instructions { "sh", "-c", "/bin/true; /bin/true" }
    local three = instructions { "sh", "-c", "/bin/true; /bin/true; /bin/true" }
    -- One program more, and the shell's part of it: not all of what the shell had counted before.
    local step = three - twice
    assert.is_true(step > alone and step < alone + 10000, step .. " " .. alone)
    local forks = instructions { "sh", "-c", "(:); (:); (:)" } - instructions { "sh", "-c", "(:); (:)" }
    assert.is_true(forks > 0 and forks < 20000, tostring(forks))
  end)

  it("and is killed before it has written its counts costs the repetition, with the reason", function()
    need()
    local result = support.pmclua { "stat", "-e", "valgrind::Ir", "--", "sh", "-c",
      "sleep 60 & kill -9 $!; wait; true" }
    assert.matches("ended without writing its counts", result.err)
  end)

  it("by a fork that nothing tells apart costs the repetition", function()
    need()
    support.need(is_x64, "the program is x86-64 assembly")
    local path = support.folder() .. "/forks"
    support.build(path, "gcc", "-nostdlib", "-static", support.write(support.folder() .. "/forks.s", [[
      .globl _start
_start: mov $57, %eax
      syscall
      mov $60, %eax
      xor %edi, %edi
      syscall
]]))
    local result = support.pmclua { "stat", "-e", "valgrind::Ir", "--", path }
    assert.matches("forks by a system call of its own", result.err)
  end)
end)

describe("what Valgrind cannot run", function()
  it("is said in a sentence, and costs no other count", function()
    need()
    local script = support.write(support.folder() .. "/script", "true\n")
    assert(os.execute("chmod +x " .. script))
    local result = support.pmclua { "stat", "-e", "valgrind::Ir", "--", script }
    assert.matches("has no #! line", result.err)
    local pmc = require "pmclua"
    support.need(is_x64, "the program is x86-64 assembly")
    local wide = support.build(support.folder() .. "/wide", "gcc", "-nostdlib", "-static",
      support.write(support.folder() .. "/wide.s", [[
      .globl _start
_start: mov $60, %eax
      cmp $1, %rsp
      jb 1f
      xor %edi, %edi
      cmpq $2, (%rsp)
      jne 2f
1:    vmovdqa64 %zmm0, %zmm1
2:    syscall
]]))
    local r = support.experiment { events = { "valgrind::Ir", "page-faults" }, repetitions = 3, warmup = 0,
      on_failure = "keep", workloads = { wide = pmc.command { wide, "x" } } }
    local cell = r:cells()()
    assert.equal(0, cell:summary("valgrind_Ir").n)
    assert.equal(3, cell:summary("page_faults").n)
    assert.matches("does not know an instruction at 0x", cell.first_failure.why)
  end)

  it("makes `instructions` exit 77 where no run could be counted, as with a setuid program", function()
    need()
    local path = support.folder() .. "/gains"
    assert(os.execute(("cp /bin/true %s && chmod u+s %s"):format(path, path)))
    local result = support.pmclua { "instructions", "--no-store", "--", path }
    assert.matches("setuid", result.out)
    assert.matches("none of the events could be counted here", result.err)
    assert.equal(77, result.status)
  end)

  it("is not both a kernel and a command: `instructions` takes one of them", function()
    local result = support.pmclua { "instructions", "--kernel", "k.c:k", "--", "true" }
    assert.equal(2, result.status)
    assert.matches("%-%-kernel or a command, not both", result.err)
  end)

  it("for want of Valgrind is refused with the package to install", function()
    local folder = support.folder()
    for _, name in ipairs { "env", "timeout" } do
      assert(os.execute(("ln -s $(command -v %s) %s"):format(name, folder)))
    end
    local result = support.pmclua({ "stat", "-e", "valgrind::Ir", "--", "/bin/true" },
      { env = { PATH = folder } })
    assert.matches("not supported>: Valgrind is not installed", result.err)
    assert.matches("apt%-get install valgrind", result.err)
    local ran = folder .. "/ran"
    local script = support.pmclua({ "instructions", "--", "/bin/sh", "-c", ">" .. ran },
      { env = { PATH = folder } })
    assert.equal(77, script.status)
    assert.equal("pmclua instructions: Valgrind is not installed: apt-get install valgrind\n", script.err)
    assert.is_false(support.exists(ran), "the command ran, though nothing could count it")
  end)
end)
