-- What C holds for Lua: given back in any order, and not used once it is closed.

local core = require "pmclua.core"
local core_data = require "pmclua.core.data"
local profile = require "pmclua.core.profile"
local support = require "tests.support"

-- A block of 8 MB goes back to Linux as soon as it is collected.
local UNREADABLE_LOG = [[
local data, ffi = require "pmclua.core.data", require "ffi"
local profile = { block = ffi.new("uint64_t[?]", 2 ^ 20), record_files = {}, records = 0 }
print(select(2, data.each(profile, function() end, "/no/such/log")))
profile = nil
collectgarbage()
collectgarbage()
print "collected"]]

local SOFTWARE, DUMMY = 1, 9

describe("a handle of C's", function()
  it("is given back after the memory that it was made for", function()
    local script = support.folder() .. "/collect.lua"
    support.write(script, UNREADABLE_LOG)
    local done = support.pmclua { script }
    assert.same({ 0, "ENOENT\ncollected\n" }, { done.status, done.out })
  end)

  it("that is a sampler's is closed once, and raises when it is used afterwards", function()
    local sampler = profile.open { attr = { type = SOFTWARE, config = DUMMY }, period = 1000, cpus = { 0 },
      tasks = { core.pid() } }
    support.need(sampler, "no software events")
    sampler:close()
    sampler:close()
    assert.has_error(function() sampler:start() end, "this sampler is closed")
    assert.has_error(function() sampler:finish() end, "this sampler is closed")
  end)

  it("that is a live heap's is closed once, and raises when it is used afterwards", function()
    local path = support.folder() .. "/heap"
    assert(core_data.make_heap_log(path))
    local live = assert(core_data.live(path))
    live:close()
    live:close()
    assert.has_error(function() live:sites {} end, "this log is closed")
    assert.has_error(function() live:blocks(core.pid(), { 1 }, 1) end, "this log is closed")
  end)
end)
