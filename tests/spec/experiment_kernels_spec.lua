-- Kernels and calls of C functions in an experiment: how they are compiled, called and refused.

local kernels = require "tests.support.kernels"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"

local kernel = kernels.pages
local message_of, run = support.message_of, support.experiment

describe("an experiment", function()
  it("refuses a kernel that is no function of a state and a number of iterations", function()
    local code = [[
      #define _GNU_SOURCE
      float dot(const float *a, const float *b, int n) { return a[0] * b[0] * n; }
    ]]
    local problem = message_of(run, { events = { "page-faults" },
      workloads = { pmc.kernel { code = code, symbol = "dot" } } })
    assert.matches("dot%.c:2:13: error: conflicting types", problem)
    assert.matches("pmclua calls it as void dot(void *state, uint64_t iterations);", problem, 1, true)
  end)

  it("refuses it in C++ too, where it need not be said that it is called from C", function()
    support.need(support.have "c++", "no C++ compiler")
    local folder = support.folder()
    support.write(folder .. "/k.cc", 'extern "C" void one(int) {}\nvoid two(void *, unsigned long) {}')
    local function of(symbol)
      return pmc.kernel { source = folder .. "/k.cc", symbol = symbol, cc = "c++" }
    end
    assert.matches("void one%(void %*state", message_of(run, { events = { "page-faults" },
      workloads = { of "one" } }))
    support.write(folder .. "/k.cc", "void two(void *, unsigned long) { for (;;) ; }")
    assert.matches("time limit", tostring(run { events = { "page-faults" }, workloads = { of "two" },
      timeout = "50ms" }.problem))
  end)

  it("links a kernel in C++ with the library of C++, whichever way its language is named", function()
    support.need(support.have "c++", "no C++ compiler")
    local folder = support.folder()
    local text = [[
      #include <string>
      extern "C" void *one_setup(const void *) { return new std::string("kernel"); }
      void one(void *state, unsigned long n) { while (n--) static_cast<std::string *>(state)->append("s"); }
    ]]
    support.write(folder .. "/k.cc", text)
    for _, cflags in ipairs { "", "-x c++" } do
      local r = run { events = { "page-faults" }, iterations = 10, repetitions = 1, workloads = {
        pmc.kernel { source = folder .. "/k.cc", symbol = "one", cc = "c++", cflags = cflags } } }
      assert.is_nil(r.problem)
      assert.equal(1, r:cells()().page_faults.n)
    end
  end)

  it("compiles the kernels of a source that has them as they are called once", function()
    local folder = support.folder()
    support.write(folder .. "/cc", ("#!/bin/sh\necho >>%s/times\nexec cc \"$@\"\n"):format(folder))
    os.execute("chmod 755 " .. folder .. "/cc")
    local code = '#include "pmclua_kernel.h"\nvoid one(void *, uint64_t n) { pmclua_keep(n); }\n'
      .. "void two( void* state , uint64_t iterations )\n{ (void)state; pmclua_keep(iterations); }"
    local function calls_of_compiler(...)
      local workloads = lists.map({ ... }, function(symbol)
        return pmc.kernel { name = symbol, code = code, symbol = symbol, cc = folder .. "/cc" }
      end)
      run { events = { "page-faults" }, repetitions = 1, iterations = 1, workloads = workloads }
      local calls = #support.lines_of(folder .. "/times")
      os.remove(folder .. "/times")
      return calls
    end
    assert.equal(calls_of_compiler "one", calls_of_compiler("one", "two"))
  end)

  it("runs what was compiled when it was checked, whatever became of the source since", function()
    support.need(support.have "cc", "no C compiler")
    local folder = support.folder()
    local function put(pages)
      local text = kernels.PAGES .. "void f(void *s, uint64_t n) { while (n--) touch(%d); }\n"
      for _, name in ipairs { "a", "b" } do
        support.write(("%s/%s.c"):format(folder, name), text:format(pages))
      end
    end
    put(3)
    local workloads = {}
    for i, name in ipairs { "a", "b" } do
      workloads[i] = pmc.kernel { name = name, source = folder .. "/" .. name .. ".c", symbol = "f" }
    end
    for _, way in ipairs { {}, { layout = "randomise" }, { sample = "page-faults" } } do
      put(3)
      local experiment = pmc.experiment { events = { "page-faults" }, workloads = workloads, repetitions = 3,
        warmup = 0, iterations = 1, layout = way.layout, sample = way.sample }
      local objects = {}
      local result = experiment:run { store = false, quiet = true, each = function(record)
        put(5)
        for _, profile in ipairs(record.profiles or {}) do objects[#objects + 1] = profile.program end
      end }
      for cell in result:cells() do assert.same({ 3, 3, 3 }, cell:values "page_faults") end
      assert.equal(way.sample and 6 or 0, #objects)
      assert.is_true(#lists.unique(objects) <= #workloads)
    end
  end)

  it("warns of a kernel whose work the compiler removed", function()
    local result = run { events = { "page-faults" }, repetitions = 1, warmup = 0, workloads = { pmc.kernel {
      symbol = "lost", code = [[
        #include <stdint.h>
        void lost(void *state, uint64_t iterations) { while (iterations--) { } }
      ]] } } }
    assert.equal("empty", result:warnings()[1].kind)
    assert.matches("pmclua_keep", result:warnings()[1].hint)
  end)

  it("says how a missing compiler can be had", function()
    assert.matches("no C compiler 'no%-such%-cc'.*apt%-get install gcc", message_of(run,
      { events = { "page-faults" },
      workloads = { kernel("empty", { cc = "no-such-cc" }) } }))
  end)

  it("refuses a call whose buffer no factor sizes, or whose argument its parameter cannot hold", function()
    support.need(support.have "cc", "no C compiler")
    local function refusal(args)
      local result = { pcall(pmc.measure, pmc.call { headers = { "<string.h>" }, args = args,
        declaration = "unsigned long strnlen(const char *, unsigned long)" }, { events = { "page-faults" },
        repetitions = 1, iterations = 1 }) }
      return tostring(result[1] and result[2].problem or result[2])
    end
    assert.matches("there is no factor 'm'", refusal { pmc.buffer { "char", count = "m" }, 4 })
    assert.matches("does not compile.*pointer", refusal { "text", "4" })
    assert.matches("changes value from [^%w]+1.5", refusal { "text", 1.5 })
    assert.matches("changes value from [^%w]+1", refusal { "text", -1 })
    assert.matches("changes value from [^%w]+300", refusal { pmc.buffer { "char", count = 1, fill = 300 } })
  end)

  it("calls any C function by its declaration, with buffers", function()
    support.need(support.have "cc", "no C compiler")
    local result = pmc.measure(pmc.call { declaration = "void *memset(void *p, int c, unsigned long n)",
      args = { pmc.buffer { "char", count = "n" }, 0, 4096 } }, { events = { "page-faults" },
      factors = { { "n", { 4096 } } },
      repetitions = 3 })
    assert.equal(0, result:cells()().page_faults.median)
    assert.matches("undeclared", message_of(pmc.measure, pmc.call { declaration = "int f(undeclared x)",
      args = { 1 } },
      { events = { "page-faults" } }))
  end)

  it("counts several threads, each on its own and in sum", function()
    support.need(support.have "cc", "no C compiler")
    local last
    local result = run({ events = { "page-faults" }, workloads = { kernel("pages", { threads = 3,
      params = { n = 20 } }) },
      repetitions = 3, iterations = 1 }, { each = function(record) last = record end })
    assert.equal(60, result:cells()().page_faults.median)
    assert.equal(3, #last.threads)
    for _, thread in ipairs(last.threads) do assert.equal(20, thread.counts[1]) end
  end)

  it("has as many threads as the factor says that is named, and no fewer where there is none", function()
    support.need(support.have "cc", "no C compiler")
    local counts = {}
    for _, threads in ipairs { "t", "{t}" } do
      run({ events = { "page-faults" }, workloads = { kernel("pages", { threads = threads }) },
        factors = { { "t", { 1, 3 } } }, repetitions = 1, warmup = 0, iterations = 1 },
        { each = function(record) counts[threads .. record.levels.t] = #(record.threads or { 1 }) end })
    end
    assert.same({ t1 = 1, t3 = 3, ["{t}1"] = 1, ["{t}3"] = 3 }, counts)
    assert.matches("threads must be a number or a factor's name, not 'other'", message_of(run,
      { events = { "page-faults" }, workloads = { kernel("pages", { threads = "other" }) } }))
    assert.matches("threads must be a whole number from 1 to 100000 or a name, not 1.5",
      message_of(kernel, "pages", { threads = 1.5 }))
  end)
end)
