-- Pinned groups that lose their place on the PMU: no part of what they counted passes for the whole. Software
-- events never lose theirs, so the OS kernel's answers are played; tests/lab/spec/shared_spec.lua has real ones.

local core = require "pmclua.core"
local ffi = require "ffi"
local pmc = require "pmclua"
local sums = require "pmclua.core.sums"
local support = require "tests.support"

local FAULTS = { type = 1, config = 2, exclude_kernel = 1, pinned = 1 }
local LOST = { 1, 0, 0 }

--- Calls fn while read is `replacement(real, fd, words, bytes)`, words as u64.
local function with_read(replacement, fn)
  support.with_system("read", function(real, fd, buffer, bytes)
    return replacement(real, fd, ffi.cast("uint64_t *", buffer), bytes)
  end, fn)
end

local function in_error() return 0 end

local function words_of(room)
  return { core.number(room, 1), core.number(room, 2), core.number(room, 3) }
end

local function reading_of(group)
  local room = group:buffer()
  assert.is_true(group:read_into(room))
  return room
end

describe("a pinned group that lost its place", function()
  it("has no number, nor has any difference with it", function()
    local group = pmc.group { "page-faults:u", pinned = true }
    group:start()
    local before, lost = group:read(), nil
    with_read(in_error, function() lost = group:read() end)
    local after = group:read()
    group:close()
    assert.equal("counted", ((after - before):status "page-faults:u"))
    for _, counts in ipairs { lost, lost - before, after - lost } do
      assert.is_nil(counts["page-faults:u"])
      local why = "its pinned group lost its place on the PMU: something else was using its counters"
      assert.same({ "not-counted", why }, { counts:status "page-faults:u" })
    end
  end)

  it("has none around a call either, and is not started anew as if nothing were missing", function()
    local group = pmc.group { "page-faults:u", pinned = true }
    with_read(in_error, function()
      local counts, answer = group:count(function() return 7 end)
      assert.is_nil(counts["page-faults:u"])
      assert.equal(7, answer)
    end)
    local was_started = group:read():enabled_ns() > 0
    group:close()
    assert.is_false(was_started)
  end)

  it("is told by a witness where its task has ended and it can be read again", function()
    local group = assert(core.group({ FAULTS }, { pid = core.pid() }))
    group:start()
    assert.is_true(words_of(reading_of(group))[1] > 1)
    local late
    with_read(function(real, fd, words, bytes)
      local got = real(fd, words, bytes)
      if fd ~= group:fd(1) then words[1] = words[1] + 1000000000ULL end
      return got
    end, function() late = reading_of(group) end)
    group:close()
    assert.same(LOST, words_of(late))
  end)

  -- `request` on the witness is refused while fn runs.
  local function with_refusal(group, request, fn)
    local system = ffi.C.pmclua_system
    local real = system.ioctl
    local callback = ffi.cast("int (*)(int32_t, uint32_t, uint64_t)", function(fd, number, argument)
      if fd ~= group:fd(1) and number % 256 == request then return -5 end
      return real(fd, number, argument)
    end)
    system.ioctl = callback
    local ok, why = support.interpreted(fn)
    system.ioctl = real
    callback:free()
    if not ok then error(why, 0) end
  end

  it("does not count on where its witness cannot be switched: that is said", function()
    local ENABLE, DISABLE = 0, 1                  -- of PERF_EVENT_IOC_*
    local group = assert(core.group({ FAULTS }, { pid = core.pid() }))
    local function enabled_ns()                   -- what the OS kernel says, whatever the witness does
      local words = ffi.new "uint64_t[8]"
      assert(ffi.C.pmclua_read(group:fd(1), words, ffi.sizeof(words)) > 0)
      return tonumber(words[1])
    end
    local function stands_still()
      local before = enabled_ns()
      support.interpreted(function() for _ = 1, 1e5 do core.now_ns() end end)
      return enabled_ns() == before
    end
    with_refusal(group, ENABLE, function() assert.same({ nil, "EIO", 5 }, { group:start() }) end)
    assert.is_true(stands_still())
    assert.is_true(group:start())
    with_refusal(group, DISABLE, function() assert.same({ nil, "EIO", 5 }, { group:stop() }) end)
    assert.is_true(stands_still())
    group:close()
  end)

  it("has no witness open afterwards", function()
    local function descriptors() return #support.run({ "ls", "/proc/" .. core.pid() .. "/fd" }).out end
    local before = descriptors()
    assert(core.group({ FAULTS }, { pid = core.pid() })):close()
    assert.equal(before, descriptors())
  end)

  it("takes the sum over several places with it, whichever is added first", function()
    local reading, lost = sums.buffer(3), sums.buffer(3)
    reading[0], reading[1], reading[2], lost[0] = 50, 50, 7, 1
    for _, order in ipairs { { reading, lost }, { lost, reading } } do
      local sum = sums.buffer(3)
      for _, one in ipairs(order) do sums.add(sum, 0, one, 3) end
      assert.same(LOST, words_of(sum))
    end
    local whole, difference = sums.buffer(3), sums.buffer(3)
    sums.add(whole, 0, reading, 3)
    sums.subtract(lost, whole, difference, 0, 3)
    assert.same(LOST, words_of(difference))
  end)
end)
