-- The reference (lua/REFERENCE.md): every public name is in it, every example runs; and the comments that
-- editors read are complete.

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

  it("names every function of the modules that are public", function()
    local pmc = require "pmclua"
    for _, module in ipairs { "events", "metrics", "targets", "stored" } do
      for name, value in pairs(pmc[module]) do
        if type(value) == "function" then
          local said = reference:find("[`%a]%." .. name .. "[( ]")
          assert.is_truthy(said, ("pmc.%s.%s"):format(module, name))
        end
      end
    end
    local section = (reference .. "\n#"):match "\n### pmc%.stats\n(.-)\n#"
    for name, value in pairs(pmc.stats) do
      if type(value) == "function" then assert.is_truthy(section:find("%f[%w]" .. name .. "%("), name) end
    end
    for _, name in ipairs(getmetatable(pmc.stats).__fields()) do
      assert.is_truthy(section:find("%f[%w_]" .. name .. "%("), name)
    end
  end)

  it("names every method of what public functions return", function()
    local internal = { ["Result:part"] = true, ["Result:add"] = true, ["Result:finish"] = true,
      ["Result:clear"] = true,
      -- For reports and the engine:
      ["Cell:found"] = true, ["Experiment:planned"] = true, ["Cell:estimate"] = true }
    for _, file in ipairs { "result/init", "result/cell", "result/compare", "experiment/init",
        "report/methods", "counting/group",
        "monitor/init", "monitor/interval", "counting/open" } do
      for line in io.lines(("%s/pmclua/%s.lua"):format(LUA, file)) do
        local method, name = line:match "^function (%u%w*:([%l_]+))%("
        if method and not name:find "^__" and not internal[method] then
          assert.is_truthy(reference:find("%w:" .. name .. "%f[^%w_]"), method)
        end
      end
    end
  end)

  it("names every key of an experiment, and no other", function()
    local rows = {}
    for row in reference:match("\n### pmc%.experiment.-\n### "):gmatch "\n| ([%l_, ]+) |" do
      for name in row:gmatch "[%l_]+" do rows[name] = true end
    end
    rows.key = nil                       -- the table's heading
    local known = {}
    for name in pairs(require("pmclua.experiment.keys").check) do known[name] = true end
    assert.same(known, rows)
  end)

  it("is what pmc.help has a topic for, name by name", function()
    local topics = {}
    for i, topic in ipairs(require "pmclua.cli.help.topics") do topics[i] = topic[1] end
    table.sort(topics)
    assert.same(getmetatable(require "pmclua").__fields(), topics)
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

-- Files in which all that is not local is public.
local PUBLIC = { "stats/init", "metric/init", "counting/group", "counting/open", "monitor/init",
  "host/machine", "cli/targets", "monitor/interval", "result/init", "event/init" }

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

  -- The module's own functions, and methods of its classes; not of tables that only the file sees.
  local function is_public(name, module) return name:find "^%u" or name:find("^" .. module .. "%.") end

  for _, file in ipairs(PUBLIC) do
    it("say of every parameter of " .. file .. " what it is, and no other", function()
      local path = ("%s/pmclua/%s.lua"):format(LUA, file)
      local module = support.read(path):match "\nreturn ([%w_]+)%s*$" or "M"
      for _, found in ipairs(functions_of(path)) do
        if is_public(found.name, module) and not found.name:find "__" then
          local said = parameters_of(found.comment)
          for parameter in found.parameters:gmatch "[%w_.]+" do
            assert.is_true(said[parameter], ("%s: no @param %s"):format(found.name, parameter))
            said[parameter] = nil
          end
          assert.is_nil(next(said), ("%s: it has no parameter '%s'"):format(found.name, tostring(next(said))))
          assert.is_true(#found.comment > 0, found.name .. " has no comment")
        end
      end
    end)
  end

  it("say of what every public name takes and returns", function()
    for name, place in pairs(getmetatable(require "pmclua").__places) do
      if place[2] and name ~= "version" then
        local path = LUA .. "/" .. place[1]:gsub("%.", "/")
        local file = io.open(path .. ".lua")
        if file then file:close() end
        local comment
        for _, found in ipairs(functions_of(file and path .. ".lua" or path .. "/init.lua")) do
          local is_it = found.name:match "^%w+%.([%w_]+)$" == place[2] and #found.comment > 0
          comment = comment or is_it and found or nil
        end
        assert.is_table(comment, name)
        local text = "\n" .. table.concat(comment.comment, "\n")
        assert.is_true(name == "help" or text:find "\n@return" ~= nil, name .. ": no @return")
        for parameter in comment.parameters:gmatch "[%w_.]+" do
          assert.is_true(parameters_of(comment.comment)[parameter], name .. ": no @param " .. parameter)
        end
      end
    end
  end)
end)
