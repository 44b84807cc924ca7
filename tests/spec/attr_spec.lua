-- perf_event_attr by name: held against what the C compiler makes of the installed header.

local core = require "pmclua.core"
local ffi = require "ffi"
local support = require "tests.support"

-- Sets each field that the header knows to all ones, alone, and prints the attr's bytes.
local PROGRAM = [[
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#define SHOW(field) do { struct perf_event_attr a; memset(&a, 0, sizeof a); a.field = ~(__u64)0; \
    printf("%s ", #field); \
    for (size_t i = 0; i < sizeof a; i++) printf("%02x", ((unsigned char *)&a)[i]); \
    printf("\n"); } while (0)
int main(void) { $fields return 0; }
]]

-- Fields younger than Debian 12's header.
local YOUNGER = { config3 = true, config4 = true, aux_action = true, defer_callchain = true,
  defer_output = true }

local function compiled_attrs()
  local folder = support.folder()
  local shows = {}
  for i, name in ipairs(core.attr_fields()) do
    shows[i] = not YOUNGER[name] and ("SHOW(%s);"):format(name) or ""
  end
  support.write(folder .. "/attr.c", (PROGRAM:gsub("%$fields", (table.concat(shows)))))
  local built = support.run { "cc", "-Wno-overflow", "-o", folder .. "/attr", folder .. "/attr.c" }
  assert(built.status == 0, built.err)
  return support.run({ folder .. "/attr" }).out
end

local function our_bytes(name)
  local attr, value = ffi.new "struct pmclua_attr", ffi.new("uint64_t", -1LL)
  local width = 64
  while ffi.C.pmclua_attr_set(attr, name, value) ~= 0 do
    width = width - 1
    value = ffi.new("uint64_t", require("bit").rshift(-1LL + 0ULL, 64 - width))
  end
  local bytes = ffi.cast("const uint8_t *", attr)
  local hex = {}
  for i = 0, ffi.sizeof(attr) - 1 do hex[i + 1] = ("%02x"):format(bytes[i]) end
  return table.concat(hex)
end

describe("perf_event_attr by name", function()
  it("puts every field where the C compiler puts it", function()
    support.need(support.have "cc", "no C compiler")
    local seen = 0
    for name, bytes in compiled_attrs():gmatch "(%S+) (%x+)\n" do
      assert.equal(bytes, our_bytes(name):sub(1, #bytes), name)
      seen = seen + 1
    end
    assert.is_true(seen > 50)
  end)

  it("reads back what it set and leaves neighbours alone", function()
    local attr, value = ffi.new "struct pmclua_attr", ffi.new "uint64_t[1]"
    for _, name in ipairs { "exclude_kernel", "precise_ip", "sample_max_stack", "bp_type" } do
      assert.equal(0, ffi.C.pmclua_attr_set(attr, name, 1))
    end
    assert.equal(0, ffi.C.pmclua_attr_set(attr, "precise_ip", 3))
    for name, wanted in pairs { exclude_kernel = 1, precise_ip = 3, sample_max_stack = 1, bp_type = 1,
      exclude_user = 0 } do
      assert.equal(0, ffi.C.pmclua_attr_get(attr, name, value))
      assert.equal(wanted, tonumber(value[0]), name)
    end
  end)

  it("finds the fields that are set, each by itself and all in their order", function()
    local all, alone = core.attr_fields(), ffi.new "struct pmclua_attr"
    assert.is_true(ffi.C.pmclua_attr_next(alone, 0) < 0)
    for index, name in ipairs(all) do
      ffi.fill(alone, ffi.sizeof(alone))
      assert.equal(0, ffi.C.pmclua_attr_set(alone, name, 1))
      local found = ffi.C.pmclua_attr_next(alone, 0)
      -- Of names that share a word the first is found.
      assert.is_true(found >= 0 and found <= index - 1, name)
      assert.equal(name, all[ffi.C.pmclua_attr_next(alone, index - 1) + 1])
      assert.is_true(ffi.C.pmclua_attr_next(alone, #all) < 0)
    end
  end)

  it("refuses an unknown field, and a value wider than its field", function()
    assert.has_error(function() core.open { tipe = 1 } end, "no attr field is called 'tipe'")
    assert.has_error(function() core.open { type = 1, precise_ip = 4 } end,
      "attr field 'precise_ip' cannot hold 4")
  end)
end)
