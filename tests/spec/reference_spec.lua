-- The reference (lua/REFERENCE.md): every public name is in it, every example runs; and the comments that
-- editors read are complete.

local entries = require "pmclua.public.entries"
local support = require "tests.support"

local LUA = support.root .. "/lua"
local reference = support.read(LUA .. "/REFERENCE.md")

-- ---- examples ----

--- Lua blocks of a page, each with the heading it stands under.
local function examples(page)
  local list, heading = {}, ""
  for block, code in page:gmatch "(.-)\n```lua\n(.-)\n```" do
    for title in block:gmatch "\n##+ ([^\n]+)" do heading = title end
    list[#list + 1] = { under = heading, code = code }
  end
  return list
end

describe("the reference", function()
  for i, example in ipairs(examples(reference)) do
    it(("has an example that runs under %s (%d)"):format(example.under, i), function()
      local compiles = example.code:find "pmc%.kernel %{" or example.code:find "pmc%.call"
        or example.code:find "pmc%.snippet"
      support.need(not compiles or support.have "cc", "no C compiler")
      support.need(not example.code:find "pmc%.regions" or support.have_root(), "probes need root")
      local folder = support.folder()
      local result = support.pmclua({ "-e", example.code },
        { folder = folder, env = { XDG_STATE_HOME = folder .. "/state" } })
      assert.equal("", (result.err:gsub("pmclua: [^\n]*predictions hold\n", "")))
      assert.is_true(result.status == 0 or result.status == 77, result.status)
      assert.not_equal("", result.out .. (example.code:find "print" and "" or "-"))
    end)
  end

  it("has a heading for every public name", function()
    for _, name in ipairs(getmetatable(require "pmclua").__fields()) do
      assert.is_truthy(reference:find("\n### pmc%." .. name .. "%f[^%w_]"), name)
    end
  end)

  it("names every function and method", function()
    for _, entry in ipairs(entries.all()) do
      local member = entry.kind == "function" and entry.name:match "^[%w_]+:([%w_]+)$"
      local name = entry.kind == "function" and entry.name:match "^pmc%.[%w_]+%.([%w_]+)$"
      if member then assert.is_truthy(reference:find("[%w`]:" .. member .. "%f[^%w_]"), entry.name) end
      if name then assert.is_truthy(reference:find("[`%a]%." .. name .. "[( ]")
        or reference:find("%f[%w_]" .. name .. "%("), entry.name) end
    end
  end)

  it("names every key of an experiment, and no other", function()
    local rows = {}
    for row in reference:match("\n### pmc%.experiment.-\n### "):gmatch "\n| ([%l_, ]+) |" do
      for name in row:gmatch "[%l_]+" do rows[#rows + 1] = name end
    end
    table.remove(rows, 1)                -- the table's heading
    table.sort(rows)
    local keys = { unpack(entries.find("experiment_keys").order) }
    table.sort(keys)
    assert.same(keys, rows)
  end)
end)

-- ---- comments that editors read (LuaCATS) ----

--- Each function of a file that is not local, with its parameters and the comment before it.
local function functions_of(path)
  local list, comment = {}, {}
  for line in io.lines(path) do
    local text = line:match "^%-%-%-(.*)$"
    local name, parameters = line:match "^function ([%w_.:]+)%(([^)]*)%)"
    if name then
      list[#list + 1] = { name = name, parameters = parameters, comment = comment, line = line }
    end
    if text then comment[#comment + 1] = text else comment = {} end
  end
  return list
end

local function parameters_of(comment)
  local names = {}
  for _, text in ipairs(comment) do
    local name = text:match "^@param%s+([%w_.]+)"
    if name then names[name] = true end
  end
  return names
end

local TAGS = { param = true, ["return"] = true, class = true, field = true, type = true, alias = true,
  overload = true, generic = true, deprecated = true, see = true, cast = true, diagnostic = true,
  vararg = true, enum = true, private = true, meta = true, operator = true, async = true, nodiscard = true }

describe("comments that editors read", function()
  it("have only tags that they know, and every @param and @return a type", function()
    local pipe = io.popen(("find '%s/pmclua' -name '*.lua'"):format(LUA))
    for path in pipe:lines() do
      local number = 0
      for line in io.lines(path) do
        number = number + 1
        local tag, rest = line:match "^%s*%-%-%-@(%w+)%s*(.*)$"
        local where = ("%s:%d: %s"):format(path, number, line)
        if tag then assert.is_true(TAGS[tag], where) end
        if tag == "param" then assert.matches("^[%w_.]+%??%s+%S", rest, where) end
        if tag then assert.matches("%S", rest, where) end
      end
    end
    pipe:close()
  end)

  it("name no parameter that a function has not", function()
    local pipe = io.popen(("find '%s/pmclua' -name '*.lua'"):format(LUA))
    for path in pipe:lines() do
      for _, found in ipairs(functions_of(path)) do
        for name in pairs(parameters_of(found.comment)) do
          local word = "%f[%w_.]" .. name:gsub("%.", "%%.") .. "%f[^%w_.]"
          local is_there = (" " .. found.parameters .. ","):find(word)
          assert.is_truthy(is_there, ("%s: %s has no parameter '%s'"):format(path, found.name, name))
        end
      end
    end
    pipe:close()
  end)
end)
