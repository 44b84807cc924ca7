-- The table of signatures (lua/pmclua/public/signatures): all that scripts can reach is in it and nothing else, its
-- examples run, an unknown field raises, and every object says what it is.

local entries = require "pmclua.public.entries"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"
local types = require "pmclua.public.types"

local message_of = support.message_of

local function of_kind(kind)
  return lists.where(entries.all(), function(entry) return entry.kind == kind end)
end

local function sorted(list)
  table.sort(list)
  return list
end

describe("the table of signatures", function()
  it("names each thing once, says what it is, and uses types that there are", function()
    local seen = {}
    for _, entry in ipairs(entries.all()) do
      assert.is_nil(seen[entry.name], entry.name)
      seen[entry.name] = true
      if entry.kind ~= "record" and entry.kind ~= "old" then
        assert.matches("^%u.*%.$", entry.text, entry.name)
      end
      if entry.kind == "old" then assert.is_table(entries.find(entry.instead), entry.name) end
      for _, field in ipairs(lists.joined { entry.arguments or {}, lists.map(entry.order or {}, function(name)
        return entry.fields[name]
      end) }) do
        assert.is_true(#types.read(field.type, entry.topic) > 0, entry.name)
      end
    end
  end)

  it("has all public names, and no other", function()
    local names = { pmc = {} }
    for _, entry in ipairs(entries.all()) do
      local name = entry.name:match "^pmc%.([%w_]+)$"
      if name then names.pmc[#names.pmc + 1] = name end
      local module, field = entry.name:match "^pmc%.([%w_]+)%.([%w_]+)$"
      if module then names[module] = lists.append(names[module] or {}, { field }) end
    end
    assert.same(getmetatable(pmc).__fields(), sorted(names.pmc))
    for _, entry in ipairs(of_kind "namespace") do
      local module = entry.name:match "%w+$"
      for _, field in ipairs(names[module]) do assert.is_function(pmc[module][field], field) end
    end
  end)
end)

describe("old names", function()
  it("work as those that they have now, and say so once", function()
    local path = support.write(support.folder() .. "/old.lua", [[
      local pmc = require "pmclua"
      local r = pmc.experiment { workloads = { "true" }, events = "page-faults",
        factors = { { "n", { 1, 2, 3 } } }, where = "n > 1", repetitions = 1, warmup = 0 }
        :run { store = false, quiet = true }
      print(#r:list(), #r:where({ n = 2 }):list(), #r:where({ n = 3 }):list())
      print(pmc.pid { 1, per = "thread" }.by, pmc.pid { 1, by = "process" }.by,
        pmc.system { per = "core" }.by)
      return true
    ]])
    local run = support.pmclua { path }
    assert.equal("2\t1\t1\nthread\tprocess\tcore\n", run.out)
    assert.equal("pmclua: note: where = is now called only_if =\n"
      .. "pmclua: note: result:where {…} is now called result:only {…}\n"
      .. "pmclua: note: per = is now called by =\n", run.err)
  end)

  it("are checked under the names that they have now", function()
    local run = support.pmclua { "-e", [[
      local pmc = require "pmclua"
      print(pcall(pmc.experiment, { workloads = { "true" }, where = 5 }))
      print(pcall(pmc.system, { per = "galaxy" }))]] }
    assert.matches("only_if must be a condition", run.out)
    assert.matches("pmc.system: per must be", run.out)
  end)
end)

-- ---- objects of every class, made as its entry says ------------------------------------------------------

local NEEDS_ROOT = { regions = true, region = true }
local SLOW = { truths = true, overheads = true }      -- seconds: other specs call them

local objects

local function object_of(class)
  objects = objects or {}
  if objects[class.name] == nil then
    local chunk = assert(loadstring(class.example .. "\nreturn " .. class.prefix, class.name))
    objects[class.name] = setfenv(chunk, setmetatable({ pmc = pmc }, { __index = _G }))()
  end
  return objects[class.name]
end

local function can_make(class)
  if SLOW[class.name] then return false, "it takes seconds" end
  if NEEDS_ROOT[class.name] and not support.have_root() then return false, "probes need root" end
  if class.name == "plot" and not support.have "gnuplot" then return false, "gnuplot is not installed" end
  return class.example ~= nil, "nothing says how to get one"
end

-- A folder for what examples store, and their output elsewhere.
local function in_folder(fn)
  support.with_env({ XDG_STATE_HOME = support.folder() }, fn)
end

describe("an object that scripts see", function()
  for _, class in ipairs(of_kind "class") do
    it(("of the class %s has what is written, and no other method"):format(class.name), function()
      support.need(can_make(class))
      local object
      in_folder(function() object = object_of(class) end)
      assert.equal(class.name, types.class_of(object))
      local methods = lists.map(entries.all(), function(entry)
        return entry.name:match("^" .. class.name .. ":([%w_]+)$")
      end)
      for _, name in ipairs(methods) do assert.is_function(object[name], name) end
      for _, name in ipairs(class.order) do
        if name:find "^%a" and not class.fields[name].optional then
          assert.is_not_nil(object[name], class.name .. "." .. name)
        end
        if name:find "^%a" then local _ = object[name] end
      end
      local fields = getmetatable(object).__fields(object)
      for _, name in ipairs(lists.joined { methods, class.order }) do
        if name:find "^%a" then assert.is_true(lists.contains(fields, name), class.name .. "." .. name) end
      end
      -- What can be called is written.
      local callable = lists.where(fields, function(name) return type(object[name]) == "function" end)
      assert.same(sorted(methods), sorted(lists.unique(callable)))
    end)

    it(("of the class %s raises for an unknown field, and says what it is"):format(class.name), function()
      support.need(can_make(class))
      local object
      in_folder(function() object = object_of(class) end)
      assert.matches("signatures_spec.lua:%d+: .*'no_such_field'",
        message_of(function() return object.no_such_field end))
      local text = tostring(object)
      assert.not_matches("^table: 0x", text)
      assert.matches("%S", text)
      assert.not_equal(types.article(class.name), text)      -- which one it is
    end)
  end

  it("has no way to what its modules do for each other", function()
    local result = object_of(entries.find "result")
    local experiment = object_of(entries.find "experiment")
    for object, names in pairs {
      [result] = { "add", "clear", "part", "finish" }, [experiment] = { "planned" },
      [result:list()[1]] = { "found", "estimate" }, [pmc.self()] = { "places", "check", "trial", "excess" },
      [pmc.command "true"] = { "define", "problem", "complaint" } } do
      for _, name in ipairs(names) do
        assert.matches("'" .. name .. "'", message_of(function() return object[name] end))
      end
    end
  end)
end)

describe("an example of a signature", function()
  local APART = { ["pmc.load"] = "a file", ["pmc.plot"] = "a file", ["pmc.stored.merge"] = "files",
    ["pmc.doctor.truths"] = "seconds", ["pmc.doctor.overhead"] = "seconds",
    ["pmc.stored.prune"] = "results that are nobody else's" }

  local function prelude_of(entry)
    local class = entry.name:match "^(.*):"
    return class and entries.find(class, entry.topic).example .. "\n" or ""
  end

  local function needs_of(entry)
    local class = entry.name:match "^(.*):" or ""
    local probes = NEEDS_ROOT[class] or entry.name == "pmc.regions"
    if probes then return support.have_root(), "probes need root" end
    if entry.name == "topdown:plot" then return support.have_pmu() end
    local plots = class == "plot" or entry.name:find ":plot$"
    if plots then return support.have "gnuplot", "gnuplot is not installed" end
    local compiles = entry.example:find "pmc.kernel" or entry.example:find "pmc.call"
      or entry.example:find "pmc.snippet"
    return not compiles or support.have "cc", "no C compiler"
  end

  -- One process for all of a topic.
  for _, topic in ipairs(entries.TOPICS) do
    it(("of %s runs as it is"):format(topic), function()
      local chunks = {}
      for _, entry in ipairs(entries.all()) do
        local is_apart = APART[entry.name] or SLOW[entry.name:match "^%w+"]
        local runs = entry.topic == topic and entry.kind == "function" and entry.example and not is_apart
        assert.is_true(entry.kind ~= "function" or entry.example ~= nil, entry.name .. " has no example")
        if runs and needs_of(entry) then
          local code = prelude_of(entry) .. entry.example
          if not loadstring(code) then code = prelude_of(entry) .. "local _ = " .. entry.example end
          assert.is_function(loadstring(code), entry.name)
          chunks[#chunks + 1] = ("run(%q, %q)"):format(entry.name, code)
        end
      end
      local folder = support.folder()
      local path = support.write(folder .. "/examples.lua", support.TMPNAME_IN_TMPDIR .. [[
        pmc = require "pmclua"
        local out = io.output()
        function run(name, code)
          local quiet = { write = function() end, stdout = io.tmpfile(), stderr = io.stderr }
          local env = setmetatable({ print = quiet.write, io = quiet }, { __index = getfenv(1) })
          local ok, why = pcall(setfenv(assert(loadstring(code, name)), env))
          if not ok then out:write("\nFAILED ", name, " ", tostring(why), "\n") end
        end
      ]] .. table.concat(chunks, "\n"))
      local result = support.pmclua({ path }, { folder = folder, limit_s = 300,
        env = { XDG_STATE_HOME = folder .. "/state", TMPDIR = folder } })
      assert.equal(0, result.status, result.err)
      assert.is_nil(result.out:match "\nFAILED [^\n]*")
    end)
  end
end)
