-- Gates of two commands that run interleaved: pmclua gate --against.

local support = require "tests.support"

describe("pmclua gate --against", function()
  local function run(...) return support.pmclua { "gate", "--against", ... } end
  local touch = support.folder() .. "/touch.lua"
  -- Exactly so many page faults more: the counts of ground truth.
  support.write(touch, [[
    local ffi = require "ffi"
    ffi.cdef "void *mmap(void *, size_t, int, int, int, long);"
    local pages = tonumber(arg[1])
    local at = ffi.cast("char *", ffi.C.mmap(nil, pages * 4096, 3, 0x22, -1, 0))
    for i = 0, pages - 1 do at[i * 4096] = 1 end
  ]])

  local function touching(pages) return ("luajit %s %d"):format(touch, pages) end

  it("runs both commands interleaved and checks limits on the new one", function()
    local limit = "page_faults <= +100%"
    local more = run(touching(10), "-l", limit, "-r", "6", "--", "luajit", touch, "2000")
    assert.equal(3, more.status)
    assert.matches("^gate: 'page_faults <= %+100%%', new: fails: [^\n]+ was [^\n]+\n$", more.out)
    local same = run(touching(10), "-l", limit, "-r", "6", "--", touching(11))
    assert.same({ 0, "gate: the limit holds\n", "" }, { same.status, same.out, same.err })
  end)

  it("needs no files, and refuses what goes with them", function()
    assert.equal(2, run("true", "--", "true").status)
    assert.equal(2, support.pmclua({ "gate", "x.jsonl", "--pin", "0", "-l", "page_faults <= 1" }).status)
    assert.equal(1, run("false", "-l", "duration_time <= +3%", "--quiet", "--", "true").status)
    assert.equal(0, run("false", "-l", "page_faults <= 100000", "-i", "-r", "2", "--", "true").status)
  end)

  it("keeps what it measured, with notes, and writes what it concludes in other formats", function()
    local folder = support.folder()
    local found = run("true", "-l", "page_faults <= 1", "-l", "page_faults <= 100000", "-r", "6", "--store",
      folder .. "/r.jsonl", "--note", "commit=a<b", "--output", folder .. "/gate.xml", "--", "true")
    assert.equal(3, found.status)
    assert.matches("'page_faults <= 1', new: fails: ", found.err, 1, true)
    assert.same({ commit = "a<b" }, require("pmclua").load(folder .. "/r.jsonl").header.notes)
    local xml = support.read(folder .. "/gate.xml")
    for _, part in ipairs { 'tests="2" failures="1" errors="0" skipped="0"', 'name="commit" value="a&lt;b"',
        'name="page_faults &lt;= 1, new">', '<failure message="fails: ',
        'name="page_faults &lt;= 100000, new"/>' } do
      assert.matches(part, xml, 1, true)
    end
  end)
end)
