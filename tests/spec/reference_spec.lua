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

-- Runs an example in a folder of its own; prints something, and nothing goes wrong.
local function run_example(code, folder, env)
  local compiles = code:find "pmc%.kernel %{" or code:find "pmc%.call" or code:find "pmc%.snippet"
    or code:find "workloads.filled"
  support.need(not compiles or support.have "cc", "no C compiler")
  support.need(not code:find "pmc%.regions" or support.have_root(), "probes need root")
  local result = support.pmclua({ "-e", support.TMPNAME_IN_TMPDIR, "-e", code },
    { folder = folder, env = support.merged({ XDG_STATE_HOME = folder .. "/state" }, env) })
  assert.equal("", (result.err:gsub("pmclua: [^\n]*predictions hold\n", "")))
  assert.is_true(result.status == 0 or result.status == 77, result.status)
  assert.not_equal("", result.out .. (code:find "print" and "" or "-"))
end

describe("the page on extending pmclua", function()
  local list = examples(support.read(LUA .. "/EXTENDING.md"))

  for _, example in ipairs(list) do
    it(("has an example that runs, of 20 lines at most, under %s"):format(example.under), function()
      assert.is_true(select(2, example.code:gsub("\n", "")) < 20)
      local folder = support.folder()
      for _, module in ipairs(list) do           -- "-- workloads/filled.lua" begins a module
        local path = module.code:match "^%-%- (%S+%.lua)\n"
        if path then
          require("lfs").mkdir(folder .. "/" .. path:match "^(.*)/")
          support.write(folder .. "/" .. path, module.code)
        end
      end
      run_example(example.code, folder, { LUA_PATH = folder .. "/?.lua;;" })
    end)
  end

  it("shows a format, a metric, a stop rule and a workload", function()
    local titles = {}
    for _, example in ipairs(list) do titles[example.under] = true end
    for _, title in ipairs { "format", "metric", "stop rule", "workload" } do
      assert.is_true(titles["A " .. title], title)
    end
  end)
end)

describe("the reference", function()
  for i, example in ipairs(examples(reference)) do
    it(("has an example that runs under %s (%d)"):format(example.under, i), function()
      run_example(example.code, support.folder())
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

-- ---- signatures on the page and for editors ----

-- Prefixes of objects on the page: its own, and those of the table.
local PREFIXES = { plot = "plot", event = "open_event", s = "interval", random = "random", g = "group" }

local function entry_of(name)
  local prefix, method = name:match "^([%w_]+):([%w_]+)$"
  if not prefix then return entries.find(name) end
  local class = entries.find(prefix)
  if class and class.kind == "class" then return entries.find(name) end
  for _, entry in ipairs(entries.all()) do
    local is_class = entry.kind == "class" and (entry.prefix == prefix or PREFIXES[prefix] == entry.name)
    local found = is_class and entries.find(entry.name .. ":" .. method)
    if found then return found end
  end
end

-- "workload, … [, options]" as names; whether each may be left out.
local function arguments_on_page(text)
  local list, depth = {}, 0
  for open, word, close in text:gmatch "([%[ ,]*)([^%[%], ]+)(%]*)" do
    if open:find("[", 1, true) then depth = depth + 1 end
    list[#list + 1] = { name = word == "…" and "..." or word, optional = depth > 0 }
    depth = depth - #close
  end
  return list
end

describe("a signature on the page", function()
  it("has the arguments of the table by their names, in brackets only what may be left out", function()
    local count = 0
    local function check(name, arguments, line)
      local entry = entry_of(name)
      if not entry or entry.kind ~= "function" or arguments:find "[{\"|=.%u]" then return end
      count = count + 1
      local written = arguments_on_page(arguments)
      for i, argument in ipairs(written) do
        local meant = entry.arguments[i] or { name = "none" }
        if meant.name == "..." then break end
        assert.equal(meant.name, argument.name, line)
        if argument.optional then assert.is_true(meant.optional, line) end
      end
    end
    for line in reference:gmatch "[^\n]+" do
      local name, arguments = line:match "^### ([%w_.]+)(%b())"
      if name then check(name, arguments:sub(2, -2), line) end
      for in_text, its in line:gmatch "`([%w_.]+[:.][%w_]+)(%b())`" do
        check(in_text, its:sub(2, -2), line)
      end
    end
    assert.is_true(count > 80, count)
  end)
end)

describe("what editors read of pmclua", function()
  local text = dofile(LUA .. "/install/editor.lua").text()

  it("is Lua, and has every public function, method, value and type", function()
    local pmc = assert(loadstring(text, "pmclua.lua"))()
    for _, entry in ipairs(entries.all()) do
      local place, found = entry.name:match "^pmc%.(.*)$", pmc
      for word in (place or ""):gmatch "[%w_]+" do found = found[word] end
      if place and entry.kind ~= "value" then assert.is_truthy(found, entry.name) end
      if entry.kind == "function" then
        assert.is_truthy(text:find("function " .. entry.name .. "(", 1, true), entry.name)
      end
      if entry.kind == "class" or entry.kind == "record" then
        assert.is_truthy(text:find("---@class pmclua." .. entry.name .. "\n", 1, true), entry.name)
      end
    end
  end)

  it("names only types that LuaLS knows or that it defines", function()
    local known = { any = true, boolean = true, table = true, number = true, integer = true, string = true,
      ["function"] = true, ["ffi.cdata*"] = true, ["file*"] = true, ["nil"] = true, ["true"] = true,
      ["false"] = true }
    for name in text:gmatch "%-%-%-@[ac]l[%w]+ ([%w_.]+)" do known[name] = true end
    local function check(kind, line)
      for part in kind:gsub('"[^"]*"', ""):gsub("[%[%]()?]", ""):gmatch "[^|]+" do
        assert.is_true(known[part] or tonumber(part) ~= nil, line)
      end
    end
    for line in text:gmatch "[^\n]+" do
      local kind = line:match "^%-%-%-@param %S+ (.+)$" or line:match "^%-%-%-@alias %S+ (.+)$"
        or line:match "^%-%-%-@return (%S+)"
      if kind then check(kind, line) end
    end
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
