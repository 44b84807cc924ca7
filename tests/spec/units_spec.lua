-- base/units.lua: durations, shares and sizes as people write them, and as reports print them.

local number = require "pmclua.base.number"
local units = require "pmclua.base.units"

local function about(expected, got) return got and math.abs(got / expected - 1) < 0.05 end

describe("a duration", function()
  it("is a number of seconds, or text with a unit", function()
    assert.equal(2.5, units.seconds(2.5))
    assert.equal(0.2, units.seconds "200ms")
    assert.equal(300, units.seconds " 5 min ")
    assert.equal(2, units.seconds "2")
  end)

  it("is understood as reports print it", function()
    for exponent = -9, 3 do
      local seconds = 2 * 10 ^ exponent
      assert.is_true(about(seconds, units.seconds(number.time(seconds * 1e9))), number.time(seconds * 1e9))
    end
  end)

  it("is nothing else: zero, another unit, no number", function()
    for _, value in ipairs { 0, -1, "0s", "3 apples", "s", "", "1e999s", {}, true } do
      assert.is_nil(units.seconds(value), tostring(value))
    end
  end)
end)

describe("a share", function()
  it("is text with a per cent sign, with or without plus-minus", function()
    assert.equal(0.01, units.share "1%")
    assert.equal(2.5, units.share "250 %")
    assert.equal(0.01, units.share "±1 %")
    assert.equal(0.001, units.share "+-0.1%")
    assert.equal(0, units.share "0%")
  end)

  it("is understood as reports print it", function()
    for exponent = -4, 1 do
      local share = 2 * 10 ^ exponent
      assert.is_true(about(share, units.share(number.percent(share))), number.percent(share))
    end
  end)

  it("is no bare number, which could mean per cent or a part of one", function()
    for _, value in ipairs { 1, 0.5, "1", "0.5", "%", "-1%", "1e999%", {}, true } do
      assert.is_nil(units.share(value), tostring(value))
    end
  end)

  it("that is refused comes with what to write", function()
    local wants = 'a percentage such as "1%", not '
    assert.equal(wants .. '0.5: write "0.5%", or "50%"', select(2, units.share(0.5)))
    assert.equal(wants .. '"2": write "2%"', select(2, units.share "2"))
    assert.equal(wants .. '"much"', select(2, units.share "much"))
    assert.equal('a number of seconds or a string such as "500ms", not "1 m"', select(2, units.seconds "1 m"))
  end)
end)

describe("a size", function()
  it("is a number of bytes, or text with a unit", function()
    assert.equal(10, units.bytes(10))
    assert.equal(4096, units.bytes "4 KiB")
    assert.equal(65536, units.bytes "64K")
    assert.equal(1.5e6, units.bytes "1.5 MB")
    assert.equal(0, units.bytes(0))
    for _, value in ipairs { -1, "-1", "4 apples", "KiB", {}, 1 / 0 } do assert.is_nil(units.bytes(value)) end
  end)

  it("is understood as reports print it", function()
    for _, bytes in ipairs { 512, 4096, 3 * 2 ^ 20, 2 ^ 31 } do
      assert.equal(bytes, units.bytes(number.bytes(bytes)), number.bytes(bytes))
    end
  end)
end)
