-- Blocks of the heap by where they were allocated, of a program that says how many pages of each it touches.

local pmc = require "pmclua"
local support = require "tests.support"
local where = require "tests.support.where"

setup(function()
  support.need_unwatched("it brings an allocator of its own", "asan")
  support.need_unwatched("the watcher allocates", "valgrind")
end)

local function program() return where.program("sites.c", "-g", "-pthread") end

local function measure(command, options)
  local asked = { data = true, heap = true, event = "page-faults", seed = 5 }
  for key, value in pairs(options or {}) do asked[key] = value end
  return pmc.where(command, asked)
end

-- Counts by the first function that is no other's helper.
local function sites_of(found)
  local counts = {}
  for _, line in ipairs(found.profiles[1].data.lines) do
    local site = line.fn:match "^heap from allocate < ([%w_]+)" or line.fn:match "^heap from ([%w_]+)"
    if site then counts[site] = (counts[site] or 0) + line.count end
  end
  return counts
end

-- Pages that each way to allocate touches; of a used address those of its time; a child's are its parent's.
local TOUCHED = { by_first = 300, by_second = 50, by_calloc = 60, by_realloc = 70, by_alignment = 80,
  by_strdup = 128, by_thread = 40 }

local function assert_touched(counts, times)
  for site, pages in pairs(TOUCHED) do
    assert.equal(site .. times * pages, site .. tostring(counts[site]))
  end
end

describe("where --data --heap", function()
  it("tells blocks by call chain and time: used addresses, threads, children, ways to allocate", function()
    assert_touched(sites_of(measure(pmc.command { program() })), 1)
  end)

  it("follows what a shell starts", function()
    local twice = ("%s; %s"):format(support.quote(program()), support.quote(program()))
    assert_touched(sites_of(measure(pmc.command { "sh", "-c", twice })), 2)
  end)

  it("keeps the caller's LD_PRELOAD and the program's output", function()
    local done = support.pmclua({ "where", "--data", "--heap", "-e", "page-faults", "--", "sh", "-c",
      "echo $LD_PRELOAD" }, { env = { LD_PRELOAD = "libm.so.6" } })
    assert.matches("pmclua%-heap%.so:libm%.so%.6\n", done.out)
    assert.equal(0, done.status, done.err)
  end)

  it("has what recording costs as a line of the rest, and as no object", function()
    local data = measure(pmc.command { program() }).profiles[1].data
    assert.is_true(data.rest.recording > 0)
    for _, line in ipairs(data.lines) do
      assert.not_matches("pmclua-heap", line.file, 1, true)
      assert.not_matches("pmclua-heap", line.fn, 1, true)
    end
  end)

  it("names the line of the source by member, and adds up", function()
    local found = measure(pmc.command { program() })
    local ledger, sum, labels = found:ledger "data member", 0, {}
    for _, rows in ipairs { ledger.lines, ledger.rest } do
      for _, row in ipairs(rows) do sum = sum + row.a_sum end
    end
    for _, row in ipairs(ledger.lines) do labels[#labels + 1] = row.label end
    assert.equal(ledger.total.a_sum, sum)
    assert.matches("heap from by_calloc < main[^\n]* %(sites%.c:%d+%)", table.concat(labels, "\n"))
  end)

  it("says that a program that loads no library has no blocks", function()
    local path = support.folder() .. "/static"
    support.build(path, "cc", "-O1", "-static", "-pthread", support.fixture "where/sites.c")
    local found = measure(pmc.command { path })
    assert.same({}, sites_of(found))
    assert.matches("no allocation was recorded", table.concat(found.result.remarks or {}, "\n"), 1, true)
  end)

  it("records a PID namespace under the numbers of samples, and says where a container hides them", function()
    local has_rights = support.have_root() and support.have "unshare"
      and support.run({ "unshare", "-p", "-f", "--mount-proc", "true" }).status == 0
    support.need(has_rights, "no PID namespaces")
    assert_touched(sites_of(measure(pmc.command { "unshare", "-p", "-f", program() })), 1)
    local hidden = measure(pmc.command { "unshare", "-p", "-f", "--mount-proc", program() })
    assert.same({}, sites_of(hidden))
    local said = table.concat(hidden.result.remarks, "\n")
    assert.matches("1 program in a PID namespace with a /proc of its own", said, 1, true)
  end)

  it("is refused without --data, of what runs already, and of kernels", function()
    local done = support.pmclua { "where", "--heap", "--", "true" }
    assert.equal(125, done.status)
    assert.matches("--heap is for --data", done.err, 1, true)
    done = support.pmclua { "where", "--data", "--heap", "-p", "1" }
    assert.equal(125, done.status)
    assert.matches("preloads a library", done.err, 1, true)
    assert.has_error(function()
      pmc.where(pmc.kernel { code = "" }, { data = true, heap = true })
    end, nil, "commands alone")
  end)
end)
