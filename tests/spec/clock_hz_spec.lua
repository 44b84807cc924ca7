-- The frequency of the counter behind perf's clock, from a page as Linux would have it.

local core = require "pmclua.core"
local ffi = require "ffi"
local literals = require "pmclua.metric.literals"
local support = require "tests.support"

-- Where a page has capabilities (bit 3: the counter gives the time), shift and factor (linux/perf_event.h).
local CAPABILITIES, SHIFT, FACTOR, PAGE = 40, 50, 52, 4096

local function page(capabilities, shift, factor)
  local bytes = ffi.new("uint8_t[?]", PAGE)
  ffi.cast("uint64_t *", bytes + CAPABILITIES)[0] = capabilities
  ffi.cast("uint16_t *", bytes + SHIFT)[0] = shift
  ffi.cast("uint32_t *", bytes + FACTOR)[0] = factor
  return support.write(support.folder() .. "/page", ffi.string(bytes, PAGE))
end

ffi.cdef "int pmclua_spec_open(const char *path, int flags) __asm__(\"open\");"

-- clock_hz() where events have this page; path nil: where none opens.
local function hz_of(path)
  local hz, literal
  support.with_system("perf_event_open", function()
    return path and ffi.C.pmclua_spec_open(path, 0) or -2
  end, function() hz, literal = core.clock_hz(), (literals.value "system_tsc_freq") end)
  assert.equal(hz, literal)
  return hz
end

describe("the frequency of the time stamp counter", function()
  local TIME = 8

  it("is what Linux converts by: 2^shift / factor cycles a nanosecond", function()
    assert.equal(1e9, hz_of(page(TIME, 10, 1024)))
    assert.equal(4e9, hz_of(page(TIME, 12, 1024)))
    assert.equal(1e9 * 2 ^ 31 / 826003251, hz_of(page(TIME, 31, 826003251)))
  end)

  it("is absent where Linux does not say it, or no event opens", function()
    assert.is_nil(hz_of(page(0, 10, 1024)))
    assert.is_nil(hz_of(page(TIME, 10, 0)))
    assert.is_nil(hz_of(nil))
    local _, why = literals.value "no_such_literal"
    assert.equal("there is no literal #no_such_literal", why)
  end)
end)
