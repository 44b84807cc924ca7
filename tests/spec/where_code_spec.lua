-- What instructions belong to, beside binutils: functions, lines and inlined functions by addr2line, stubs of the PLT
-- by objdump.

local support = require "tests.support"

local RUNNER = support.root .. "/build/pmclua-runner"

local function symbols_of(path) return assert(require("pmclua.core.symbols").open(path)) end

-- Offsets in the file of addresses that objdump shows.
local function offsets(path)
  local offset, address
  for line in support.run({ "readelf", "-lW", path }).out:gmatch "[^\n]+" do
    local o, a = line:match "LOAD%s+0x(%x+) 0x(%x+) .* R E "
    if o then offset, address = tonumber(o, 16), tonumber(a, 16) end
  end
  return function(at) return at - address + offset end
end

local function need_tools(...)
  for _, tool in ipairs { ... } do support.need(support.have(tool), "no " .. tool) end
end

-- Every so many instructions: address, and whether it fills the space between functions.
local function instructions(path, every)
  local list, count = {}, 0
  for line in support.run({ "objdump", "-d", "--no-show-raw-insn", path }).out:gmatch "[^\n]+" do
    local at, what = line:match "^%s+(%x+):%s+(.*)"
    if at and not what:find "nop" then
      count = count + 1
      if count % every == 0 then list[#list + 1] = at end
    end
  end
  return list
end

-- What addr2line says of each: { { fn =, line = }, … }, innermost first.
local function by_addr2line(path, addresses)
  local folder = support.folder()
  support.write(folder .. "/addresses", "0x" .. table.concat(addresses, "\n0x") .. "\n")
  local command = ("addr2line -a -i -f -e %s < %s/addresses"):format(support.quote(path), folder)
  local said = support.run { "sh", "-c", command }
  local list, current = {}, nil
  for line in said.out:gmatch "[^\n]+" do
    if line:find "^0x" then
      current = {}
      list[#list + 1] = current
    elseif not current.fn then
      current.fn = line
    else
      current[#current + 1] = { fn = current.fn, line = tonumber(line:match ":(%d+)") }
      current.fn = nil
    end
  end
  return list
end

local function plain(fn) return (fn:gsub("%.cold$", ""):gsub("%.constprop%.%d+", ""):gsub("%.part%.%d+", "")
  :gsub("%.isra%.%d+", "")) end

describe("what an instruction belongs to", function()
  it("is what addr2line says: function, line, and the functions that were inlined around it", function()
    need_tools("addr2line", "objdump", "readelf")
    local symbols, offset = symbols_of(RUNNER), offsets(RUNNER)
    local addresses = instructions(RUNNER, 7)
    assert.is_true(#addresses > 1000, #addresses)
    local theirs, inlined = by_addr2line(RUNNER, addresses), 0
    for i, at in ipairs(addresses) do
      local code, wanted = symbols:code(offset(tonumber(at, 16))), theirs[i]
      if wanted[1].fn ~= "??" and wanted[1].line then
        local list = code.inlined or {}
        assert.equal(#wanted - 1, #list, at)
        assert.equal(wanted[1].line, code.line, at)
        for k, one in ipairs(list) do
          assert.equal(plain(wanted[k].fn), one.fn, at)
          assert.equal(wanted[k + 1].line, one.line, at)
        end
        if code.fn then assert.equal(plain(wanted[#wanted].fn), code.fn, at) end
        inlined = inlined + #list
      end
    end
    assert.is_true(inlined > 100, inlined)
  end)

  for _, path in ipairs { RUNNER, "/usr/bin/ls", "/usr/bin/gzip" } do
    it("is a stub of the PLT, named as objdump names it: " .. path, function()
      need_tools("objdump", "readelf")
      support.need(support.exists(path), "no " .. path)
      local symbols, offset, stubs = symbols_of(path), offsets(path), 0
      local shown = support.run({ "objdump", "-d", "--no-show-raw-insn", path }).out
      for at, name in shown:gmatch "\n(%x+) <([^>\n]+@plt)>:" do
        if not name:find "^%*ABS" then
          stubs = stubs + 1
          for within = 0, 4, 4 do
            local code = symbols:code(offset(tonumber(at, 16) + within))
            assert.equal(name:gsub("@@?[%w_.]+@plt", "@plt"), code.fn, at)
          end
        end
      end
      assert.is_true(stubs > 10, stubs)
    end)
  end

  it("is where its function begins, in a file without symbols", function()
    need_tools("cc", "strip", "objdump", "readelf")
    local folder = support.folder()
    local whole, bare = folder .. "/whole", folder .. "/bare"
    support.build(whole, "cc", "-O1", support.fixture "where/loops.c")
    assert.equal(0, support.run({ "strip", "-o", bare, whole }).status)
    local offset, named, stripped = offsets(whole), symbols_of(whole), symbols_of(bare)
    for _, fn in ipairs { "short_loop", "long_loop", "main" } do
      local symbol = assert(named:match(fn)[1])
      local code = stripped:code(offset(symbol.address + 8))
      assert.is_nil(code.fn)
      assert.equal(symbol.address, code.start)
    end
  end)

  it("has its name and line from a separate debug file, by build id or by link", function()
    need_tools("cc", "objcopy", "readelf")
    local folder = support.folder()
    local whole, bare, debug = folder .. "/whole", folder .. "/bare", folder .. "/bare.debug"
    support.build(whole, "cc", "-O1", "-g", support.fixture "where/loops.c")
    assert.equal(0, support.run({ "objcopy", "--only-keep-debug", whole, debug }).status)
    assert.equal(0, support.run({ "objcopy", "--strip-all", "--add-gnu-debuglink=" .. debug, whole, bare },
      { folder = folder }).status)
    local offset, symbol = offsets(whole), symbols_of(whole):match("long_loop")[1]
    local code = symbols_of(bare):code(offset(symbol.address + 8))
    assert.equal("long_loop", code.fn)
    assert.matches("loops%.c$", code.source)
    assert.is_number(code.line)
  end)
end)
